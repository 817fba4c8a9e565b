"""``mklang akc ledger``: what was decided."""

from __future__ import annotations

import click
import msgspec

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.host.akc import open_cycle
from mklang.knowledge.habits import habits_of
from mklang.knowledge.ledger import verify as verify_ledger


@click.group(short_help="What was decided: show it, verify it, and the habits in it.", invoke_without_command=True)
@output_options(json_when_piped=False)
@click.pass_context
def command(ctx: click.Context, out: Output) -> int:
    """Every decision, the oldest first."""
    if ctx.invoked_subcommand is not None:
        return ExitCode.OK
    rows = open_cycle(ctx.obj).ledger().rows
    if out.json:
        out.wire({"command": "akc ledger", "ok": True, "items": [msgspec.to_builtins(row) for row in rows]})
        return ExitCode.OK
    for row in rows:
        who = f" by {row.actor} in {row.seconds:g} s" if row.actor else ""
        why = f": {row.why}" if row.why else ""
        out.say(
            one_line(f"{row.number:>4}  {row.at}  {row.event.value:<9} {row.proposal}  {row.target}{who}{why}", 200)
        )
    return ExitCode.OK


@command.command(short_help="Look for rows that were changed or are missing.")
@output_options(json_when_piped=False)
@click.pass_obj
def verify(told: str | None, out: Output) -> int:
    """Go through the chain of rows and through what layer 1 knows of them. Exit code 1 when something is wrong."""
    problems = verify_ledger(open_cycle(told).home)
    if out.json:
        out.wire({"command": "akc ledger verify", "ok": not problems, "problems": problems})
    else:
        for problem in problems:
            out.say(out.ink("broken: ", "red", bold=True) + one_line(problem))
        out.say("the ledger is whole" if not problems else f"{len(problems)} problems")
    return ExitCode.FAILED if problems else ExitCode.OK


@command.command(short_help="How decisions are taken: approval rate, seconds, edits, nodding.")
@output_options(json_when_piped=False)
@click.pass_obj
def habits(told: str | None, out: Output) -> int:
    """How decisions are taken here. A gate that is nodded through is none; this shows it and enforces nothing."""
    found = habits_of(open_cycle(told).ledger().rows)
    if out.json:
        out.wire({"command": "akc ledger habits", "ok": True, **msgspec.to_builtins(found)})
        return ExitCode.OK
    if not found.decisions:
        out.say("no decisions yet")
        return ExitCode.OK
    out.say(f"{found.decisions} decisions: {found.approved} approved, {found.rejected} rejected, {found.held} held")
    out.say(
        f"approvals: {found.edited} edited first, {found.full} with the full text, median {found.median_seconds:g} s"
    )
    out.say(f"{found.fast} approved in under 3 s, at most {found.unread} of them in a row")
    return ExitCode.OK
