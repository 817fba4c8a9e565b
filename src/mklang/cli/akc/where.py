"""``mklang akc where``: the chain from a rule to what happened."""

from __future__ import annotations

import click
from msgspec import to_builtins

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.host.akc import open_cycle
from mklang.knowledge.tracing import where

_COLOURS = {"rule": "green", "pattern": "cyan", "run": "yellow"}


@click.command(short_help="Where a rule or pattern comes from, and what came of a source.")
@click.argument("subject", metavar="ID")
@output_options(json_when_piped=False)
@click.pass_obj
def command(told: str | None, subject: str, out: Output) -> int:
    """The chain of ID: a rule, a pattern, a run, a record or a session. Above it what rests on it, below what it rests
    on."""
    cycle = open_cycle(told)
    found = where(cycle.home, cycle.store().state, cycle.ledger(), subject)
    if out.json:
        out.wire({"command": "akc where", "ok": True, "items": [to_builtins(one) for one in found]})
        return ExitCode.OK
    for link in found:
        gone = out.ink(" (gone)", "red") if link.gone else ""
        kind = out.ink(f"{link.kind} {link.id}", _COLOURS.get(link.kind))
        out.say(f"{'  ' * link.depth}{kind}{gone}  {one_line(link.text, 160)}")
    return ExitCode.OK
