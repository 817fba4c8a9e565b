"""What ``check`` and ``lint`` have in common: their options, and one way from files to an exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from mklang.analysis.runner import fails_strict
from mklang.analysis.selection import parse_selection
from mklang.cli import findings
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, output_options
from mklang.host.inspection import Inspected, Inspector, Looking, machine_files

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person asked for."""

    files: Sequence[str]
    strict: bool
    select: Sequence[str]
    ignore: Sequence[str]

    def looking(self, *, lint: bool) -> Looking:
        """The same as the engine wants it; raises ``UsageError`` for a code that does not exist."""
        return Looking(lint=lint, strict=self.strict, selection=parse_selection(self.select, self.ignore))


def inspecting_options(*, strict: str) -> Callable[[_Decorated], _Decorated]:
    """Give a command its files and options; ``strict`` says what ``--strict`` does there."""

    def decorate(command: _Decorated) -> _Decorated:
        for option in reversed(
            (
                click.argument("files", nargs=-1, required=True, metavar="FILE|DIR..."),
                click.option("--strict", is_flag=True, help=strict),
                click.option(
                    "--select", multiple=True, metavar="CODE,...", help="Only these codes or families, and errors."
                ),
                click.option("--ignore", multiple=True, metavar="CODE,...", help="All but these; errors stay."),
                output_options(json_when_piped=False),
            )
        ):
            command = option(command)
        return command

    return decorate


def run(command: str, asked: Asked, out: Output) -> int:
    """Look at the files, tell what was found, and say how it ended."""
    looking = asked.looking(lint=command == "lint")
    inspected = list(inspect(asked.files, looking))
    failed = [one for one in inspected if one.failed or (looking.lint and looking.strict and _fails(one))]
    if out.json:
        out.wire(findings.to_wire(command, inspected, ok=not failed))
    else:
        findings.tell(inspected, out)
    return ExitCode.FAILED if failed else ExitCode.OK


def inspect(files: Sequence[str], looking: Looking) -> Iterator[Inspected]:
    """Every file and every machine in a directory, each once, in the order named."""
    named = list(machine_files(files))
    problems = [Inspected(one.path, (one,)) for one in named if not isinstance(one, str)]
    yield from Inspector(looking).inspect_all(one for one in named if isinstance(one, str))
    yield from problems


def _fails(one: Inspected) -> bool:
    return fails_strict(one.diagnostics)
