"""A document as it is laid out: every entry with its text, its comments and the blank lines before it.

Made from the parser's events, so that what is between the values survives a rewriting. What the values mean is left to
the reader, what the layout should be to ``format``.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TypeAlias

from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from mklang.lang.comments import Comment, line_of, line_starts, read_remarks
from mklang.lang.events import dashes_of, end_of, events_of, start_of
from mklang.source import Source

_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*\s+)*")
_BLOCK_HEAD = re.compile(r"([|>])([0-9]?)[-+]?([0-9]?)")
_ODD_BREAKS = re.compile("\r(?!\n)|[\x85\u2028\u2029]")


class Unformattable(Exception):
    """The layout uses something that a rewriting could not keep; the message says what."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar or an alias as it is written, anchor and tag included. ``column`` is that of the block around it."""

    text: str
    style: str
    column: int


@dataclass(slots=True)
class Flow:
    """A list or map in brackets. ``raw`` says that it is kept line by line, because of comments or odd forms in it.

    ``breaks`` has for each entry, and then for the closing bracket, whether a new line begins before it.
    """

    properties: str
    is_map: bool
    entries: list[tuple[Leaf | None, Node]]
    breaks: list[bool]
    text: str
    column: int
    raw: bool = False


@dataclass(slots=True)
class Entry:
    """One key with its value, or one item (``key`` None). ``lead`` are comments and blank lines before it.

    ``tag`` is the comment at the end of its first line, or of its last if the value is no block. It begins with a blank
    when exactly one stands before it: behind a text without quotes that may be a text cut off by mistake.
    """

    key: Leaf | None
    value: Node
    lead: list[str] = field(default_factory=list)
    tag: str = ""


@dataclass(slots=True)
class Block:
    """A list or map by indentation. ``tail`` are comments behind its last entry that are indented like it."""

    properties: str
    is_map: bool
    column: int
    entries: list[Entry] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)


Node: TypeAlias = "Leaf | Flow | Block"


@dataclass(frozen=True, slots=True)
class Layout:
    """A whole document. ``marked`` says that it begins with ``---``; ``head`` are the comments before everything."""

    root: Node
    head: list[str]
    marked: bool


def read_layout(source: Source) -> Layout:
    """The layout of a document that ``compose`` accepts; raises ``Unformattable`` for one that cannot be kept."""
    text = source.text.removeprefix("\ufeff")
    if _ODD_BREAKS.search(text):
        raise Unformattable("it holds line breaks that are no line feeds")
    return _Builder(text, source).build()


