"""Machines: what a model writes, or a tool observes, on its way to a tool that acts, unless a guard looks at it.

Machines are looked at once each, callees before findings: a summary says which inputs of a machine reach an effect
unchecked, and what its result is made of. Summaries of machines that call each other grow together until nothing
changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mklang.analysis.facts import Facts
from mklang.audit.findings import AuditFinding, Point, ordered
from mklang.audit.machine_flow import Flow, Path, Protection, Spread, arguments_of, path_of, paths_in
from mklang.engine.options import Effect
from mklang.engine.taint import effect_of
from mklang.lang.effects import GUARD
from mklang.lang.models import Argument, Call, Gate, Generative, HookCondition, Machine, State, Tool
from mklang.lang.template import Template
from mklang.source import Span

MODEL, EXTERNAL = "model", "external"
_PARAM = "="
Labels: TypeAlias = frozenset[str]
_NONE: Labels = frozenset()
_EXECUTES = re.compile(
    r"(?:^|[_\-. ])(?:shell|bash|sh|exec|eval|command|terminal|python|sql|run_code)(?:[_\-. ]|$)", re.I
)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a caller has to know: what the result is made of (labels, and ``=KEY`` for an input that is passed on), and
    for each input that reaches an effect unchecked, the stations on the way there."""

    returns: Labels = _NONE
    reaches: tuple[tuple[str, tuple[Point, ...]], ...] = ()

    def sink(self, name: str) -> tuple[Point, ...] | None:
        """The way from an input to an effect; None when there is none."""
        return next((points for key, points in self.reaches if key == name), None)


