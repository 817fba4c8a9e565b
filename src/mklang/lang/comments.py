"""The comments of a document and where its longer texts stand: what is left when YAML has taken its values.

Found from the parser's own events, so that a ``#`` inside a text is never taken for a comment.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stub imports it without exporting it
from yaml.error import YAMLError
from yaml.events import ScalarEvent

from mklang.source import Source, Span

LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_HASH = re.compile(r"(?:^|(?<=[ \t\n\r\ufeff\x85\u2028\u2029]))#[^\n\r\x85\u2028\u2029]*")
_BLOCK_HEAD = re.compile(r"(?:[&!]\S*\s+)*[|>][-+0-9]*")


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment: its text from the ``#`` to the end of the line, and whether the line holds nothing else."""

    text: str
    span: Span
    start: int
    end: int
    alone: bool


@dataclass(frozen=True, slots=True)
class Remarks:
    """The comments of a document in order, and the lines (first, last) of each text that is longer than a line."""

    comments: tuple[Comment, ...]
    long_texts: tuple[tuple[int, int], ...]


def read_remarks(source: Source) -> Remarks:
    """All comments; none for a document that is not valid YAML."""
    text = source.text.removeprefix("\ufeff")
    try:
        texts = _texts(text)
    except (YAMLError, UnicodeEncodeError):
        return Remarks((), ())
    starts = line_starts(text)
    comments: list[Comment] = []
    for begin, stop in _gaps(text, texts):
        for found in _HASH.finditer(text, begin, stop):
            line = line_of(starts, found.start())
            column = found.start() - starts[line]
            span = Span(line + 1, column + 1, line + 1, column + 1 + len(found.group()))
            alone = not text[starts[line] : found.start()].strip()
            comments.append(Comment(found.group().rstrip(), span, found.start(), found.end(), alone))
    long_texts = ((line_of(starts, begin) + 1, line_of(starts, stop - 1) + 1) for begin, stop, _ in texts)
    return Remarks(tuple(comments), tuple(lines for lines in long_texts if lines[0] != lines[1]))


def line_starts(text: str) -> list[int]:
    """The offset at which each line begins."""
    return [0, *(found.end() for found in LINE_BREAK.finditer(text))]


def line_of(starts: list[int], offset: int) -> int:
    """The line, from 0, that an offset stands in; ``starts`` are those of all lines."""
    return bisect_right(starts, offset) - 1


def _texts(text: str) -> list[tuple[int, int, bool]]:
    """Where each scalar begins and ends, and whether it is a block."""
    parser = CParser(text)
    found: list[tuple[int, int, bool]] = []
    try:
        while (event := parser.get_event()) is not None:
            if isinstance(event, ScalarEvent) and event.start_mark and event.end_mark:
                found.append((event.start_mark.index, event.end_mark.index, event.style in ("|", ">")))
    finally:
        parser.dispose()
    return found


def _gaps(text: str, texts: list[tuple[int, int, bool]]) -> Iterator[tuple[int, int]]:
    """The stretches between the scalars. A block's first line may end in a comment and belongs to them."""
    last = 0
    for begin, stop, block in texts:
        yield last, begin
        head = _BLOCK_HEAD.match(text, begin) if block else None
        if head is not None:
            line_end = LINE_BREAK.search(text, head.end())
            yield head.end(), line_end.start() if line_end else len(text)
        last = max(last, stop)
    yield last, len(text)
