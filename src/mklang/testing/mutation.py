"""Machines with one deliberate mistake: what no scenario notices, no scenario tests.

A mutant differs from the machine in one gate that can fire: it is gone, stands one place further down, leads elsewhere,
has another policy, or a hook with the opposite answer. Scenarios that notice fail on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from mklang.analysis.graph import live_gates
from mklang.engine.route import policy_of
from mklang.lang.comparisons import is_comparison
from mklang.lang.models import (
    END,
    Condition,
    Fail,
    Gate,
    HookCondition,
    Machine,
    Ok,
    Policy,
    Repair,
    State,
)
from mklang.testing.coverage import Coverage, cover
from mklang.testing.playing import NOTHING_AROUND, Around, Played, play_all
from mklang.testing.scenario import Entry

_OPPOSITES = {"always_true": "always_false", "always_false": "always_true"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A machine with a mistake in ``gate`` of ``state``, and the mistake in words."""

    machine: Machine
    state: State
    gate: Gate
    what: str


@dataclass(frozen=True, slots=True)
class Mutation:
    """What came of it: mutants that were noticed, those that were not, and how many were left out for want of time."""

    noticed: int
    survived: tuple[Mutant, ...]
    left_out: int = 0

    @property
    def tried(self) -> int:
        """How many mutants were played."""
        return self.noticed + len(self.survived)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much is tried: this many mutants at most, spread over the machine, and no new one after ``seconds``."""

    mutants: int = 200
    seconds: float = 60.0


def mutate(
    entries: Sequence[Entry],
    machine: Machine,
    library: Mapping[str, Machine],
    *,
    bounds: Bounds,
    elapsed: Callable[[], float],
    around: Around = NOTHING_AROUND,
) -> Mutation:
    """Play every scenario that enters the changed state on every mutant; all of them must pass on the machine itself.

    ``elapsed`` counts seconds from an arbitrary start.
    """
    every = list(mutants(machine))
    chosen = _spread(every, bounds.mutants)
    entering = _entering(entries, machine, library, around)
    survived: list[Mutant] = []
    noticed, begun = 0, elapsed()
    for number, mutant in enumerate(chosen):
        if elapsed() - begun > bounds.seconds:
            return Mutation(noticed, tuple(survived), left_out=len(every) - number)
        about = [entry for entry, states in entering if mutant.state.id in states]
        changed = MappingProxyType({**library, machine.name: mutant.machine})
        if any(_notices(entry, mutant.machine, changed, around) for entry in about):
            noticed += 1
        else:
            survived.append(mutant)
    return Mutation(noticed, tuple(survived), left_out=len(every) - len(chosen))


def mutants(machine: Machine) -> Iterator[Mutant]:
    """Every mutant, in document order."""
    for state in machine.states.values():
        live = live_gates(state.gates)
        for gate in live:
            for gates, what in _changes(machine, state, gate, len(live)):
                yield Mutant(_with_gates(machine, state, gates), state, gate, what)


def _changes(machine: Machine, state: State, gate: Gate, live: int) -> Iterator[tuple[list[Gate], str]]:
    gates, at = list(state.gates), gate.index
    if len(gates) > 1:
        yield [*gates[:at], *gates[at + 1 :]], "is gone"
    if at + 1 < live and _differs(gate, gates[at + 1]):
        yield [*gates[:at], gates[at + 1], gate, *gates[at + 2 :]], f"stands behind gate {at + 2}"
    for policy, what in _policies(machine, state, gate):
        yield [*gates[:at], replace(gate, policy=policy), *gates[at + 1 :]], what
    opposite = _opposite(gate.condition)
    if opposite is not None:
        changed = replace(gate, condition=opposite)
        yield [*gates[:at], changed, *gates[at + 1 :]], f"asks '{opposite.name}' instead"


def _policies(machine: Machine, state: State, gate: Gate) -> Iterator[tuple[Policy, str]]:
    """Another target, and another policy with the same one."""
    policy = gate.policy
    if isinstance(policy, Fail):
        yield Ok(END), "leads to END instead of failing"
        return
    elsewhere = _elsewhere(machine, state, policy.to)
    if elsewhere is not None:
        yield replace(policy, to=elsewhere), f"leads to '{elsewhere}'"
    if isinstance(policy, Ok):
        yield Fail(), "fails instead"
    else:
        yield Ok(policy.to), f"goes on instead of {'repairing' if isinstance(policy, Repair) else 'escalating'}"


def _elsewhere(machine: Machine, state: State, to: str) -> str | None:
    """Another place to go: the next state in the document that is neither this one nor the target, else END."""
    names = list(machine.states)
    after = names.index(state.id) + 1
    others = [name for name in (*names[after:], *names[:after]) if name not in (state.id, to)]
    return next(iter(others), END if to != END else None)


def _opposite(condition: Condition) -> HookCondition | None:
    if not isinstance(condition, HookCondition):
        return None
    name = condition.name
    if is_comparison(name):
        return HookCondition(name[1:] if name.startswith("n") else f"n{name}")
    return HookCondition(_OPPOSITES[name]) if name in _OPPOSITES else None


def _differs(first: Gate, second: Gate) -> bool:
    """Whether it can matter which of two gates comes first."""
    return (policy_of(first), first.target) != (policy_of(second), second.target)


def _with_gates(machine: Machine, state: State, gates: Sequence[Gate]) -> Machine:
    numbered = tuple(replace(gate, index=index) for index, gate in enumerate(gates))
    states = {**machine.states, state.id: replace(state, gates=numbered)}
    return replace(machine, states=MappingProxyType(states))


def _spread(every: list[Mutant], limit: int) -> list[Mutant]:
    """At most ``limit`` of them, evenly spread, so that no part of the machine is left out."""
    if len(every) <= limit:
        return every
    return [every[number * len(every) // limit] for number in range(limit)]


def _entering(
    entries: Sequence[Entry], machine: Machine, library: Mapping[str, Machine], around: Around
) -> list[tuple[Entry, set[str]]]:
    """Each scenario with the states of the machine that it enters."""
    found = []
    for entry, played in zip(entries, play_all(entries, machine, library, around=around), strict=True):
        coverage = Coverage(machine)
        if played.outcome is not None:
            cover({machine.name: coverage}, machine, {**library, machine.name: machine}, played.outcome)
        found.append((entry, coverage.states))
    return found


def _notices(entry: Entry, machine: Machine, library: Mapping[str, Machine], around: Around) -> bool:
    played: tuple[Played, ...] = play_all([entry], machine, library, around=around)
    return not played[0].passed
