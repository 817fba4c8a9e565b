"""Places inside a text: where in the document a part of a scalar stands, such as one placeholder of a long prompt."""

from __future__ import annotations

import re

from mklang.lang.template import Placeholder
from mklang.lang.yaml_tree import Position
from mklang.source import Source, Span

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


def written(source: Source | None, position: Position, *path: str | int) -> str:
    """A scalar exactly as it is written, with its quotes; empty without a source."""
    raw = position.raw(*path)
    return "" if source is None or raw is None else _text(source)[raw.start : raw.end]


def rest_of_line(source: Source | None, position: Position, *path: str | int) -> str:
    """What follows a scalar on the line it ends on."""
    raw = position.raw(*path)
    if source is None or raw is None:
        return ""
    text = _text(source)
    end = _BREAK.search(text, raw.end)
    return text[raw.end : end.start() if end else len(text)]


def placeholder_span(
    source: Source | None, position: Position, path: tuple[str, ...], found: Placeholder
) -> Span | None:
    """The placeholder itself, where the text can be looked at; else the whole value at ``path``."""
    pattern = r"\{\{\s*" + re.escape(found.path) + r"\s*\}\}"
    return part_span(source, position, path, pattern)


def part_span(source: Source | None, position: Position, path: tuple[str, ...], pattern: str) -> Span | None:
    """The first part of the scalar at ``path`` that matches; the whole of it when none does or there is no text."""
    whole = position.value(*path)
    text = written(source, position, *path)
    match = re.search(pattern, text) if text else None
    if match is None or whole is None:
        return whole
    start = _advance(whole.line, whole.column, text[: match.start()])
    return Span(*start, *_advance(*start, match.group()))


def _advance(line: int, column: int, text: str) -> tuple[int, int]:
    breaks = list(_BREAK.finditer(text))
    if not breaks:
        return line, column + len(text)
    return line + len(breaks), len(text) - breaks[-1].end() + 1


def _text(source: Source) -> str:
    return source.text.removeprefix("\ufeff")
