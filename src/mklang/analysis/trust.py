"""Where a judge's word leads: the static side of the flow mark (L17, L76).

A state is *judged* when some way to it goes through a decision that a judge made, with no hook and no person after it.
Like the run, and unlike L17's plain table, ``otherwise`` behind a judged gate counts as the judge's word: whoever can
make the judge say "none" chooses it. A built-in hook that only looks at what a state of the machine wrote does not
clear the mark, as in a run: the text would vouch for itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from mklang.analysis.dataflow import Dataflow
from mklang.analysis.graph import Graph
from mklang.lang.effects import keys_read
from mklang.lang.models import Escalate, Gate, HookCondition, Prose, State


@dataclass(frozen=True, slots=True)
class Step:
    """One move on a way through the machine: from ``state`` by ``gate``; ``judged`` is the mark on arrival."""

    state: State
    gate: Gate
    judged: bool


@dataclass(frozen=True, slots=True)
class Trust:
    """``origins``: every (state, judged) a run can be in, nearest first, with the one before it and the gate taken."""

    graph: Graph
    origins: dict[tuple[int, bool], tuple[tuple[int, bool], Gate] | None]

    def judged(self, number: int) -> bool:
        """Whether the state can be reached on a judge's word alone."""
        return (number, True) in self.origins

    def witness(self, number: int) -> list[Step]:
        """A shortest way on which the state is reached on a judge's word."""
        steps: list[Step] = []
        here = (number, True)
        while (origin := self.origins[here]) is not None:
            before, gate = origin
            steps.append(Step(self.graph.states[before[0]], gate, here[1]))
            here = before
        return steps[::-1]


def build_trust(graph: Graph, data: Dataflow, *, judged: bool = False) -> Trust:
    """Follow the mark from the entry; a callee is entered with its caller's mark, ``judged`` (L79)."""
    if graph.entry is None:
        return Trust(graph, {})
    start = (graph.entry, judged)
    origins: dict[tuple[int, bool], tuple[tuple[int, bool], Gate] | None] = {start: None}
    waiting = deque((start,))
    while waiting:
        here = waiting.popleft()
        for gate, mark in _marks(graph, data, here):
            target = graph.index.get(gate.target or "")
            if target is not None and (target, mark) not in origins:
                origins[target, mark] = (here, gate)
                waiting.append((target, mark))
    return Trust(graph, origins)


def _marks(graph: Graph, data: Dataflow, here: tuple[int, bool]) -> Iterator[tuple[Gate, bool]]:
    number, mark = here
    asked = mark
    for gate in graph.live[number]:
        condition = gate.condition
        if isinstance(condition, HookCondition):
            yield gate, asked and not confirms(condition.name, graph.states[number], data)
            continue
        if isinstance(condition, Prose):
            asked = True
        yield gate, asked and not isinstance(gate.policy, Escalate)


def confirms(hook: str, state: State, data: Dataflow) -> bool:
    """Whether a hook's yes is worth more than a judge's: not when it only looks at what a state wrote (L76)."""
    keys = keys_read(hook, state.output)
    return keys is None or data.writers.keys().isdisjoint(keys)
