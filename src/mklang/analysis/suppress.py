"""Comments that silence findings: ``# mklang: ignore[code] why``, on the line of the finding or on the line above.

``# mklang: ignore-file[code] why`` silences a code, or a family of codes, in the whole document. Errors cannot be
silenced: a machine with an error is not run, whatever a comment says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mklang.analysis.codes import FAMILY_OF
from mklang.diagnostics import Diagnostic, Severity
from mklang.lang.comments import Comment, Remarks, read_remarks
from mklang.source import Source, Span

_MARK = re.compile(r"#+\s*mklang\s*:\s*")
_FORM = re.compile(r"(ignore|ignore-file)\s*\[([^\]]*)\]\s*(.*)")
_CODE = re.compile(r"[^\s,]+")


@dataclass(frozen=True, slots=True)
class Listed:
    """One code or family in a comment, and where it stands."""

    code: str
    span: Span


@dataclass(frozen=True, slots=True)
class Suppression:
    """A comment to mklang. ``lines`` None means the whole document; ``well_formed`` False means it says nothing."""

    comment: Comment
    codes: tuple[Listed, ...] = ()
    reason: str = ""
    lines: frozenset[int] | None = frozenset()
    well_formed: bool = True

    def covers(self, found: Diagnostic, listed: Listed) -> bool:
        """Whether this code of the comment silences a finding."""
        if found.severity is Severity.ERROR or listed.code not in (found.code, FAMILY_OF.get(found.code)):
            return False
        return self.lines is None or (found.span is not None and found.span.line in self.lines)


@dataclass(frozen=True, slots=True)
class Silenced:
    """What is left of the findings, and the codes of comments that silenced nothing."""

    kept: tuple[Diagnostic, ...]
    unused: tuple[tuple[Suppression, Listed], ...]


def read_suppressions(source: Source | None) -> tuple[Suppression, ...]:
    """Every comment in a document that begins with ``mklang:``."""
    if source is None or "mklang" not in source.text or "#" not in source.text:
        return ()
    if not re.search(r"#+[ \t]*mklang[ \t]*:", source.text):
        return ()
    remarks = read_remarks(source)
    lines = source.text.splitlines()
    return tuple(_read(comment, remarks, lines) for comment in remarks.comments if _MARK.match(comment.text))


def silence(found: Iterable[Diagnostic], suppressions: tuple[Suppression, ...]) -> Silenced:
    """Take out what a comment silences."""
    used: set[int] = set()
    kept = []
    entries = [(suppression, listed) for suppression in suppressions for listed in suppression.codes]
    for diagnostic in found:
        by = [number for number, (suppression, listed) in enumerate(entries) if suppression.covers(diagnostic, listed)]
        used.update(by)
        if not by:
            kept.append(diagnostic)
    unused = tuple(entry for number, entry in enumerate(entries) if number not in used)
    return Silenced(tuple(kept), unused)


def _read(comment: Comment, remarks: Remarks, lines: list[str]) -> Suppression:
    mark = _MARK.match(comment.text)
    form = _FORM.fullmatch(comment.text, mark.end()) if mark else None
    codes = tuple(_listed(comment, code) for code in _CODE.finditer(comment.text, *form.span(2))) if form else ()
    if form is None or not codes:
        return Suppression(comment, well_formed=False)
    reason = form.group(3).lstrip("-:–— \t").strip()
    covered = None if form.group(1) == "ignore-file" else _lines(comment, remarks, lines)
    return Suppression(comment, codes, reason, covered)


def _listed(comment: Comment, code: re.Match[str]) -> Listed:
    line, column = comment.span.line, comment.span.column
    return Listed(code.group(), Span(line, column + code.start(), line, column + code.end()))


def _lines(comment: Comment, remarks: Remarks, lines: list[str]) -> frozenset[int]:
    """The line a comment is about, and all lines of a text that begins or ends on it."""
    line = comment.span.line
    if comment.alone:
        line = next((n for n in range(line + 1, len(lines) + 1) if not _silent(lines[n - 1])), line)
    covered = {line}
    for first, last in remarks.long_texts:
        if first == line or (last == line and not comment.alone):
            covered.update(range(first, last + 1))
    return frozenset(covered)


def _silent(line: str) -> bool:
    """Whether a line holds nothing but a comment, or nothing."""
    return not line.strip() or line.lstrip().startswith("#")
