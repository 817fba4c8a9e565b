"""One problem in a document: what is wrong, where, how bad, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum

from mklang.source import Fix, Span


class Severity(Enum):
    """How much a problem matters: an error stops the document from being used, the rest does not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """A problem with a stable ``code``, found at ``span`` of the file ``path``.

    ``where`` names the place in the document's own terms (``states.draft.gates[1].to``); it may be empty.
    ``hint`` says what to do and may be empty; ``fix`` does it, where that is safe.
    """

    code: str
    message: str
    path: str
    span: Span | None = None
    where: str = ""
    severity: Severity = Severity.ERROR
    hint: str = ""
    fix: Fix | None = field(default=None, compare=False)

    def render(self) -> str:
        """One line, as editors and terminals know it: ``file:line:col: code: message``, then the hint.

        What has no place begins with its code.
        """
        at = f":{self.span.line}:{self.span.column}" if self.span else ""
        place = f"{self.path}{at}: " if self.path or at else ""
        where = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.code}: {where}{self.message}{hint}"

    def to_wire(self) -> dict[str, object]:
        """The JSON form: line and column are 1-based, null where the problem has no place in a text.

        ``fix`` is there when there is one.
        """
        span = self.span
        wire: dict[str, object] = {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "hint": self.hint,
            "path": self.path,
            "where": self.where,
            "line": span.line if span else None,
            "column": span.column if span else None,
            "end_line": span.end_line if span else None,
            "end_column": span.end_column if span else None,
        }
        return wire | {"fix": self.fix.what} if self.fix else wire


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The same problems in reading order; those without a place come first."""
    nowhere = Span(0, 0, 0, 0)
    return tuple(sorted(diagnostics, key=lambda found: (found.path, found.span or nowhere, found.code, found.message)))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether any of them is an error."""
    return any(found.severity is Severity.ERROR for found in diagnostics)


def near_miss(word: str, allowed: Iterable[str]) -> str:
    """A hint ``did you mean 'x'?`` for the closest allowed word, or an empty string when none is close."""
    options = list(allowed)
    close = get_close_matches(word, options, n=1, cutoff=0.6)
    if not close:
        folded = {option.casefold(): option for option in options}
        match = folded.get(word.casefold())
        close = [match] if match else []
    return f"did you mean '{close[0]}'?" if close else ""
