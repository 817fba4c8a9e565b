"""``mklang akc``: the knowledge cycle. The commands are in ``mklang.cli.akc``, one file each or one for a few."""

from __future__ import annotations

from collections.abc import Mapping

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.lazy import Entry, LazyGroup

_IN = "mklang.cli.akc"
COMMANDS: Mapping[str, Entry] = {
    "init": Entry(f"{_IN}.init", "Make a cycle in this folder."),
    "log": Entry(f"{_IN}.log", "Layer 1: write, import, show and verify what happened."),
    "distil": Entry(f"{_IN}.distil", "Layer 2 from layer 1: find what recurs, in two stages."),
    "knowledge": Entry(f"{_IN}.knowledge", "Layer 2: list patterns, take some over, retire or revoke them."),
    "rebuild": Entry(f"{_IN}.rebuild", "Compute layer 2 again from layer 1, without a model."),
    "propose": Entry(f"{_IN}.propose", "Put a rule or a changed file up for decision."),
    "review": Entry(f"{_IN}.review", "Decide what waits, one at a time, at a terminal."),
    "rules": Entry(f"{_IN}.rules", "The rules in force, and what they came from."),
    "promote": Entry(f"{_IN}.promote", "Candidate rules from patterns, examined and put up for a person."),
    "curate": Entry(f"{_IN}.curate", "A model's opinion on each rule file and skill, after code has looked."),
    "health": Entry(f"{_IN}.health", "References into nothing, the same said twice, and what it costs to load."),
    "maintain": Entry(f"{_IN}.maintain", "Documents whose subject has been committed to since they were touched."),
    "comply": Entry(
        f"{_IN}.comply", "Whether rules are followed in real sessions: by code first, by a model where it must."
    ),
    "trial": Entry(
        f"{_IN}.trial", "Is a task structural or semantic? Code and a machine on the same labelled examples."
    ),
    "gate": Entry(f"{_IN}.gate", "Refuse an agent's direct writes to rules, control and evidence files."),
    "ledger": Entry(f"{_IN}.ledger", "What was decided: show it, verify it, and the habits in it."),
    "where": Entry(f"{_IN}.where", "Where a rule or pattern comes from, and what came of a source."),
    "describe": Entry(f"{_IN}.describe", "How the cycle is built, by its patterns, and how it stands."),
    "doctor": Entry(f"{_IN}.doctor", "What is not in order, and what to do about it."),
}


@click.command(
    cls=LazyGroup,
    table=COMMANDS,
    short_help="The knowledge cycle: experience in, approved behaviour out.",
    invoke_without_command=True,
)
@click.option("--home", metavar="FOLDER", help="The cycle's folder; else .akc here or above, or MKLANG_AKC.")
@click.pass_context
def command(ctx: click.Context, home: str | None) -> int:
    """Experience is logged, distilled into knowledge and proposed as behaviour; a person decides, and what comes of it
    is measured. Code owns every file; models are asked for meaning and write nothing."""
    ctx.obj = home
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
    return ExitCode.OK
