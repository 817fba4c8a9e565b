"""How a run ends: always in a value, never in an exception (L66, L67)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias

import msgspec

from mklang.engine.requests import Usage
from mklang.engine.trace import TraceStep
from mklang.lang.values import Json


class Reason(Enum):
    """Why a run did not end at END. The value is the published word; ``summary`` and ``hint`` are for people."""

    BUDGET_EXHAUSTED = "budget-exhausted"
    COST_EXHAUSTED = "cost-exhausted"
    FANOUT_LIMIT = "fanout-limit"
    LOOP_CEILING = "loop-ceiling"
    ESCALATED = "escalated"
    UNCERTAIN = "uncertain"
    GATE_FAIL = "gate-fail"
    NO_GATE_MATCHED = "no-gate-matched"
    JUDGE_UNPARSEABLE = "judge-unparseable"
    UNTRUSTED_CONTROL_FLOW = "untrusted-control-flow"
    UNTRUSTED_ARGUMENTS = "untrusted-arguments"
    GUARD_REFUSED = "guard-refused"
    CALL_FAILED = "call-failed"
    CALL_DEPTH_EXCEEDED = "call-depth-exceeded"
    BRANCHES_FAILED = "branches-failed"
    STATE_ERROR = "state-error"
    PROVIDER_ERROR = "provider-error"
    REFUSAL = "refusal"
    CANCELLED = "cancelled"
    TIME_EXHAUSTED = "time-exhausted"
    OUTCOME_UNKNOWN = "outcome-unknown"
    RESUME_MISMATCH = "resume-mismatch"

    @property
    def summary(self) -> str:
        """What happened, in one sentence."""
        return _TEXTS[self][0]

    @property
    def hint(self) -> str:
        """What a person can do about it."""
        return _TEXTS[self][1]


_TEXTS: dict[Reason, tuple[str, str]] = {
    Reason.BUDGET_EXHAUSTED: (
        "The run used up its step budget.",
        "Raise budget: in the machine, or --max-steps; look at the state visited most.",
    ),
    Reason.COST_EXHAUSTED: (
        "The run came to its limit of tokens or money.",
        "Raise --max-tokens or --max-cost, lower a tier's max_tokens, or shorten prompts and loops.",
    ),
    Reason.FANOUT_LIMIT: (
        "A fan-out is wider than allowed; no branch was run.",
        "Shorten the list, or raise the limit that the message names.",
    ),
    Reason.LOOP_CEILING: (
        "A state was entered more often than its max_visits allows.",
        "Check the gates that lead back to it, or raise max_visits.",
    ),
    Reason.ESCALATED: ("The run waits for a person.", "Answer the question to go on."),
    Reason.UNCERTAIN: ("A judge was in doubt, and a person must choose the gate.", "Answer with the gate's number."),
    Reason.GATE_FAIL: (
        "A fail gate fired.",
        "The machine decided to stop; the last trace step says on what condition.",
    ),
    Reason.NO_GATE_MATCHED: (
        "No gate of the state was true.",
        "Add 'otherwise' as the last gate of the state.",
    ),
    Reason.JUDGE_UNPARSEABLE: (
        "The judge's reply could not be read as a verdict.",
        "Use a more capable judge model, or add an 'otherwise' gate.",
    ),
    Reason.UNTRUSTED_CONTROL_FLOW: (
        "A decision over outside data led to a tool that acts, and the host forbids that.",
        "Put a hook gate or a human between the judged decision and the tool.",
    ),
    Reason.UNTRUSTED_ARGUMENTS: (
        "A value from a model or from outside was about to reach a tool that acts; the host forbids that.",
        "Pass author values, or let the host trust the path.",
    ),
    Reason.GUARD_REFUSED: (
        "A value did not pass the guard that stands before what would have happened with it.",
        "The step's guards say what was wrong; repair the value before it gets here, or correct the guard.",
    ),
    Reason.CALL_FAILED: ("A called machine did not finish.", "The rest of the message is the callee's own reason."),
    Reason.CALL_DEPTH_EXCEEDED: ("Machines call each other too deeply.", "Look for a machine that calls itself."),
    Reason.BRANCHES_FAILED: ("Too many branches of a fan-out failed.", "The trace step lists each branch's error."),
    Reason.STATE_ERROR: ("A state could not be executed.", "The rest of the message says why."),
    Reason.PROVIDER_ERROR: (
        "The model's provider failed.",
        "Check endpoint, key and model name; try again.",
    ),
    Reason.REFUSAL: ("The model declined to answer.", "Reword the prompt, or use another model for this tier."),
    Reason.CANCELLED: ("The run was cancelled.", ""),
    Reason.TIME_EXHAUSTED: ("The run used up its time limit.", "Raise --timeout."),
    Reason.RESUME_MISMATCH: (
        "The recorded answers do not belong to this run.",
        "The machine, its inputs or a host's hook changed since; start a new run.",
    ),
    Reason.OUTCOME_UNKNOWN: (
        "A tool that changes something was called and its outcome was never recorded.",
        "Find out whether it happened, and answer the question.",
    ),
}


class Meter(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a limit is used; ``limit`` is None when there is none."""

    used: int
    limit: int | None

    @property
    def remaining(self) -> int | None:
        """What is left, never negative; None without a limit."""
        return None if self.limit is None else max(0, self.limit - self.used)

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        return {"used": self.used, "limit": self.limit, "remaining": self.remaining}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much of each limit is used. ``usage`` is what counts towards tokens and money."""

    steps: Meter
    tokens: Meter
    nano_usd: Meter
    usage: Usage

    def to_wire(self) -> dict[str, object]:
        """The JSON form (L72); money only where it is limited."""
        spent = {"input": self.usage.input_tokens, "output": self.usage.output_tokens}
        wire: dict[str, object] = {"steps": self.steps.to_wire(), "tokens": self.tokens.to_wire() | spent}
        money = self.nano_usd
        if money.limit is not None:
            left = money.remaining or 0
            wire["usd"] = {"used": money.used / 1e9, "limit": money.limit / 1e9, "remaining": left / 1e9}
        return wire


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What every outcome carries. ``context`` is the final blackboard, ``visits`` counts entries per state.

    ``nano_usd`` is the money of the run, in billionths of a US dollar.
    """

    trace: tuple[TraceStep, ...]
    usage: Usage
    steps: Meter
    tokens: Meter
    context: Mapping[str, Json]
    visits: Mapping[str, int]
    nano_usd: Meter = Meter(used=0, limit=None)

    @property
    def limits(self) -> Limits:
        """The limits of the run and how much of them is used."""
        return Limits(steps=self.steps, tokens=self.tokens, nano_usd=self.nano_usd, usage=self.usage)

    def __repr__(self) -> str:
        """Short on purpose: asyncio renders a finished task's result, and a trace can be long."""
        return f"<{type(self).__name__} after {len(self.trace)} steps>"