class Audit:
    """All machines of one project."""

    def __init__(self, machines: Iterable[Machine], protection: Protection) -> None:
        self.protection = protection
        self._flows = {machine.name: Flow(Facts(machine), protection) for machine in machines}
        self._summaries: dict[str, Summary] = dict.fromkeys(self._flows, Summary())
        self._labels: dict[str, dict[int, Labels]] = {name: {} for name in self._flows}
        self._settle()

    @property
    def flows(self) -> Mapping[str, Flow]:
        """The machines by name."""
        return self._flows

    def summary(self, name: str) -> Summary:
        """What is known of a machine; nothing of one that is not there."""
        return self._summaries.get(name, Summary())

    def labels(self, name: str, number: int) -> Labels:
        """What the output of a state is made of, unless a guard on it vouches."""
        return self._labels[name].get(number, _NONE)

    def findings(self) -> tuple[AuditFinding, ...]:
        """Everything found, in reading order."""
        return ordered(found for flow in self._flows.values() for found in (*self._unguarded(flow), *_vacuous(flow)))

    def _settle(self) -> None:
        changed = True
        while changed:
            changed = False
            for name, flow in self._flows.items():
                self._label(flow)
                summary = Summary(self._returns(flow), tuple(self._reaches(flow)))
                if _news(self._summaries[name], summary):
                    self._summaries[name] = summary
                    changed = True

    def _label(self, flow: Flow) -> None:
        """Labels of the states' outputs: grown until nothing changes, as outputs feed calls that feed outputs."""
        known = self._labels[flow.machine.name]
        changed = True
        while changed:
            changed = False
            for number, state in enumerate(flow.graph.states):
                made = self._made_of(flow, number, state) | known.get(number, _NONE)
                if made != known.get(number, _NONE):
                    known[number] = made
                    changed = True

    def _made_of(self, flow: Flow, number: int, state: State) -> Labels:
        if self.protection.passes_output(flow.machine.name, state) or flow.is_guard(state):
            return _NONE
        if isinstance(state, Generative):
            return frozenset({MODEL})
        if isinstance(state, Tool):
            return self._arriving_all(flow, number, state) if state.tool == "guard" else frozenset({EXTERNAL})
        returned = self.summary(state.machine).returns
        labels = {label for label in returned if not label.startswith(_PARAM)}
        for argument in state.input:
            if _PARAM + argument.name in returned:
                labels |= self._arriving(flow, number, argument)
        return frozenset(labels)

    def _arriving_all(self, flow: Flow, number: int, state: State) -> Labels:
        return frozenset[str]().union(*(self._arriving(flow, number, one) for one in arguments_of(state)))

    def _arriving(self, flow: Flow, number: int, argument: Argument) -> Labels:
        """What an argument is made of, unchecked, when the state is reached."""
        found: set[str] = set()
        for path in paths_in(argument, flow.graph.states[number]):
            for origin, _ in self._origins(flow, number, path):
                found |= {_PARAM + path[0]} if origin is None else self.labels(flow.machine.name, origin)
        return frozenset(found)

    def _origins(
        self, flow: Flow, number: int, path: Path, *, only: Callable[[Flow, int], bool] | None = None
    ) -> Iterator[tuple[int | None, Spread]]:
        """Who may have written what a state reads at ``path``: states, and None for a caller."""
        for writer in flow.writers(path[0]):
            if only is not None and not only(flow, writer):
                continue
            spread = flow.from_state(writer, path)
            if number in spread.came:
                yield writer, spread
        outside = flow.from_outside(path)
        if number in outside.came:
            yield None, outside

    def _returns(self, flow: Flow) -> Labels:
        key, found = flow.machine.result, set[str]()
        for number in flow.graph.ending:
            if key is None:
                if number in flow.from_state(number, (flow.graph.states[number].output,)).ends:
                    found |= self.labels(flow.machine.name, number)
                continue
            for writer in flow.writers(key):
                if number in flow.from_state(writer, (key,)).ends:
                    found |= self.labels(flow.machine.name, writer)
            if number in flow.from_outside((key,)).ends:
                found.add(_PARAM + key)
        return frozenset(found)

    def _reaches(self, flow: Flow) -> Iterator[tuple[str, tuple[Point, ...]]]:
        """For each input that reaches an effect, a way there."""
        seen: set[str] = set()
        for number, state, argument, path, beyond in self._sinks(flow):
            origins = [
                one for one in self._origins(flow, number, path) if one[0] is None or self._passes_on(flow, one[0])
            ]
            for origin, spread in origins:
                names = {path[0]} if origin is None else self._inputs_of(flow, origin)
                for name in names - seen:
                    seen.add(name)
                    way = _way(flow, origin, spread, number)
                    yield name, (*way, _arrival(flow, state, argument), *beyond)

    def _passes_on(self, flow: Flow, number: int) -> bool:
        return bool(self._inputs_of(flow, number))

    def _inputs_of(self, flow: Flow, number: int) -> set[str]:
        labels = self.labels(flow.machine.name, number)
        return {label.removeprefix(_PARAM) for label in labels if label.startswith(_PARAM)}

    def _sinks(self, flow: Flow) -> Iterator[tuple[int, State, Argument, Path, tuple[Point, ...]]]:
        """Every place where a value of the blackboard goes into an effect, with what lies beyond it in callees."""
        for number in flow.graph.origins:
            state = flow.graph.states[number]
            for argument in self._open_arguments(flow, state):
                beyond = self._beyond(state, argument)
                if beyond is not None:
                    for path in dict.fromkeys(paths_in(argument, state)):
                        yield number, state, argument, path, beyond

    def _open_arguments(self, flow: Flow, state: State) -> Iterator[Argument]:
        covered: set[str] = set()
        if isinstance(state, Tool):
            if effect_of(state.tool, self.protection.effects) is Effect.READ:
                return
            covered = set(self.protection.bindings.covers(flow.machine.name, state))
        yield from (argument for argument in arguments_of(state) if argument.name not in covered)

    def _beyond(self, state: State, argument: Argument) -> tuple[Point, ...] | None:
        return self.summary(state.machine).sink(argument.name) if isinstance(state, Call) else ()

    def _unguarded(self, flow: Flow) -> Iterator[AuditFinding]:
        """One finding for each code and argument, by its shortest way: one guard there answers for all."""
        for number, state, argument, path, beyond in self._sinks(flow):
            arriving = [one for one in self._origins(flow, number, path) if one[0] is not None]
            nearest: dict[tuple[str, bool], tuple[int, Spread]] = {}
            for origin, spread in arriving:
                labels = self.labels(flow.machine.name, origin) if origin is not None else _NONE
                made = MODEL if MODEL in labels else EXTERNAL if EXTERNAL in labels else ""
                known = nearest.get((made, spread.checked))
                if made and origin is not None and (known is None or spread.length(number) < known[1].length(number)):
                    nearest[made, spread.checked] = (origin, spread)
            for (made, partly), (origin, spread) in nearest.items():
                way = (*_way(flow, origin, spread, number), _arrival(flow, state, argument), *beyond)
                yield _finding(flow, state, argument, made=made, partly=partly, trace=way)


def _news(before: Summary, now: Summary) -> bool:
    """Whether a summary says more; another way to the same effect is no news, so that growing ends."""
    return before.returns != now.returns or {key for key, _ in before.reaches} != {key for key, _ in now.reaches}


