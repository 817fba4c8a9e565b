"""``mklang akc curate``: what should become of the files that are loaded."""

from __future__ import annotations

import asyncio
from pathlib import Path
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
from mklang.knowledge.loaded import LoadedFile, loaded_files
from mklang.knowledge.stocktake import Judged, ledger_of, read_stocktake, unchanged, write_stocktake


@click.command(short_help="A model's opinion on each rule file and skill, after code has looked.")
@click.option("--all", "everything", is_flag=True, help="Also files that have not changed since the last time.")
@click.option("--ledger", metavar="FILE", help="A ledger of a stocktake to go by, instead of the cycle's own.")
@model_options
@output_options(json_when_piped=False)
@click.pass_obj
def command(told: str | None, *, everything: bool, ledger: str | None, out: Output, **flags: Unpack[ModelFlags]) -> int:
    """Let a model say of each rule file and skill what should become of it, in small batches, with what code found.
    Nothing is changed: propose what you agree with. Opinions are kept in .akc/curation.json, in the form of the public
    reference's stocktakes, and a file is looked at again when it has changed. Exit code 1 when the model gave no
    opinion that passes."""
    cycle = open_cycle(told)
    files = loaded_files(cycle.home.project, (cycle.config.rules,))
    if not files:
        raise UsageError(f"no rule files or skills in {cycle.home.project}")
    known = read_stocktake(Path(ledger) if ledger else ledger_of(cycle.home))
    before = {file.path: unchanged(file, cycle.home.project, known) for file in files}
    asked = [file for file in files if everything or before[file.path] is None]
    new = asyncio.run(_opinions(cycle, files, asked, flags)) if asked else []
    write_stocktake(cycle.home, cycle.clock, files, opinions=new, known=known)
    told_of = {one.path: one for one in new}
    found = [told_of.get(file.path) or _again(file, before[file.path]) for file in files]
    silent = any(one.verdict is None for one in found)
    if out.json:
        items = [msgspec.to_builtins(one) for one in found]
        out.wire({"command": "akc curate", "ok": not silent, "items": items})
        return ExitCode.FAILED if silent else ExitCode.OK
    for one in found:
        verdict = out.ink(one.verdict or "no opinion", "green" if one.verdict == "Keep" else "yellow")
        out.say(f"{verdict}: {one_line(one.path)}: {one_line(one.reason, 300)}")
    return ExitCode.FAILED if silent else ExitCode.OK


def _again(file: LoadedFile, known: Judged | None) -> Opinion:
    return Opinion(path=file.path, verdict=known.verdict if known else None, reason=known.reason if known else "")


async def _opinions(cycle: Cycle, files: list[LoadedFile], asked: list[LoadedFile], flags: ModelFlags) -> list[Opinion]:
    findings = health_of(cycle.home.project, files, cycle.home.root / "health.json").findings
    from mklang.host.akc_models import MACHINES, Asking, stage_of  # the clients of models cost more than the rest

    asking = Asking.of(flags)
    session = asking.session(MACHINES / "curate.mkl")
    try:
        return await curate(asked, findings, stage_of(session), cycle.home.runs / "curate")
    finally:
        await session.close()
