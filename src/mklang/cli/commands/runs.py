"""``mklang runs``: the runs that are kept, what they wait for, what they cost; fork one, prune the old ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import msgspec

from mklang.cli.completing import RUN
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, envelope, one_line, output_options
from mklang.cli.running import Duration, refuse
from mklang.diagnostics import Diagnostic
from mklang.durable.journal import JournalFile, is_running, read_journal
from mklang.durable.store import RunStore, RunSummary, summarise
from mklang.engine.requests import (
    Answer,
    HookValue,
    NonceValue,
    NotYet,
    Observation,
    Produced,
    Read,
    Reply,
    Verdict,
)
from mklang.errors import HostError
from mklang.host.paths import runs_folder
from mklang.host.runs import run_name, stored_machines
from mklang.host.seam import REAL
from mklang.oracles.recording import Answered, Failed

_COLOURS = {"done": "green", "suspended": "yellow", "running": "cyan", "halt": "red", "died": "red"}


@click.group(short_help="List, show, fork and prune the runs that are kept.", invoke_without_command=True)
@click.pass_context
@output_options(json_when_piped=True)
def command(ctx: click.Context, out: Output) -> int:
    """The runs that are kept, the newest first: their state, age, cost, and the questions they wait with."""
    if ctx.invoked_subcommand is not None:
        return ExitCode.OK
    store = RunStore(runs_folder())
    found = list(store.summaries())
    readable = [entry for entry in found if isinstance(entry, RunSummary)]
    broken = [entry for entry in found if not isinstance(entry, RunSummary)]
    problems = [Diagnostic(code="run-unreadable", message=reason, path=str(path)) for path, reason in broken]
    if out.json:
        items = [_wire(summary) for summary in readable]
        out.wire(envelope("runs", ok=not broken, items=items, diagnostics=problems, summary={"runs": len(readable)}))
        return ExitCode.OK
    for summary in readable:
        for line in _lines(summary, out):
            out.say(line)
    for problem in problems:
        out.aside(one_line(problem.render()))
    if not found:
        out.aside(f"no runs in {store.folder}")
    return ExitCode.OK


@command.command(short_help="What a run asked and was answered, in order.")
@click.argument("run", type=RUN)
@output_options(json_when_piped=True)
def show(run: str, out: Output) -> int:
    """Every record of a run's journal, in order."""
    try:
        path = RunStore(runs_folder()).find(run)
        journal = read_journal(path)
    except HostError as error:
        return _refuse(error, out)
    summary = summarise(journal, running=is_running(path))
    if out.json:
        records = [msgspec.to_builtins(line) for line in journal.lines]
        out.wire(envelope("runs show", ok=True, items=records, summary=_wire(summary)))
        return ExitCode.OK
    for line in (*_lines(summary, out), *_records(journal, out)):
        out.say(line)
    out.say(out.ink(f"  again from one of them: mklang runs fork {one_line(summary.run)} --at KEY", dim=True))
    return ExitCode.OK


@command.command(short_help="A new run with the answers that came before a point.")
@click.argument("run", type=RUN)
@click.option("--at", "at", required=True, metavar="KEY", help="The first record to leave out; 'runs show' lists them.")
@output_options(json_when_piped=True)
def fork(run: str, at: str, out: Output) -> int:
    """Fork RUN before the record KEY: the new run asks again from there; the old one stays as it is."""
    store = RunStore(runs_folder())
    try:
        source = read_journal(store.find(run))
        machine, _ = stored_machines(source.begin)
        name = run_name(machine, REAL)
        forked = store.fork(source, at=at, run=name, created=REAL.now().timestamp())
        forked.close()
    except HostError as error:
        return _refuse(error, out)
    if out.json:
        out.wire(envelope("runs fork", ok=True, items=[_wire(summarise(forked))]))
    else:
        out.say(name)
        out.aside(f"  go on: mklang resume {name}")
    return ExitCode.OK


@command.command(short_help="Delete finished runs that are old.")
@click.option("--older-than", type=Duration(), required=True, help="How old: like 12h, 30d.")
@click.option("--unfinished", is_flag=True, help="Also runs that halted or died; never those that wait or run.")
@output_options(json_when_piped=True)
def prune(older_than: float, unfinished: bool, out: Output) -> int:
    """Delete the journals of finished runs older than a given time. Runs that wait for somebody are kept."""
    states = {"done", "halt", "died", "interrupted"} if unfinished else {"done"}
    limit = REAL.now().timestamp() - older_than
    gone: list[str] = []
    for entry in RunStore(runs_folder()).summaries():
        if isinstance(entry, RunSummary) and entry.state in states and entry.created < limit:
            Path(entry.path).unlink(missing_ok=True)
            gone.append(entry.run)
    if out.json:
        out.wire(envelope("runs prune", ok=True, items=[{"run": run} for run in gone], summary={"deleted": len(gone)}))
    else:
        out.say(f"{len(gone)} run{'' if len(gone) == 1 else 's'} deleted")
    return ExitCode.OK


def _refuse(error: HostError, out: Output) -> int:
    return refuse("runs", [Diagnostic(code="invalid-input", message=str(error), path="")], out)


def _wire(summary: RunSummary) -> dict[str, object]:
    wire: dict[str, object] = msgspec.to_builtins(summary)
    return wire


def _lines(summary: RunSummary, out: Output) -> Iterator[str]:
    """A run in one line, and one more for each thing it waits for."""
    ink = out.ink
    usage = f"{summary.usage.total} tokens" + (
        f", ${summary.usage.nano_usd / 1e9:.6f}" if summary.usage.nano_usd else ""
    )
    state = ink(f"{summary.state:<11}", _COLOURS.get(summary.state), bold=True)
    yield f"{state} {one_line(summary.run)}  {age(REAL.now().timestamp() - summary.created)}, {usage}"
    if summary.error and summary.state != "suspended":
        yield f"            {one_line(summary.error, 100)}"
    for asked in summary.questions:
        yield f"            asks {one_line(asked.key)}: {one_line(asked.question or '(no text)', 100)}"
        yield ink(f"            answer: mklang resume {summary.run} --set {asked.reply_to}=…", dim=True)
    for intent in summary.unknown:
        yield f"            outcome unknown: {one_line(intent.key)} called {one_line(intent.tool)}"
        yield ink(f"            say: mklang resume {summary.run} --outcome happened|again|failed", dim=True)


def _records(journal: JournalFile, out: Output) -> Iterable[str]:
    for line in journal.lines:
        match line:
            case Answered():
                yield f"  {one_line(line.key)}  {one_line(_said(line.answer), 100)}"
            case Failed():
                yield out.ink(f"  {one_line(line.key)}  {one_line(line.message, 100)}", "red")
            case _:
                yield out.ink(f"  ({type(line).__name__.lower()})", dim=True)


def _said(answer: Answer) -> str:
    """An answer in a few words."""
    match answer:
        case Produced() | Observation():
            return answer.text
        case Verdict(read=Read.UNREAD):
            return f"unread: {answer.raw or ''}"
        case Verdict():
            return "none holds" if answer.index is None else f"condition {answer.index + 1} holds"
        case HookValue():
            return "true" if answer.holds else "false"
        case Reply(expired=True):
            return "nobody answered in time"
        case Reply():
            said = {path: json.dumps(value, ensure_ascii=False) for path, value in answer.values.items()}
            return ", ".join(f"{path} = {value}" for path, value in said.items())
        case NotYet():
            return "nobody yet"
        case NonceValue():
            return "(drawn by lot)"


def age(seconds: float) -> str:
    """How long ago, roughly."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return f"{max(0, int(seconds))}s ago"
