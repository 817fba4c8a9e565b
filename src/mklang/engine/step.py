"""Executing one state once: ask a model, a tool or another machine, and turn the answer into the state's result."""

from __future__ import annotations

from collections.abc import Awaitable

from mklang.engine.blackboard import Blackboard, capped, format_value
from mklang.engine.calls import call_machine
from mklang.engine.guarding import Check, Guarding
from mklang.engine.humans import outcome_unknown
from mklang.engine.level import Level, StateHalt
from mklang.engine.narration import tell_request
from mklang.engine.options import Effect, Reaction
from mklang.engine.outcome import Reason
from mklang.engine.parsing import parse_observation, parse_output
from mklang.engine.prompts import render_prompt, resolve_arguments, system_message
from mklang.engine.requests import NotYet, Observation, Produce, Produced
from mklang.engine.requests import Tool as UseTool
from mklang.engine.taint import Mark, Marks, effect_of
from mklang.engine.trace import TraceStep
from mklang.errors import InternalError
from mklang.lang.models import Generative, Sample, State, Tool
from mklang.lang.values import Json


def execute(
    level: Level, state: State, *, key: str, board: Blackboard, step: TraceStep, feedback: str | None
) -> Awaitable[tuple[Json, Marks]]:
    """Run the state on ``board``: its result and where that came from. What it cost and showed goes into ``step``."""
    asked = _perform(level, state, key=key, board=board, step=step, feedback=feedback)
    return asked if level.shared.guards is None else _vetted(level, state, asked, step=step, guards=level.shared.guards)


def _perform(
    level: Level, state: State, *, key: str, board: Blackboard, step: TraceStep, feedback: str | None
) -> Awaitable[tuple[Json, Marks]]:
    if isinstance(state, Generative):
        return _produce(level, state, key=key, board=board, step=step, feedback=feedback)
    if isinstance(state, Tool):
        return _use_tool(level, state, key=key, board=board, step=step)
    return call_machine(level, state, key=key, board=board, step=step)


async def _vetted(
    level: Level, state: State, asked: Awaitable[tuple[Json, Marks]], *, step: TraceStep, guards: Guarding
) -> tuple[Json, Marks]:
    """The result, once the guards bound to it have passed it (L121)."""
    result, mark = await asked
    _insist(guards.of_output(level.machine.name, state, result), step, f"state '{state.id}'")
    return result, mark


def _insist(checks: tuple[Check, ...], step: TraceStep, what: str) -> None:
    """Keep the receipts, and stop when a value did not pass: nothing happens with any of them."""
    if not checks:
        return
    step.guards += checks
    refused = [f"{check.place}: guard '{check.guard}': {check.failures[0]}" for check in checks if check.failures]
    if refused:
        raise StateHalt(Reason.GUARD_REFUSED, f"{what}: {'; '.join(refused)}")


async def _produce(
    level: Level, state: Generative, *, key: str, board: Blackboard, step: TraceStep, feedback: str | None
) -> tuple[Json, Marks]:
    shared = level.shared
    key = f"{key}/produce"
    user, nonce, origin = render_prompt(state.prompt, board, shared.options, nonces=shared.nonces, key=key)
    request = Produce(
        key=key,
        state=state.id,
        tier=level.tier_of(state),
        system=system_message(state, nonce),
        user=f"{user}\n\n{feedback}" if feedback else user,
        reason=state.reason,
        temperature=0.8 if isinstance(state.fan_out, Sample) else 0.4,
    )
    tell_request(level, request)
    answer = await shared.ask_model(request)
    if not isinstance(answer, Produced):
        raise InternalError(f"{key}: an oracle answered a produce request with {type(answer).__name__}")
    level.charge(step, answer.usage)
    step.seconds += answer.seconds
    step.reasoning = answer.reasoning
    step.model = answer.model or None
    step.attempts += answer.attempts
    step.output = answer.text
    if answer.truncated:
        _truncated(level, state, answer, step)
    mark = origin & Mark.EXTERNAL
    if state.parse is None:
        return answer.text, mark
    value = parse_output(answer.text, state.parse)
    step.output = capped(format_value(value))
    return value, mark


def _truncated(level: Level, state: Generative, answer: Produced, step: TraceStep) -> None:
    """A reply the model did not finish: reported, or refused (L48); never parsed."""
    step.truncated, step.finish_reason = True, answer.finish_reason
    if level.shared.options.on_truncate is Reaction.HALT:
        raise StateHalt(Reason.STATE_ERROR, "output-truncated")
    if state.parse is not None:
        raise StateHalt(Reason.STATE_ERROR, f"parse-{state.parse.value}-truncated")


async def _use_tool(level: Level, state: Tool, *, key: str, board: Blackboard, step: TraceStep) -> tuple[Json, Marks]:
    arguments = resolve_arguments(state.input, board)
    effect = effect_of(state.tool, level.shared.options.tool_effects)
    if effect is not Effect.READ:
        _guard_arguments(level, state, arguments, step)
    values = {name: value for name, (value, _) in arguments.items()}
    if level.shared.guards is not None:
        checks = level.shared.guards.of_input(level.machine.name, state, values)
        _insist(checks, step, f"tool '{state.tool}'")
    request = UseTool(
        key=f"{key}/tool",
        state=state.id,
        name=state.tool,
        input=values,
        effect=effect,
        idempotency_key=level.shared.nonces.derive(f"{key}/tool/once"),
    )
    answer = await level.shared.ask(request)
    if isinstance(answer, NotYet):
        raise outcome_unknown(level, request, answer)
    if not isinstance(answer, Observation):
        raise InternalError(f"{request.key}: an oracle answered a tool request with {type(answer).__name__}")
    level.charge(step, answer.usage)
    step.output = answer.text
    step.seconds += answer.seconds
    value = parse_observation(answer.text) if state.tool in level.shared.options.structured_tools else answer.text
    return value, Mark.EXTERNAL


def _guard_arguments(level: Level, state: Tool, arguments: dict[str, tuple[Json, Marks]], step: TraceStep) -> None:
    """Values that are not the author's on their way to a tool that does more than look: shown, or refused."""
    tainted = tuple(name for name, (_, mark) in arguments.items() if mark & Mark.TAINTED)
    if not tainted:
        return
    step.tainted_arguments = tainted
    if level.shared.options.on_tainted_arguments is Reaction.HALT:
        named = ", ".join(tainted)
        raise StateHalt(Reason.UNTRUSTED_ARGUMENTS, message=f"tool '{state.tool}': not the author's: {named}")
