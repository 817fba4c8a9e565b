"""Which states and gates of a machine some scenario takes, and which none does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mklang.diagnostics import Diagnostic, Severity
from mklang.engine.outcome import Outcome, to_wire
from mklang.engine.route import route
from mklang.lang.findings import below, shorten
from mklang.lang.models import Gate, Machine, State
from mklang.lang.values import Json
from mklang.source import Span


@dataclass(slots=True)
class Coverage:
    """What was taken of one machine, filled run by run: state ids, and (state id, position) of gates."""

    machine: Machine
    states: set[str] = field(default_factory=set)
    gates: set[tuple[str, int]] = field(default_factory=set)

    @property
    def total(self) -> int:
        """How many gates the machine has."""
        return sum(len(state.gates) for state in self.machine.states.values())

    @property
    def percent(self) -> float:
        """How much of the gates was taken, from 0 to 100."""
        return 100 * len(self.gates) / self.total

    @property
    def missing(self) -> Iterator[tuple[State, Gate]]:
        """The gates that were never taken, in document order."""
        for state in self.machine.states.values():
            for gate in state.gates:
                if (state.id, gate.index) not in self.gates:
                    yield state, gate

    def diagnostics(self) -> Iterator[Diagnostic]:
        """A warning for each state that was never entered and each gate that was never taken in the others."""
        path = self.machine.source_name
        for state in self.machine.states.values():
            where = below("states", state.id)
            if state.id not in self.states:
                message = f"no scenario enters '{shorten(state.id)}'"
                yield _warning("state-untested", message, path, where=where, span=state.at.name)
                continue
            for gate in state.gates:
                if (state.id, gate.index) not in self.gates:
                    message = f"no scenario takes gate {gate.index + 1} of '{shorten(state.id)}'"
                    place = f"{where}.gates[{gate.index}]"
                    yield _warning("gate-untested", message, path, where=place, span=gate.at.value("when"))

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "machine": self.machine.name,
            "path": self.machine.source_name,
            "states": len(self.machine.states),
            "states_taken": len(self.states),
            "gates": self.total,
            "gates_taken": len(self.gates),
            "percent": round(self.percent, 1),
            "missing": [{"state": state.id, "gate": gate.index, "when": gate.when} for state, gate in self.missing],
        }


def cover(coverages: Mapping[str, Coverage], root: Machine, library: Mapping[str, Machine], outcome: Outcome) -> None:
    """Add the way of one run to the coverages of the machines it went through, which are named by their names."""
    trace: list[Json] = to_wire(outcome)["trace"]  # type: ignore[assignment]  # the wire form is untyped
    for visit in route(trace, root, library):
        coverage = coverages.get(visit.machine.name)
        if coverage is not None and coverage.machine is visit.machine:
            coverage.states.add(visit.state.id)
            if visit.gate is not None:
                coverage.gates.add((visit.state.id, visit.gate.index))


def total_percent(coverages: Iterable[Coverage]) -> float:
    """How much of all their gates was taken, from 0 to 100."""
    taken, total = 0, 0
    for coverage in coverages:
        taken, total = taken + len(coverage.gates), total + coverage.total
    return 100 * taken / total if total else 100.0


def _warning(code: str, message: str, path: str, *, where: str, span: Span | None) -> Diagnostic:
    return Diagnostic(code=code, message=message, path=path, where=where, span=span, severity=Severity.WARNING)
