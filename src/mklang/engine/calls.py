"""A call state: another machine runs one level down, on its own blackboard and budget (L52)."""

from __future__ import annotations

from mklang.engine.blackboard import Blackboard, capped, format_value
from mklang.engine.level import Level, StateHalt, Suspension
from mklang.engine.outcome import Done, Reason
from mklang.engine.prompts import resolve_arguments
from mklang.engine.taint import Mark, Marks
from mklang.engine.trace import TraceStep
from mklang.lang.models import Call
from mklang.lang.values import Json


async def call_machine(
    level: Level, state: Call, *, key: str, board: Blackboard, step: TraceStep
) -> tuple[Json, Marks]:
    """Run the callee: its result, external when anything external ever stood on its blackboard (L75)."""
    shared = level.shared
    machine = shared.library.get(state.machine)
    if machine is None:
        known = ", ".join(sorted(shared.library)) or "none"
        raise StateHalt(Reason.STATE_ERROR, f"call: unknown machine '{state.machine}' (known: {known})")
    if level.depth + 1 > shared.options.max_depth:
        raise StateHalt(Reason.CALL_FAILED, Reason.CALL_DEPTH_EXCEEDED.value)
    child = Level(machine, shared, prefix=f"{key}/call/", depth=level.depth + 1)
    child.flow_tainted = level.flow_tainted
    child.parent_run_id = level.run_id
    for name, (value, mark) in resolve_arguments(state.input, board).items():
        child.board.place((name,), value, mark)
    try:
        outcome = await shared.walk(child)
    except Suspension as waits:
        waits.stack = (machine.name, *waits.stack)
        raise
    level.usage = level.usage + child.usage
    step.usage = step.usage + child.usage
    step.sub_trace = outcome.trace
    step.seconds += sum(inner.seconds for inner in outcome.trace)
    if not isinstance(outcome, Done):
        raise StateHalt(Reason.CALL_FAILED, outcome.error, message=outcome.message)
    step.output = outcome.result if isinstance(outcome.result, str) else capped(format_value(outcome.result))
    return outcome.result, Mark.EXTERNAL if child.board.provenance.external else Mark.NONE
