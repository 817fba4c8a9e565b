"""``mklang akc log``: layer 1 from the command line."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.errors import UsageError
from mklang.host.akc import open_cycle
from mklang.host.akc_imports import ADAPTERS, events_of
from mklang.knowledge.home import stamp
from mklang.knowledge.importing import import_events
from mklang.knowledge.reading import Defect, Located, read_log
from mklang.knowledge.record import Origin
from mklang.knowledge.verifying import seal_days, verify_log

_ORIGINS = [Origin.OBSERVED.value, Origin.HUMAN.value, Origin.GENERATED.value]


@click.group(short_help="Layer 1: write, import, show and verify what happened.")
def command() -> None:
    """What happened, a line each, in one file a UTC day; written once and never changed."""


@command.command(short_help="Write records.")
@click.argument("type_", metavar="TYPE")
@click.argument("text", required=False)
@click.option("--data", metavar="JSON", help="The record's data as a JSON object; - reads one a line from stdin.")
@click.option("--origin", type=click.Choice(_ORIGINS), default="observed", show_default=True, help="Who it is from.")
@click.option("--session", metavar="NAME", help="The session it belongs to.")
@click.pass_obj
def append(
    told: str | None, type_: str, text: str | None, data: str | None, *, origin: str, session: str | None
) -> int:
    """Write a record of TYPE with TEXT, or with --data."""
    if (text is None) == (data is None):
        raise UsageError("write a record's text, or its --data, and not both")
    mark = {"origin": origin, **({"session": session} if session else {})}
    listed = [{"text": text}] if data is None else list(_objects(data))
    with open_cycle(told).log() as log:
        log.append_all((type_, one, mark) for one in listed)
    return ExitCode.OK


def _objects(data: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(sys.stdin if data == "-" else [data], 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise UsageError(f"--data, line {number}: not JSON: {error}") from error
        if not isinstance(value, dict):
            raise UsageError(f"--data, line {number}: an object is needed, not {type(value).__name__}")
        yield value


@command.command(short_help="Show records, the oldest first.")
@click.option("--since", default="", metavar="DAY", help="From this UTC day on, like 2026-12-01.")
@click.option("--until", default="", metavar="DAY", help="Up to this day, without it.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only records of this type.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N.")
@output_options(json_when_piped=False)
@click.pass_obj
def show(told: str | None, *, since: str, until: str, types: tuple[str, ...], last: int | None, out: Output) -> int:
    """Show records; a line that is none is told on stderr, with its place, and makes the exit code 1."""
    defects = 0

    def chosen() -> Iterator[Located]:
        nonlocal defects
        for found in read_log(open_cycle(told).home.logs, since=since, until=until):
            if isinstance(found, Defect):
                defects += 1
                out.aside(one_line(str(found)))
            elif not types or found.record.type in types:
                yield found

    shown: Any = chosen()
    if last is not None:
        shown = deque(shown, maxlen=last)
    for found in shown:
        record = found.record
        if out.json:
            out.data(msgspec.json.encode(record).decode())
        else:
            text = json.dumps({key: value for key, value in record.data.items() if key != "_akc"}, ensure_ascii=False)
            out.say(f"{found.id}  {record.ts[:19]}  {record.origin.value:<9} {record.type}: {one_line(text, 120)}")
    return ExitCode.FAILED if defects else ExitCode.OK


@command.command("import", short_help="Bring records of elsewhere in, each once.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--as", "kind", type=click.Choice(list(ADAPTERS)), required=True, help="What the files are.")
@click.option("--map", "mapped", multiple=True, metavar="KEY=PATH", help="jsonl: type, time, session, name as a path.")
@click.option("--origin", type=click.Choice(_ORIGINS), default="observed", help="jsonl: who the records are from.")
@output_options(json_when_piped=False)
@click.pass_obj
def import_(
    told: str | None, files: tuple[str, ...], *, kind: str, mapped: tuple[str, ...], origin: str, out: Output
) -> int:
    """Bring the events in FILE into the log. What is there already is left out, so a file can be brought again whenever
    it has grown. Lines that are not understood are told on stderr and make the exit code 1."""
    cycle = open_cycle(told)
    came = new = 0
    problems: list[str] = []
    with cycle.log() as log:
        for file in files:
            done = import_events(cycle.home, log, kind, events_of(kind, Path(file), mapped, origin))
            came, new = came + done.came, new + done.new
            problems += done.problems
    if out.json:
        out.wire({"command": "akc log import", "ok": not problems, "came": came, "new": new, "problems": problems})
    else:
        for problem in problems[:20]:
            out.aside(one_line(problem))
        out.say(f"{came} events read, {new} of them new")
    return ExitCode.FAILED if problems else ExitCode.OK


@command.command(short_help="Look for lines that are no records, and days that are not as they were sealed.")
@output_options(json_when_piped=False)
@click.pass_obj
def verify(told: str | None, out: Output) -> int:
    """Read the whole log. Exit code 1 when something is wrong with it; a torn last line is only said."""
    found = verify_log(open_cycle(told).home.logs)
    if out.json:
        out.wire({"command": "akc log verify", "ok": not found.problems, **msgspec.to_builtins(found)})
        return ExitCode.FAILED if found.problems else ExitCode.OK
    for problem in found.problems:
        out.say(out.ink("broken: ", "red", bold=True) + one_line(problem))
    for odd in found.odd:
        out.say(out.ink("odd: ", "yellow") + one_line(odd))
    out.say(f"{found.records} records in {found.days} days, {found.sealed} sealed; {len(found.problems)} problems")
    return ExitCode.FAILED if found.problems else ExitCode.OK


@command.command(short_help="Seal the days that are over.")
@output_options(json_when_piped=False)
@click.pass_obj
def seal(told: str | None, out: Output) -> int:
    """Note length and hash of each day that is over, so that a later change of it shows."""
    cycle = open_cycle(told)
    made = seal_days(cycle.home.logs, stamp(cycle.clock())[:10])
    if out.json:
        out.wire({"command": "akc log seal", "ok": True, "items": [msgspec.to_builtins(one) for one in made]})
    else:
        out.say(f"{len(made)} day{'' if len(made) == 1 else 's'} sealed")
    return ExitCode.OK
