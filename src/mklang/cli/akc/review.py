"""``mklang akc review``: a person decides. There is no flag that decides instead."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.errors import HostError, UsageError
from mklang.host.akc import Cycle, open_cycle, person
from mklang.knowledge.ledger import Event
from mklang.knowledge.proposals import read_waiting, waiting
from mklang.knowledge.review import Reviewing
from mklang.knowledge.signing import sign
from mklang.knowledge.terminal import Terminal


@click.command(short_help="Decide what waits, one at a time, at a terminal.")
@click.argument("names", nargs=-1, metavar="[PROPOSAL]...")
@click.option("--key", metavar="FILE", help="The key that signs approvals, where 'signers' is configured.")
@click.option("--list", "listed", is_flag=True, help="Only list what waits.")
@output_options(json_when_piped=False)
@click.pass_obj
def command(told: str | None, names: tuple[str, ...], *, key: str | None, listed: bool, out: Output) -> int:
    """Go through the proposals that wait, the oldest first, or through those that are named.

    It takes a terminal and a code that stands in the text that is shown; no flag, variable, timer or model says yes.
    Leaving (q, Ctrl-D, Ctrl-C) decides nothing.
    """
    cycle = open_cycle(told)
    if listed:
        return _list(cycle, out)
    approvals = cycle.approvals()
    with Terminal(os.environ, cycle.seam.elapsed) as terminal:
        for row in approvals.settle():
            terminal.say(f"{row.proposal}: a decision broke off; it is {row.event.value}")
        reviewing = Reviewing(
            home=cycle.home,
            approvals=approvals,
            promoter=cycle.promoter(),
            terminal=terminal,
            actor=person(),
            nonce=cycle.seam.nonce,
            sign=_signer(cycle, key),
            editor=os.environ.get("VISUAL") or os.environ.get("EDITOR") or "",
        )
        return _go_through(reviewing, names or tuple(waiting(cycle.home, cycle.ledger())))


def _signer(cycle: Cycle, key: str | None) -> Callable[[str, str], str] | None:
    if cycle.config.signers is None:
        return None
    if key is None:
        raise UsageError("approvals are signed here ('signers' in the configuration): give --key FILE")
    return lambda proposal, new_sha: sign(Path(key), proposal, new_sha)


def _go_through(reviewing: Reviewing, names: tuple[str, ...]) -> int:
    terminal = reviewing.terminal
    if not names:
        terminal.say("nothing waits")
    failed = False
    for name in names:
        try:
            row = reviewing.one(name)
        except HostError as error:
            terminal.say(str(error))
            failed = True
            continue
        if row is None:
            terminal.say("left; nothing was decided")
            break
        done = f"written to {row.target}" if row.event is Event.APPROVED else row.event.value
        terminal.say(f"{row.proposal}: {done}")
    return ExitCode.FAILED if failed else ExitCode.OK


def _list(cycle: Cycle, out: Output) -> int:
    ledger = cycle.ledger()
    found, broken = read_waiting(cycle.home, ledger)
    if out.json:
        items = [
            {"id": one.id, "kind": one.kind, "target": one.target, "stake": one.stake, "why": one.why} for one in found
        ]
        out.wire({"command": "akc review", "ok": not broken, "items": items, "problems": broken})
        return ExitCode.FAILED if broken else ExitCode.OK
    for one in found:
        out.say(f"{one.id}  {one.kind} of {one_line(one.target)} ({one.stake})  {one_line(one.why, 80)}")
    for problem in broken:
        out.aside(one_line(problem))
    if not found and not broken:
        out.aside("nothing waits")
    return ExitCode.FAILED if broken else ExitCode.OK
