"""Which findings are wanted: ``--select`` and ``--ignore``, by code or by family.

Errors are always wanted. A machine with an error is not run, so a command that kept one to itself would mislead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mklang.analysis.codes import FAMILIES, FAMILY_OF
from mklang.diagnostics import Diagnostic, Severity
from mklang.errors import UsageError
from mklang.lang.vocabulary import closest


@dataclass(frozen=True, slots=True)
class Selection:
    """``select`` None means everything; ``ignore`` is taken out of that. Both hold codes and families."""

    select: frozenset[str] | None = None
    ignore: frozenset[str] = frozenset()

    def wants(self, found: Diagnostic) -> bool:
        """Whether a finding is to be shown."""
        if found.severity is Severity.ERROR:
            return True
        names = {found.code, FAMILY_OF.get(found.code, "")}
        return (self.select is None or not names.isdisjoint(self.select)) and names.isdisjoint(self.ignore)

    def of(self, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """The findings that are wanted."""
        return tuple(one for one in found if self.wants(one))


EVERYTHING = Selection()


def parse_selection(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> Selection:
    """A selection from lists of comma-separated names; raises ``UsageError`` for a name that is no code or family."""
    selected = frozenset(_names(select, "--select"))
    return Selection(selected or None, frozenset(_names(ignore, "--ignore")))


def _names(lists: Iterable[str], option: str) -> Iterator[str]:
    for name in (part.strip() for text in lists for part in text.split(",")):
        if not name:
            continue
        if name not in FAMILY_OF and name not in FAMILIES:
            raise UsageError(f"{option}: {unknown_code(name)}")
        yield name


def unknown_code(name: str) -> str:
    """That there is no such code, with the one that was probably meant."""
    meant = closest(name, (*FAMILY_OF, *sorted(FAMILIES)))
    hint = f"did you mean '{meant}'?" if meant else "'mklang explain' lists them all"
    return f"there is no code or family '{name}'; {hint}"
