"""``mklang akc doctor``: what is not in order, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.errors import KnowledgeError
from mklang.host.akc import Cycle, open_cycle, person
from mklang.knowledge.acting import Acting
from mklang.knowledge.ledger import verify as verify_ledger
from mklang.knowledge.operations import Act
from mklang.knowledge.patterns import weigh
from mklang.knowledge.proposals import read_waiting
from mklang.knowledge.verifying import verify_log


@click.command(short_help="What is not in order, and what to do about it.")
@click.option("--quarantine", metavar="PATTERN", help="Take a pattern out that seals the store; it stays on record.")
@click.option("--why", default="", metavar="TEXT", help="The reason, which is kept.")
@output_options(json_when_piped=False)
@click.pass_obj
def command(told: str | None, *, quarantine: str | None, why: str, out: Output) -> int:
    """Look at everything the cycle keeps: log, knowledge, proposals, ledger, modes. Exit code 1 when something is not
    in order. Nothing is changed, except by --quarantine."""
    cycle = open_cycle(told)
    if quarantine is not None:
        acting = Acting(home=cycle.home, store=cycle.store(), log=cycle.log(), promoter=cycle.promoter())
        acting.do(Act.QUARANTINE, quarantine, by=person(), why=why)
    found = list(_problems(cycle))
    if out.json:
        items = [{"what": what, "problem": problem, "hint": hint} for what, problem, hint in found]
        out.wire({"command": "akc doctor", "ok": not found, "items": items})
        return ExitCode.FAILED if found else ExitCode.OK
    for what, problem, hint in found:
        out.say(f"{out.ink(what, 'red', bold=True)}: {one_line(problem)}")
        if hint:
            out.say(f"  {out.ink('hint:', 'cyan')} {one_line(hint)}")
    out.say("everything is in order" if not found else f"{len(found)} problems")
    return ExitCode.FAILED if found else ExitCode.OK


def _problems(cycle: Cycle) -> Iterator[tuple[str, str, str]]:
    for problem in verify_log(cycle.home.logs).problems:
        yield "log", problem, "layer 1 is never rewritten: restore the day's file from where it is kept, or leave it"
    yield from _of_knowledge(cycle)
    for problem in verify_ledger(cycle.home):
        yield "ledger", problem, "find out who changed it: git, backups, the log's records of type 'decision'"
    try:
        for problem in read_waiting(cycle.home, cycle.ledger())[1]:
            yield "proposal", problem, f"move its folder away from {cycle.home.proposals}, and propose again"
    except KnowledgeError:
        pass  # the ledger's own problem, told above
    for path in (cycle.home.root, cycle.home.logs):
        if path.stat().st_mode & 0o077:
            yield "mode", f"{path} is open to others", f"chmod 700 {path}"


def _of_knowledge(cycle: Cycle) -> Iterator[tuple[str, str, str]]:
    store = cycle.store()
    for problem in store.sealed:
        if store.foreign:
            hint = "mklang akc knowledge adopt takes it over"
        elif problem.startswith("pattern "):
            hint = f"mklang akc doctor --quarantine {problem.split()[1].rstrip(':')} --why REASON"
        else:
            hint = "mklang akc rebuild --replay computes it again from layer 1; what is there is kept in .akc/aside"
        yield "knowledge", problem, hint
    ahead = [one.id for one in store.patterns if weigh(one, cycle.clock()).ahead]
    if ahead:
        yield "knowledge", f"dated in the future: {', '.join(ahead)}", "they count as found today; look at the clock"
