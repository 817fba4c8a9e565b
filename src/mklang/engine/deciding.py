"""One decision without the run around it: which gate of a state would fire if it had produced this text, and why.

It goes through the very code that decides a gate in a run, so what it shows is what a run would do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from mklang.engine.blackboard import capped, format_value
from mklang.engine.failures import charged_halt
from mklang.engine.gates import Decision, Note
from mklang.engine.level import Level, Shared, StateHalt, Suspension
from mklang.engine.noul import judgement_of
from mklang.engine.options import DEFAULT_OPTIONS, RunOptions
from mklang.engine.oracle import Oracle
from mklang.engine.outcome import PendingAsk
from mklang.engine.parsing import parse_output
from mklang.engine.requests import Answer, Hook, HookValue, Nonce, NonceValue, Request
from mklang.engine.taint import Mark, Marks
from mklang.engine.trace import Judgement, TraceStep
from mklang.errors import AnswerFailed, InternalError
from mklang.lang.models import Gate, Generative, Machine, State
from mklang.lang.values import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a decision came to.

    ``gate`` is the one that fires; None when the run would halt with ``error``, or ask a person first (``ask``).
    ``hooks`` says what each hook gate that was asked answered, by the gate's position. ``step`` is the trace step as a
    run would record it, as far as a decision fills it in.
    """

    step: TraceStep
    gate: Gate | None = None
    judgements: tuple[Judgement, ...] = ()
    hooks: Mapping[int, bool]
    error: str | None = None
    message: str = ""
    ask: PendingAsk | None = None


async def decide(
    machine: Machine,
    state: State,
    texts: Sequence[str],
    *,
    oracle: Oracle,
    inputs: Mapping[str, Json] | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
) -> Decided:
    """Decide a state's gates over what it is taken to have produced: one text, or one for each branch of a fan-out.

    ``inputs`` are context paths with values, as for a run; nothing else has happened before. What a run would end in is
    in the answer; only a host's own mistakes raise.
    """
    watched = _Watched(oracle)
    level = await _level(machine, watched, inputs or {}, options)
    step = TraceStep(state=state.id, tier=level.tier_of(state), step=1)
    decision = Decision(level, state, key=f"1:{state.id}", result=None, step=step)
    notes = decision.notes
    try:
        decision.result = _produced(state, texts, step)
        level.board.deposit(state.output, decision.result, _origin(level, state), accumulate=state.accumulate)
        gate = await decision.first_true()
    except Suspension as waits:
        return watched.decided(step, notes, ask=waits.asks[0] if waits.asks else None)
    except StateHalt as halt:
        return watched.decided(step, notes, halt=halt)
    except AnswerFailed as failed:
        return watched.decided(step, notes, halt=charged_halt(level, step, failed))
    step.to = gate.target
    return watched.decided(step, notes, gate=gate)


async def _level(machine: Machine, oracle: Oracle, inputs: Mapping[str, Json], options: RunOptions) -> Level:
    """A machine's run at its beginning, with the inputs on the blackboard."""
    seed = await oracle.answer(Nonce(key="run/nonce"))
    if not isinstance(seed, NonceValue):
        raise InternalError(f"run/nonce: an oracle answered with {type(seed).__name__}")
    level = Level(machine, Shared(oracle, {}, options, seed=seed.text, observer=None, walk=_nowhere))
    for path, value in inputs.items():
        level.board.place(tuple(path.split(".")), value, Mark.NONE if path in options.trusted else Mark.HOST_INPUT)
    return level


class _Watched:
    """An oracle whose hooks' answers are kept, by the gates' positions, which end their keys."""

    def __init__(self, inner: Oracle) -> None:
        self._inner = inner
        self._hooks: dict[int, bool] = {}

    async def answer(self, request: Request, /) -> Answer:
        """The inner answer."""
        answer = await self._inner.answer(request)
        if isinstance(request, Hook) and isinstance(answer, HookValue):
            self._hooks[int(request.key.rpartition("[")[2].rstrip("]"))] = answer.holds
        return answer

    def decided(
        self,
        step: TraceStep,
        notes: Sequence[Note],
        *,
        gate: Gate | None = None,
        halt: StateHalt | None = None,
        ask: PendingAsk | None = None,
    ) -> Decided:
        """What came of a decision that this oracle answered."""
        return Decided(
            step=step,
            gate=gate,
            judgements=tuple(judgement_of(*note) for note in notes),
            hooks=dict(self._hooks),
            error=halt.error if halt else None,
            message=halt.message if halt else "",
            ask=ask,
        )


def _produced(state: State, texts: Sequence[str], step: TraceStep) -> Json:
    """The texts as the state's result, and in the step as a run shows them."""
    parse = state.parse if isinstance(state, Generative) else None
    values = [text if parse is None else parse_output(text, parse) for text in texts]
    shown = [text if parse is None else capped(format_value(value)) for text, value in zip(texts, values, strict=True)]
    if state.fan_out is not None:
        step.branches = [capped(text) for text in shown]
        return values
    (step.output,) = shown
    return values[0]


def _origin(level: Level, state: State) -> Marks:
    """Where the result would come from: outside when the prompt holds such data, or when no model wrote it."""
    if isinstance(state, Generative):
        return level.board.provenance.of(state.prompt.placeholders) & Mark.EXTERNAL
    return Mark.EXTERNAL


async def _nowhere(level: Level) -> NoReturn:
    raise InternalError(f"a decision in '{level.machine.name}' called a machine")
