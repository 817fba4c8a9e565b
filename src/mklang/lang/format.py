"""One way to write a document: two spaces a level, keys in the language's order, comments where they belong.

Values are copied, never written anew: quotes, block styles, anchors and the author's line breaks stay. A document is
only given back when the result says the same, comment for comment; else it is refused with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import takewhile

from yaml.nodes import MappingNode, ScalarNode
from yaml.nodes import Node as YamlNode

from mklang.diagnostics import Diagnostic
from mklang.lang.comments import read_remarks
from mklang.lang.events import signs
from mklang.lang.layout import Block, Entry, Flow, Layout, Leaf, Node, Unformattable, read_layout
from mklang.lang.reader import read_machine
from mklang.lang.semantics import semantic_hash
from mklang.lang.vocabulary import GATES, KEYS, STATES, Place
from mklang.lang.yaml_tree import MERGE, compose, garbage_collection_paused
from mklang.source import Source

INDENT = 2


class Spot(Enum):
    """What a map or list holds, as far as that decides an order of keys."""

    DOCUMENT = "document"
    STATES = "states"
    STATE = "state"
    GATES = "gates"
    GATE = "gate"
    DECLARATIONS = "declarations"
    DECLARATION = "declaration"
    FREE = "free"
    """The author's own keys: their order is the author's too."""


_PLACES = {
    Spot.DOCUMENT: frozenset({Place.DOCUMENT}),
    Spot.STATE: STATES,
    Spot.GATE: GATES,
    Spot.DECLARATION: frozenset({Place.DECLARATION}),
}
_ORDER = {
    spot: {name: number for number, name in enumerate(key.name for key in KEYS if key.places & places)}
    for spot, places in _PLACES.items()
}
_BELOW = {
    (Spot.DOCUMENT, "states"): Spot.STATES,
    (Spot.DOCUMENT, "tools"): Spot.DECLARATIONS,
    (Spot.DOCUMENT, "hooks"): Spot.DECLARATIONS,
    (Spot.STATE, "gates"): Spot.GATES,
}
_ITEMS = {Spot.STATES: Spot.STATE, Spot.GATES: Spot.GATE, Spot.DECLARATIONS: Spot.DECLARATION}


@dataclass(frozen=True, slots=True)
class Formatted:
    """A document's text in the one way, or None and why that could not be done."""

    text: str | None
    problems: tuple[Diagnostic, ...] = ()


def format_source(source: Source) -> Formatted:
    """Format a document. One that is no YAML is refused with its problem; other mistakes do not matter."""
    with garbage_collection_paused():
        return _format(source)


def _format(source: Source) -> Formatted:
    root, problems = compose(source)
    if problems:
        return Formatted(None, problems)
    if root is None:
        return Formatted(source.text)
    try:
        layout = read_layout(source)
    except Unformattable as why:
        return Formatted(None, (_refusal(source, str(why)),))
    difference = ""
    for ordered in (True, False):
        text = _write(layout, ordered=ordered, windows="\r\n" in source.text)
        if text == source.text:
            return Formatted(text)
        difference = _difference(source, Source(source.name, text), root)
        if not difference:
            return Formatted(text)
    return Formatted(None, (_refusal(source, difference),))


def _refusal(source: Source, why: str) -> Diagnostic:
    return Diagnostic(code="not-formattable", message=f"the document cannot be formatted: {why}", path=source.name)


# Writing


def _write(layout: Layout, *, ordered: bool, windows: bool) -> str:
    writer = _Writer(ordered=ordered)
    lines = ["---"] if layout.marked else []
    lines += _squeezed(layout.head)
    assert isinstance(layout.root, Block)
    body = writer.block(layout.root, 0, Spot.DOCUMENT)
    if any(layout.head) and not layout.head[-1]:
        lines.append("")
    text = "\n".join([*lines, *body]) + "\n"
    return text.replace("\r", "").replace("\n", "\r\n") if windows else text


