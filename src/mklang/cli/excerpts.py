"""Diagnostics as people and editors read them: the place, the problem, the source line with the place underlined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from unicodedata import combining, east_asian_width

from mklang.cli.output import Ink, one_line, printable
from mklang.diagnostics import Diagnostic, Severity
from mklang.lang.files import read_source
from mklang.source import Span

_COLOURS: Mapping[Severity, str] = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_LINE_WIDTH = 100
"""How much of a long source line is shown around the place."""


def draw(diagnostics: Iterable[Diagnostic], ink: Ink) -> Iterator[str]:
    """Each diagnostic as a few lines of text. The files they stand in are read again for their lines."""
    texts: dict[str, list[str]] = {}
    for found in diagnostics:
        if found.span is not None and found.path not in texts:
            source, _ = read_source(found.path)
            texts[found.path] = source.text.splitlines() if source else []
        yield from _draw_one(found, texts.get(found.path, []), ink)


def cells(text: str) -> int:
    """How many columns a terminal gives to a printable text."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _draw_one(found: Diagnostic, lines: list[str], ink: Ink) -> Iterator[str]:
    span, colour = found.span, _COLOURS[found.severity]
    place = one_line(f"{found.path}:{span.line}:{span.column}" if span else found.path)
    severity = f"{found.severity.value}:"
    head = f"{place}: {severity}" if place else severity
    where = f"{found.where}: " if found.where else ""
    line = ink.fold(f"{head} {found.code}: {one_line(where + found.message)}")
    if line.startswith(head):
        inked = ink(severity, colour, bold=True)
        line = (f"{ink(place, bold=True)}: {inked}" if place else inked) + line.removeprefix(head)
    yield line
    text = lines[span.line - 1] if span and span.line <= len(lines) else ""
    if span and text.strip():
        margin = f"{span.line} |"
        shown, before, under = _excerpt(text, span)
        yield f"  {ink(margin, dim=True)} {shown}"
        yield f"  {ink(margin[-1].rjust(len(margin)), dim=True)} {before}{ink(under, colour, bold=True)}"
    if found.hint:
        hint = ink.fold(f"  hint: {one_line(found.hint)}", "    ")
        yield hint.replace("hint:", ink("hint:", "cyan"), 1)


def _excerpt(text: str, span: Span) -> tuple[str, str, str]:
    """The part of a line around a span, the blanks before it, and the carets under it."""
    start = min(span.column - 1, len(text))
    end = min(span.end_column - 1, len(text)) if span.end_line == span.line else len(text.rstrip())
    left = max(0, start - _LINE_WIDTH // 2) if len(text) > _LINE_WIDTH else 0
    right = left + _LINE_WIDTH
    end = max(start, min(end, right))
    head, body, tail = (_flat(part) for part in (text[left:start], text[start:end], text[end:right]))
    before, after = "…" if left else "", "…" if right < len(text) else ""
    return f"{before}{head}{body}{tail}{after}", " " * cells(before + head), "^" * max(1, cells(body))


def _flat(text: str) -> str:
    return printable(text).replace("\t", "    ")
