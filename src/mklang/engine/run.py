"""The run: a loop over states that asks an oracle, walks gates in code and ends in a value."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TypedDict

from mklang.engine.events import Observer
from mklang.engine.failures import charged_halt
from mklang.engine.fanout import fan_out
from mklang.engine.gates import Decision
from mklang.engine.guarding import Guarding
from mklang.engine.humans import ask_person, wants_person
from mklang.engine.level import Level, Shared, StateHalt, Suspension, kind_of
from mklang.engine.narration import harmless, tell_finished, tell_start, tell_state, tell_step, tell_untrusted_flow
from mklang.engine.options import DEFAULT_OPTIONS, Effect, Reaction, RunOptions
from mklang.engine.oracle import Oracle
from mklang.engine.outcome import Done, Halted, Meter, Outcome, Reason, Suspended
from mklang.engine.requests import Nonce, NonceValue, Usage
from mklang.engine.step import execute
from mklang.engine.taint import Mark, effect_of
from mklang.engine.trace import TraceStep
from mklang.errors import AnswerFailed, InternalError
from mklang.lang.models import END, Escalate, Fail, Gate, Machine, Ok, Otherwise, Repair, State, Tool
from mklang.lang.values import Json


async def arun(
    machine: Machine,
    inputs: Mapping[str, Json] | None = None,
    *,
    oracle: Oracle,
    library: Mapping[str, Machine] | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
    observer: Observer | None = None,
    guards: Guarding | None = None,
) -> Outcome:
    """Run a machine to its end.

    ``inputs`` maps context paths, dotted for values inside a map, to JSON values; what they touch is tainted (L30).
    ``library`` holds the machines that call states may name, by name. ``guards`` are checked wherever the host bound
    them, before anything happens with the value (L121). Never raises for what happens in the run: the
    outcome says so. Being cancelled, as by Ctrl-C, still cancels.
    """
    seed = await oracle.answer(Nonce(key="run/nonce"))
    if not isinstance(seed, NonceValue):
        raise InternalError(f"run/nonce: an oracle answered with {type(seed).__name__}")
    watcher = harmless(observer)
    shared = Shared(oracle, library or {}, options, seed=seed.text, observer=watcher, walk=walk, guards=guards)
    level = Level(machine, shared)
    level.flow_tainted = options.flow_tainted
    for path, value in (inputs or {}).items():
        level.board.place(tuple(path.split(".")), value, Mark.NONE if path in options.trusted else Mark.HOST_INPUT)
    try:
        return await walk(level)
    except Suspension as waits:
        return _finish(level, _suspended(level, waits))


def run(
    machine: Machine,
    inputs: Mapping[str, Json] | None = None,
    *,
    oracle: Oracle,
    library: Mapping[str, Machine] | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
    observer: Observer | None = None,
    guards: Guarding | None = None,
) -> Outcome:
    """Run a machine from code that is not asynchronous: a thin wrapper over :func:`arun`."""
    return asyncio.run(
        arun(machine, inputs, oracle=oracle, library=library, options=options, observer=observer, guards=guards)
    )


async def walk(level: Level) -> Outcome:
    """Run one machine, at any depth."""
    tell_start(level)
    position = level.machine.entry
    while True:
        try:
            _check_limits(level, position)
            state = level.machine.states[position]
            _enter(level, state)
        except StateHalt as halt:
            _suspend_on_limit(level, halt, position)
            at = position if halt.reason is Reason.LOOP_CEILING else None
            return _finish(level, _halted(level, halt, at))
        step = TraceStep(state=state.id, tier=level.tier_of(state), step=level.steps)
        try:
            gate, result = await _run_state(level, state, step)
        except (StateHalt, AnswerFailed) as failed:
            ended = failed if isinstance(failed, StateHalt) else charged_halt(level, step, failed)
            _suspend_on_limit(level, ended, state.id)
            _record_halt(level, step, ended)
            return _finish(level, _halted(level, ended, state.id))
        target = _follow(level, state, gate, step)
        if target is None:
            return _finish(level, _halted(level, StateHalt(Reason.GATE_FAIL), state.id))
        if target == END:
            return _finish(level, _done(level, result))
        if wants_person(level, gate):
            await ask_person(level, gate, step)
        position = target


def _suspend_on_limit(level: Level, halt: StateHalt, position: str) -> None:
    """Wait for a higher limit instead of halting, when the host says so (L81). A loop ceiling never waits."""
    if level.shared.options.suspend_on_limit and halt.reason in _LIMITS:
        raise Suspension(halt.reason, position, message=halt.message)


def _check_limits(level: Level, position: str) -> None:
    """Steps and tokens, before anything is asked (L36)."""
    if level.steps >= level.step_limit:
        raise StateHalt(Reason.BUDGET_EXHAUSTED, message=f"{level.steps} steps used, the budget is {level.step_limit}")
    if level.shared.pool.limited:
        level.shared.check_tokens(f"{level.prefix}{level.entries + 1}:{position}")


def _enter(level: Level, state: State) -> None:
    """Count a visit, or halt at the ceiling (L38)."""
    visits = level.visits.get(state.id, 0)
    if state.max_visits is not None and visits >= state.max_visits:
        raise StateHalt(Reason.LOOP_CEILING, message=f"state '{state.id}' was entered {visits} times already")
    level.visits[state.id] = visits + 1
    level.entries += 1


async def _run_state(level: Level, state: State, step: TraceStep) -> tuple[Gate, Json]:
    """Execute, deposit, decide."""
    key = f"{level.prefix}{level.entries}:{state.id}"
    tell_state(level, state)
    if isinstance(state, Tool) and level.flow_tainted:
        _guard_effect(level, state, step)
    feedback = _take_feedback(level, state)
    if state.fan_out is None:
        level.steps += 1
        step.step = level.steps
        result, mark = await execute(level, state, key=key, board=level.board, step=step, feedback=feedback)
    else:
        result, mark = await fan_out(level, state, key=key, step=step, feedback=feedback)
        step.step = level.steps
    level.board.deposit(state.output, result, mark, accumulate=state.accumulate)
    gates = state.gates
    if isinstance(gates[0].condition, Otherwise) and not isinstance(gates[0].policy, Repair):
        step.gate, step.gate_via = gates[0].when, "otherwise"
        return gates[0], result
    return await Decision(level, state, key=key, result=result, step=step).first_true(), result


def _guard_effect(level: Level, state: Tool, step: TraceStep) -> None:
    """A judged decision over outside data led to this tool: report it, or refuse when it does more than look (L78)."""
    options = level.shared.options
    effect = effect_of(state.tool, options.tool_effects)
    if effect is Effect.READ:
        return
    step.untrusted_control_flow = True
    tell_untrusted_flow(level, state)
    if options.on_untrusted_flow is Reaction.HALT:
        raise StateHalt(Reason.UNTRUSTED_CONTROL_FLOW, message=f"tool '{state.tool}' {_DOES[effect]}")


def _take_feedback(level: Level, state: State) -> str | None:
    """The pending repair feedback, for a state that can show it; others leave it for the next that can (L43)."""
    if level.feedback is None or kind_of(state) != "generative":
        return None
    feedback, level.feedback = level.feedback, None
    return feedback if level.shared.options.repair_feedback else None


def _follow(level: Level, state: State, gate: Gate, step: TraceStep) -> str | None:
    """Record the step and apply the gate's policy: where to go, or None to stop (L40)."""
    policy = gate.policy
    step.to = gate.target
    match policy:
        case Ok():
            step.policy = "ok"
        case Repair():
            step.policy = "repair"
            place = (state.id, gate.index)
            level.repairs[place] = level.repairs.get(place, 0) + 1
            level.feedback = _feedback(gate)
        case Escalate():
            step.policy = "escalate"
        case Fail():
            step.policy = "fail"
    level.trace.append(step)
    tell_step(level, step)
    return step.to


