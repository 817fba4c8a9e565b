"""Reading one map of a document against the vocabulary: which keys may stand in it, and what each of them holds.

Nothing here raises. A problem is noted in ``Findings`` and the value read is None, so that reading goes on and every
problem of a document is found in one pass (W39).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from mklang.diagnostics import Diagnostic, Severity, in_order
from mklang.lang import scalars
from mklang.lang.values import Frozen
from mklang.lang.vocabulary import MAX_INTEGER, Key, closest
from mklang.lang.yaml_tree import MERGE, Entry, Node, Position, is_blank, merge_sources, merged
from mklang.source import Span

_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(_CORE + name for name in ("str", "int", "float", "bool", "null"))
_SIMPLE = re.compile(r"[\w-]+")


class Findings:
    """The problems found so far in one document."""

    __slots__ = ("_found", "_path")

    def __init__(self, path: str) -> None:
        """Collects for the document that people know as ``path``."""
        self._path = path
        self._found: dict[tuple[str, Span | None, str], Diagnostic] = {}

    def add(
        self,
        code: str,
        message: str,
        at: Position,
        where: str = "",
        *,
        hint: str = "",
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Note a problem at ``at``. A part that is used twice through an alias has its problems only once."""
        span = at.span
        self._found.setdefault(
            (code, span, message),
            Diagnostic(
                code=code, message=message, path=self._path, span=span, where=where, severity=severity, hint=hint
            ),
        )

    def everything(self) -> tuple[Diagnostic, ...]:
        """All problems in reading order."""
        return in_order(self._found.values())


def below(where: str, name: str | int) -> str:
    """The place of a part in the document's own terms: ``states.draft``, ``gates[1]``, ``states["two words"]``."""
    if isinstance(name, int):
        return f"{where}[{name}]"
    if not _SIMPLE.fullmatch(name):
        return f'{where}["{name}"]'
    return f"{where}.{name}" if where else name


class Fields:
    """The entries of one map. ``at`` is where a missing key is reported, ``where`` the map's place in words."""

    __slots__ = ("at", "entries", "findings", "keys", "where")

    def __init__(
        self, entries: Mapping[str, Entry], findings: Findings, keys: Mapping[str, Key], *, where: str, at: Position
    ) -> None:
        """Reads ``entries`` by the rules of ``keys``."""
        self.entries = entries
        self.findings = findings
        self.where = where
        self.at = at
        self.keys = keys

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def position(self, name: str) -> Position:
        """Where the value of a key that exists stands."""
        key, value = self.entries[name]
        return Position(value, key)

    def problem(
        self, code: str, name: str, message: str, *, hint: str = "", severity: Severity = Severity.ERROR
    ) -> None:
        """Note a problem with the value of a key that exists."""
        place = below(self.where, name)
        self.findings.add(code, message, self.position(name), place, hint=hint, severity=severity)

    def key_problem(self, code: str, name: str, message: str, hint: str = "") -> None:
        """Note a problem with the key itself."""
        self.findings.add(code, message, Position(self.entries[name][0]), below(self.where, name), hint=hint)

    def missing(self, name: str, what: str, hint: str = "") -> None:
        """Note that a required key is not there."""
        self.findings.add("missing-key", f"{what} needs '{name}'", self.at, self.where, hint=hint)

    def wrong_type(self, name: str, expected: str, hint: str = "") -> None:
        """Note that a value is of another type than the key takes."""
        message = f"'{name}' takes {expected}, not {describe(self.entries[name][1])}"
        self.problem("wrong-type", name, message, hint=hint)

    def text(self, name: str) -> str | None:
        """The text of a key; None when it is absent or something else."""
        entry = self.entries.get(name)
        if entry is None:
            return None
        value = entry[1]
        if value.__class__ is not ScalarNode or value.tag:
            return self._odd_text(name, value)
        text: str = value.value
        if not value.style and scalars.resolve(text) is not text:
            return self._odd_text(name, value)
        rule = self.keys[name].holds
        if rule and not _compiled(rule.pattern).search(text):
            self.problem("bad-value", name, f"'{name}' {rule.words}")
            return None
        return text

    def _odd_text(self, name: str, value: Node) -> str | None:
        if not check_tag(value, self.findings, below(self.where, name)):
            return None
        if isinstance(value, ScalarNode) and value.tag == _CORE + "str":
            return str(value.value)
        self.wrong_type(name, "text", _text_hint(value))
        return None

    def choice(self, name: str) -> str | None:
        """One of the words a key allows."""
        text = self.text(name)
        choices = self.keys[name].words
        if text is None or text in choices:
            return text
        allowed = ", ".join(f"'{word}'" for word in choices)
        meant = closest(text, choices)
        hint = f"did you mean '{meant}'?" if meant else ""
        self.problem(
            "bad-value", name, f"'{name}' is {allowed if len(choices) == 1 else 'one of ' + allowed}", hint=hint
        )
        return None

    def integer(self, name: str) -> int | None:
        """A whole number within the key's range; ``5.0`` is 5 (W38)."""
        entry = self.entries.get(name)
        if entry is None or not check_tag(entry[1], self.findings, below(self.where, name)):
            return None
        value = plain_value(entry[1])
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int | scalars.BadNumber):
            self.wrong_type(name, "a whole number", _integer_hint(entry[1]))
            return None
        least = self.keys[name].least
        if isinstance(value, scalars.BadNumber) or not least <= value <= MAX_INTEGER:
            self.problem("bad-value", name, f"'{name}' takes a whole number from {least} to {MAX_INTEGER:,}")
            return None
        return value

    def boolean(self, name: str) -> bool | None:
        """``true`` or ``false``."""
        entry = self.entries.get(name)
        if entry is None or not check_tag(entry[1], self.findings, below(self.where, name)):
            return None
        value = plain_value(entry[1])
        if isinstance(value, bool):
            return value
        self.wrong_type(name, "true or false", _boolean_hint(entry[1]))
        return None

    def mapping(self, name: str) -> Mapping[str, Entry] | None:
        """The entries of a map, with merge keys expanded."""
        entry = self.entries.get(name)
        if entry is None:
            return None
        return read_map(entry[1], self.findings, below(self.where, name), f"'{name}' takes a map")

    def items(self, name: str) -> list[Node] | None:
        """The items of a list."""
        entry = self.entries.get(name)
        if entry is None or not check_tag(entry[1], self.findings, below(self.where, name)):
            return None
        value = entry[1]
        if isinstance(value, SequenceNode):
            items: list[Node] = value.value
            return items
        hint = "begin each item with '- '" if isinstance(value, MappingNode) else ""
        self.wrong_type(name, "a list", hint)
        return None

    def values(self, name: str) -> Mapping[str, Frozen] | None:
        """A map of free values."""
        entries = self.mapping(name)
        if entries is None:
            return None
        return MappingProxyType(read_values(entries, self.findings, below(self.where, name)))


