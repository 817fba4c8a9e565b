"""A person in the loop: an escalate gate asks, the run waits for the answer, and only this question's answer counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mklang.engine.blackboard import capped
from mklang.engine.digests import digest_of
from mklang.engine.level import Level, StateHalt, Suspension
from mklang.engine.outcome import PendingAsk, Reason
from mklang.engine.requests import Ask, NotYet, Reply, Tool
from mklang.engine.taint import Mark
from mklang.engine.trace import TraceStep
from mklang.errors import InternalError
from mklang.lang.models import END, Escalate, Gate

DEFAULT_REPLY_TO = "human.reply"
ABOUT_CHARS = 2000


def wants_person(level: Level, gate: Gate) -> bool:
    """Whether the fired gate asks a person: an escalation to a handler, when the host has humans in the loop (L81)."""
    policy = gate.policy
    return level.shared.options.humans and isinstance(policy, Escalate) and policy.to != END


async def ask_person(level: Level, gate: Gate, step: TraceStep) -> None:
    """Ask before the handler runs; put the reply on the blackboard, or suspend until there is one (L82, L89)."""
    policy = gate.policy
    if not isinstance(policy, Escalate):
        raise TypeError(f"gate {gate.index} does not escalate")
    request = Ask(
        key=f"{level.prefix}{level.entries + 1}:{policy.to}/ask",
        state=policy.to,
        asked_by=step.state,
        question=policy.ask,
        reply_to=policy.reply_to or DEFAULT_REPLY_TO,
        about=capped(step.output or "\n".join(step.branches or ()), ABOUT_CHARS),
    )
    answer = await level.shared.ask(request)
    if isinstance(answer, NotYet):
        raise Suspension(Reason.ESCALATED, policy.to, asks=(_pending(level, request, answer),))
    if not isinstance(answer, Reply):
        raise InternalError(f"{request.key}: an oracle answered a question with {type(answer).__name__}")
    for path, value in answer.values.items():
        level.board.place(tuple(path.split(".")), value, Mark.HOST_INPUT)
    step.reply = "expired" if answer.expired else "confirmed" if answer.confirms else "given"
    if answer.confirms:
        level.flow_tainted = False


async def choose_gate(
    level: Level, state: str, gates: Sequence[Gate], *, chances: Mapping[int, float], key: str
) -> Gate:
    """Let a person say which gate is the first true one, shown the judge's probabilities; suspend until they do."""
    lines = [f"{gate.index}: {gate.when}{_chance(chances.get(gate.index))}" for gate in gates]
    request = Ask(
        key=f"{key}/which",
        state=state,
        asked_by=state,
        question=f"The judge is in doubt. Which gate of '{state}' is the first that is true?",
        reply_to="gate",
        about="\n".join(lines),
        choices=tuple(str(gate.index) for gate in gates),
    )
    answer = await level.shared.ask(request)
    if isinstance(answer, NotYet):
        raise Suspension(Reason.UNCERTAIN, state, asks=(_pending(level, request, answer),))
    if not isinstance(answer, Reply):
        raise InternalError(f"{request.key}: an oracle answered a question with {type(answer).__name__}")
    chosen = str(answer.values.get("gate"))
    for gate in gates:
        if str(gate.index) == chosen:
            return gate
    raise StateHalt(Reason.STATE_ERROR, f"the reply '{chosen}' names no gate (allowed: {', '.join(request.choices)})")


def _chance(value: float | None) -> str:
    return "" if value is None else f" (p = {value:.3f})"


def outcome_unknown(level: Level, request: Tool, answer: NotYet) -> Suspension:
    """The wait for someone to say whether a tool's effect happened."""
    pending = PendingAsk(
        key=request.key,
        digest=digest_of(request),
        machine=level.machine.name,
        state=request.state,
        question=answer.question,
        choices=answer.choices,
    )
    return Suspension(Reason.OUTCOME_UNKNOWN, request.state, asks=(pending,))


def _pending(level: Level, request: Ask, answer: NotYet) -> PendingAsk:
    return PendingAsk(
        key=request.key,
        digest=digest_of(request),
        machine=level.machine.name,
        state=request.state,
        question=request.question or answer.question or f"State '{request.asked_by}' escalated to '{request.state}'.",
        ask=request.question,
        reply_to=request.reply_to,
        about=request.about,
        choices=request.choices or answer.choices,
    )
