"""Trying a state's gates on a text: a session that decides once, or a few times, and lets go of its models."""

from __future__ import annotations

from collections.abc import Sequence

from mklang.diagnostics import near_miss
from mklang.engine.deciding import Decided, decide
from mklang.errors import UsageError
from mklang.host.session import Session
from mklang.lang.models import Machine, State


def state_of(machine: Machine, name: str) -> State:
    """The machine's state of that name. Raises ``UsageError`` naming those there are."""
    state = machine.states.get(name)
    if state is None:
        hint = near_miss(name, machine.states) or f"it has {', '.join(machine.states)}"
        raise UsageError(f"machine '{machine.name}' has no state '{name}'; {hint}")
    return state


async def try_gates(session: Session, state: State, texts: Sequence[str], *, repeat: int = 1) -> list[Decided]:
    """What the gates decide when the state has produced the texts, ``repeat`` times. Each time is a run of its own.

    Raises ``UsageError`` for several texts where the state produces one.
    """
    if state.fan_out is None and len(texts) != 1:
        await session.close()
        raise UsageError(f"state '{state.id}' produces one text, not {len(texts)}: only a fan-out has several")
    try:
        return [
            await decide(
                session.machine,
                state,
                texts,
                oracle=session.oracle,
                inputs=session.inputs,
                options=session.options,
            )
            for _ in range(repeat)
        ]
    finally:
        await session.close()
