"""An audit of files and folders: machines with the guards around them. Prints nothing (S50).

Each machine is audited with everything it can call, as a run would see it; what is found in a machine that several call
is reported once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from mklang.analysis.suppress import Suppression, read_suppressions
from mklang.audit.describe import Described, describe
from mklang.audit.findings import NO_REASON, AuditFinding, ordered
from mklang.audit.machines import Audit, Protection
from mklang.audit.python import PythonReport
from mklang.diagnostics import Diagnostic, Severity, in_order
from mklang.engine.options import Effect
from mklang.errors import UsageError
from mklang.host.guards import guards_of
from mklang.host.inspection import below
from mklang.host.layers import SUFFIXES
from mklang.host.library import Shelf, callees_of, library_around


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """What an audit takes into account: a further file of bindings, and what a host says that its tools do."""

    guards: str | None = None
    effects: Mapping[str, Effect] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What an audit gave. ``problems`` are files that could not be looked at: about them nothing is known.

    ``silenced`` findings in machines have a comment with a reason, ``known`` ones are in a baseline.
    """

    findings: tuple[AuditFinding, ...]
    problems: tuple[Diagnostic, ...]
    machines: int
    described: tuple[Described, ...] = ()
    silenced: int = 0
    known: int = 0
    python: PythonReport | None = None

    @property
    def failed(self) -> bool:
        """Whether something was found that matters as much as an error."""
        return any(found.severity is Severity.ERROR for found in self.findings)


def audit(paths: Iterable[str], looking: Looking | None = None) -> AuditReport:
    """Audit the machines in these files and below these folders. Raises ``UsageError`` for a path that is not there."""
    looking = looking or Looking()
    shelf = Shelf()
    findings: list[AuditFinding] = []
    described: dict[str, Described] = {}
    problems: list[Diagnostic] = []
    files = list(dict.fromkeys(shelf.name(path) for path in _files(paths)))
    for file in files:
        reading = shelf.read(file).reading
        machine = reading.machine
        if machine is None:
            problems += reading.diagnostics
            continue
        callees = callees_of(machine, library_around(machine.source_name, machine, shelf=shelf))
        machines = (machine, *(one for name, one in callees.machines.items() if name != machine.name))
        guards = guards_of(machine.source_name, machines, explicit=looking.guards)
        problems += [one for one in (*callees.diagnostics, *guards.diagnostics) if one.severity is Severity.ERROR]
        protection = Protection(bindings=guards.bindings, named=guards.named, effects=looking.effects)
        audited = Audit(machines, protection)
        findings += audited.findings()
        described[machine.source_name] = describe(audited, machine.name)
    found = ordered(findings)
    loud = tuple(_loud(found, shelf))
    return AuditReport(
        findings=loud,
        silenced=len(found) - len(loud),
        problems=in_order(set(problems)),
        machines=len(described),
        described=tuple(described.values()),
    )


def _loud(found: Iterable[AuditFinding], shelf: Shelf) -> Iterator[AuditFinding]:
    """The findings that no comment ``# mklang: ignore[CODE] reason`` silences; without a reason it silences nothing."""
    comments: dict[str, tuple[Suppression, ...]] = {}
    for one in found:
        if one.path not in comments:
            comments[one.path] = read_suppressions(shelf.read(shelf.name(one.path)).source)
        fitting = [
            comment.reason
            for comment in comments[one.path]
            if comment.lines is not None and one.line in comment.lines
            if one.code in {listed.code for listed in comment.codes}
        ]
        if not any(fitting):
            yield replace(one, hint=NO_REASON) if fitting else one


def _files(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if Path(path).is_dir():
            yield from (str(file) for file in below(Path(path), tuple(SUFFIXES)))
        elif Path(path).exists():
            yield path
        else:
            raise UsageError(f"there is no file or folder '{path}'")
