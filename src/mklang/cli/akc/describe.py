"""``mklang akc describe``: how the cycle is built, and how it stands."""

from __future__ import annotations

import click

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.host.akc import Cycle, open_cycle
from mklang.knowledge.distil import Choice, Distiller, Stage, selecting
from mklang.knowledge.echo import Echo
from mklang.knowledge.proposals import waiting
from mklang.knowledge.reading import days_in
from mklang.knowledge.schemas import prose_guard
from mklang.patterns import Conformance, guard_conformance


@click.command(short_help="How the cycle is built, by its patterns, and how it stands.")
@output_options(json_when_piped=False)
@click.pass_obj
def command(told: str | None, out: Output) -> int:
    """Tell the pipelines of the cycle by their patterns: which guard, which filter, who ends the loop, who may write;
    and how many records, runs, patterns and proposals there are."""
    cycle = open_cycle(told)
    parts, counts = _parts(cycle), _counts(cycle)
    if out.json:
        out.wire({"command": "akc describe", "ok": True, "pipelines": [one.to_wire() for one in parts], **counts})
        return ExitCode.OK
    for one in parts:
        out.say(one_line_each(str(one)))
        out.say()
    out.say("  ".join(f"{name}: {value}" for name, value in counts.items()))
    return ExitCode.OK


def one_line_each(text: str) -> str:
    """The text with each line made printable."""
    return "\n".join(f"{line[: len(line) - len(line.lstrip())]}{one_line(line)}" for line in text.splitlines())


async def _nobody(_attempt: object) -> str:
    raise AssertionError("describing asks nobody")


def _parts(cycle: Cycle) -> list[Conformance]:
    config = cycle.config
    choice = Choice(days=config.days, items=config.items, bytes=config.bytes)
    stage = Stage(worker=_nobody, identity="")
    pipeline = Distiller(
        home=cycle.home,
        store=cycle.store(),
        log=cycle.log(),
        reflect=stage,
        format=stage,
        model="",
        prose=prose_guard(config.forbidden),
    )
    approval = Conformance(
        "judge + enforce (a person → code)",
        "review",
        (
            ("who judges", "a person at a terminal, with a code that stands in the text they were shown"),
            ("who writes", "mklang.knowledge.approval alone, onto an unchanged base, after the guard"),
            ("no answer, no terminal, an agent", "refused"),
            ("on record", "a chain of rows, and their hashes in layer 1"),
        ),
        (guard_conformance(cycle.rule_guard),),
    )
    return [selecting(choice, Echo(())).conformance(), *pipeline.conformance(), approval]


def _counts(cycle: Cycle) -> dict[str, object]:
    store = cycle.store()
    ledger = cycle.ledger()
    return {
        "home": str(cycle.home.root),
        "days": len(days_in(cycle.home.logs)),
        "runs": len(store.state.runs),
        "patterns": len(store.patterns),
        "sealed": bool(store.sealed),
        "waiting": len(waiting(cycle.home, ledger)),
        "decisions": len(ledger.rows),
    }
