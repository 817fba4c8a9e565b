"""How a run ended, for a person: the status, the route with how each gate was decided, and what to do about a halt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import assert_never

from mklang.cli.excerpts import cells
from mklang.cli.output import Ink, one_line
from mklang.engine.outcome import Done, Ended, Halted, Outcome, Suspended, diagnosis
from mklang.engine.requests import Usage
from mklang.engine.trace import TraceStep
from mklang.lang.values import Json

_ANSWER = 100
"""How much is shown of one possible answer to a question."""
_SHOWN = 24
"""How many steps of a long run are shown at its beginning, and at its end."""
_WIDEST = 24


def result_text(result: Json) -> str:
    """A result as text: a text as it is, anything else as JSON."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, indent=2)


def report(outcome: Outcome, ink: Ink, *, seconds: float) -> Iterator[str]:
    """The lines that follow the result. For a terminal long conditions are cut, elsewhere they stay whole."""
    yield f"{_status(outcome, ink)}: {_amounts(outcome, seconds)}"
    yield from _explanation(outcome, ink)
    if outcome.trace:
        yield ink.fold(f"route: {_route(outcome.trace)}")
        yield from _steps(outcome.trace, ink)


def _status(outcome: Outcome, ink: Ink) -> str:
    match outcome:
        case Done():
            return ink("done", "green", bold=True)
        case Halted():
            return ink("halted", "red", bold=True) + (f" at {one_line(outcome.at)}" if outcome.at is not None else "")
        case Suspended():
            return ink("suspended", "yellow", bold=True) + f" at {one_line(outcome.at)}"
        case _:
            assert_never(outcome)


def _amounts(outcome: Ended, seconds: float) -> str:
    steps, tokens = outcome.steps, outcome.tokens
    of_steps = f" of {steps.limit}" if steps.limit is not None else ""
    counted = steps.used if steps.limit is None else steps.limit
    of_tokens = f" of {tokens.limit}" if tokens.limit is not None else ""
    spent = f"{tokens.used}{of_tokens} tokens"
    ended = f"{spent}{_in_out(outcome.usage)}{_money(outcome)}, {seconds:.1f} s"
    return f"{steps.used}{of_steps} step{'' if counted == 1 else 's'}, {ended}"


def _in_out(usage: Usage) -> str:
    guessed = f", {usage.estimated_tokens} of them estimated" if usage.estimated_tokens else ""
    return f" ({usage.input_tokens} in, {usage.output_tokens} out{guessed})" if usage.total else ""


def _money(outcome: Ended) -> str:
    """What the run cost, where anybody knows; a limit on it is shown even when nothing was spent."""
    spent = outcome.nano_usd
    if not spent.used and spent.limit is None:
        return ""
    limit = f" of ${dollars(spent.limit)}" if spent.limit is not None else ""
    return f", ${dollars(spent.used)}{limit}"


def dollars(nano: int) -> str:
    """Billionths of a dollar in dollars: cents, and as many digits more as a small amount needs."""
    if not nano or nano >= 10**9:
        return f"{nano / 1e9:.2f}"
    return f"{-(-nano // 1000) / 1e6:.6f}".rstrip("0").ljust(4, "0")


def _explanation(outcome: Outcome, ink: Ink) -> Iterator[str]:
    """Why the run did not end at END and what to do, by the reason itself, never by its text (W54)."""
    if isinstance(outcome, Done):
        if outcome.result is None or outcome.result == "":
            yield f"  {ink('the result is empty', 'yellow')}"
        return
    yield ink(ink.fold(f"  {one_line(outcome.error)}", "    "), bold=True)
    yield ink.fold(f"  {outcome.reason.summary}", "    ")
    if outcome.message:
        yield ink.fold(f"  {one_line(outcome.message)}", "    ")
    if isinstance(outcome, Suspended):
        for ask in outcome.asks:
            yield ink.fold(f"  question: {one_line(ask.question)}", "    ")
            if ask.choices:
                yield from (f"    {one_line(line, _ANSWER)}" for line in (ask.about or "").splitlines())
    most = diagnosis(outcome)
    if most is not None:
        yield f"  most visited: {one_line(most[0])}, {most[1]} times"
    if outcome.reason.hint:
        yield ink.fold(f"  hint: {outcome.reason.hint}", "    ").replace("hint:", ink("hint:", "cyan"), 1)


def _route(trace: Sequence[TraceStep]) -> str:
    stops = [one_line(step.state) for step in trace]
    if len(stops) > 2 * _SHOWN:
        stops = [*stops[:_SHOWN], f"({len(stops) - 2 * _SHOWN} more)", *stops[-_SHOWN:]]
    last = trace[-1]
    return " -> ".join([*stops, one_line(last.to) if last.to is not None else f"({last.policy})"])


def _steps(trace: Sequence[TraceStep], ink: Ink) -> Iterator[str]:
    shown = [*trace[:_SHOWN], *trace[-_SHOWN:]] if len(trace) > 2 * _SHOWN else trace
    states = max(cells(_cut(step.state)) for step in shown)
    targets = max(cells(_cut(step.to or step.policy)) for step in shown)
    for index, step in enumerate(shown):
        if len(shown) != len(trace) and index == _SHOWN:
            yield f"  ({len(trace) - len(shown)} more)"
        head = f"  {_pad(_cut(step.state), states)} -> {_pad(_cut(step.to or step.policy), targets)}  "
        room = None if ink.width is None else max(20, ink.width - cells(head))
        yield f"{head}{ink(one_line(decided(step), room), dim=True)}"
        yield from (f"      {one_line(line)}" for line in _remarks(step))


def decided(step: TraceStep) -> str:
    """How the gate of a step was decided, in words."""
    policy = f"{step.policy}, " if step.policy not in {"ok", "fail"} and step.gate is not None else ""
    match step.gate_via:
        case "hook":
            return f"{policy}hook {step.hook}: {step.gate}"
        case "llm":
            return f"{policy}judge{_chance(step)}: {step.gate}"
        case "human":
            return f"{policy}a person (the judge was in doubt): {step.gate}"
        case "otherwise" if step.judge_fallback:
            return f"{policy}otherwise (the judge's reply could not be read)"
        case "otherwise" if step.judge_none:
            return f"{policy}otherwise (the judge found no condition true)"
        case "otherwise":
            return f"{policy}otherwise"
        case _:
            return step.error or ""


def _chance(step: TraceStep) -> str:
    """How likely the judge found the condition, where it said so."""
    told = step.judgements[-1] if step.judgements else None
    if told is None or told.confidence is None:
        return ""
    return f" (p {told.confidence:.2f}{', in doubt' if told.uncertain else ''})"


def _remarks(step: TraceStep) -> Iterator[str]:
    """What else a reader should know of a step."""
    if step.sub_trace and all(isinstance(part, TraceStep) for part in step.sub_trace):
        yield f"called: {_route([part for part in step.sub_trace if isinstance(part, TraceStep)])}"
    if step.branches is not None:
        failed = f", {len(step.branch_errors)} failed" if step.branch_errors else ""
        yield f"{len(step.branches)} branches{failed}"
    for message, count in Counter(failure.message for failure in step.branch_errors).most_common(3):
        yield f"{count} x {message}"
    if step.truncated:
        yield "the output was cut off at the model's length limit"
    if step.untrusted_control_flow:
        yield "a decision over outside data led to this tool"


def _cut(name: str) -> str:
    return one_line(name, _WIDEST)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cells(text))
