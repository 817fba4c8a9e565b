"""What an audit finds: a code, a place, and the way the value takes to get there. Shared by both front ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mklang.diagnostics import Severity

TITLES: Mapping[str, tuple[Severity, str]] = MappingProxyType(
    {
        "AK101": (Severity.ERROR, "model output reaches a behaviour, control or evidence file unguarded"),
        "AK102": (Severity.ERROR, "model output reaches durable state unguarded"),
        "AK103": (Severity.ERROR, "model output reaches something that executes it"),
        "AK104": (Severity.ERROR, "a guard on some ways only, discarded, or before the value changed"),
        "AK105": (Severity.ERROR, "a guard that asks a model"),
        "AK106": (Severity.WARNING, "a guard that says nothing of its own"),
        "AK111": (Severity.WARNING, "an observation from outside reaches an effect unguarded"),
        "AK201": (Severity.ERROR, "a loop that only a model ends"),
        "AK202": (Severity.WARNING, "a retry without a budget"),
        "AK301": (Severity.WARNING, "a verdict read by looking for a word, or without a default"),
        "AK302": (Severity.ERROR, "a judge's verdict changes behaviour without approval"),
        "AK401": (Severity.WARNING, "an unbounded text in a prompt"),
        "AK402": (Severity.WARNING, "untrusted text in a prompt without a fence"),
        "AK901": (Severity.NOTE, "model output reaches a log or a proposal"),
        "AK902": (Severity.NOTE, "a call that could not be resolved"),
    }
)
"""The codes of an audit: permanent, with how much each matters."""

NO_REASON = "the comment that should silence this gives no reason"


@dataclass(frozen=True, slots=True)
class Point:
    """One station on a value's way; line and column count from 1, 0 where there is no text."""

    path: str
    line: int
    column: int = 1
    note: str = ""

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        wire: dict[str, object] = {"path": self.path, "line": self.line, "column": self.column}
        return wire | {"note": self.note} if self.note else wire


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """One thing found, at the place where the value arrives; ``trace`` leads there from where it was made."""

    code: str
    message: str
    path: str
    line: int
    column: int = 1
    trace: tuple[Point, ...] = ()
    where: str = ""
    hint: str = ""

    @property
    def severity(self) -> Severity:
        """How much findings of this code matter."""
        return TITLES[self.code][0]

    def render(self) -> str:
        """One line, as editors and terminals know it."""
        return f"{self.path}:{self.line}:{self.column}: {self.code}: {self.message}"

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "where": self.where,
            "hint": self.hint,
            "trace": [point.to_wire() for point in self.trace],
        }


def ordered(findings: Iterable[AuditFinding]) -> tuple[AuditFinding, ...]:
    """Findings in reading order, each once."""
    return tuple(
        sorted(dict.fromkeys(findings), key=lambda one: (one.path, one.line, one.column, one.code, one.message))
    )
