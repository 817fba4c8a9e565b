"""``mklang akc curate``: what should become of the files that are loaded."""

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
from mklang.knowledge.curating import Opinion, curate
from mklang.knowledge.health import health_of
from mklang.knowledge.loaded import loaded_files


@click.command(short_help="A model's opinion on each rule file and skill, after code has looked.")
@model_options
@output_options(json_when_piped=False)
@click.pass_obj
def command(told: str | None, out: Output, **flags: Unpack[ModelFlags]) -> int:
    """Let a model say of each rule file and skill what should become of it, in small batches, with what code found.
    Nothing is changed: propose what you agree with. Exit code 1 when it gave no opinion that passes."""
    cycle = open_cycle(told)
    found = asyncio.run(_opinions(cycle, flags))
    silent = any(one.verdict is None for one in found)
    if out.json:
        items = [msgspec.to_builtins(one) for one in found]
        out.wire({"command": "akc curate", "ok": not silent, "items": items})
        return ExitCode.FAILED if silent else ExitCode.OK
    for one in found:
        verdict = out.ink(one.verdict or "no opinion", "green" if one.verdict == "Keep" else "yellow")
        out.say(f"{verdict}: {one_line(one.path)}: {one_line(one.reason, 300)}")
    return ExitCode.FAILED if silent else ExitCode.OK


async def _opinions(cycle: Cycle, flags: ModelFlags) -> list[Opinion]:
    files = loaded_files(cycle.home.project, (cycle.config.rules,))
    if not files:
        raise UsageError(f"no rule files or skills in {cycle.home.project}")
    findings = health_of(cycle.home.project, files, cycle.home.root / "health.json").findings
    from mklang.host.akc_models import MACHINES, Asking, stage_of  # the clients of models cost more than the rest

    asking = Asking.of(flags)
    session = asking.session(MACHINES / "curate.mkl")
    try:
        return await curate(files, findings, stage_of(session), cycle.home.runs / "curate")
    finally:
        await session.close()
