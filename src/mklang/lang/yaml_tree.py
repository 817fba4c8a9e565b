"""From text to a YAML node tree whose every node knows its place (L1). What the values mean is left to ``scalars``.

PyYAML's C parser does the parsing and stops at the compose step; its resolver, which costs more than the parsing, is
stubbed out. A document is refused here, before anything walks it, when it is too large, nested too deeply, contains
itself, or would grow without reason once its aliases are expanded.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stub imports it without exporting it
from yaml.error import Mark, YAMLError
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from mklang.diagnostics import Diagnostic
from mklang.lang.yaml_errors import explain, span_of
from mklang.source import Source, Span

Node: TypeAlias = ScalarNode | MappingNode | SequenceNode
Entry: TypeAlias = tuple[ScalarNode, Node]

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 100
MAX_GROWTH = 1_000_000
"""How much larger, in nodes and characters together, a document may become when its aliases are expanded."""

MERGE = "<<"


@dataclass(frozen=True, slots=True)
class RawScalar:
    """A scalar as written: its ``style`` (``plain``, ``single``, ``double``, ``literal``, ``folded``) and text offsets.

    ``text[start:end]`` is the raw source, where ``text`` is the document without a byte order mark.
    """

    style: str
    start: int
    end: int


_STYLES = {"'": "single", '"': "double", "|": "literal", ">": "folded"}


class Position:
    """Where a part of a document stands. Cheap to make: spans are computed when somebody asks for them.

    A question about something that does not exist is answered with the nearest enclosing thing that does.
    """

    __slots__ = ("_entries", "_name", "_node")

    def __init__(self, node: Node | None, name: Node | None = None) -> None:
        """A position at ``node``; ``name`` is the key that introduces it, if there is one."""
        self._node = node
        self._name = name
        self._entries: dict[str, Entry] | None = None

    @property
    def span(self) -> Span | None:
        """The stretch of the thing itself; an empty value stands at the key that introduces it."""
        if self._node is None:
            return None
        if self._name is not None and is_blank(self._node):
            return span_of(self._name)
        return _node_span(self._node)

    @property
    def name(self) -> Span | None:
        """The stretch of the key that introduces the thing, such as a state's id; else that of the thing itself."""
        return self.span if self._name is None else span_of(self._name)

    def key(self, name: str) -> Span | None:
        """The stretch of the key ``name`` of this map."""
        entry = self._entry(name)
        return span_of(entry[0]) if entry else self.span

    def value(self, *path: str | int) -> Span | None:
        """The stretch of the value at ``path``, each step a key of a map or an index of a list."""
        return self.child(*path).span

    def child(self, *path: str | int) -> Position:
        """The position of the value at ``path``."""
        here = self
        for step in path:
            below = here._step(step)
            if below is None:
                break
            here = below
        return here

    def raw(self, *path: str | int) -> RawScalar | None:
        """How the scalar at ``path`` is written, or None when no scalar is there."""
        node = self.child(*path)._node
        if not isinstance(node, ScalarNode):
            return None
        return RawScalar(_STYLES.get(node.style, "plain"), node.start_mark.index, node.end_mark.index)

    def _step(self, step: str | int) -> Position | None:
        if isinstance(step, str):
            entry = self._entry(step)
            return Position(entry[1], entry[0]) if entry else None
        items = self._node.value if isinstance(self._node, SequenceNode) else ()
        return Position(items[step]) if 0 <= step < len(items) else None

    def _entry(self, name: str) -> Entry | None:
        if self._entries is None:
            self._entries = merged(self._node) if isinstance(self._node, MappingNode) else {}
        return self._entries.get(name)


NOWHERE = Position(None)


class _Parser(CParser):
    """The C parser with its resolver switched off: an untagged node has an empty tag.

    It asks for every node. The format method of an empty text takes any arguments, gives an empty text and costs no
    Python frame.
    """

    resolve = descend_resolver = ascend_resolver = "".format


def compose(source: Source) -> tuple[Node | None, tuple[Diagnostic, ...]]:
    """The root node of a document, or None and the reason. An empty document has no root and no problem either."""
    text = source.text.removeprefix("\ufeff")
    if len(text) > MAX_BYTES:
        return None, (too_large(source.name),)
    try:
        with garbage_collection_paused():
            root = _parse(text)
    except (YAMLError, UnicodeEncodeError) as error:
        return None, (explain(error, source.name, text),)
    problem = _shape_problem(root, source.name, len(text)) if root is not None else None
    return (None, (problem,)) if problem else (root, ())


