"""What ``mklang test`` found, as text and as JSON (L109, L110)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mklang.cli.excerpts import draw
from mklang.cli.findings import counted
from mklang.cli.output import Output, envelope, one_line
from mklang.cli.verdicts import tell_each
from mklang.diagnostics import Diagnostic, Severity, in_order
from mklang.host.suites import Tested
from mklang.lang.findings import below, shorten
from mklang.lang.models import Machine
from mklang.testing.coverage import Coverage, total_percent
from mklang.testing.junit import Group
from mklang.testing.mutation import Mutation


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything one invocation found. ``problems`` are targets without suites; None means not asked for."""

    tested: Sequence[Tested]
    problems: Sequence[Diagnostic] = ()
    coverages: Sequence[Coverage] | None = None
    fail_under: float | None = None
    mutations: Sequence[tuple[Machine, Mutation]] | None = None

    @property
    def unusable(self) -> bool:
        """Whether something could not be played at all."""
        return bool(self.problems) or any(one.unusable for one in self.tested)

    @property
    def percent(self) -> float:
        """How much of all gates was taken."""
        return total_percent(self.coverages or ())

    @property
    def too_little(self) -> bool:
        """Whether less was taken than asked for."""
        return self.fail_under is not None and self.percent < self.fail_under

    @property
    def ok(self) -> bool:
        """Whether everything was played and passed, and enough of it was taken."""
        return not self.unusable and all(one.ok for one in self.tested) and not self.too_little


def tell(report: Report, out: Output) -> None:
    """Problems to stderr, outcomes to stdout. The errors of a scenario are told as its outcome."""
    several = len(report.tested) + len(report.problems) > 1
    for one in report.tested:
        about = (
            one.errors
            if one.unusable
            else [found for found in one.about_script if found.severity is not Severity.ERROR]
        )
        for line in draw(about, out.side_ink):
            out.aside(line)
        if several and (one.played or not one.unusable):
            out.say(out.ink(one_line(one.suite.script), bold=True))
        tell_each(one.played, out)
    for line in draw(report.problems, out.side_ink):
        out.aside(line)
    if any(not one.unusable for one in report.tested):
        out.say(_summary(report.tested))
    _tell_coverage(report, out)
    _tell_mutations(report, out)


def _summary(tested: Sequence[Tested]) -> str:
    total, passed = sum(len(one.played) for one in tested), sum(one.passed for one in tested)
    left_out = sum(one.left_out for one in tested)
    scripts = f" in {counted(len(tested), 'script')}" if len(tested) > 1 else ""
    more = f", {left_out} not chosen" if left_out else ""
    return f"{counted(total, 'scenario')}{scripts}: {passed} passed, {total - passed} failed{more}"


def _tell_coverage(report: Report, out: Output) -> None:
    if report.coverages is None:
        return
    for coverage in report.coverages:
        for line in draw(coverage.diagnostics(), out.ink):
            out.say(line)
        taken = f"{len(coverage.gates)} of {counted(coverage.total, 'gate')}"
        entered = f"{len(coverage.states)} of {counted(len(coverage.machine.states), 'state')}"
        out.say(
            f"{one_line(coverage.machine.source_name)}: {taken} taken ({coverage.percent:.0f} %), {entered} entered"
        )
    if report.too_little:
        out.aside(f"{report.percent:.1f} % of the gates were taken, and --fail-under asks for {report.fail_under:g} %")


def _tell_mutations(report: Report, out: Output) -> None:
    for machine, mutation in report.mutations or ():
        for line in draw(survivors(machine, mutation), out.ink):
            out.say(line)
        left = f", {mutation.left_out} not tried" if mutation.left_out else ""
        told = f"{counted(mutation.tried, 'mutant')}: {mutation.noticed} noticed, {len(mutation.survived)} not{left}"
        out.say(f"{one_line(machine.source_name)}: {told}")


def survivors(machine: Machine, mutation: Mutation) -> list[Diagnostic]:
    """One warning for each mutant that no scenario noticed."""
    return list(
        in_order(
            Diagnostic(
                code="mutant-unnoticed",
                message=f"no scenario notices when gate {mutant.gate.index + 1} of '{shorten(mutant.state.id)}' "
                f"{mutant.what}",
                path=machine.source_name,
                span=mutant.gate.at.span,
                where=f"{below('states', mutant.state.id)}.gates[{mutant.gate.index}]",
                severity=Severity.WARNING,
            )
            for mutant in mutation.survived
        )
    )


def to_wire(report: Report) -> dict[str, object]:
    """The JSON form (L109)."""
    items = [
        {
            "scenario": played.name,
            "status": "pass" if played.passed else "fail",
            "mismatches": [str(mismatch) for mismatch in played.mismatches],
            "machine": one.suite.machine,
            "script": one.suite.script,
        }
        for one in report.tested
        for played in one.played
    ]
    passed = sum(one.passed for one in report.tested)
    summary: dict[str, object] = {"passed": passed, "failed": len(items) - passed}
    left_out = sum(one.left_out for one in report.tested)
    if left_out:
        summary["not_chosen"] = left_out
    if report.coverages is not None:
        machines = [coverage.to_wire() for coverage in report.coverages]
        summary["coverage"] = {"percent": round(report.percent, 1), "machines": machines}
    found = dict.fromkeys(found for one in report.tested for found in (*one.about_machine, *one.about_script))
    diagnostics = [*found, *report.problems]
    if report.mutations is not None:
        summary["mutants"] = [
            {"machine": machine.name, "tried": one.tried, "noticed": one.noticed, "left_out": one.left_out}
            for machine, one in report.mutations
        ]
        diagnostics += [found for machine, one in report.mutations for found in survivors(machine, one)]
    return envelope("test", ok=report.ok, items=items, diagnostics=diagnostics, summary=summary)


def groups(report: Report) -> list[Group]:
    """The same for JUnit."""
    found = [
        Group(
            one.suite.script, one.played, [error.render() for error in one.errors] if one.unusable else [], one.seconds
        )
        for one in report.tested
    ]
    return found + [Group(problem.path, (), [problem.render()]) for problem in report.problems]
