"""Putting an output before the judge, through the very code that decides a gate in a run (S6, W67).

A probe is the engine's decision over a state and a text: the real batches, the none option, the tier, the fences. A
probe of one condition is the same decision over the same state with the other gates left out. Hooks are not asked: they
count as false, so that the walk goes on (S10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mklang.engine.gates import Decision
from mklang.engine.level import Level, Shared, StateHalt
from mklang.engine.outcome import Reason
from mklang.engine.parsing import parse_output
from mklang.engine.requests import Read, Verdict
from mklang.engine.taint import Mark
from mklang.engine.trace import TraceStep
from mklang.lang.models import Gate, Generative, Machine, Otherwise, State
from mklang.lang.values import Json
from mklang.measure.signatures import signature_of


class Spent(Exception):
    """Nothing more may be asked: the reason in words."""


@dataclass(frozen=True, slots=True)
class Said:
    """One question to the judge: the gates asked about, by their numbers, and the verdict."""

    gates: tuple[int, ...]
    verdict: Verdict

    @property
    def pick(self) -> int | None:
        """The position of the first true gate among those asked about."""
        return self.verdict.index


@dataclass(frozen=True, slots=True)
class Heard:
    """What one decision came to. ``fired`` is the gate's number if a judge's word fired it, None when none was true."""

    said: tuple[Said, ...]
    fired: int | None
    unread: bool
    signature: str


async def decide(machine: Machine, state: State, text: str, *, shared: Shared, key: str) -> Heard:
    """Decide a state's gates over a text as a run would. Raises ``Spent`` at a limit, and what the judge raises."""
    level = Level(machine, shared)
    step = TraceStep(state=state.id, tier=level.tier_of(state), step=1)
    result = _result(state, text, step)
    level.board.deposit(state.output, result, Mark.EXTERNAL, accumulate=state.accumulate)
    decision = Decision(level, state, key=key, result=result, step=step)
    gate: Gate | None = None
    halted: Reason | None = None
    try:
        gate = await decision.first_true()
        step.to = gate.target
    except StateHalt as halt:
        if halt.reason is Reason.COST_EXHAUSTED:
            raise Spent(halt.message) from None
        halted = halt.reason
    said = tuple(Said(tuple(one.index for one in note[0]), note[1]) for note in decision.notes)
    unread = (
        halted is Reason.JUDGE_UNPARSEABLE
        or step.judge_fallback
        or any(one.verdict.read is Read.UNREAD for one in said)
    )
    judged = gate is not None and not isinstance(gate.condition, Otherwise)
    return Heard(said, gate.index if gate is not None and judged else None, unread, signature_of(step))


def only(state: State, gates: Sequence[Gate]) -> State:
    """The state with some of its gates left out; those that stay keep their numbers."""
    return replace(state, gates=tuple(gates))


def _result(state: State, text: str, step: TraceStep) -> Json:
    """The text as the state's result, and in the step as the judge will see it."""
    if state.fan_out is not None:
        step.branches = [text]
        return [text]
    step.output = text
    if isinstance(state, Generative) and state.parse is not None:
        return parse_output(text, state.parse)
    return text