def check_tag(node: Node, findings: Findings, where: str) -> bool:
    """Whether a node has no tag, or one of YAML's own that fits it; anything else is an error."""
    if not node.tag:
        return True
    if isinstance(node, ScalarNode):
        if node.tag in _SCALAR_TAGS and _tag_fits(node):
            return True
    elif node.tag == _CORE + ("map" if isinstance(node, MappingNode) else "seq"):
        return True
    shown = node.tag.replace(_CORE, "!!")
    hint = "write the value without a tag" if shown.startswith("!!") else "if it is meant as text, quote it"
    findings.add("yaml-tag", f"the tag '{shown}' cannot be used here", Position(node), where, hint=hint)
    return False


def _tag_fits(node: ScalarNode) -> bool:
    value = scalars.resolve(node.value)
    match node.tag.removeprefix(_CORE):
        case "str":
            return True
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "bool":
            return isinstance(value, bool)
        case _:
            return value is None


def plain_value(node: Node) -> object:
    """What a scalar means; a list or a map is returned as its node."""
    if not isinstance(node, ScalarNode):
        return node
    if not node.tag:
        return node.value if node.style else scalars.resolve(node.value)
    if node.tag == _CORE + "str":
        return node.value
    value = scalars.resolve(node.value)
    return float(value) if node.tag == _CORE + "float" and isinstance(value, int) else value


def describe(node: Node) -> str:
    """What stands there, for messages."""
    if isinstance(node, MappingNode):
        return "a map"
    if isinstance(node, SequenceNode):
        return "a list"
    plain = not node.style and node.tag != _CORE + "str"
    return scalars.describe(node.value, plain=plain)


def read_map(node: Node, findings: Findings, where: str, expected: str) -> dict[str, Entry] | None:
    """The entries of a map by key. Merge keys are expanded (L1), a repeated key is an error (W40)."""
    if not check_tag(node, findings, where):
        return None
    if not isinstance(node, MappingNode):
        hint = "delete the key, or write '{}' for an empty map" if is_blank(node) else ""
        findings.add("wrong-type", f"{expected}, not {describe(node)}", Position(node), where, hint=hint)
        return None
    entries: dict[str, Entry] = {}
    inherited: list[Node] = []
    for key, value in node.value:
        if key.__class__ is not ScalarNode:
            _odd_key(key, findings, where)
            continue
        name = key.value
        if name == MERGE and not key.style:
            inherited.extend(_merge_bases(value, findings, where))
        elif name in entries:
            first = entries[name][0].start_mark.line + 1
            message = f"the key '{name}' is written twice, first on line {first}"
            findings.add("duplicate-key", message, Position(key), below(where, name), hint="delete one of them")
        else:
            entries[name] = (key, value)
    for base in inherited:
        entries = merged(base) | entries if isinstance(base, MappingNode) else entries
    return entries


