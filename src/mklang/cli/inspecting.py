"""What ``check`` and ``lint`` have in common: their options, and one way from files to an exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click

from mklang.analysis.runner import fails_strict
from mklang.analysis.selection import parse_selection
from mklang.cli import findings
from mklang.cli.completing import MACHINE_FILE
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, output_options
from mklang.cli.watching import watch
from mklang.host.inspection import Inspected, Inspector, Looking, machine_files
from mklang.lang.yaml_tree import garbage_collection_paused

OTHER_FORMATS = ("sarif", "github")
_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person asked for."""

    files: Sequence[str]
    strict: bool
    select: Sequence[str]
    ignore: Sequence[str]
    fix: bool = False
    diff: bool = False
    watch: bool = False

    @classmethod
    def take(cls, options: dict[str, Any]) -> Asked:
        """What ``inspecting_options`` gave a command, taken out of its options."""
        return cls(**{field.name: options.pop(field.name) for field in fields(cls)})

    def looking(self, *, lint: bool) -> Looking:
        """The same as the engine wants it; raises ``UsageError`` for a code that does not exist."""
        return Looking(lint=lint, strict=self.strict, selection=parse_selection(self.select, self.ignore))


def inspecting_options(*, strict: str) -> Callable[[_Decorated], _Decorated]:
    """Give a command its files and options; ``strict`` says what ``--strict`` does there."""

    def decorate(command: _Decorated) -> _Decorated:
        for option in reversed(
            (
                click.argument("files", nargs=-1, required=True, type=MACHINE_FILE, metavar="FILE|DIR..."),
                click.option("--strict", is_flag=True, help=strict),
                click.option(
                    "--select", multiple=True, metavar="CODE,...", help="Only these codes or families, and errors."
                ),
                click.option("--ignore", multiple=True, metavar="CODE,...", help="All but these; errors stay."),
                click.option("--fix", is_flag=True, help="Make the fixes that are safe, and write the files."),
                click.option("--diff", is_flag=True, help="Show what --fix would change, and write nothing."),
                click.option("--watch", is_flag=True, help="Look again whenever a file changes, until Ctrl-C."),
                output_options(json_when_piped=False, also=OTHER_FORMATS),
            )
        ):
            command = option(command)
        return command

    return decorate


def run(command: str, asked: Asked, out: Output) -> int:
    """Look at the files, tell what was found, and say how it ended; again and again with ``--watch``."""
    if asked.watch:
        return watch(lambda: _once(command, asked, out), asked.files, out)
    return _once(command, asked, out)


def _once(command: str, asked: Asked, out: Output) -> int:
    """Nearly all that one look makes lives until its end: collecting meanwhile costs as much as looking."""
    with garbage_collection_paused():
        return _run(command, asked, out)


def _run(command: str, asked: Asked, out: Output) -> int:
    looking = asked.looking(lint=command == "lint")
    repaired = 0
    if asked.fix or asked.diff:
        from mklang.cli.repairing import repair, show  # only when something is to be repaired

        if asked.diff:
            return show(asked.files, looking, out)
        repaired = repair(asked.files, looking)
    inspected = list(inspect(asked.files, looking))
    failed = [one for one in inspected if one.failed or (looking.lint and looking.strict and _fails(one))]
    if out.json:
        out.wire(findings.to_wire(command, inspected, ok=not failed, repaired=repaired if asked.fix else None))
    elif out.other:
        _tell_program(inspected, out)
    else:
        findings.tell(inspected, out)
        if asked.fix:
            out.say(f"{findings.counted(repaired, 'problem')} repaired")
    return ExitCode.FAILED if failed else ExitCode.OK


def _tell_program(inspected: Sequence[Inspected], out: Output) -> None:
    """The findings for other people's programs. One in a machine that several call is told once."""
    from mklang.analysis.sarif import to_sarif  # it explains every code, and so imports every rule
    from mklang.cli.annotations import as_annotations

    found = list(dict.fromkeys(found for one in inspected for found in one.diagnostics))
    if out.other == "sarif":
        out.wire(to_sarif(found, ok=True))
        return
    for line in as_annotations(found):
        out.say(line)


def inspect(files: Sequence[str], looking: Looking) -> Iterator[Inspected]:
    """Every file and every machine in a directory, each once, in the order named."""
    named = list(machine_files(files))
    problems = [Inspected(one.path, (one,)) for one in named if not isinstance(one, str)]
    yield from Inspector(looking).inspect_all(one for one in named if isinstance(one, str))
    yield from problems


def _fails(one: Inspected) -> bool:
    return fails_strict(one.diagnostics)
