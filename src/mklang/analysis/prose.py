"""What a machine says to somebody: the texts and numbers that reach a model, a judge, a tool or a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mklang.analysis.spots import Spot, in_gate, in_machine, in_state
from mklang.lang.models import Escalate, Gate, Generative, Machine, State
from mklang.lang.template import Template
from mklang.lang.values import Frozen
from mklang.lang.yaml_tree import Position

Path: TypeAlias = tuple[str | int, ...]
Scalar: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Passage:
    """One scalar: its value, and where it stands: at ``path`` below ``at``, in the owner or in its ``gate``."""

    value: Scalar
    at: Position
    path: Path
    owner: State | Machine
    gate: Gate | None = None

    @property
    def spot(self) -> Spot:
        """The place of the whole scalar."""
        if isinstance(self.owner, Machine):
            return in_machine(self.owner, *self.path)
        if self.gate is not None:
            return in_gate(self.owner, self.gate, *self.path)
        return in_state(self.owner, *self.path)


def passages(machine: Machine) -> Iterator[Passage]:
    """Every such scalar: the author's values, then state by state."""
    for key, value in machine.context.items():
        for path, scalar in _scalars(value, ("context", key)):
            yield Passage(scalar, machine.at, path, machine)
    for state in machine.states.values():
        yield from _of_state(state)
        for gate in state.gates:
            yield Passage(gate.when, gate.at, ("when",), state, gate)
            if isinstance(gate.policy, Escalate) and gate.policy.ask is not None:
                yield Passage(gate.policy.ask, gate.at, ("ask",), state, gate)


def _of_state(state: State) -> Iterator[Passage]:
    if isinstance(state, Generative):
        yield Passage(state.structure, state.at, ("structure",), state)
        yield Passage(state.prompt.text, state.at, ("prompt",), state)
        if state.execution is not None:
            yield Passage(state.execution, state.at, ("execution",), state)
        return
    for argument in state.input:
        value = argument.value.text if isinstance(argument.value, Template) else argument.value
        for path, scalar in _scalars(value, ("input", argument.name)):
            yield Passage(scalar, state.at, path, state)


def _scalars(value: Frozen, path: Path) -> Iterator[tuple[Path, Scalar]]:
    waiting: list[tuple[Path, Frozen]] = [(path, value)]
    while waiting:
        here, found = waiting.pop()
        if isinstance(found, Mapping):
            waiting.extend(((*here, key), item) for key, item in found.items())
        elif isinstance(found, tuple):
            waiting.extend(((*here, number), item) for number, item in enumerate(found))
        else:
            yield here, found
