"""``mklang run``: a machine on real models, shown while it runs, its result and route at the end (L111).

In text form stdout holds the result and nothing else; all that is told about the run goes to stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import click
from click.core import ParameterSource

from mklang.cli.completing import MACHINE
from mklang.cli.event_file import check_events_file
from mklang.cli.exit_codes import ExitCode
from mklang.cli.model_flags import ModelFlags, answered_by, model_options
from mklang.cli.output import Output, is_terminal, one_line, output_options
from mklang.cli.reach_options import ReachFlags, reach_options
from mklang.cli.running import (
    LimitFlags,
    carry_out,
    limit_options,
    manner_of,
    new_options,
    refuse,
    tell,
    tell_outcome,
    warn,
)
from mklang.diagnostics import Diagnostic, Severity
from mklang.errors import DocumentError, HostError, RunStoreError, UsageError
from mklang.host.inputs import merged, parse_assignments, read_inputs
from mklang.host.paths import runs_folder
from mklang.host.replaying import find_recording, replay
from mklang.host.runs import Keeping, KeptRun, begin
from mklang.host.session import Order, Session, load, prepare
from mklang.lang.values import Json


class _Flags(ModelFlags, LimitFlags, ReachFlags):
    """What a person can say about a run."""

    assignments: Sequence[str]
    input_file: str | None
    strict: bool
    hitl: bool
    checkpoint: str | None
    record: str | None
    replay: str | None
    keep: bool
    guards: str | None
    effects: str


@click.command(short_help="Run a machine on a language model.")
@click.argument("machine", type=MACHINE)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY.PATH=VALUE",
    help="Set a context value; JSON where it reads as JSON, else text. Repeatable.",
)
@click.option("--input", "input_file", metavar="FILE", help="Context values from a JSON or YAML file; --set wins.")
@model_options
@limit_options
@reach_options
@click.option("--hitl", is_flag=True, help="An escalate gate asks a person: the run waits for the answer.")
@click.option("--checkpoint", metavar="FILE", help="Keep the run in this file; a limit makes it wait, not halt.")
@click.option("--record", metavar="FILE", help="Keep the run in this new file, to be replayed or made into a test.")
@click.option("--replay", metavar="FILE", help="Take every answer from a recording, or a kept run; call no model.")
@click.option("--keep/--no-keep", default=True, show_default=True, help="Keep a journal, so that the run can go on.")
@click.option("--events", metavar="FILE", help="Write what happens to this file as it happens, as JSON lines.")
@click.option("--guards", metavar="FILE", help="A further file of bindings: which guard stands at which place.")
@click.option(
    "--effects",
    type=click.Choice(["any", "strict"]),
    default="any",
    show_default=True,
    help="strict refuses a machine whose acting tools could be given what no guard looks at.",
)
@click.option("--strict", is_flag=True, help="Refuse a language version that is not supported.")
@click.option("--quiet", is_flag=True, help="No progress, no report: the result, warnings and errors only.")
@output_options(json_when_piped=True)
def command(machine: str, *, quiet: bool, events: str | None, out: Output, **flags: Unpack[_Flags]) -> int:
    """Run the machine in a file until it ends, and print its result.

    The result goes to stdout, everything else to stderr; into a pipe, stdout gets the whole run as JSON. Every answer
    is kept as it comes, so a run that breaks off goes on with 'mklang resume'; 'mklang runs' lists what is kept.

    With --replay the answers, inputs and options are the recording's. A question it has no answer to ends the run as
    resume-mismatch and says what differs.

    Exit code 1 when the run halts, 2 when it cannot be started, 3 when it waits for somebody.
    """
    try:
        _check_together(flags)
        check_events_file(events)
        order, remarks = _order(machine, flags)
    except UsageError as error:
        raise click.UsageError(str(error), click.get_current_context()) from None
    except DocumentError as error:
        tell(error.diagnostics, out)
        return ExitCode.UNUSABLE
    try:
        session = _session(order, flags)
        kept, unkept = _keep(session, flags)
    except DocumentError as error:
        return _refuse((*remarks, *error.diagnostics), out)
    except HostError as error:
        problem = Diagnostic(code="prepare-config", message=str(error), path="")
        return _refuse((*remarks, problem), out)
    warn((*remarks, *session.warnings, *unkept), out)
    if not quiet:
        notice = one_line(f"# {session.machine.name} · {session.notice}")
        out.aside(out.side_ink(out.side_ink.fold(notice, "#   "), dim=True))
    ran = carry_out(session, kept, out, shown=not quiet and is_terminal(sys.stderr), events=events)
    return tell_outcome(ran, out, quiet=quiet)


def _refuse(problems: Sequence[Diagnostic], out: Output) -> int:
    """The run cannot be started. Whoever reads stderr learns why, also where stdout is a pipe that gets JSON."""
    if out.json:
        tell(problems, out)
    return refuse("run", problems, out)


_BESIDE_REPLAY = frozenset({"machine", "replay", "events", "quiet", "strict", "keep", "guards", "format", "color"})
"""What may be said together with ``--replay``; all the rest comes from the recording."""


def _check_together(flags: _Flags) -> None:
    """Refuse flags that contradict each other, before anything is read."""
    record, context = flags["record"], click.get_current_context()
    if flags["replay"] is not None:
        for parameter in context.command.params:
            given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
            if given and parameter.name not in _BESIDE_REPLAY:
                raise UsageError(f"{parameter.opts[0]} goes with no --replay: the recording decides that")
    if record is not None and flags["checkpoint"] is not None:
        raise UsageError("--record and --checkpoint both say where the run is kept; with --checkpoint limits wait")
    if record is not None and Path(record).exists():
        raise UsageError(f"--record {record}: this file exists, and a recording replaces nothing")


def _session(order: Order, flags: _Flags) -> Session:
    """Whoever answers: models and tools, or a recording."""
    if flags["replay"] is None:
        return prepare(order)
    return replay(
        load(order.path, strict=order.strict, guards=order.guards), find_recording(flags["replay"], runs_folder())
    )


def _order(machine: str, flags: _Flags) -> tuple[Order, tuple[Diagnostic, ...]]:
    from_file = read_inputs(flags["input_file"]) if flags["input_file"] is not None else {}
    from_flags, remarks = parse_assignments(flags["assignments"])
    inputs: dict[str, Json] = merged(from_file, from_flags)
    waits = flags["hitl"] or flags["checkpoint"] is not None
    order = Order(
        path=machine,
        inputs=inputs,
        options=new_options(flags, humans=flags["hitl"], suspend_on_limit=waits),
        config=flags["config"],
        provider=flags["provider"],
        model=flags["model"],
        base_url=flags["base_url"],
        judge=manner_of(flags),
        strict=flags["strict"],
        guards=flags["guards"],
        strict_effects=flags["effects"] == "strict",
        run_seconds=flags["timeout"],
        request_seconds=flags["request_timeout"],
        workspace=flags["workspace"],
        allow_write=flags["allow_write"],
    )
    return order, remarks


def _keep(session: Session, flags: _Flags) -> tuple[KeptRun | None, tuple[Diagnostic, ...]]:
    """The run with its journal. Where none can be made and nobody insists, it runs without and says so."""
    path = flags["checkpoint"] or flags["record"]
    keeping = Keeping(
        folder=runs_folder(),
        path=None if path is None else Path(path),
        ask_seconds=flags["ask_timeout"],
        answered_by=answered_by(flags),
    )
    if flags["replay"] is not None or (not flags["keep"] and path is None):
        return None, ()
    try:
        return begin(session, keeping), ()
    except RunStoreError as error:
        if path is not None or flags["hitl"]:
            raise
        message = f"the run is not kept and cannot go on later: {error}"
        return None, (Diagnostic(code="not-kept", message=message, path="", severity=Severity.WARNING),)