def _odd_key(key: Node, findings: Findings, where: str) -> None:
    hint = 'put the whole text in double quotes: "{{ name }}"' if isinstance(key, MappingNode) else "quote the text"
    what = "a map" if isinstance(key, MappingNode) else "a list"
    findings.add("bad-key", f"a key must be text, and here {what} stands as a key", Position(key), where, hint=hint)


def _merge_bases(value: Node, findings: Findings, where: str) -> Iterable[Node]:
    bases = tuple(merge_sources(value))
    for base in bases:
        if not isinstance(base, MappingNode):
            message = f"'<<' merges maps, not {describe(base)}"
            findings.add("bad-merge", message, Position(base), where, hint="name an anchored map: '<<: *name'")
    return bases


def read_values(entries: Mapping[str, Entry], findings: Findings, where: str) -> dict[str, Frozen]:
    """Free values by key."""
    return {name: read_value(value, findings, below(where, name)) for name, (_, value) in entries.items()}


def read_value(node: Node, findings: Findings, where: str) -> Frozen:
    """A free value: plain JSON, frozen. What other YAML readers would take for something else is pointed out."""
    if isinstance(node, MappingNode):
        entries = read_map(node, findings, where, "")
        if node.flow_style:
            _warn_braces(node, findings, where)
        return MappingProxyType(read_values(entries or {}, findings, where))
    if not check_tag(node, findings, where):
        return None
    if isinstance(node, SequenceNode):
        return tuple(read_value(item, findings, below(where, index)) for index, item in enumerate(node.value))
    value = plain_value(node)
    if isinstance(value, scalars.BadNumber):
        findings.add("not-json", f"this number {value.reason}", Position(node), where, hint="quote it")
        return None
    if isinstance(value, str) and not node.style and not node.tag:
        _ambiguous(value, node, findings, where)
    return value  # type: ignore[return-value]  # what a scalar resolves to, minus the number refused above


def _ambiguous(text: str, node: Node, findings: Findings, where: str) -> None:
    at = Position(node)
    if scalars.is_not_json(text):
        findings.add("not-json", f"'{text}' is not a JSON value", at, where, hint="quote it if it is meant as text")
    elif scalars.is_old_boolean(text):
        truth = "true" if text.lower() in {"yes", "on"} else "false"
        message = f"'{text}' is text here and a boolean to many YAML readers"
        findings.add("ambiguous-scalar", message, at, where, hint=f'write {truth}, or quote it: "{text}"')
    elif scalars.is_old_number(text):
        message = f"'{text}' is text here and a number to many YAML readers"
        hint = f'quote it: "{text}", or write a plain decimal number'
        findings.add("ambiguous-scalar", message, at, where, hint=hint, severity=Severity.WARNING)


def _warn_braces(node: MappingNode, findings: Findings, where: str) -> None:
    for key, value in node.value:
        if isinstance(key, ScalarNode) and not key.style and is_blank(value):
            message = f"'{{{key.value}}}' is a map whose key has no value"
            hint = "quote it if it is meant as text; otherwise write a ':' and a space after the key"
            findings.add("unquoted-braces", message, Position(node), where, hint=hint, severity=Severity.WARNING)
            return


def _text_hint(node: Node) -> str:
    if isinstance(node, MappingNode) and node.flow_style:
        return 'put the whole text in double quotes: "{{ name }}"'
    if isinstance(node, SequenceNode) and node.flow_style:
        return "put the whole text in double quotes"
    if not isinstance(node, ScalarNode):
        return "if it is meant as text, quote it or write it as a block after '|'"
    if node.value in scalars.NULL_WORDS:
        return 'write "" for an empty text' if is_blank(node) else f'quote it: "{node.value}"'
    return f'quote it: "{node.value[:40]}"'


def _integer_hint(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        return ""
    if node.style:
        return "write the number without quotes" if isinstance(scalars.resolve(node.value), int) else ""
    return scalars.integer_hint(node.value)


def _boolean_hint(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        return ""
    if isinstance(scalars.resolve(node.value), bool):
        return "write it without quotes"
    if scalars.is_old_boolean(node.value):
        return f"write {'true' if node.value.lower() in {'yes', 'on'} else 'false'}"
    return ""


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