def _feedback(gate: Gate) -> str:
    """What the repairing state is told (L43)."""
    if isinstance(gate.condition, Otherwise):
        return "[Repair feedback] The previous attempt did not satisfy any condition for going on. Fix it."
    return f"[Repair feedback] The previous attempt did not satisfy: '{gate.when}'. Fix it."


def _record_halt(level: Level, step: TraceStep, halt: StateHalt) -> None:
    """A state that could not go on leaves a step that says so, with what it cost and produced."""
    step.policy, step.step, step.error = halt.reason.value, level.steps, halt.error
    step.gate = step.to = None
    level.trace.append(step)
    tell_step(level, step)


_DOES = {Effect.EFFECT: "changes something", Effect.EGRESS: "sends what it is given elsewhere"}
_LIMITS = frozenset({Reason.BUDGET_EXHAUSTED, Reason.COST_EXHAUSTED, Reason.FANOUT_LIMIT, Reason.TIME_EXHAUSTED})


class _EndedFields(TypedDict):
    trace: tuple[TraceStep, ...]
    usage: Usage
    steps: Meter
    tokens: Meter
    context: Mapping[str, Json]
    visits: Mapping[str, int]
    nano_usd: Meter


def _ended(level: Level) -> _EndedFields:
    return {
        "trace": tuple(level.trace),
        "usage": level.usage,
        "steps": Meter(used=level.steps, limit=level.step_limit),
        "tokens": Meter(used=level.usage.total, limit=level.shared.options.max_tokens),
        "context": level.board.values,
        "visits": level.visits,
        "nano_usd": Meter(used=level.usage.nano_usd, limit=level.shared.options.max_nano_usd),
    }


def _done(level: Level, last: Json) -> Done:
    """The run's result: the ``result`` key, or the last state's own raw result (L41)."""
    key = level.machine.result
    return Done(result=level.board.values.get(key) if key else last, **_ended(level))


def _halted(level: Level, halt: StateHalt, at: str | None) -> Halted:
    return Halted(reason=halt.reason, detail=halt.detail, at=at, message=halt.message, **_ended(level))


def _suspended(level: Level, waits: Suspension) -> Suspended:
    """What is known at the point of waiting. Usage is the whole run's, open callees included."""
    fields = _ended(level)
    fields["usage"] = spent = level.shared.pool.spent
    fields["tokens"] = Meter(used=spent.total, limit=level.shared.options.max_tokens)
    fields["nano_usd"] = Meter(used=spent.nano_usd, limit=level.shared.options.max_nano_usd)
    return Suspended(
        reason=waits.reason, at=waits.at, asks=waits.asks, stack=waits.stack, message=waits.message, **fields
    )


def _finish(level: Level, outcome: Outcome) -> Outcome:
    tell_finished(level, outcome)
    return outcome
