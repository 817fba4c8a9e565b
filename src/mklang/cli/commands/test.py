"""``mklang test``: scripted scenarios of machines, played without a model (L90-L93)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mklang.cli import suites
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, output_options
from mklang.cli.pinning import Pin, write_pin
from mklang.cli.suites import Report
from mklang.cli.watching import watch
from mklang.errors import UsageError
from mklang.host.suites import Suite, Tester, coverages, find_suites, mutations
from mklang.testing.choosing import parse_choice
from mklang.testing.junit import to_junit
from mklang.testing.mutation import Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person asked for."""

    targets: Sequence[str]
    script: Sequence[str] = ()
    expression: str = ""
    junit: str | None = None
    coverage: bool = False
    fail_under: float | None = None
    mutate: bool = False
    max_mutants: int = 200
    mutate_seconds: float = 60
    watch: bool = False


@click.command(short_help="Run a machine's scripted scenarios, without a model.")
@click.argument("targets", nargs=-1, required=True, metavar="MACHINE|SCRIPT|DIR...")
@click.option("--script", multiple=True, metavar="FILE", help="The scenarios, for scripts that lie elsewhere.")
@click.option(
    "-k", "expression", default="", metavar="EXPR", help="Only scenarios with these words: 'repair and not x'."
)
@click.option("--junit", metavar="FILE", help="Also write the outcomes as JUnit XML.")
@click.option("--coverage", is_flag=True, help="Say which states and gates no scenario takes.")
@click.option(
    "--fail-under", type=click.FloatRange(0, 100), metavar="PERCENT", help="Fail when fewer of the gates are taken."
)
@click.option("--mutate", is_flag=True, help="Break gates one at a time, and say what no scenario notices.")
@click.option(
    "--max-mutants", type=click.IntRange(1), default=200, show_default=True, help="At most, for each machine."
)
@click.option(
    "--mutate-seconds", type=click.FloatRange(0), default=60, show_default=True, help="At most, for each machine."
)
@click.option("--watch", is_flag=True, help="Play again whenever a file changes, until Ctrl-C.")
@click.option(
    "--from-journal", metavar="RUN", help="Instead of testing, write a scenario that pins a kept run or a recording."
)
@click.option("--output", metavar="FILE", help="Where to write it; else MACHINE.RUN.test.yaml beside the machine.")
@click.option("--name", metavar="NAME", help="What to call it; else the run's name.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it is there.")
@output_options(json_when_piped=False)
def command(*, out: Output, from_journal: str | None, output: str | None, name: str | None, **options: Any) -> int:
    """Run scenarios against machines. Models, tools and hooks answer from the script.

    A directory stands for every *.test.yaml in it and below; x.test.yaml tests x.mkl beside it, and a machine is tested
    by the scripts of its name.

    With --from-journal, write a scenario for a machine instead: every answer of a run under its key, its inputs and
    options, how it ended and the way it went. What models, tools and people said stands in the file as it was said.

    Exit code 1 when a scenario fails, 2 when a machine or a script has errors.
    """
    pin = Pin(run=from_journal or "", output=output, name=name, overwrite=options.pop("overwrite"))
    asked = Asked(**options)
    if from_journal is not None:
        return write_pin(_one_machine(asked), pin, out)
    if pin != Pin(run=""):
        raise UsageError("--output, --name and --overwrite go with --from-journal")
    if asked.watch:
        return watch(lambda: play(asked, out), (*asked.targets, *asked.script), out)
    return play(asked, out)


def play(asked: Asked, out: Output) -> int:
    """Play everything that was asked for, and tell what came of it."""
    report = run(asked)
    if asked.junit is not None:
        _write(asked.junit, to_junit(suites.groups(report)))
    if out.json:
        out.wire(suites.to_wire(report))
    else:
        suites.tell(report, out)
    return ExitCode.UNUSABLE if report.unusable else ExitCode.OK if report.ok else ExitCode.FAILED


def _one_machine(asked: Asked) -> str:
    """The machine whose run is pinned. Nothing is tested, so nothing may be said about testing."""
    if len(asked.targets) != 1 or asked != Asked(targets=asked.targets):
        raise UsageError("--from-journal takes one machine, and goes with --output, --name and --overwrite only")
    return asked.targets[0]


def run(asked: Asked) -> Report:
    """Everything that comes of it, told nowhere yet."""
    if len(asked.targets) > 1 and asked.script:
        raise UsageError("--script goes with one machine")
    choice = parse_choice(asked.expression) if asked.expression else None
    found = list(find_suites(asked.targets, asked.script))
    tester = Tester()
    tested = [tester.play(suite, choice) for suite in found if isinstance(suite, Suite)]
    left_out = sum(one.left_out for one in tested)
    if left_out and not any(one.played for one in tested):
        raise UsageError(f"-k {asked.expression}: chooses none of {left_out} scenarios, so nothing would be tested")
    return Report(
        tested=tested,
        problems=[problem for problem in found if not isinstance(problem, Suite)],
        coverages=coverages(tested) if asked.coverage or asked.fail_under is not None else None,
        fail_under=asked.fail_under,
        mutations=list(mutations(tested, _bounds(asked))) if asked.mutate else None,
    )


def _bounds(asked: Asked) -> Bounds:
    return Bounds(mutants=asked.max_mutants, seconds=asked.mutate_seconds)


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, "utf-8")  # mklang: ignore[AK102] a report, where a person asked for it
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
