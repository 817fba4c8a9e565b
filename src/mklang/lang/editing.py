"""Making edits in a text: those that do not touch each other, the first in the text first."""

from __future__ import annotations

from collections.abc import Iterable

from mklang.lang.comments import line_starts
from mklang.source import Edit, Span


def apply_edits(text: str, edits: Iterable[Edit]) -> tuple[str, list[Edit]]:
    """The changed text and the edits that were made. One that touches an earlier one waits for the next round."""
    starts = line_starts(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    pieces: list[str] = []
    made: list[Edit] = []
    last = 0
    for edit in sorted(set(edits), key=lambda edit: edit.span):
        found = _stretch(text, starts, edit)
        if found is None or found[0] < last:
            continue
        pieces += [text[last : found[0]], edit.text.replace("\n", newline)]
        made.append(edit)
        last = found[1]
    return "".join([*pieces, text[last:]]), made


def offset_of(starts: list[int], line: int, column: int) -> int | None:
    """The offset of a 1-based place; None behind the text."""
    return starts[line - 1] + column - 1 if 0 < line <= len(starts) else None


def _stretch(text: str, starts: list[int], edit: Edit) -> tuple[int, int] | None:
    """The offsets an edit replaces. A deletion at a line's end takes the blanks before it along."""
    span = edit.span
    start, end = offset_of(starts, span.line, span.column), offset_of(starts, span.end_line, span.end_column)
    if start is None or end is None or not 0 <= start <= end <= len(text):
        return None
    if edit.whole_lines:
        return _lines(text, starts, span, (start, end))
    if not edit.text and text[end : end + 1] in ("", "\n", "\r"):
        start = len(text[:start].rstrip(" \t"))
    return start, end


def _lines(text: str, starts: list[int], span: Span, inner: tuple[int, int]) -> tuple[int, int] | None:
    """The lines that hold nothing else, apart from the dash of a list's item; else a map in a list, with its comma.

    None when something else stands there.
    """
    begin = starts[span.line - 1]
    after = starts[span.end_line] if span.end_line < len(starts) else len(text)
    before, behind = text[begin : inner[0]], text[inner[1] : after]
    if before.strip() in ("", "-") and not behind.strip():
        return begin, after
    if not text.startswith("{", inner[0]):
        return None
    if before.rstrip().endswith(","):
        return begin + len(before.rstrip()) - 1, inner[1]
    if before.rstrip().endswith("[") and behind.lstrip(" ").startswith(","):
        return inner[0], after - len(behind.lstrip(" ")[1:].lstrip(" "))
    return None
