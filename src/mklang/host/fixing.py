"""Safe fixes, made and looked at again: a document is given back repaired, or not at all. Writes nothing.

A fix is made where the diagnostic points, the text is read and analysed anew, and only then is it believed: the finding
is gone, nothing new is wrong, and a machine that could run before means what it meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mklang.diagnostics import Diagnostic, Severity
from mklang.host.inspection import Inspected, Inspector
from mklang.lang.editing import apply_edits
from mklang.lang.reader import read_machine
from mklang.lang.semantics import semantic_hash
from mklang.source import Source

ROUNDS = 50
"""How often fixes are made anew: one may uncover the next."""

_Step: TypeAlias = tuple[Inspected, list[Diagnostic]]
"""A document after some fixes, and the findings they were made for."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A document after its fixes: what is still found in it, what was repaired, and the ``source`` as it was.

    ``refused`` says which fixes were not kept, and why.
    """

    inspected: Inspected
    source: Source | None = None
    repaired: tuple[Diagnostic, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def text(self) -> str | None:
        """The repaired text; None when there was nothing to repair."""
        return self.inspected.source.text if self.repaired and self.inspected.source else None


def fix(inspector: Inspector, before: Inspected) -> Fixed:
    """Make every safe fix among the findings of a document, in rounds, until there is none left."""
    current, repaired = before, list[Diagnostic]()
    refused: dict[tuple[str, str, str], str] = {}
    for _ in range(ROUNDS):
        own = [found for found in current.diagnostics if found.path == before.path and found.fix is not None]
        waiting = [found for found in own if _identity(found) not in refused]
        step = _together(inspector, current, waiting) or _singly(inspector, current, waiting, refused)
        if step is None:
            break
        current, made = step
        repaired += made
    return Fixed(
        current, before.source, tuple(repaired), tuple(f"{code}: {why}" for (code, _, _), why in refused.items())
    )


def _together(inspector: Inspector, before: Inspected, waiting: list[Diagnostic]) -> _Step | None:
    """All that do not touch each other at once; None when there are none, or when the result cannot be believed."""
    step = _make(inspector, before, waiting)
    return None if step is None or _problem(before, *step) else step


def _singly(
    inspector: Inspector, before: Inspected, waiting: list[Diagnostic], refused: dict[tuple[str, str, str], str]
) -> _Step | None:
    """The first that can be believed on its own. Those that cannot are not tried again."""
    for found in waiting:
        step = _make(inspector, before, [found])
        problem = "something else stands there" if step is None else _problem(before, *step)
        if step is not None and not problem:
            return step
        refused[_identity(found)] = problem
    return None


def _make(inspector: Inspector, before: Inspected, wanted: list[Diagnostic]) -> _Step | None:
    """The document with these fixes, looked at again, and those that were made; None when none could be."""
    if before.source is None or not wanted:
        return None
    edits = [found.fix.edit for found in wanted if found.fix]
    text, done = apply_edits(before.source.text.removeprefix("\ufeff"), edits)
    made = [found for found in wanted if found.fix and found.fix.edit in done]
    if not made:
        return None
    changed = Source(before.source.name, text)
    return inspector.inspect_text(before.path, changed, read_machine(changed)), made


def _problem(before: Inspected, after: Inspected, made: Sequence[Diagnostic]) -> str:
    """Why a repaired document cannot be believed; empty when it can."""
    left = Counter(_identity(found) for found in after.diagnostics)
    left -= Counter(_identity(found) for found in before.diagnostics if found not in made)
    still = next((found for found in made if left[_identity(found)]), None)
    if still is not None:
        return f"it is still found: {still.message}"
    if before.machine is None:
        return "" if _readable(after) else "the document can no longer be read"
    if after.machine is None or semantic_hash(after.machine) != semantic_hash(before.machine):
        return "the machine would not be the same"
    known = {(found.code, found.message) for found in before.diagnostics}
    new = [found for found in after.diagnostics if found.severity is Severity.ERROR]
    return next((f"it causes: {found.message}" for found in new if (found.code, found.message) not in known), "")


def _readable(after: Inspected) -> bool:
    return not any(found.code.startswith("yaml-") for found in after.diagnostics)


def _identity(found: Diagnostic) -> tuple[str, str, str]:
    return found.code, found.where, found.message
