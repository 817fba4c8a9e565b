"""Safe fixes, made and looked at again: a document is given back repaired, or not at all. Writes nothing.

A fix is made where the diagnostic points, the text is read and analysed anew, and only then is it believed: the finding
is gone, nothing new is wrong, and a machine that could run before means what it meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mklang.diagnostics import Diagnostic, Severity
from mklang.errors import InternalError
from mklang.host.inspection import Inspected, Inspector
from mklang.lang.editing import apply_edits
from mklang.lang.reader import read_machine
from mklang.lang.semantics import semantic_hash
from mklang.source import Source

ROUNDS = 20
"""How often fixes are made anew: one may uncover the next."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A document after its fixes: what is still found in it, what was repaired, and the ``source`` as it was."""

    inspected: Inspected
    source: Source | None = None
    repaired: tuple[Diagnostic, ...] = ()

    @property
    def text(self) -> str | None:
        """The repaired text; None when there was nothing to repair."""
        return self.inspected.source.text if self.repaired and self.inspected.source else None


def fix(inspector: Inspector, before: Inspected) -> Fixed:
    """Make every safe fix among the findings of a document, in rounds, until there is none left."""
    current, repaired = before, list[Diagnostic]()
    for _ in range(ROUNDS):
        after, made = _round(inspector, current)
        if not made:
            break
        repaired += made
        current = after
    return Fixed(current, before.source, tuple(repaired))


def _round(inspector: Inspector, before: Inspected) -> tuple[Inspected, list[Diagnostic]]:
    source = before.source
    own = [found for found in before.diagnostics if found.path == before.path and found.fix is not None]
    if source is None or not own:
        return before, []
    text, edits = apply_edits(source.text.removeprefix("\ufeff"), [found.fix.edit for found in own if found.fix])
    made = [found for found in own if found.fix and found.fix.edit in edits]
    if not made:
        return before, []
    changed = Source(source.name, text)
    after = inspector.inspect_text(before.path, changed, read_machine(changed))
    problem = _problem(before, after, made)
    if problem:
        raise InternalError(f"{before.path}: a fix was not kept, because {problem}; nothing was written")
    return after, made


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
