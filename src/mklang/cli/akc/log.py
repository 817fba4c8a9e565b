"""``mklang akc log``: layer 1 from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, one_line, output_options
from mklang.errors import UsageError
from mklang.host.akc import open_cycle
from mklang.knowledge.reading import Defect, Located, read_log
from mklang.knowledge.record import Origin

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
        from collections import deque

        shown = deque(shown, maxlen=last)
    for found in shown:
        record = found.record
        if out.json:
            out.say(msgspec.json.encode(record).decode())
        else:
            text = json.dumps({key: value for key, value in record.data.items() if key != "_akc"}, ensure_ascii=False)
            out.say(f"{found.id}  {record.ts[:19]}  {record.origin.value:<9} {record.type}: {one_line(text, 120)}")
    return ExitCode.FAILED if defects else ExitCode.OK
