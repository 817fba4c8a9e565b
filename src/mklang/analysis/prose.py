"""The texts of a machine that somebody reads: a model, a judge or a person. Names and keys are not among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mklang.analysis.spots import Spot, in_gate, in_machine, in_state
from mklang.lang.models import Escalate, Gate, Generative, Machine, State
from mklang.lang.template import Template
from mklang.lang.values import Frozen
from mklang.lang.yaml_tree import Position


@dataclass(frozen=True, slots=True)
class Prose:
    """One text: its value, and where it stands: at ``path`` below ``at``, in the owner or in its ``gate``."""

    value: str
    at: Position
    path: tuple[str | int, ...]
    owner: State | Machine
    gate: Gate | None = None

    @property
    def spot(self) -> Spot:
        """The place of the whole text."""
        if isinstance(self.owner, Machine):
            return in_machine(self.owner, *self.path)
        if self.gate is not None:
            return in_gate(self.owner, self.gate, *self.path)
        return in_state(self.owner, *self.path)


def prose_of(machine: Machine) -> Iterator[Prose]:
    """Every such text: the author's values, then state by state."""
    yield from _of_context(machine)
    for state in machine.states.values():
        yield from _of_state(state)
        for gate in state.gates:
            yield Prose(gate.when, gate.at, ("when",), state, gate)
            if isinstance(gate.policy, Escalate) and gate.policy.ask is not None:
                yield Prose(gate.policy.ask, gate.at, ("ask",), state, gate)


def _of_context(machine: Machine) -> Iterator[Prose]:
    waiting: list[tuple[tuple[str | int, ...], Frozen]] = [
        (("context", key), machine.context[key]) for key in machine.context
    ]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            yield Prose(value, machine.at, path, machine)
        elif isinstance(value, Mapping):
            waiting.extend(((*path, key), item) for key, item in value.items())
        elif isinstance(value, tuple):
            waiting.extend(((*path, number), item) for number, item in enumerate(value))


def _of_state(state: State) -> Iterator[Prose]:
    if isinstance(state, Generative):
        yield Prose(state.structure, state.at, ("structure",), state)
        yield Prose(state.prompt.text, state.at, ("prompt",), state)
        if state.execution is not None:
            yield Prose(state.execution, state.at, ("execution",), state)
        return
    for argument in state.input:
        if isinstance(argument.value, Template):
            yield Prose(argument.value.text, state.at, ("input", argument.name), state)