class Done(Ended, frozen=True, kw_only=True):
    """The run reached END."""

    result: Json


class Halted(Ended, frozen=True, kw_only=True):
    """The run stopped. ``detail`` completes the reason; ``at`` is the state, None when between states (L67)."""

    reason: Reason
    detail: str = ""
    at: str | None = None
    message: str = ""

    @property
    def error(self) -> str:
        """The published error text: the reason, and the detail where it has one."""
        return f"{self.reason.value}: {self.detail}" if self.detail else self.reason.value


class PendingAsk(msgspec.Struct, frozen=True, kw_only=True):
    """A question that waits for a person. ``key`` and ``digest`` bind an answer to exactly this question."""

    key: str
    digest: str
    machine: str
    state: str
    question: str
    reply_to: str | None = None
    ask: str | None = None
    about: str = ""
    choices: tuple[str, ...] = ()


class Suspended(Ended, frozen=True, kw_only=True):
    """The run waits, for a person or for a higher limit; replaying its answers takes it back to this point (L81).

    ``at`` is the innermost state about to run. ``trace`` is the root's; ``stack`` names the open calls, root first.
    """

    reason: Reason
    at: str
    asks: tuple[PendingAsk, ...] = ()
    stack: tuple[str, ...] = ()
    message: str = ""

    @property
    def error(self) -> str:
        """The published word for why the run waits."""
        return self.reason.value


Outcome: TypeAlias = Done | Halted | Suspended


def diagnosis(outcome: Ended) -> tuple[str, int] | None:
    """The state entered most often and how often, when one was entered twice or more (L69)."""
    if not outcome.visits:
        return None
    state = max(outcome.visits, key=outcome.visits.__getitem__)
    return (state, outcome.visits[state]) if outcome.visits[state] > 1 else None


def to_wire(outcome: Outcome, *, hashes: bool = False) -> dict[str, object]:
    """The published run output, keys in order (L72). With ``hashes`` each step has its output's (L71)."""
    usage = outcome.usage
    spent: dict[str, object] = dict(usage.to_wire())
    if usage.nano_usd:
        spent["usd"] = usage.nano_usd / 1e9
    wire: dict[str, object] = {
        "status": status_of(outcome),
        "error": None if isinstance(outcome, Done) else outcome.error,
        "result": outcome.result if isinstance(outcome, Done) else None,
        "usage": spent,
        "limits": outcome.limits.to_wire(),
        "trace": [step.to_wire(hashes=hashes) for step in outcome.trace],
    }
    match outcome:
        case Halted():
            wire |= _halted_wire(outcome)
        case Suspended():
            wire |= _suspended_wire(outcome)
        case Done():
            pass
    return wire


def status_of(outcome: Outcome) -> str:
    """The published status word (L66)."""
    match outcome:
        case Done():
            return "done"
        case Halted():
            return "halt"
        case Suspended():
            return "suspended"


def _halted_wire(halted: Halted) -> dict[str, object]:
    wire: dict[str, object] = {}
    if halted.at is not None:
        wire["at"] = halted.at
    if halted.message:
        wire["message"] = halted.message
    most = diagnosis(halted)
    if most and halted.reason in {Reason.BUDGET_EXHAUSTED, Reason.COST_EXHAUSTED}:
        wire["diagnosis"] = {"most_visited_state": most[0], "visits": most[1]}
    return wire


def _suspended_wire(suspended: Suspended) -> dict[str, object]:
    wire: dict[str, object] = {"at": suspended.at}
    if suspended.message:
        wire["message"] = suspended.message
    if suspended.asks:
        first = suspended.asks[0]
        wire |= {name: value for name, value in (("ask", first.ask), ("reply_to", first.reply_to)) if value is not None}
        wire["asks"] = [msgspec.to_builtins(ask) for ask in suspended.asks]
    if suspended.stack:
        wire["stack"] = list(suspended.stack)
    return wire
