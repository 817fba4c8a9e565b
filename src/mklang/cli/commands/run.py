"""``mklang run``: a machine on real models, shown while it runs, its result and route at the end (L111).

In text form stdout holds the result and nothing else; all that is told about the run goes to stderr.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TypedDict, TypeVar, Unpack, assert_never

import click

from mklang.cli.excerpts import draw
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, envelope, is_terminal, one_line, output_options
from mklang.cli.report import report, result_text
from mklang.diagnostics import Diagnostic
from mklang.engine.options import Reaction, RunOptions
from mklang.engine.outcome import Done, Halted, Outcome, Suspended, to_wire
from mklang.errors import DocumentError, HostError, UsageError
from mklang.host.inputs import merged, parse_assignments, read_inputs
from mklang.host.seam import REAL
from mklang.host.session import Order, Session, prepare
from mklang.lang.values import Json

_Command = TypeVar("_Command", bound=Callable[..., object])


class _ModelFlags(TypedDict):
    """Which models answer."""

    config: str | None
    provider: str | None
    model: str | None
    base_url: str | None


class _LimitFlags(TypedDict):
    """How far a run may go."""

    max_steps: int | None
    max_tokens: int | None
    max_fanout: int | None
    concurrency: int | None
    on_truncate: str
    untrusted_flow: str


class _Flags(_ModelFlags, _LimitFlags):
    """What a person can say about a run."""

    assignments: Sequence[str]
    input_file: str | None
    strict: bool


def _model_options(command: _Command) -> _Command:
    for option in (
        click.option("--base-url", metavar="URL", help="A server that speaks the OpenAI protocol; needs --model."),
        click.option("--model", metavar="NAME|FILE", help="A model of the provider, or a GGUF file to run in-process."),
        click.option("--provider", metavar="NAME", help="A provider of the configuration, instead of its active one."),
        click.option("--config", metavar="FILE", help="The runtime configuration to use."),
    ):
        command = option(command)
    return command


def _limit_options(command: _Command) -> _Command:
    for option in (
        _reaction("--untrusted-flow", "When a judged decision over outside data reaches a tool that acts."),
        _reaction("--on-truncate", "When a model's output is cut off at its length limit."),
        _count("--concurrency", "How many requests may be under way at once."),
        _count("--max-fanout", "How wide a fan-out may be."),
        _count("--max-tokens", "How many tokens the run may use, in and out together."),
        _count("--max-steps", "How many steps the run may take, instead of the machine's budget."),
    ):
        command = option(command)
    return command


def _count(name: str, purpose: str) -> Callable[[_Command], _Command]:
    return click.option(name, type=click.IntRange(min=1), metavar="N", help=purpose)


def _reaction(name: str, purpose: str) -> Callable[[_Command], _Command]:
    reactions = click.Choice([reaction.value for reaction in Reaction])
    return click.option(name, type=reactions, default=Reaction.REPORT.value, show_default=True, help=purpose)


@click.command(short_help="Run a machine on a language model.")
@click.argument("machine")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY.PATH=VALUE",
    help="Set a context value; JSON where it reads as JSON, else text. Repeatable.",
)
@click.option("--input", "input_file", metavar="FILE", help="Context values from a JSON or YAML file; --set wins.")
@_model_options
@_limit_options
@click.option("--strict", is_flag=True, help="Refuse a language version that is not supported.")
@click.option("--quiet", is_flag=True, help="No progress, no report: the result, warnings and errors only.")
@output_options(json_when_piped=True)
def command(machine: str, *, quiet: bool, out: Output, **flags: Unpack[_Flags]) -> int:
    """Run the machine in a file until it ends, and print its result.

    The result goes to stdout, everything else to stderr; into a pipe, stdout gets the whole run as JSON.

    Exit code 1 when the run halts, 2 when it cannot be started, 3 when it waits for somebody.
    """
    try:
        inputs, remarks = _inputs(flags["assignments"], flags["input_file"])
        options = _options(flags)
    except UsageError as error:
        raise click.UsageError(str(error), click.get_current_context()) from None
    except DocumentError as error:
        _tell(error.diagnostics, out)
        return ExitCode.UNUSABLE
    try:
        session = prepare(_order(machine, inputs, options, flags))
    except DocumentError as error:
        return _refuse(error.diagnostics, remarks, out)
    except HostError as error:
        return _refuse([Diagnostic(code="prepare-config", message=str(error), path="")], remarks, out)
    for warning in (*remarks, *session.warnings):
        line = out.side_ink.fold(f"# warning: {one_line(warning.render())}")
        out.aside(line.replace("# warning:", out.side_ink("# warning:", "yellow"), 1))
    if not quiet and not out.json:
        out.aside(out.side_ink(one_line(f"# {session.machine.name} · {session.notice}"), dim=True))
    started = REAL.elapsed()
    outcome = _perform(session, out, shown=not quiet and is_terminal(sys.stderr))
    _print(outcome, out, seconds=REAL.elapsed() - started, quiet=quiet)
    return _code(outcome)


def _inputs(assignments: Sequence[str], input_file: str | None) -> tuple[dict[str, Json], tuple[Diagnostic, ...]]:
    from_file = read_inputs(input_file) if input_file is not None else {}
    from_flags, remarks = parse_assignments(assignments)
    return merged(from_file, from_flags), remarks


def _options(flags: _LimitFlags) -> RunOptions:
    return RunOptions(
        max_steps=flags["max_steps"],
        max_tokens=flags["max_tokens"],
        max_fanout=flags["max_fanout"],
        concurrency=flags["concurrency"],
        on_truncate=Reaction(flags["on_truncate"]),
        on_untrusted_flow=Reaction(flags["untrusted_flow"]),
    )


def _order(machine: str, inputs: dict[str, Json], options: RunOptions, flags: _Flags) -> Order:
    return Order(
        path=machine,
        inputs=inputs,
        options=options,
        config=flags["config"],
        provider=flags["provider"],
        model=flags["model"],
        base_url=flags["base_url"],
        strict=flags["strict"],
    )


def _refuse(problems: Iterable[Diagnostic], remarks: Iterable[Diagnostic], out: Output) -> int:
    """The run cannot be started: everything that is known, in the form asked for (L109)."""
    diagnostics = (*remarks, *problems)
    if out.json:
        out.wire(envelope("run", ok=False, diagnostics=diagnostics))
    else:
        _tell(diagnostics, out)
    return ExitCode.UNUSABLE


def _tell(diagnostics: Iterable[Diagnostic], out: Output) -> None:
    for line in draw(diagnostics, out.side_ink):
        out.aside(line)


def _perform(session: Session, out: Output, *, shown: bool) -> Outcome:
    if not shown:
        return asyncio.run(session.run())
    from mklang.cli.progress import Progress  # rich costs more than the rest together

    with Progress(color=out.side_ink.on, elapsed=REAL.elapsed) as progress:
        return asyncio.run(session.run(progress))


def _print(outcome: Outcome, out: Output, *, seconds: float, quiet: bool) -> None:
    if out.json:
        out.wire(to_wire(outcome))
        return
    if isinstance(outcome, Done) and outcome.result is not None:
        both = is_terminal(sys.stdout) and is_terminal(sys.stderr) and not quiet
        if both:
            out.aside()
        out.data(result_text(outcome.result))
        if both:
            out.aside()
    if not quiet or not isinstance(outcome, Done):
        for line in report(outcome, out.side_ink, seconds=seconds):
            out.aside(line)


def _code(outcome: Outcome) -> int:
    match outcome:
        case Done():
            return ExitCode.OK
        case Halted():
            return ExitCode.FAILED
        case Suspended():
            return ExitCode.SUSPENDED
        case _:
            assert_never(outcome)
