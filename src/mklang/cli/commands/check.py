"""``mklang check``: every mistake in machine files, each at its place, without a model (L114)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import click

from mklang.analysis.runner import Analyser
from mklang.cli.excerpts import draw
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, envelope, one_line, output_options
from mklang.diagnostics import Diagnostic, Severity, in_order
from mklang.host.library import callees_of, library_around
from mklang.lang.files import read_source
from mklang.lang.reader import read_machine


@dataclass(frozen=True, slots=True)
class Checked:
    """One file's outcome."""

    path: str
    diagnostics: tuple[Diagnostic, ...]

    @property
    def status(self) -> str:
        """``error``, ``warning`` or ``ok``: the worst that was found."""
        found = {diagnostic.severity for diagnostic in self.diagnostics}
        worst = (severity.value for severity in (Severity.ERROR, Severity.WARNING) if severity in found)
        return next(worst, "ok")

    def to_wire(self) -> dict[str, object]:
        """The JSON form of an item (L109)."""
        return {
            "path": self.path,
            "status": self.status,
            "errors": [found.render() for found in self.diagnostics if found.severity is Severity.ERROR],
            "warnings": [found.render() for found in self.diagnostics if found.severity is Severity.WARNING],
            "diagnostics": [found.to_wire() for found in self.diagnostics],
        }


@click.command(short_help="Find mistakes in machine files, without a model.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--strict", is_flag=True, help="Treat a language version that is not supported as an error.")
@output_options(json_when_piped=False)
def command(files: Sequence[str], *, strict: bool, out: Output) -> int:
    """Find mistakes in machine files: what cannot be read, and what could not run.

    Exit code 1 when there is an error, also for a file that is missing; warnings do not count.
    """
    checked = [check_file(path, strict=strict) for path in dict.fromkeys(files)]
    failed = any(one.status == "error" for one in checked)
    if out.json:
        items = [one.to_wire() for one in checked]
        out.wire(envelope("check", ok=not failed, items=items, summary={"files": len(checked)}))
    else:
        _print(checked, out)
    return ExitCode.FAILED if failed else ExitCode.OK


def check_file(path: str, *, strict: bool) -> Checked:
    """Read and analyse one file, and what its calls reach: of the other files only the errors count here."""
    source, problems = read_source(path)
    if source is None:
        return Checked(path, problems)
    reading = read_machine(source)
    machine = reading.machine
    if machine is None:
        return Checked(path, reading.diagnostics)
    library = library_around(path, machine)
    found = {*reading.diagnostics, *Analyser(library, strict=strict).check_all(machine)}
    found |= set(callees_of(machine, library).diagnostics)
    return Checked(path, in_order(one for one in found if one.path == path or one.severity is Severity.ERROR))


def _print(checked: Sequence[Checked], out: Output) -> None:
    for one in checked:
        for line in draw(one.diagnostics, out.ink):
            out.say(line)
        if one.status == "ok":
            out.say(f"{one_line(one.path)}: {out.ink('ok', 'green')}")
    out.say(_summary(checked))


def _summary(checked: Sequence[Checked]) -> str:
    severities = Counter(found.severity for one in checked for found in one.diagnostics)
    counts = [(len(checked), "file"), (severities[Severity.ERROR], "error"), (severities[Severity.WARNING], "warning")]
    files, *problems = (f"{number} {word}{'' if number == 1 else 's'}" for number, word in counts)
    return f"{files} checked: {', '.join(problems)}"
