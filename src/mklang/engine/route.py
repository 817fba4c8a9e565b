"""The way a run took, read off its trace: which states, and which gate of each fired (L70, L74).

A trace names a gate by its words. Here they become a position in the machine, for whoever draws or counts routes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mklang.lang.models import Call, Escalate, Fail, Gate, HookCondition, Machine, Ok, Repair, State
from mklang.lang.values import Json

_POLICIES = {Ok: "ok", Repair: "repair", Escalate: "escalate", Fail: "fail"}


@dataclass(frozen=True, slots=True)
class Visit:
    """One execution of a state. ``gate`` is None when none fired, or when the machine no longer has such a gate.

    ``depth`` is 0 in the root machine and one more in each callee.
    """

    machine: Machine
    state: State
    gate: Gate | None
    policy: str
    depth: int = 0


def route(trace: Sequence[Json], machine: Machine, library: Mapping[str, Machine], depth: int = 0) -> Iterator[Visit]:
    """Every visit in the order of the JSON form of a trace, a callee's before its caller's.

    States that the machine does not have (any more) are left out.
    """
    for step in trace:
        if not isinstance(step, dict):
            continue
        state = machine.states.get(str(step.get("state")))
        if state is None:
            continue
        callee = library.get(state.machine) if isinstance(state, Call) else None
        if callee is not None:
            for part in _parts(step.get("sub_trace")):
                yield from route(part, callee, library, depth + 1)
        yield Visit(machine, state, _fired(state, step), str(step.get("policy") or ""), depth)


def _parts(sub_trace: Json) -> Iterator[list[Json]]:
    """The traces of a call: one, or one for each branch."""
    if not isinstance(sub_trace, list):
        return
    branches = [part for part in sub_trace if isinstance(part, list)]
    if branches:
        yield from branches
    else:
        yield sub_trace


def _fired(state: State, step: Mapping[str, Json]) -> Gate | None:
    """The gate a step names. Of two that say the same in every way, the first is the only one that can fire."""
    when = step.get("gate")
    if when is None:
        return None
    hook = step.get("hook") if step.get("gate_via") == "hook" else None
    same = [gate for gate in state.gates if gate.when == when and policy_of(gate) == step.get("policy")]
    fitting = [gate for gate in same if gate.target == step.get("to") and (hook is None or _hook_of(gate) == hook)]
    return next(iter(fitting), None)


def policy_of(gate: Gate) -> str:
    """The gate's policy in one word."""
    return _POLICIES[type(gate.policy)]


def _hook_of(gate: Gate) -> str | None:
    return gate.condition.name if isinstance(gate.condition, HookCondition) else None
