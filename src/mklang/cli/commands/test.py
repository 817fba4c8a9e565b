"""``mklang test``: a machine's scripted scenarios, played without a model (L90-L93)."""

from __future__ import annotations

from dataclasses import dataclass

import click

from mklang.analysis.runner import Analyser
from mklang.cli.excerpts import draw
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, envelope, output_options
from mklang.cli.verdicts import tell
from mklang.diagnostics import Diagnostic, Severity, has_errors, in_order
from mklang.host.library import callees_of, library_around
from mklang.lang.reader import read_file
from mklang.testing.playing import Played, play_all
from mklang.testing.reading import load_scenarios


@dataclass(frozen=True, slots=True)
class Tested:
    """What came of it. ``unusable`` means that no scenario was played; the diagnostics say why."""

    played: tuple[Played, ...]
    about_machine: tuple[Diagnostic, ...]
    about_script: tuple[Diagnostic, ...]
    unusable: bool = False

    @property
    def passed(self) -> int:
        """How many scenarios passed."""
        return sum(one.passed for one in self.played)

    @property
    def ok(self) -> bool:
        """Whether everything was played and passed."""
        return not self.unusable and self.passed == len(self.played)

    def to_wire(self) -> dict[str, object]:
        """The JSON form (L109)."""
        items = [
            {
                "scenario": one.name,
                "status": "pass" if one.passed else "fail",
                "mismatches": [str(mismatch) for mismatch in one.mismatches],
            }
            for one in self.played
        ]
        summary = {"passed": self.passed, "failed": len(self.played) - self.passed}
        diagnostics = (*self.about_machine, *self.about_script)
        return envelope("test", ok=self.ok, items=items, diagnostics=diagnostics, summary=summary)


@click.command(short_help="Run a machine's scripted scenarios, without a model.")
@click.argument("machine")
@click.option("--script", required=True, metavar="FILE", help="The scenarios (*.test.yaml).")
@output_options(json_when_piped=False)
def command(machine: str, *, script: str, out: Output) -> int:
    """Run the scenarios in FILE against a machine. Models, tools and hooks answer from the script.

    Exit code 1 when a scenario fails, 2 when the machine or the script has errors.
    """
    tested = run_scenarios(machine, script)
    if out.json:
        out.wire(tested.to_wire())
    else:
        _print(tested, out)
    return ExitCode.UNUSABLE if tested.unusable else ExitCode.OK if tested.ok else ExitCode.FAILED


def run_scenarios(machine_path: str, script_path: str) -> Tested:
    """Check the machine and what it calls, then play every scenario of the script (L93)."""
    reading, script = read_file(machine_path), load_scenarios(script_path)
    machine, about_machine = reading.machine, reading.diagnostics
    if machine is None:
        return Tested((), about_machine, script.diagnostics, unusable=True)
    library = library_around(machine_path, machine)
    callees = callees_of(machine, library)
    about_machine = in_order({*about_machine, *callees.diagnostics, *Analyser(library).check_all(machine)})
    if has_errors(about_machine) or not script.entries:
        return Tested((), about_machine, script.diagnostics, unusable=True)
    return Tested(play_all(script.entries, machine, callees.machines), about_machine, script.diagnostics)


def _print(tested: Tested, out: Output) -> None:
    """Problems to stderr, outcomes to stdout. The errors of a scenario are told as its outcome."""
    about = (*tested.about_machine, *tested.about_script)
    if tested.unusable:
        problems = [found for found in about if found.severity is Severity.ERROR]
    else:
        problems = [found for found in tested.about_script if found.severity is not Severity.ERROR]
    for line in draw(problems, out.side_ink):
        out.aside(line)
    if not tested.unusable:
        tell(tested.played, out, "scenario")
