"""Where a value on the blackboard can get to, unchecked: along the gates, until it is written over or a guard sees it.

What checks a value is a guard that looks at *that value*: a hook ``guard:NAME`` on a gate of the state that wrote it, a
state with ``tool: guard`` that is given it, a binding on the state's output. Other hooks, ``parse``, a judge and
``otherwise`` check nothing, and neither does a guard without an opinion.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from mklang.analysis.facts import Facts
from mklang.engine.options import Effect
from mklang.guards.bindings import Bindings
from mklang.guards.guard import Guard
from mklang.lang.effects import GUARD
from mklang.lang.models import END, Argument, Gate, Generative, HookCondition, Over, State, Tool
from mklang.lang.template import Placeholder, Template

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What a host has put in a value's way. ``named`` are the guards that documents name, ``effects`` what tools do."""

    bindings: Bindings = field(default_factory=Bindings)
    named: Mapping[str, Guard] = field(default_factory=lambda: MappingProxyType({}))
    effects: Mapping[str, Effect] = field(default_factory=lambda: MappingProxyType({}))

    def vouches(self, name: str) -> bool:
        """Whether a guard exists and says something of its own."""
        guard = self.named.get(name)
        return guard is not None and not guard.vacuous

    def passes_output(self, machine: str, state: State) -> bool:
        """Whether a guard is bound to what the state produces."""
        return any(not guard.vacuous for guard in self.bindings.outputs.get((machine, state.id), ()))


@dataclass(slots=True)
class Spread:
    """Where one value gets to from the state ``start``, or from a caller (None).

    ``came`` has each state it can be in, unchecked, with the state and gate before it (None for the first); ``ends``
    are the states from which it leaves with the run; ``checked`` says that a guard stopped it on some other way.
    """

    start: int | None
    came: dict[int, tuple[int, Gate] | None] = field(default_factory=dict)
    ends: set[int] = field(default_factory=set)
    checked: bool = False

    def way(self, number: int) -> list[tuple[int, Gate]]:
        """A shortest way to a state: each station before it with the gate that led on."""
        stations: list[tuple[int, Gate]] = []
        before = self.came[number]
        while before is not None:
            stations.append(before)
            before = None if before[0] == self.start else self.came[before[0]]
        return stations[::-1]

    def length(self, number: int) -> int:
        """How many stations that way has."""
        return len(self.way(number))


class Flow:
    """The ways of values through one machine."""

    def __init__(self, facts: Facts, protection: Protection) -> None:
        self.facts = facts
        self.machine = facts.machine
        self.graph = facts.graph
        self.protection = protection
        self._spreads: dict[tuple[int | None, Path], Spread] = {}
        self._kept = [self.guarded_path(state) for state in self.graph.states]
        self._exits = [list(self._exits_of(gates)) for gates in self.graph.live]
        self._writers: dict[str, list[int]] = {}
        for number, state in enumerate(self.graph.states):
            self._writers.setdefault(state.output, []).append(number)

    def from_state(self, number: int, path: Path) -> Spread:
        """How far the output of a state gets, as seen by a reader of ``path``."""
        return self._spread(number, path)

    def from_outside(self, path: Path) -> Spread:
        """How far what a caller put at ``path`` gets."""
        return self._spread(None, path)

    def _spread(self, start: int | None, path: Path) -> Spread:
        key = (start, path)
        if key not in self._spreads:
            self._spreads[key] = self._search(start, path)
        return self._spreads[key]

    def _search(self, start: int | None, path: Path) -> Spread:
        found = Spread(start)
        waiting: deque[int] = deque()
        if start is not None:
            waiting.extend(self._leave(start, found, fresh=True))
        elif self.graph.entry is not None:
            found.came[self.graph.entry] = None
            waiting.append(self.graph.entry)
        states, root, kept = self.graph.states, path[0], self._kept
        while waiting:
            number = waiting.popleft()
            looked = kept[number]
            if looked is not None and path[: len(looked)] == looked:
                found.checked = True
            elif states[number].output != root or states[number].accumulate:
                waiting.extend(self._leave(number, found, fresh=False))
        return found

    def _leave(self, number: int, found: Spread, *, fresh: bool) -> list[int]:
        """Follow the gates of a state to states not seen yet; a value that is ``fresh`` was just made there."""
        came, new = found.came, []
        for target, gate in self._exits[number]:
            if fresh and self._checks_output(gate):
                found.checked = True
            elif target is None:
                found.ends.add(number)
            elif target not in came:
                came[target] = (number, gate)
                new.append(target)
        return new

    def _exits_of(self, gates: tuple[Gate, ...]) -> Iterator[tuple[int | None, Gate]]:
        """Where gates lead: a state's number, or None for the end of the run."""
        for gate in gates:
            if gate.target == END:
                yield None, gate
            elif gate.target is not None and gate.target in self.graph.index:
                yield self.graph.index[gate.target], gate

    def _checks_output(self, gate: Gate) -> bool:
        condition = gate.condition
        return (
            isinstance(condition, HookCondition)
            and condition.name.startswith(GUARD)
            and self.protection.vouches(condition.name.removeprefix(GUARD))
        )

    def guarded_path(self, state: State) -> Path | None:
        """The path that a guard state with an opinion looks at; a fan-out may go on without the branches that fail."""
        if state.fan_out is not None or not self.is_guard(state):
            return None
        value = next((one.value for one in arguments_of(state) if one.name == "value"), None)
        sole = value.sole if isinstance(value, Template) else None
        return None if sole is None else sole.keys

    def is_guard(self, state: State) -> bool:
        """Whether a state is a guard with an opinion: what it produces has passed, each branch in a fan-out."""
        if not isinstance(state, Tool) or state.tool != "guard":
            return False
        name = next((one.value for one in state.input if one.name == "guard"), None)
        return isinstance(name, Template) and self.protection.vouches(name.text)

    def writers(self, key: str) -> list[int]:
        """The states that write a key."""
        return self._writers.get(key, [])


def arguments_of(state: State) -> tuple[Argument, ...]:
    """The ``input`` of a tool or call state; a generative state has none."""
    return () if isinstance(state, Generative) else state.input


def paths_in(argument: Argument, state: State) -> Iterator[Path]:
    """The blackboard paths whose values go into an argument; a branch's ``item`` is an element of its list."""
    if not isinstance(argument.value, Template):
        return
    for placeholder in argument.value.placeholders:
        path = path_of(placeholder, state)
        if path is not None:
            yield path


def path_of(placeholder: Placeholder, state: State) -> Path | None:
    """What a placeholder reads; None for a branch's number."""
    if state.fan_out is not None and placeholder.root == "index":
        return None
    if isinstance(state.fan_out, Over) and placeholder.root == "item":
        return state.fan_out.items.keys
    return placeholder.keys
