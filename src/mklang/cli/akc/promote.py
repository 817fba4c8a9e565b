"""``mklang akc promote``: candidate rules from patterns, put up for a person."""

from __future__ import annotations

import asyncio
from typing import Unpack

import click
import msgspec

from mklang.cli.exit_codes import ExitCode
from mklang.cli.model_flags import ModelFlags, model_options
from mklang.cli.output import Output, one_line, output_options
from mklang.errors import UsageError
from mklang.host.akc import Cycle, open_cycle
from mklang.knowledge.candidates import Examined, candidates
from mklang.knowledge.loaded import loaded_files
from mklang.knowledge.patterns import Pattern, ranked, top
from mklang.knowledge.promotion import lineage_of


@click.command(short_help="Candidate rules from patterns, examined and put up for a person.")
@click.option(
    "--top", "count", type=click.IntRange(min=1), default=20, show_default=True, help="The heaviest patterns."
)
@click.option("--target", metavar="FILE", help="The file that rules go into, instead of the configured one.")
@model_options
@output_options(json_when_piped=False)
@click.pass_obj
def command(told: str | None, *, count: int, target: str | None, out: Output, **flags: Unpack[ModelFlags]) -> int:
    """Let a model draft rules from the heaviest patterns and answer questions meant to disprove each; one no drops it.
    What is left waits for a person ('akc review'). Nothing is changed here.

    Exit code 1 when the model gave nothing that passes.
    """
    cycle = open_cycle(told)
    store = cycle.store()
    store.require_open()
    patterns = [one.pattern for one in top(ranked(store.patterns, cycle.clock()), count)]
    rules = "\n".join(file.text for file in loaded_files(cycle.home.project, (cycle.config.rules,)) if file.always)
    found = asyncio.run(_examined(cycle, patterns, rules, flags)) if patterns else []
    if isinstance(found, str):
        raise UsageError(f"the drafts do not pass: {found}")
    made = [_propose(cycle, one, target or cycle.config.rules) for one in found if not one.why_not]
    if out.json:
        items = [msgspec.to_builtins(one) for one in found]
        out.wire({"command": "akc promote", "ok": True, "items": items, "proposals": made})
        return ExitCode.OK
    for one in found:
        mark = out.ink("dropped", "yellow") if one.why_not else out.ink("waits", "green")
        out.say(f"{mark}: {one_line(one.candidate.rule, 160)}")
        out.say(f"  {one_line(one.why_not or 'every question was answered with yes', 200)}")
    out.say(f"{len(patterns)} patterns, {len(found)} candidates, {len(made)} wait for a person: mklang akc review")
    return ExitCode.OK


def _propose(cycle: Cycle, found: Examined, target: str) -> str:
    lineage = lineage_of(cycle.store().state, found.candidate.patterns)
    opinion = ", ".join(f"{name} {answer}" for name, answer in found.answers.items())
    promoter = cycle.promoter()
    try:
        return promoter.propose(found.candidate.rule, target, lineage, why=found.candidate.risk, judge=opinion).id
    except UsageError as error:
        return str(error)


async def _examined(cycle: Cycle, patterns: list[Pattern], rules: str, flags: ModelFlags) -> list[Examined] | str:
    from mklang.host.akc_models import MACHINES, Asking, stage_of  # the clients of models cost more than the rest

    asking = Asking.of(flags)
    sessions = [asking.session(MACHINES / f"{name}.mkl") for name in ("draft", "refute")]
    try:
        stages = stage_of(sessions[0]), stage_of(sessions[1])
        folder = cycle.home.runs / "promote"
        return await candidates(patterns, rules, stages, folder, forbid=cycle.config.forbidden)
    finally:
        for session in sessions:
            await session.close()
