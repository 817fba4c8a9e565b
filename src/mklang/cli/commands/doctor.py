"""``mklang doctor``: what each command would use here, and why (L115)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import click

from mklang.cli.completing import MACHINE
from mklang.cli.exit_codes import ExitCode
from mklang.cli.findings import counted
from mklang.cli.output import Output, envelope, one_line, output_options
from mklang.host.doctor import Examined, Finding, Grade, examine

_COLOURS = {Grade.OK: "green", Grade.NOTE: None, Grade.WARNING: "yellow", Grade.ERROR: "red"}


@click.command(short_help="Say what runs would use here, and why.")
@click.argument("machine", required=False, type=MACHINE)
@click.option("--config", metavar="FILE", help="The configuration to go by, as for 'run'.")
@click.option("--probe", "probing", is_flag=True, help="Ask each model once, with a few tokens, what it can do.")
@output_options(json_when_piped=False)
def command(machine: str | None, *, config: str | None, probing: bool, out: Output) -> int:
    """Say what runs would use here, and why: which configuration counts, which model answers, where keys are found
    (never what they are), what tools reach, where machines and runs are. With MACHINE, also what that machine needs.

    With --probe, each model is asked once: does it answer, how large is its window, can it be held to JSON, does it
    give log-probabilities, show its thinking, tell its usage in a stream.

    Exit code 1 when something would keep runs from starting.
    """
    examined = examine(machine, config=config)
    findings = (*examined.findings, *(_probed(examined) if probing else ()))
    ok = all(found.grade is not Grade.ERROR for found in findings)
    if out.json:
        out.wire(
            envelope("doctor", ok=ok, items=[found.to_wire() for found in findings], summary=_summary(examined, ok))
        )
    else:
        _tell(findings, out)
        wrong = counted(sum(found.grade is Grade.ERROR for found in findings), "problem")
        out.say(out.ink("everything a run needs is here", "green") if ok else out.ink(f"{wrong} to put right", "red"))
    return ExitCode.OK if ok else ExitCode.FAILED


def _probed(examined: Examined) -> list[Finding]:
    from mklang.host.probing import probe  # only a probe needs a client

    return asyncio.run(probe(examined))


def _summary(examined: Examined, ok: bool) -> dict[str, object]:
    settled = examined.configuration
    models = settled.models if settled is not None else None
    return {"layer": models.layer.value if models else None, "active": models.active if models else None, "ok": ok}


def _tell(findings: Iterable[Finding], out: Output) -> None:
    """One line for each finding, its hint below."""
    findings = list(findings)
    width = min(24, max(len(found.name) for found in findings))
    for found in findings:
        grade = out.ink(f"{found.grade.value:<7}", _COLOURS[found.grade], dim=found.grade is Grade.NOTE)
        line = f"{one_line(found.name):<{width}}  {one_line(found.text)}"
        out.say(f"{grade} {out.ink.fold(line, ' ' * (width + 10))}")
        if found.hint:
            out.say(f"{'':<{width + 10}}hint: {one_line(found.hint)}")