class _Writer:
    """Writes nodes as lines. ``ordered`` False keeps every key where it is: an alias may have to follow its anchor.

    ``open`` says that the last text written keeps the blank lines behind it (``|+``), so that none may be added.
    """

    def __init__(self, *, ordered: bool) -> None:
        self.ordered = ordered
        self.open = False

    def block(self, block: Block, indent: int, spot: Spot) -> list[str]:
        """The lines of a block, each with its indentation."""
        entries = self._sorted(block.entries, spot) if block.is_map else block.entries
        lines: list[str] = []
        margin = " " * indent
        for number, entry in enumerate(entries):
            lines += self._remarks(entry.lead, margin, first=number == 0)
            lines += [""] if any(entry.lead) and not entry.lead[-1] else []
            lines += self._entry(entry, indent, spot)
        return lines + self._remarks(block.tail, margin, first=False)

    def _remarks(self, remarks: list[str], margin: str, *, first: bool) -> list[str]:
        """Comments, with a blank line before them where one stands there; a blank line alone, too."""
        lines = [f"{margin}{line}" if line else "" for line in _squeezed(remarks)]
        blank = bool(remarks) and not remarks[0] and not first and not self.open
        self.open = self.open and not lines
        return ["", *lines] if blank else lines

    def _entry(self, entry: Entry, indent: int, spot: Spot) -> list[str]:
        key = "" if entry.key is None else entry.key.text
        start = " " * indent + (f"{key}:" if entry.key is not None else "-")
        below = _ITEMS.get(spot, Spot.FREE) if entry.key is None or spot is Spot.STATES else _below(spot, key)
        value = entry.value
        if isinstance(value, Block):
            return self._nested(start, value, entry, indent=indent, spot=below)
        first, *rest = self._inline(value, indent, below)
        lines = [f"{start} {first}".rstrip() if first else start, *rest]
        if entry.tag:
            doubtful = isinstance(value, Leaf) and value.style == "plain" and entry.tag.startswith(" ")
            lines[-1] += entry.tag if doubtful else f"  {entry.tag.strip()}"
        return lines

    def _nested(self, start: str, value: Block, entry: Entry, *, indent: int, spot: Spot) -> list[str]:
        head = f"{start} {value.properties}" if value.properties else start
        lines = self.block(value, indent + INDENT, spot)
        if entry.key is not None:
            return [f"{head}  {entry.tag.strip()}" if entry.tag else head, *lines]
        above = list(takewhile(_is_comment, lines))  # between a dash and its first key there is no place for comments
        lines = lines[len(above) :]
        above = [f"{' ' * indent}{line.lstrip()}" if line.strip() else "" for line in above]
        if value.properties:
            return [*above, head, *lines]
        return [*above, f"{start} {lines[0].lstrip()}", *lines[1:]]

    def _inline(self, value: Node, indent: int, spot: Spot) -> list[str]:
        """A value that begins on the line of its key: its first line, and the others with their indentation."""
        self.open = False
        if isinstance(value, Flow):
            return _raw_lines(value, indent) if value.raw else self._flow(value, indent, spot)
        assert isinstance(value, Leaf)
        if value.style == "block":
            self.open = "+" in value.text.split("\n", 1)[0].split("#", 1)[0]
            return _block_lines(value, indent)
        first, *rest = value.text.split("\n")
        margin = " " * (indent + INDENT)
        return [first.rstrip(), *(f"{margin}{line.strip()}" if line.strip() else "" for line in rest)]

    def _flow(self, flow: Flow, indent: int, spot: Spot) -> list[str]:
        opened, closed = ("{", "}") if flow.is_map else ("[", "]")
        head = f"{flow.properties} {opened}" if flow.properties else opened
        if not flow.entries:
            return [head + closed]
        below = _ITEMS.get(spot, Spot.FREE)
        entries = self._sorted_pairs(flow.entries, spot) if flow.is_map else flow.entries
        lines = [head]
        for number, (key, value) in enumerate(entries):
            if flow.breaks[number]:
                lines.append(" " * (indent + INDENT))
            elif number or flow.is_map:
                lines[-1] += " "
            name = key.text if key else ""
            inner = below if key is None or spot is Spot.STATES else _below(spot, name)
            first, *rest = self._inline(value, indent + INDENT, inner)
            lines[-1] += f"{name}: {first}" if key else first
            lines += rest
            lines[-1] += "," if number + 1 < len(entries) else ""
        if flow.breaks[-1]:
            lines.append(" " * indent + closed)
        else:
            lines[-1] += f" {closed}" if flow.is_map else closed
        return lines

    def _sorted(self, entries: list[Entry], spot: Spot) -> list[Entry]:
        rank = self._rank(spot)
        return sorted(entries, key=lambda entry: rank(entry.key)) if rank else entries

    def _sorted_pairs(self, entries: list[tuple[Leaf | None, Node]], spot: Spot) -> list[tuple[Leaf | None, Node]]:
        rank = self._rank(spot)
        return sorted(entries, key=lambda entry: rank(entry[0])) if rank else entries

    def _rank(self, spot: Spot) -> Callable[[Leaf | None], int] | None:
        order = _ORDER.get(spot) if self.ordered else None
        if order is None:
            return None
        return lambda key: -1 if key and key.text == MERGE else order.get(_plain(key), len(order))


