"""``mklang akc distil``: layer 2 from layer 1."""

from __future__ import annotations

import asyncio
from typing import Any, Unpack

import click
import msgspec

from mklang.cli.exit_codes import ExitCode
from mklang.cli.model_flags import ModelFlags, model_options
from mklang.cli.output import Output, one_line, output_options
from mklang.host.akc import Cycle, open_cycle
from mklang.knowledge.config import Form
from mklang.knowledge.distil import Choice, Distillation, Ended


class Flags(ModelFlags):
    """The flags of the models, and what else is to be done than to distil."""

    dry_run: bool
    reformat: str | None
    again: bool


@click.command(short_help="Layer 2 from layer 1: find what recurs, in two stages.")
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="The last N UTC days instead of what is new.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only records of this type.")
@click.option("--items", type=click.IntRange(min=1), metavar="N", help="At most so many records.")
@click.option("--generated", is_flag=True, help="Also what models wrote; such patterns say so.")
@click.option("--dry-run", is_flag=True, help="Only say what would be given to the model, and what not.")
@click.option("--reformat", metavar="RUN", help="Give the stored prose of a run its form anew; stage 1 is not asked.")
@click.option("--again", is_flag=True, help="Ask anew where an earlier attempt has used up its tries.")
@model_options
@output_options(json_when_piped=False)
@click.pass_obj
def command(
    told: str | None,
    *,
    days: int | None,
    types: tuple[str, ...],
    items: int | None,
    generated: bool,
    out: Output,
    **flags: Unpack[Flags],
) -> int:
    """Ask a model what recurs in the records since the last distillation, then for its form, and keep what passes the
    guard. The same records, machines and model again change nothing; one that broke off goes on.

    Exit code 1 when a stage gave nothing that passes, or a pattern was left out.
    """
    cycle = open_cycle(told)
    choice = Choice(
        days=days or cycle.config.days,
        types=frozenset(types),
        items=items or cycle.config.items,
        bytes=cycle.config.bytes,
        generated=generated,
    )
    reformat, dry_run = flags["reformat"], flags["dry_run"]
    if dry_run:
        found = Distillation.nothing(cycle.choose(choice))
    else:
        from mklang.host.akc_models import (  # the clients of models cost more than the rest together
            Asking,
            again,
            distil,
        )

        asking = Asking.of(flags)
        anew = flags["again"]
        work = again(cycle, asking, reformat, anew=anew) if reformat else distil(cycle, asking, choice, anew=anew)
        found = asyncio.run(work)
    if out.json:
        out.wire(_wire(found))
    else:
        _tell(found, cycle, out, dry_run=dry_run)
    return ExitCode.FAILED if found.status is Ended.FAILED or found.refused else ExitCode.OK


def _wire(found: Distillation) -> dict[str, Any]:
    return {
        "command": "akc distil",
        "ok": found.status is not Ended.FAILED and not found.refused,
        "refused": list(found.refused),
        "status": found.status.value,
        "run": found.run,
        "found": found.found,
        "added": found.added,
        "stage": found.stage,
        "why": found.why,
        "manifest": msgspec.to_builtins(found.chosen.selection.manifest),
        "defects": [str(defect) for defect in found.chosen.defects],
    }


def _tell(found: Distillation, cycle: Cycle, out: Output, *, dry_run: bool) -> None:
    manifest = found.chosen.selection.manifest
    for defect in found.chosen.defects:
        out.aside(out.side_ink(f"no record: {one_line(str(defect))}", "yellow"))
    left = [f"{count} {reason}" for reason, count in manifest.dropped.items()]
    left += [f"{manifest.cut} for next time, beyond the bounds"] if manifest.cut else []
    out.say(f"{manifest.kept} of {manifest.came} records chosen{'; left out: ' + ', '.join(left) if left else ''}")
    match found.status:
        case Ended.NOTHING:
            about = f"about {manifest.tokens_estimated} tokens" if dry_run and manifest.kept else "no model was asked"
            out.say(about)
        case Ended.BEFORE:
            out.say(f"run {found.run}: done before, nothing changes")
        case Ended.DONE:
            out.say(f"run {found.run}: {found.found} patterns found, {found.added} of them new")
            for refused in found.refused:
                out.say(out.ink(f"  left out: {one_line(refused)}", "yellow"))
            out.say(f"  see them: mklang akc knowledge; all of it: {cycle.home.knowledge}")
        case Ended.FAILED:
            out.say(out.ink(f"run {found.run}: stage '{found.stage}' gave nothing that passes", "red", bold=True))
            out.say(f"  {one_line(found.why, 300)}")
            if found.stage == "format" and cycle.config.form is Form.JSON:
                out.say("  a small model may do better with 'form: lines' in .akc/config.yaml")
            out.say("  the same again asks nobody; 'mklang akc distil --again' asks anew")