class _Builder:
    """Walks the events once, in the order of the text. ``line`` is the first line nobody has spoken for yet."""

    def __init__(self, text: str, source: Source) -> None:
        self.text = text
        self.starts = line_starts(text)
        self.events = events_of(text)
        try:
            self.dashes = deque(dashes_of(text))
        except ValueError as odd:
            raise Unformattable(str(odd)) from odd
        self.own: dict[int, Comment] = {}
        self.tags: dict[int, Comment] = {}
        for comment in read_remarks(source).comments:
            (self.own if comment.alone else self.tags)[comment.span.line - 1] = comment
        self.line = 0
        self.closed: list[Block] = []
        self.position = 0

    def build(self) -> Layout:
        """The layout, every comment in it."""
        marked = self._begin()
        event = self.events[self.position]
        if not isinstance(event, MappingStartEvent) or event.flow_style or event.anchor or event.tag:
            raise Unformattable("its root is no plain map by indentation")
        head = self._gap(self._line(start_of(event)))
        root = self._node(-1)
        assert isinstance(root, Block)
        self._close_rest(root)
        if self.own or self.tags:
            raise Unformattable(f"the comment on line {min((*self.own, *self.tags)) + 1} has no place to stay")
        return Layout(root, head, marked)

    def _begin(self) -> bool:
        event = self.events[self.position]
        if not isinstance(event, DocumentStartEvent):
            raise Unformattable("it is empty")
        self.position += 1
        if event.version or event.tags:
            raise Unformattable("it begins with a directive")
        end = next(event for event in self.events if isinstance(event, DocumentEndEvent))
        if end.explicit:
            raise Unformattable("it ends with '...'")
        if event.explicit:
            line = self._line(start_of(event))
            if self.text[self.starts[line] :].split("\n", 1)[0].strip() != "---" or self._gap(line):
                raise Unformattable("something stands before or beside its '---'")
            self.line = line + 1
        return bool(event.explicit)

    # Nodes

    def _node(self, column: int) -> Node:
        """The node whose first event is next. ``column`` is that of the block it stands in."""
        event = self.events[self.position]
        self.position += 1
        start, end = start_of(event), end_of(event)
        if isinstance(event, AliasEvent):
            self._speak_for(start, end)
            return Leaf(self.text[start:end], "plain", column)
        if isinstance(event, ScalarEvent):
            return self._scalar(event, column)
        if isinstance(event, MappingStartEvent | SequenceStartEvent):
            properties = self._properties(event)
            if event.flow_style:
                return self._flow(event, properties, column)
            if isinstance(event, MappingStartEvent):
                return self._map(properties)
            return self._list(properties)
        raise Unformattable("it cannot be followed")

    def _scalar(self, event: ScalarEvent, column: int) -> Leaf:
        start, end = start_of(event), end_of(event)
        text = self.text[start:end]
        style = {"|": "block", ">": "block", "'": "quoted", '"': "quoted"}.get(event.style or "", "plain")
        if style != "block":
            self._speak_for(start, end)
            return Leaf(text, style, column)
        line = self._line(start)
        self.tags.pop(line, None)
        if end == len(self.text) and not text.endswith("\n"):
            text = _BLOCK_HEAD.sub(r"\1\2\3-", text, count=1)  # without a line end after it, the text has none either
        text = _block_text(text)
        self.line = max(self.line, line + text.count("\n") + 1)
        return Leaf(text, style, column)

    def _map(self, properties: str) -> Block:
        first = self.events[self.position]
        block = Block(properties, True, self._column(start_of(first)))
        while not isinstance(self.events[self.position], MappingEndEvent):
            key_event = self.events[self.position]
            if not isinstance(key_event, ScalarEvent) or "\n" in self.text[start_of(key_event) : end_of(key_event)]:
                raise Unformattable("a key is no plain text")
            line = self._line(start_of(key_event))
            lead = self._gap(line, block)
            key = self._node(block.column)
            self.line = max(self.line, line + 1)
            entry = Entry(key if isinstance(key, Leaf) else None, _NOTHING, lead)
            block.entries.append(entry)
            self._value(entry, line, block.column)
        self.position += 1
        self.closed.append(block)
        return block

    def _list(self, properties: str) -> Block:
        block = Block(properties, False, -1)
        while not isinstance(self.events[self.position], SequenceEndEvent):
            dash = self.dashes.popleft()
            line = self._line(dash)
            if block.column < 0:
                block.column = self._column(dash)
            lead = self._gap(line, block)
            self.line = max(self.line, line + 1)
            entry = Entry(None, _NOTHING, lead)
            block.entries.append(entry)
            self._value(entry, line, block.column)
        self.position += 1
        self.closed.append(block)
        return block

    def _value(self, entry: Entry, line: int, column: int) -> None:
        """The value of an entry that begins on ``line``, with the comments between the two and behind them."""
        event = self.events[self.position]
        begins = self._line(start_of(event))
        block = isinstance(event, MappingStartEvent | SequenceStartEvent) and not event.flow_style
        if block and entry.key is not None:
            entry.tag = self._take_tag(line)
        elif begins > line or (block and self._first_line() > line):
            tag = self._take_tag(line).strip()
            entry.lead += [tag] if tag else []
            entry.lead += [text for text in self._gap(self._first_line() if block else begins) if text]
        entry.value = self._node(column)
        if not block:
            entry.tag = self._take_tag(self.line - 1)

    def _first_line(self) -> int:
        """The line on which the first thing inside the block that is next begins."""
        event = self.events[self.position]
        if isinstance(event, SequenceStartEvent):
            return self._line(self.dashes[0]) if self.dashes else self._line(start_of(event))
        return self._line(start_of(self.events[self.position + 1]))

    # Brackets

    def _flow(self, event: MappingStartEvent | SequenceStartEvent, properties: str, column: int) -> Flow:
        found = _PROPERTIES.match(self.text, start_of(event))
        start = found.end() if found else start_of(event)
        is_map = isinstance(event, MappingStartEvent)
        flow = Flow(properties, is_map, [], [], "", column, raw=self.text[start : start + 1] not in ("{", "["))
        self._speak_for(start_of(event), start + 1)
        last = start
        end_type = MappingEndEvent if is_map else SequenceEndEvent
        while not isinstance(self.events[self.position], end_type):
            begin = start_of(self.events[self.position])
            flow.breaks.append(self._line(begin) > self._line(last))
            key = self._flow_key(flow, column) if is_map else None
            value = self._node(column)
            flow.raw = flow.raw or _is_odd(value) or (is_map and isinstance(value, Leaf) and not value.text)
            flow.entries.append((key, value))
            last = max(begin, end_of(self.events[self.position - 1]) - 1)
        end = end_of(self.events[self.position])
        self.position += 1
        flow.breaks.append(self._line(end - 1) > self._line(last))
        self._speak_for(start, end)
        flow.text = self.text[start:end]
        flow.raw = self._forget_inside(start, end) or flow.raw
        return flow

    def _flow_key(self, flow: Flow, column: int) -> Leaf | None:
        key = self._node(column)
        value = self.events[self.position]
        between = self.text[end_of(self.events[self.position - 1]) : end_of(value)]
        flow.raw = flow.raw or not isinstance(key, Leaf) or "\n" in key.text or ":" not in between
        return key if isinstance(key, Leaf) else None

    def _forget_inside(self, start: int, end: int) -> bool:
        """Comments inside brackets stay with them; whether there are any."""
        found = False
        for line in range(self._line(start), self._line(end) + 1):
            for comments in (self.own, self.tags):
                comment = comments.get(line)
                if comment is not None and start <= comment.start < end:
                    del comments[line]
                    found = True
        return found

    # Lines

    def _line(self, offset: int) -> int:
        return line_of(self.starts, offset)

    def _column(self, offset: int) -> int:
        return offset - self.starts[self._line(offset)]

    def _speak_for(self, start: int, end: int) -> None:
        self.line = max(self.line, self._line(max(start, end - 1)) + 1)

    def _take_tag(self, line: int) -> str:
        """The comment at the end of a line, with a blank before it if just one stands there."""
        comment = self.tags.pop(line, None)
        if comment is None:
            return ""
        gap = self.text[self.starts[line] : comment.start]
        return comment.text if gap.rstrip() != gap[:-1] else f" {comment.text}"

    def _properties(self, event: Event) -> str:
        found = _PROPERTIES.match(self.text, start_of(event))
        return " ".join(found.group().split()) if found else ""

    def _gap(self, line: int, block: Block | None = None) -> list[str]:
        """Comments and blank lines up to ``line``: those of the entry there. Deeper ones go to blocks that ended."""
        numbers = range(self.line, line)
        self.line = max(self.line, line)
        column = block.column if block else -1
        gap = [self.own.pop(number, None) for number in numbers]
        tail_ends = 0
        if self.closed and block is not None:
            for number, comment in enumerate(gap):
                if comment is not None and comment.span.column - 1 <= column:
                    break
                tail_ends = number + 1 if comment is not None else tail_ends
            self._to_tails(gap[:tail_ends])
        self.closed = []
        return ["" if comment is None else comment.text for comment in gap[tail_ends:]]

    def _close_rest(self, root: Block) -> None:
        gap = [self.own.pop(number, None) for number in range(self.line, len(self.starts))]
        while gap and gap[-1] is None:
            gap.pop()
        self.closed = self.closed or [root]
        self._to_tails(gap)

    def _to_tails(self, gap: list[Comment | None]) -> None:
        """Each comment to the deepest of the ended blocks that is not indented more; once outside, outside it stays."""
        blocks = list(self.closed)
        blank = False
        for comment in gap:
            if comment is None:
                blank = True
                continue
            while len(blocks) > 1 and blocks[0].column > comment.span.column - 1:
                blocks.pop(0)
            blocks[0].tail += ["", comment.text] if blank else [comment.text]
            blank = False


_NOTHING = Leaf("", "plain", 0)


def _is_odd(value: Node) -> bool:
    """Whether something in brackets cannot be written anew."""
    return value.raw if isinstance(value, Flow) else isinstance(value, Leaf) and "\n" in value.text


def _block_text(text: str) -> str:
    """A block's text without what follows its last line, and unless it is kept ('+') without blank lines at its end."""
    head, *lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if "+" not in head.split("#", 1)[0]:
        indent = next((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), 0)
        while lines and not lines[-1].strip() and len(lines[-1].rstrip("\r")) <= indent:
            lines.pop()
    return "\n".join([head, *lines])