def _plain(key: Leaf | None) -> str:
    return "" if key is None else key.text.strip("\"'")


def _below(spot: Spot, key: str) -> Spot:
    return _BELOW.get((spot, key.strip("\"'")), Spot.FREE)


def _is_comment(line: str) -> bool:
    """Whether a line of a block, before its first entry, is no part of one."""
    return not line.strip() or line.lstrip().startswith("#")


def _squeezed(lines: Iterable[str]) -> list[str]:
    """Comments with at most one blank line between them, none at the ends."""
    found: list[str] = []
    for line in lines:
        if line or (found and found[-1]):
            found.append(line)
    while found and not found[-1]:
        found.pop()
    return found


def _block_lines(leaf: Leaf, indent: int) -> list[str]:
    """A block scalar, its text moved to its new indentation. Blank lines stay blank, and what stands deeper, deeper."""
    head, *lines = leaf.text.replace("\r", "").split("\n")
    head, _, comment = head.partition("#")
    indicator = next((int(char) for char in head.split()[-1] if char.isdigit()), 0) if head.split() else 0
    filled = [line for line in lines if line.strip()]
    old = (
        leaf.column + indicator if indicator else min((len(line) - len(line.lstrip(" ")) for line in filled), default=0)
    )
    if not indicator and filled:
        old = len(filled[0]) - len(filled[0].lstrip(" "))
    margin = " " * (indent + (indicator or INDENT))
    moved = [f"{margin}{line[old:]}" if len(line) > old else "" for line in lines]
    return [f"{head.rstrip()}  #{comment.rstrip()}" if comment else head.rstrip(), *moved]


def _raw_lines(flow: Flow, indent: int) -> list[str]:
    """Brackets kept as they are, line by line, moved as a whole."""
    first, *rest = flow.text.replace("\r", "").split("\n")
    shift = indent - max(flow.column, 0)
    head = f"{flow.properties} {first.rstrip()}" if flow.properties else first.rstrip()
    return [head, *(_moved(line, shift, indent) for line in rest)]


def _moved(line: str, shift: int, least: int) -> str:
    body = line.strip()
    return " " * max(least, len(line) - len(line.lstrip(" ")) + shift) + body if body else ""


# Comparing


def _difference(before: Source, after: Source, root: YamlNode) -> str:
    """What a rewriting changed that it must not, in words; empty when it says the same."""
    again, problems = compose(after)
    if problems or again is None:
        return f"written anew it would be no YAML: {problems[0].message if problems else 'empty'}"
    if _meaning(root, Spot.DOCUMENT) != _meaning(again, Spot.DOCUMENT):
        return "written anew it would mean something else"
    comments, comments_after = (Counter(one.text for one in read_remarks(each).comments) for each in (before, after))
    if comments != comments_after:
        lost = next(iter((comments - comments_after) or (comments_after - comments)))
        return f"a comment has no place to stay: {lost}"
    if signs(before.text) != signs(after.text):
        return "an anchor or an alias has no place to stay"
    machine, machine_after = read_machine(before).machine, read_machine(after).machine
    hashes = [None if one is None else semantic_hash(one) for one in (machine, machine_after)]
    return "" if hashes[0] == hashes[1] else "written anew the machine would not be the same"


def _meaning(node: YamlNode, spot: Spot) -> object:
    """A node as plain data: keys in the order that counts, scalars with what decides their meaning."""
    if isinstance(node, ScalarNode):
        return (node.tag, bool(node.style), node.value)
    if not isinstance(node, MappingNode):
        return [_meaning(item, _ITEMS.get(spot, Spot.FREE)) for item in node.value]
    pairs = [(_meaning(key, Spot.FREE), _meaning(value, _inner(spot, key))) for key, value in node.value]
    return {"map": sorted(pairs, key=repr) if spot in _ORDER else pairs}


def _inner(spot: Spot, key: YamlNode) -> Spot:
    return Spot.STATE if spot is Spot.STATES else _below(spot, str(key.value))
