"""A machine as a graph of its states, computed once: what leads where, what can be reached, how the run can end.

Only gates that can fire count: behind the first ``otherwise`` that is no repair, no gate ever does (L57). A repair
counts whether or not it might be spent by then (L12).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from mklang.analysis.digraph import breadth_first, components, leading_to, path_to
from mklang.lang.models import END, Fail, Gate, Machine, Otherwise, Repair, Sample, State


def live_gates(gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
    """The gates that can fire: those up to the first ``otherwise`` that cannot be used up."""
    for position, gate in enumerate(gates):
        if gate.condition.__class__ is Otherwise and gate.policy.__class__ is not Repair:
            return gates[: position + 1]
    return gates


@dataclass(frozen=True)
class Graph:
    """States by number, in document order. ``targets`` leaves out END and states that do not exist."""

    states: tuple[State, ...]
    index: Mapping[str, int]
    entry: int | None
    live: tuple[tuple[Gate, ...], ...]
    targets: tuple[tuple[int, ...], ...]
    ending: frozenset[int]
    """States with a gate to END."""
    failing: frozenset[int]
    """States with a fail gate."""
    astray: frozenset[int]
    """States with a gate to a state that does not exist."""

    @cached_property
    def origins(self) -> Mapping[int, int]:
        """The states a run can reach, nearest first, each with the one before it on a shortest way."""
        return {} if self.entry is None else breadth_first(self.targets, self.entry)

    @cached_property
    def finishing(self) -> set[int]:
        """The states from which END, a fail gate or a state that does not exist can be reached."""
        return leading_to(self.targets, self.ending | self.failing | self.astray)

    @cached_property
    def components(self) -> list[list[int]]:
        """The strongly connected components, each before those that lead to it."""
        return components(self.targets)

    @cached_property
    def shortest(self) -> list[int] | None:
        """The shortest way from the entry to END, as states; None when there is none (L12, E5)."""
        last = next((node for node in self.origins if node in self.ending), None)
        return None if last is None else path_to(last, dict(self.origins))

    @property
    def complete(self) -> bool:
        """Whether every gate of a reachable state leads somewhere; if not, what follows from the paths is unsure."""
        return self.entry is not None and self.astray.isdisjoint(self.origins)

    def names(self, nodes: list[int]) -> str:
        """States in words: ``a → b → c``, shortened in the middle when there are many."""
        ids = [self.states[node].id for node in nodes]
        return " → ".join(ids if len(ids) <= 8 else [*ids[:4], "…", *ids[-3:]])


def build_graph(machine: Machine) -> Graph:
    """The graph of a machine, in one pass over its gates."""
    states = tuple(machine.states.values())
    index = {name: number for number, name in enumerate(machine.states)}
    live = tuple([live_gates(state.gates) for state in states])
    targets, ending, failing, astray = [], [], [], []
    for number, gates in enumerate(live):
        onward: dict[int, None] = {}
        for gate in gates:
            to = None if gate.policy.__class__ is Fail else gate.target
            if to is None:
                failing.append(number)
            elif to == END:
                ending.append(number)
            elif to in index:
                onward[index[to]] = None
            else:
                astray.append(number)
        targets.append(tuple(onward))
    return Graph(
        states=states,
        index=index,
        entry=index.get(machine.entry),
        live=live,
        targets=tuple(targets),
        ending=frozenset(ending),
        failing=frozenset(failing),
        astray=frozenset(astray),
    )


def width(state: State) -> int:
    """How many steps a state costs, as far as a document tells: a ``sample`` its branches, others one (L37)."""
    return state.fan_out.count if isinstance(state.fan_out, Sample) else 1
