"""A machine and what it can call: every callee looked up once, every question about all of them answered once.

However often a machine is called, and by however many others, it is looked at once; so a chain of diamonds costs what
its machines cost, not what its paths are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from mklang.analysis.digraph import breadth_first, leading_to
from mklang.analysis.facts import Facts
from mklang.analysis.graph import Graph
from mklang.analysis.kinds import UNKNOWN, Kinds, kinds_returned
from mklang.analysis.trust import build_trust
from mklang.lang.effects import READ_TOOLS
from mklang.lang.models import Call, Machine, Tool

DEEPEST = 8
"""How many calls deep a result is followed: as deep as a run may call (L53)."""


class Closure:
    """The machines that ``root`` can reach by calls. ``library`` is None when nobody said what can be called."""

    def __init__(
        self, root: Facts, library: Mapping[str, Machine] | None, facts_of: Callable[[Machine], Facts]
    ) -> None:
        """Machines are looked up in ``library`` when first needed; ``facts_of`` may remember across closures."""
        self.root = root
        self.library = library
        self._facts_of = facts_of
        self._found: dict[str, Facts | None] = {root.machine.name: root}
        self._returns: dict[str, Kinds] = {}
        self._asking: list[str] = []

    def get(self, name: str) -> Facts | None:
        """The machine of that name, or None when there is none. A machine always finds itself."""
        if name not in self._found:
            machine = self.library.get(name) if self.library is not None else None
            self._found[name] = None if machine is None else self._facts_of(machine)
        return self._found[name]

    def returns(self, name: str) -> Kinds:
        """What calling the machine gives: unknown for one that is not known, or that has to call itself to tell."""
        if name not in self._returns:
            facts = self.get(name)
            self._returns[name] = UNKNOWN
            if facts is not None and len(self._asking) < DEEPEST:
                self._asking.append(name)
                self._returns[name] = kinds_returned(facts, self.returns)
                self._asking.pop()
        return self._returns[name]

    @cached_property
    def reached(self) -> Mapping[str, Facts]:
        """The root and every machine it can reach by calls, each once, by name."""
        found = {self.root.machine.name: self.root}
        waiting = [self.root]
        while waiting:
            for name in callees(waiting.pop().graph):
                facts = self.get(name)
                if facts is not None and name not in found:
                    found[name] = facts
                    waiting.append(facts)
        return found

    @cached_property
    def endless(self) -> frozenset[str]:
        """The machines no run of which can end without calling itself again, directly or through others (L53)."""
        callers: dict[str, set[str]] = {}
        for name, facts in self.reached.items():
            for callee in callees(facts.graph):
                callers.setdefault(callee, set()).add(name)
        ends: set[str] = set()
        waiting = list(self.reached)
        while waiting:
            name = waiting.pop()
            if name not in ends and self._can_end(self.reached[name].graph, ends):
                ends.add(name)
                waiting.extend(callers.get(name, ()))
        return frozenset(self.reached.keys() - ends)

    def _can_end(self, graph: Graph, ends: set[str]) -> bool:
        """Whether a run can end without entering a call that is not known to end."""
        if graph.entry is None:
            return True
        closed = {
            number
            for number, state in enumerate(graph.states)
            if isinstance(state, Call) and state.machine in self.reached and state.machine not in ends
        }
        open_targets = [() if number in closed else targets for number, targets in enumerate(graph.targets)]
        exits = graph.ending | graph.failing | graph.astray
        return any(node in exits and node not in closed for node in breadth_first(open_targets, graph.entry))

    @cached_property
    def unsafe(self) -> frozenset[str]:
        """Machines that, entered on a judge's word, can reach an effectful tool on it (F9)."""
        names = list(self.reached)
        numbers = {name: number for number, name in enumerate(names)}
        acting, calls = [], []
        for number, facts in enumerate(self.reached.values()):
            tools, onward = judged_acts(facts)
            if tools:
                acting.append(number)
            calls.append([numbers[name] for name in onward if name in numbers])
        return frozenset(names[number] for number in leading_to(calls, acting))


def callees(graph: Graph) -> Iterator[str]:
    """The names of the machines that a run of this graph can call, in the order of their states, repeats included."""
    for number in graph.origins:
        state = graph.states[number]
        if isinstance(state, Call):
            yield state.machine


def judged_acts(facts: Facts) -> tuple[list[str], list[str]]:
    """The effectful tools and the callees that a machine entered on a judge's word can reach on it."""
    trust = build_trust(facts.graph, facts.data, judged=True)
    states = [state for number, state in enumerate(facts.graph.states) if trust.judged(number)]
    tools = [state.tool for state in states if isinstance(state, Tool) and state.tool not in READ_TOOLS]
    return tools, [state.machine for state in states if isinstance(state, Call)]
