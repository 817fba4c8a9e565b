"""What the commands that run machines share: their flags, showing a run while it runs, and telling how it ended."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import ClassVar, Protocol, TypedDict, TypeVar, assert_never

import click
import msgspec

from mklang.cli.event_file import written_to
from mklang.cli.excerpts import draw
from mklang.cli.exit_codes import ExitCode
from mklang.cli.model_flags import ModelFlags
from mklang.cli.output import Ink, Output, envelope, is_terminal, one_line
from mklang.cli.report import report, result_text
from mklang.diagnostics import Diagnostic
from mklang.engine.events import AnyEvent, Observer
from mklang.engine.options import Reaction, RunOptions
from mklang.engine.outcome import Done, Halted, Outcome, Suspended, to_wire
from mklang.engine.provenance import Provenance
from mklang.errors import UsageError
from mklang.host.judge_config import Manner
from mklang.host.paths import runs_folder
from mklang.host.provenance import provenance_of
from mklang.host.runs import KeptRun
from mklang.host.seam import REAL
from mklang.host.session import Session
from mklang.lang.values import Json

_Command = TypeVar("_Command", bound=Callable[..., object])


class LimitFlags(TypedDict):
    """How far a run may go, and what it may do; None leaves it as it is."""

    max_steps: int | None
    budgets: tuple[str, ...]
    max_tokens: int | None
    max_cost: int | None
    max_fanout: int | None
    max_failed_branches: int | None
    concurrency: int | None
    timeout: float | None
    request_timeout: float | None
    ask_timeout: float | None
    on_truncate: str | None
    untrusted_flow: str | None
    tainted_arguments: str | None


class Runnable(Protocol):
    """Something that runs to an outcome while an observer watches."""

    async def run(self, observer: Observer | None = None) -> Outcome:
        """Run to the end."""
        ...


def manner_of(flags: ModelFlags) -> Manner | None:
    """How the flags say to judge."""
    return Manner(flags["judge"]) if flags["judge"] else None


def limit_options(command: _Command) -> _Command:
    """Give a command the flags of :class:`LimitFlags`."""
    for option in (
        _reaction("--tainted-arguments", "When a value not the author's reaches a tool that acts: report or halt."),
        _reaction("--untrusted-flow", "When a judged decision over outside data reaches a tool that acts."),
        _reaction("--on-truncate", "When a model's output is cut off at its length limit."),
        _duration("--ask-timeout", "How long a question to a person waits before it expires."),
        _duration("--request-timeout", "How long one request may take."),
        _duration("--timeout", "How long the run may take."),
        _count("--concurrency", "How many requests may be under way at once."),
        _count("--max-failed-branches", "How many branches of a fan-out may fail; else all but one may.", least=0),
        _count("--max-fanout", "How wide a fan-out may be."),
        click.option(
            "--max-cost", type=Money(), help="How much the run may cost, in US dollars; prices must be known."
        ),
        _count("--max-tokens", "How many tokens the run may use, in and out together."),
        click.option("--budget", "budgets", multiple=True, metavar="MACHINE=N", help="A called machine's step budget."),
        _count("--max-steps", "How many steps the run may take, instead of the machine's budget."),
    ):
        command = option(command)
    return command


def _count(name: str, purpose: str, *, least: int = 1) -> Callable[[_Command], _Command]:
    return click.option(name, type=click.IntRange(min=least), metavar="N", help=purpose)


def _reaction(name: str, purpose: str) -> Callable[[_Command], _Command]:
    return click.option(name, type=click.Choice([reaction.value for reaction in Reaction]), help=purpose)


def _duration(name: str, purpose: str) -> Callable[[_Command], _Command]:
    return click.option(name, type=Duration(), help=f"{purpose} Seconds, or like 90s, 5m, 2h, 1d.")


class Money(click.ParamType[int]):
    """An amount of money on the command line: US dollars, as billionths of one."""

    name = "money"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """How the value is shown in the help."""
        return "USD"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Billionths of a dollar; nothing is allowed and stops before the first request."""
        found = re.fullmatch(r"\$?(\d{1,9}(?:\.\d{1,9})?)", str(value).strip())
        if not found:
            self.fail(f"{value!r} is no amount of US dollars; write 2, 0.50 or 0.0001", param, ctx)
        return int(Decimal(found[1]) * 10**9)


