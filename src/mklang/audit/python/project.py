"""An audit of Python files, from paths to a report: findings without those that were silenced or known before."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mklang.audit.findings import NO_REASON, AuditFinding, ordered
from mklang.audit.python.files import python_files
from mklang.audit.python.findings import Reporter
from mklang.audit.python.ir import Header
from mklang.audit.python.linking import Project
from mklang.audit.python.options import AuditOptions
from mklang.audit.python.scanning import Files
from mklang.audit.python.solving import Solver
from mklang.diagnostics import Diagnostic
from mklang.source import Span

ALLOWED = "AK901"


@dataclass(frozen=True)
class PythonReport:
    """What was found. ``silenced`` counts findings with a reason beside them, ``allowed`` writes to logs and proposals,
    which are in ``findings`` only when asked for, ``unresolved`` calls of unknown things that model output enters.
    ``finished`` says whether the work allowed by ``effort`` was enough; if not, what was not reached is not known."""

    findings: tuple[AuditFinding, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    finished: bool = True
    files: int = 0
    functions: int = 0
    sources: int = 0
    unresolved: int = 0
    allowed: int = 0
    silenced: int = 0
    known: int = 0
    cached: int = 0
    unresolved_names: tuple[tuple[str, int], ...] = ()
    project: Project | None = None
    solver: Solver | None = field(default=None, repr=False)

    def counts(self) -> dict[str, object]:
        """The numbers, for the JSON form."""
        names = "files functions sources unresolved allowed silenced known cached"
        counted: dict[str, object] = {name: getattr(self, name) for name in names.split(" ")}
        return counted | {
            "finished": self.finished,
            "unread": [{"path": one.path, "message": one.message} for one in self.problems],
            "unresolved_names": dict(self.unresolved_names),
        }


def audit_python(
    paths: Sequence[str],
    options: AuditOptions | None = None,
    *,
    store: Path | None = None,
    everything: bool = False,
    only: frozenset[str] | None = None,
) -> PythonReport:
    """Audit files and folders. ``store`` is a file for the facts of unchanged files; ``everything`` lists allowed
    writes too; ``only`` keeps the findings of these files (paths as findings show them)."""
    collecting = gc.isenabled()
    gc.disable()  # hundreds of thousands of small records, all alive to the end: looking for cycles doubles the time
    try:
        return _audit(paths, options or AuditOptions(), store, everything=everything, only=only)
    finally:
        if collecting:
            gc.enable()


def _audit(
    paths: Sequence[str], said: AuditOptions, store: Path | None, *, everything: bool, only: frozenset[str] | None
) -> PythonReport:
    files = python_files(paths, said.exclude)
    scanned = Files(files, said, store)
    try:
        project = Project(scanned, said.rules())
        solver = Solver(project, guards=project.models.guards, sources=frozenset(said.sources), effort=said.effort)
        found = ordered(Reporter(solver, said.layer_rules()).findings())
    finally:
        scanned.close()
    if only is not None:
        found = tuple(one for one in found if {one.path, *(point.path for point in one.trace)} & only)
    loud, silenced = _silence(found, project)
    listed = tuple(one for one in loud if everything or one.code != ALLOWED)
    names = Counter(project.functions[name].calls[number].ref.rpartition(":")[2] for name, number in solver.unresolved)
    return PythonReport(
        findings=listed,
        problems=tuple(_problems(scanned.headers)),
        finished=solver.finished,
        files=len(scanned.headers),
        functions=sum(one.functions for one in scanned.headers),
        sources=sum(call.kind == "source" for one in project.functions.values() for call in one.calls),
        unresolved=len(solver.unresolved),
        allowed=sum(one.code == ALLOWED for one in loud),
        silenced=silenced,
        cached=scanned.cached,
        unresolved_names=tuple(names.most_common(20)),
        project=project,
        solver=solver,
    )


def _silence(found: tuple[AuditFinding, ...], project: Project) -> tuple[list[AuditFinding], int]:
    """Findings without those that a comment ``# mklang: ignore[CODE] reason`` silences; no reason, no silence."""
    comments = {one.path: one.suppressions for one in project.file_of.values() if one.suppressions}
    loud: list[AuditFinding] = []
    for one in found:
        fitting = [
            reason
            for line, codes, reason in comments.get(one.path, ())
            if one.code in codes and line in {one.line, one.line - 1}
        ]
        if not any(fitting):
            loud.append(replace(one, hint=NO_REASON) if fitting else one)
    return loud, len(found) - len(loud)


def _problems(headers: Iterable[Header]) -> list[Diagnostic]:
    found = []
    for one in headers:
        if one.problem:
            line = max(one.problem_line, 1)
            span = Span(line, 1, line, 1)
            found.append(Diagnostic(code="python-unreadable", message=one.problem, path=one.path, span=span))
    return found
