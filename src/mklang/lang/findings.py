"""The problems found while one document is read, and how they name a place in it."""

from __future__ import annotations

import re
from typing import TypeAlias

from mklang.diagnostics import Diagnostic, Severity, in_order
from mklang.lang.yaml_tree import Position
from mklang.source import Edit, Fix, Span

SHOWN = 60
"""How much of a text a message shows at most."""

_SIMPLE = re.compile(r"[\w-]+")
_Identity: TypeAlias = tuple[str, Span | None, str]


class Findings:
    """The problems found so far in one document, up to a limit: a file of nonsense is not worth a million lines.

    Warnings cannot crowd out errors: the limit counts each on its own.
    """

    LIMIT = 1000

    def __init__(self, path: str) -> None:
        """Collects for the document that people know as ``path``."""
        self._path = path
        self._errors: dict[_Identity, Diagnostic] = {}
        self._others: dict[_Identity, Diagnostic] = {}

    def add(
        self,
        code: str,
        message: str,
        at: Position,
        where: str = "",
        *,
        hint: str = "",
        severity: Severity = Severity.ERROR,
        fix: Fix | None = None,
    ) -> None:
        """Note a problem at ``at``. A part that is used twice through an alias has its problems only once."""
        found = self._errors if severity is Severity.ERROR else self._others
        if len(found) >= self.LIMIT:
            return
        span = at.span
        problem = Diagnostic(
            code=code, message=message, path=self._path, span=span, where=where, severity=severity, hint=hint, fix=fix
        )
        found.setdefault((code, span, message), problem)

    @property
    def full(self) -> bool:
        """Whether no more errors are taken."""
        return len(self._errors) >= self.LIMIT

    def everything(self) -> tuple[Diagnostic, ...]:
        """All problems in reading order; the first says so when there were too many errors to list."""
        found = in_order([*self._errors.values(), *self._others.values()])
        if not self.full:
            return found
        message = f"the document has {self.LIMIT:,} errors or more; the rest is not listed"
        return (Diagnostic(code="too-many-problems", message=message, path=self._path), *found)


def rewrite(what: str, at: Position, text: str) -> Fix | None:
    """The fix that writes ``text`` where something stands; None for what stands nowhere."""
    return Fix(what, Edit(at.span, text)) if at.span else None


def shorten(text: str) -> str:
    """A text as messages show it."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def below(where: str, name: str | int) -> str:
    """The place of a part in the document's own terms: ``states.draft``, ``gates[1]``, ``states["two words"]``."""
    if isinstance(name, int):
        return f"{where}[{name}]"
    name = shorten(name)
    if not _SIMPLE.fullmatch(name):
        return f'{where}["{name}"]'
    return f"{where}.{name}" if where else name