class Duration(click.ParamType[float]):
    """A length of time on the command line, as seconds."""

    name = "duration"
    _units: ClassVar = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """How the value is shown in the help."""
        return "TIME"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds, more than none."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|d|)", str(value).strip())
        seconds = float(found[1]) * self._units[found[2]] if found else 0.0
        if not seconds:
            self.fail(f"{value!r} is no length of time; write 90, 90s, 5m, 2h or 1d", param, ctx)
        return seconds


def option_changes(flags: LimitFlags) -> dict[str, Json]:
    """The run options that flags were given for, by the names of :class:`RunOptions`."""
    given: dict[str, Json] = {
        "max_steps": flags["max_steps"],
        "max_tokens": flags["max_tokens"],
        "max_nano_usd": flags["max_cost"],
        "max_fanout": flags["max_fanout"],
        "max_failed_branches": flags["max_failed_branches"],
        "concurrency": flags["concurrency"],
        "on_truncate": flags["on_truncate"],
        "on_untrusted_flow": flags["untrusted_flow"],
        "on_tainted_arguments": flags["tainted_arguments"],
        "budgets": dict(_budget(text) for text in flags["budgets"]) or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def new_options(flags: LimitFlags, **more: Json) -> RunOptions:
    """The options of a run that begins."""
    return msgspec.convert(option_changes(flags) | more, RunOptions)


def _budget(text: str) -> tuple[str, int]:
    name, equals, number = text.rpartition("=")
    if not equals or not name or not re.fullmatch(r"[1-9]\d{0,8}", number):
        raise UsageError(f"--budget {text!r}: write --budget MACHINE=N, N a whole number of 1 or more")
    return name, int(number)


def tell(diagnostics: Iterable[Diagnostic], out: Output) -> None:
    """Problems to stderr, for a person."""
    for line in draw(diagnostics, out.side_ink):
        out.aside(line)


def warn(warnings: Iterable[Diagnostic], out: Output) -> None:
    """Warnings to stderr, a line each (L108)."""
    for warning in warnings:
        line = out.side_ink.fold(f"# warning: {one_line(warning.render())}")
        out.aside(line.replace("# warning:", out.side_ink("# warning:", "yellow"), 1))


def refuse(command: str, problems: Iterable[Diagnostic], out: Output) -> int:
    """A run that cannot be started: everything that is known, in the form asked for (L109)."""
    if out.json:
        out.wire(envelope(command, ok=False, diagnostics=problems))
    else:
        tell(problems, out)
    return ExitCode.UNUSABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run that came to an end: how, how long it took here, what it was, and where it is kept, if it is."""

    outcome: Outcome
    seconds: float
    provenance: Provenance
    kept: tuple[str, str] | None = None


def carry_out(session: Session, kept: KeptRun | None, out: Output, *, shown: bool, events: str | None) -> Ran:
    """Run a session, kept or not, to its end."""
    started, begun = REAL.elapsed(), REAL.now()
    outcome = perform(kept or session, out, shown=shown, events=events)
    seconds = REAL.elapsed() - started
    if kept is None:
        return Ran(
            outcome=outcome,
            seconds=seconds,
            provenance=provenance_of(session, started=begun, finished=REAL.now()),
        )
    begun = datetime.fromtimestamp(kept.journal.begin.created).astimezone()
    return Ran(
        outcome=outcome,
        seconds=seconds,
        provenance=provenance_of(kept.session, started=begun, finished=REAL.now(), run=kept.name),
        kept=(kept.name, str(kept.journal.path)),
    )


def perform(runnable: Runnable, out: Output, *, shown: bool, events: str | None = None) -> Outcome:
    """Run it, drawn on stderr while it runs when ``shown``, every event written to the file ``events`` if given."""
    with ExitStack() as stack:
        observers: list[Observer] = []
        if events is not None:
            observers.append(stack.enter_context(written_to(events)))
        if shown:
            from mklang.cli.progress import Progress  # rich costs more than the rest together

            observers.append(stack.enter_context(Progress(color=out.side_ink.on, elapsed=REAL.elapsed)))
        return asyncio.run(runnable.run(_all(observers)))


def _all(observers: list[Observer]) -> Observer | None:
    if len(observers) < 2:
        return observers[0] if observers else None

    def tell_all(event: AnyEvent) -> None:
        for observer in observers:
            observer(event)

    return tell_all


def tell_outcome(ran: Ran, out: Output, *, quiet: bool) -> int:
    """Print how a run ended; the exit code."""
    outcome = ran.outcome
    if out.json:
        out.wire(_wire(ran))
        return exit_code(outcome)
    if isinstance(outcome, Done) and outcome.result is not None:
        both = is_terminal(sys.stdout) and is_terminal(sys.stderr) and not quiet
        if both:
            out.aside()
        out.data(result_text(outcome.result))
        if both:
            out.aside()
    if not quiet or not isinstance(outcome, Done):
        for line in (*report(outcome, out.side_ink, seconds=ran.seconds), *_ways_on(outcome, ran.kept, out.side_ink)):
            out.aside(line)
    return exit_code(outcome)


def _wire(ran: Ran) -> dict[str, object]:
    """The JSON form (L72): what every host writes, and what only the one that ran it knows."""
    wire = to_wire(ran.outcome, hashes=True)
    wire["seconds"] = round(ran.seconds, 3)
    if ran.kept is not None:
        wire["run"] = ran.kept[0]
        if isinstance(ran.outcome, Suspended):
            wire["checkpoint"] = ran.kept[1]
    wire["provenance"] = msgspec.to_builtins(ran.provenance)
    return wire


def _ways_on(outcome: Outcome, kept: tuple[str, str] | None, ink: Ink) -> Iterator[str]:
    """How a person goes on with a run that has not reached its end."""
    if kept is None or isinstance(outcome, Done):
        return
    name = _handle(*kept)
    if isinstance(outcome, Suspended):
        for ask in outcome.asks:
            several = f" --question {ask.key}" if len(outcome.asks) > 1 else ""
            if ask.reply_to is not None:
                yield f"  answer: mklang resume {name}{several} --set {ask.reply_to}=…"
            else:
                yield f"  answer: mklang resume {name}{several} --outcome {'|'.join(ask.choices)}"
        if not outcome.asks:
            yield f"  go on:  mklang resume {name}"
        return
    if outcome.reason.value in RESUMABLE:
        yield ink(f"  kept as {name}; mklang resume {name} goes on from here", dim=True)


def _handle(name: str, journal: str) -> str:
    """What to call a kept run on the command line: its name, or its file where that is kept elsewhere."""
    path = Path(journal)
    if path.parent.absolute() == runs_folder().absolute():
        return name
    return journal if path.suffix or path.name != journal else f"./{journal}"


RESUMABLE = frozenset(
    {
        "provider-error",
        "cancelled",
        "budget-exhausted",
        "cost-exhausted",
        "time-exhausted",
        "fanout-limit",
        "branches-failed",
        "state-error",
    }
)
"""Reasons after which going on asks something new; after the others a run ends the same way again."""


def exit_code(outcome: Outcome) -> int:
    """What the shell learns (L107)."""
    match outcome:
        case Done():
            return ExitCode.OK
        case Halted():
            return ExitCode.FAILED
        case Suspended():
            return ExitCode.SUSPENDED
        case _:
            assert_never(outcome)
