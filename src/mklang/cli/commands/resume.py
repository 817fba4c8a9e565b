"""``mklang resume``: go on with a run that waits, broke off or reached a limit, answering its question (L86)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

import click

from mklang.cli.completing import RUN
from mklang.cli.event_file import check_events_file
from mklang.cli.model_flags import ModelFlags, answered_by, model_options
from mklang.cli.output import Output, is_terminal, one_line, output_options
from mklang.cli.reach_options import ReachFlags, reach_options
from mklang.cli.running import (
    LimitFlags,
    carry_out,
    limit_options,
    manner_of,
    option_changes,
    refuse,
    tell_outcome,
    warn,
)
from mklang.diagnostics import Diagnostic, has_errors
from mklang.durable.journal import JournalFile
from mklang.durable.service import answer_question, settle_outcome
from mklang.durable.store import RunStore
from mklang.errors import DocumentError, HostError, RunStoreError, UsageError
from mklang.host.configuration import resolve
from mklang.host.guards import guards_of
from mklang.host.inputs import parse_assignments
from mklang.host.paths import runs_folder
from mklang.host.plugins import plugins_of
from mklang.host.runs import Keeping, KeptRun, check_same, go_on, reopen, stored_machines, stored_source, take_what_fits
from mklang.host.session import Loaded, Order, assemble, load
from mklang.lang.values import Json


class _Flags(ModelFlags, LimitFlags, ReachFlags):
    """What a person can say about going on with a run."""

    assignments: Sequence[str]
    question: str | None
    confirms: bool | None
    outcome: str | None
    observation: str
    machine: str | None
    stored: bool
    force: bool
    hitl: bool
    guards: str | None


@click.command(short_help="Go on with a run that waits or broke off.")
@click.argument("run", type=RUN)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY.PATH=VALUE",
    help="Answer the waiting question: the path it names, and any other context value with it. Repeatable.",
)
@click.option("--question", metavar="KEY", help="Which question or call is meant, when several wait.")
@click.option("--yes/--no", "confirms", default=None, help="Whether the answer confirms; else its own words decide.")
@click.option(
    "--outcome",
    type=click.Choice(["happened", "again", "failed"]),
    help="What became of a call whose outcome was never recorded.",
)
@click.option("--observation", default="", metavar="TEXT", help="What that call returned, with --outcome happened.")
@click.option("--machine", metavar="FILE", help="The machine's file, when it is not where it was.")
@click.option("--stored", is_flag=True, help="Go on with the machine as it was when the run began.")
@click.option("--force", is_flag=True, help="The machine has changed: take the answers that still fit into a new run.")
@click.option("--guards", metavar="FILE", help="A further file of bindings, such as the one the run began with.")
@click.option("--hitl", is_flag=True, help="An escalate gate asks a person from here on.")
@model_options
@limit_options
@reach_options
@click.option("--events", metavar="FILE", help="Write what happens to this file as it happens, as JSON lines.")
@click.option("--quiet", is_flag=True, help="No progress, no report: the result, warnings and errors only.")
@output_options(json_when_piped=True)
def command(run: str, *, quiet: bool, events: str | None, out: Output, **flags: Unpack[_Flags]) -> int:
    """Go on with RUN: its name, the beginning of its name, or its journal's file.

    Every answer it has is used again; nothing is paid for twice. Its policies stay, and can be tightened; its limits
    can be raised. A run that waits for a person goes on when its question is answered, here with --set.
    """
    journal: JournalFile | None = None
    try:
        check_events_file(events)
        values, remarks = parse_assignments(flags["assignments"])
        if flags["force"] and values:
            raise UsageError("--force begins a new run, which asks again; answer it when it has asked, without --force")
        journal = reopen(RunStore(runs_folder()).find(run))
        loaded, journal, notes = _machines(journal, flags, out)
        _answer(journal, values, flags)
        kept = _prepare(journal, loaded, flags)
    except DocumentError as error:
        _let_go(journal)
        return refuse("resume", error.diagnostics, out)
    except HostError as error:
        _let_go(journal)
        code = "prepare-config" if not isinstance(error, UsageError | RunStoreError) else "invalid-input"
        return refuse("resume", [Diagnostic(code=code, message=str(error), path="")], out)
    warn((*remarks, *notes), out)
    if not quiet and not out.json:
        out.aside(out.side_ink(one_line(f"# {kept.name} · {kept.session.notice}"), dim=True))
    ran = carry_out(kept.session, kept, out, shown=not quiet and is_terminal(sys.stderr), events=events)
    return tell_outcome(ran, out, quiet=quiet)


def _let_go(journal: JournalFile | None) -> None:
    if journal is not None:
        journal.close()


def _machines(journal: JournalFile, flags: _Flags, out: Output) -> tuple[Loaded, JournalFile, tuple[Diagnostic, ...]]:
    """The machines to go on with: as they are now if they mean the same, else as the person says."""
    source = flags["machine"] or stored_source(journal.begin)
    chosen = answered_by(flags) or journal.begin.answered_by
    brought = plugins_of(resolve(config=chosen.get("config")))
    if flags["stored"] or source is None:
        machine, library = stored_machines(journal.begin)
        machines = (machine, *library.values())
        around = guards_of(machine.source_name, machines, explicit=flags["guards"], more=brought.guards)
        if has_errors(around.diagnostics):
            raise DocumentError(around.diagnostics)
        return Loaded(machine=machine, library=library, warnings=(), guards=around), journal, around.diagnostics
    loaded = load(source, guards=flags["guards"], plugins=brought)
    if flags["force"]:
        taken, left, effects = take_what_fits(journal, loaded.machine, loaded.library)
        if taken is not journal:
            done = f"; among them calls of {', '.join(effects)}, which may be made again" if effects else ""
            name = taken.begin.run
            out.aside(f"# the machine has changed: new run {name}, {left} answers no longer fit{done}")
        return loaded, taken, loaded.warnings
    check_same(journal.begin, loaded.machine, loaded.library)
    return loaded, journal, loaded.warnings


def _answer(journal: JournalFile, values: Mapping[str, Json], flags: _Flags) -> None:
    """Write down what the person says, bound to the question it answers."""
    if flags["outcome"] is not None:
        settle_outcome(journal, flags["outcome"], key=flags["question"], observation=flags["observation"])
    elif values:
        answer_question(journal, values, key=flags["question"], confirms=flags["confirms"])
    elif flags["confirms"] is not None:
        raise UsageError("--yes and --no say how a reply is meant; give the reply with --set")


def _prepare(journal: JournalFile, loaded: Loaded, flags: _Flags) -> KeptRun:
    # Whoever answered goes on answering, unless the person names somebody else.
    chosen = answered_by(flags) or journal.begin.answered_by
    order = Order(
        path=loaded.machine.source_name,
        config=chosen.get("config"),
        provider=chosen.get("provider"),
        model=chosen.get("model"),
        base_url=chosen.get("base_url"),
        judge=manner_of(flags),
        run_seconds=flags["timeout"],
        request_seconds=flags["request_timeout"],
        workspace=flags["workspace"],
        allow_write=flags["allow_write"],
    )
    session = assemble(order, loaded)
    asked = option_changes(flags) | ({"humans": True} if flags["hitl"] else {})
    keeping = Keeping(folder=Path(journal.path).parent, ask_seconds=flags["ask_timeout"])
    return go_on(session, journal, keeping, asked=asked)