def _finding(
    flow: Flow, state: State, argument: Argument, *, made: str, partly: bool, trace: tuple[Point, ...]
) -> AuditFinding:
    receiver = _receiver(state) + ("" if isinstance(state, Tool) else ", which acts on it,")
    what = "what a model wrote" if made == MODEL else "what a tool observed"
    if made == EXTERNAL:
        code = "AK111"
    elif partly:
        code = "AK104"
    else:
        code = "AK103" if isinstance(state, Tool) and _EXECUTES.search(state.tool) else "AK102"
    some = "on some ways unguarded" if partly else "unguarded"
    key = f"{flow.machine.name}.{state.id}.input.{argument.name}"
    hint = f"bind a guard in guards.yaml: '{key}', or put 'hook: guard:NAME' on the gate of the state that writes it"
    if isinstance(state, Call):
        hint = "bind a guard to the tool's input in the callee, or put 'hook: guard:NAME' where the value is written"
    place = _place(flow, state, argument)
    return AuditFinding(
        code=code,
        message=f"{what} reaches {receiver} as '{argument.name}', {some}: {_told(trace)}",
        path=place.path,
        line=place.line,
        column=place.column,
        trace=trace,
        where=f"states.{state.id}.input.{argument.name}",
        hint=hint,
    )


def _told(trace: tuple[Point, ...]) -> str:
    """The way in one line."""
    names = [point.note.partition(":")[0] for point in trace]
    return " → ".join(names if len(names) <= 8 else [*names[:4], "…", *names[-3:]])


def _way(flow: Flow, origin: int | None, spread: Spread, number: int) -> tuple[Point, ...]:
    """The stations from where a value was made to the state before its arrival."""
    points: list[Point] = []
    for position, (station, gate) in enumerate(spread.way(number)):
        state = flow.graph.states[station]
        made = f"{_maker(state)} writes '{state.output}'" if position == 0 and origin is not None else "passes"
        points.append(_point(flow, state, f"{state.id}: {made}{_by(gate)}"))
    return tuple(points)


def _maker(state: State) -> str:
    if isinstance(state, Generative):
        return "a model"
    return f"tool '{state.tool}'" if isinstance(state, Tool) else f"machine '{state.machine}'"


def _by(gate: Gate) -> str:
    return f", on by '{' '.join(gate.when.split())[:60]}'"


def _arrival(flow: Flow, state: State, argument: Argument) -> Point:
    place = _place(flow, state, argument)
    return Point(place.path, place.line, place.column, f"{state.id}: {_receiver(state)} gets it as '{argument.name}'")


def _receiver(state: State) -> str:
    match state:
        case Tool():
            return f"tool '{state.tool}'"
        case Call():
            return f"machine '{state.machine}'"
        case Generative():
            return "a model"


def _place(flow: Flow, state: State, argument: Argument) -> Point:
    return _at(flow, state.at.value("input", argument.name) or state.at.name)


def _point(flow: Flow, state: State, note: str) -> Point:
    place = _at(flow, state.at.name)
    return Point(place.path, place.line, place.column, note)


def _at(flow: Flow, span: Span | None) -> Point:
    return Point(flow.machine.source_name, span.line if span else 0, span.column if span else 0)


def _vacuous(flow: Flow) -> Iterator[AuditFinding]:
    """Guards that stand in a value's way and say nothing of their own."""
    protection = flow.protection

    def finding(name: str, place: Point, where: str) -> AuditFinding:
        message = f"guard '{name}' has neither a schema nor bounds of its own, so it checks nothing here"
        hint = "give it a schema or bounds"
        return AuditFinding(
            code="AK106", message=message, path=place.path, line=place.line, column=place.column, where=where, hint=hint
        )

    for state in flow.graph.states:
        for gate in state.gates:
            name = gate.condition.name.removeprefix(GUARD) if isinstance(gate.condition, HookCondition) else ""
            guard = protection.named.get(name)
            if guard is not None and guard.vacuous and f"{GUARD}{name}" == getattr(gate.condition, "name", ""):
                yield finding(name, _at(flow, gate.at.value("hook")), f"states.{state.id}.gates[{gate.index}].hook")
        for name, where in _named_in(flow, state):
            yield finding(name, _point(flow, state, ""), where)


def _named_in(flow: Flow, state: State) -> Iterator[tuple[str, str]]:
    protection, here = flow.protection, (flow.machine.name, state.id)
    bound = [(guard, "output") for guard in protection.bindings.outputs.get(here, ())]
    if isinstance(state, Tool):
        bound += [(guard, "input") for guard in protection.bindings.tools.get(state.tool, ())]
        for argument in state.input:
            place = f"input.{argument.name}"
            bound += [(guard, place) for guard in protection.bindings.inputs.get((*here, argument.name), ())]
            text = argument.value.text if isinstance(argument.value, Template) else ""
            guard = protection.named.get(text) if state.tool == "guard" and argument.name == "guard" else None
            bound += [(guard, place)] if guard is not None else []
    yield from ((guard.name, f"states.{state.id}.{place}") for guard, place in bound if guard.vacuous)


def audit_machines(machines: Iterable[Machine], protection: Protection | None = None) -> tuple[AuditFinding, ...]:
    """What an audit finds in these machines, which can call each other."""
    return Audit(machines, protection or Protection()).findings()


__all__ = ["EXTERNAL", "MODEL", "Audit", "Protection", "Summary", "audit_machines", "path_of"]