def too_large(path: str) -> Diagnostic:
    """The diagnostic for a document above the size limit."""
    return Diagnostic(
        code="file-too-large",
        message=f"the document is larger than {MAX_BYTES // 1024 // 1024} MiB",
        path=path,
        hint="split it into machines that call each other",
    )


def is_plain(node: Node) -> bool:
    """Whether the node is a scalar written without quotes or a block indicator."""
    return node.__class__ is ScalarNode and not node.style


def is_blank(node: Node) -> bool:
    """Whether nothing at all was written where the node stands."""
    return is_plain(node) and node.value == "" and node.start_mark.index == node.end_mark.index


def merge_sources(value: Node) -> Iterable[Node]:
    """The nodes that a merge key's value names, in order of precedence."""
    return value.value if isinstance(value, SequenceNode) else (value,)


def merged(node: MappingNode) -> dict[str, Entry]:
    """The entries of a map with its merge keys expanded: explicit keys win, then earlier merges. Never complains."""
    entries: dict[str, Entry] = {}
    inherited: list[Node] = []
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            continue
        if key.value == MERGE and not key.style:
            inherited.extend(merge_sources(value))
        else:
            entries.setdefault(key.value, (key, value))
    for base in inherited:
        if isinstance(base, MappingNode):
            entries = merged(base) | entries
    return entries


def _parse(text: str) -> Node | None:
    parser = _Parser(text)
    try:
        return parser.get_single_node()  # type: ignore[return-value]  # the stub says Node, the base class of our three
    finally:
        parser.dispose()


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Reading makes live objects and no cycles: collecting while they grow costs two to five times the parsing."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _node_span(node: Node) -> Span:
    """A block collection's own end mark is the start of whatever follows; it ends where its last part does."""
    last: Node = node
    while not isinstance(last, ScalarNode) and last.value and not last.flow_style:
        end = last.value[-1]
        below = end[1] if isinstance(last, MappingNode) else end
        if below.start_mark.index < last.start_mark.index:  # an alias: the part stands elsewhere
            break
        last = below
    start, stop = node.start_mark, last.end_mark
    return Span(start.line + 1, start.column + 1, stop.line + 1, stop.column + 1)


def _shape_problem(root: Node, path: str, length: int) -> Diagnostic | None:
    """Walk the tree level by level with its aliases expanded, and stop where that goes too far.

    Without aliases, nodes and characters together never exceed twice the document's length; so no document is refused
    for its own size here.
    """
    limit = 2 * length + MAX_GROWTH
    size = 1
    level = [root] if root.__class__ is not ScalarNode else []
    for _ in range(MAX_DEPTH):
        deeper: list[Node] = []
        for node in level:
            children = _children(node)
            nested = [child for child in children if child.__class__ is not ScalarNode]
            size += len(children) + sum(len(child.value) for child in children if child.__class__ is ScalarNode)
            if size > limit:
                return _grows_too_much(path, node.start_mark)
            deeper += nested
        if not deeper:
            return None
        level = deeper
    return _contains_itself(root, path) or _too_deep(path, level[0].start_mark)


def _children(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value  # type: ignore[no-any-return]  # the stub leaves a node's value untyped


def _too_deep(path: str, mark: Mark) -> Diagnostic:
    return Diagnostic(
        code="yaml-depth",
        message=f"lists and maps are nested more than {MAX_DEPTH} levels deep",
        path=path,
        span=_point(mark),
    )


def _contains_itself(root: Node, path: str) -> Diagnostic | None:
    """The first list or map that is part of itself, if the tree is that deep for this reason."""
    done: set[int] = set()
    open_: set[int] = set()
    stack = [root]
    while stack:
        node = stack[-1]
        if id(node) in open_:
            open_.remove(id(node))
            done.add(id(node))
        if id(node) in done:
            stack.pop()
            continue
        open_.add(id(node))
        for child in _children(node):
            if id(child) in open_:
                return _cycle(path, child.start_mark)
            if child.__class__ is not ScalarNode and id(child) not in done:
                stack.append(child)
    return None


def _cycle(path: str, mark: Mark) -> Diagnostic:
    return Diagnostic(
        code="yaml-cycle",
        message="this list or map contains itself through an alias",
        path=path,
        span=_point(mark),
        hint="an anchor (&name) cannot be used inside the thing it names",
    )


def _grows_too_much(path: str, mark: Mark) -> Diagnostic:
    return Diagnostic(
        code="yaml-expansion",
        message=f"expanding the aliases of this document would add more than {MAX_GROWTH:,} nodes and characters",
        path=path,
        span=_point(mark),
        hint="write repeated parts once and refer to them less often",
    )


def _point(mark: Mark) -> Span:
    return Span(mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2)
