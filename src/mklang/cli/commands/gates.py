"""``mklang gates``: which gate of a state would fire on a text, and why; the decision of a run without the run."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import click
import msgspec

from mklang.cli.exit_codes import ExitCode
from mklang.cli.gate_table import Row, draw_table, headline, remarks, rows_of
from mklang.cli.model_flags import ModelFlags, model_options
from mklang.cli.output import Output, envelope, one_line, output_options
from mklang.cli.running import manner_of, refuse, warn
from mklang.diagnostics import Diagnostic
from mklang.engine.deciding import Decided
from mklang.engine.trace import judgement_wire
from mklang.errors import DocumentError, HostError, UsageError
from mklang.host.inputs import merged, parse_assignments, read_inputs
from mklang.host.session import Order, prepare
from mklang.host.trying import state_of, try_gates
from mklang.lang.models import State


class _Flags(ModelFlags):
    """What the state has produced, and who judges it."""

    texts: Sequence[str]
    assignments: Sequence[str]
    input_file: str | None


@click.command(short_help="Which gate of a state would fire on a text, and why.")
@click.argument("machine")
@click.argument("state")
@click.option(
    "--text",
    "texts",
    multiple=True,
    required=True,
    metavar="TEXT|@FILE",
    help="What the state has produced; @- is stdin, @@ a text that begins with @. A fan-out takes one for each branch.",
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY.PATH=VALUE",
    help="Set a context value; JSON where it reads as JSON, else text. Repeatable.",
)
@click.option("--input", "input_file", metavar="FILE", help="Context values from a JSON or YAML file; --set wins.")
@model_options
@click.option("--repeat", type=click.IntRange(min=1), default=1, metavar="N", help="Decide N times, and count.")
@output_options(json_when_piped=False)
def command(machine: str, state: str, *, repeat: int, out: Output, **flags: Unpack[_Flags]) -> int:
    """Decide the gates of STATE in the file MACHINE as a run would, had the state produced the text.

    Hooks are asked on the context that --set and --input make, prose gates are judged by the configured judge. Nothing
    else of the machine runs, and no tool is called.

    Exit code 1 when a run would halt instead of firing a gate, 2 when nothing can be decided.
    """
    try:
        order, texts, remarked = _order(machine, flags)
        session = prepare(order)
        found = state_of(session.machine, state)
        warn((*remarked, *session.warnings), out)
        if not out.json:
            out.aside(out.side_ink(one_line(f"# {session.machine.name} · {session.notice}"), dim=True))
        decisions = asyncio.run(try_gates(session, found, texts, repeat=repeat))
    except DocumentError as error:
        return refuse("gates", error.diagnostics, out)
    except UsageError as error:
        raise click.UsageError(str(error), click.get_current_context()) from None
    except HostError as error:
        return refuse("gates", (Diagnostic(code="prepare-config", message=str(error), path=""),), out)
    rows = rows_of(found, decisions)
    if out.json:
        out.wire(_wire(found, rows, decisions))
    else:
        _print(rows, decisions, out)
    return ExitCode.OK if all(one.gate is not None or one.ask is not None for one in decisions) else ExitCode.FAILED


def _order(machine: str, flags: _Flags) -> tuple[Order, list[str], tuple[Diagnostic, ...]]:
    from_file = read_inputs(flags["input_file"]) if flags["input_file"] is not None else {}
    from_flags, remarked = parse_assignments(flags["assignments"])
    order = Order(
        path=machine,
        inputs=merged(from_file, from_flags),
        config=flags["config"],
        provider=flags["provider"],
        model=flags["model"],
        base_url=flags["base_url"],
        judge=manner_of(flags),
    )
    return order, [_text(told) for told in flags["texts"]], remarked


def _text(told: str) -> str:
    """The text itself, or what is in the file it names."""
    if not told.startswith("@"):
        return told
    if told.startswith("@@"):
        return told[1:]
    path = told[1:]
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return raw.decode("utf-8")
    except OSError as error:
        raise UsageError(f"--text {told}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--text {told}: is not UTF-8 text") from None


def _print(rows: Sequence[Row], decisions: Sequence[Decided], out: Output) -> None:
    ends = Counter(headline(one) for one in decisions)
    for end, count in ends.most_common():
        out.say(out.ink(end, bold=True) + (f"  {count} of {len(decisions)} times" if len(decisions) > 1 else ""))
    out.say()
    for line in draw_table(rows, decisions, out.ink):
        out.say(line)
    said = dict.fromkeys(line for one in decisions[:1] for line in remarks(one))
    if said:
        out.say()
    for line in said:
        out.say(out.ink(line, dim=True))


def _wire(state: State, rows: Sequence[Row], decisions: Sequence[Decided]) -> dict[str, object]:
    summary = {
        "state": state.id,
        "repeat": len(decisions),
        "decisions": [
            {
                "gate": None if one.gate is None else one.gate.index,
                "to": None if one.gate is None else one.gate.target,
                "via": one.step.gate_via,
                "error": one.error,
                "asks": one.ask is not None,
                "fallback": one.step.judge_fallback,
                "raw": one.step.judge_raw,
                "judgements": [judgement_wire(judgement) for judgement in one.judgements],
                "usage": msgspec.to_builtins(one.step.usage),
            }
            for one in decisions
        ],
    }
    decided = all(one.gate is not None or one.ask is not None for one in decisions)
    return envelope("gates", ok=decided, items=[row.to_wire() for row in rows], summary=summary)
