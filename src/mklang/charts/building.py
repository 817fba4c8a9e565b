"""From a machine to its picture: which boxes, which arrows, what stands at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mklang.analysis.graph import Graph, build_graph
from mklang.charts.chart import Arrow, Box, Chart, Shape
from mklang.charts.text import one_line, shorten
from mklang.engine.route import Visit, policy_of
from mklang.lang.effects import READ_TOOLS
from mklang.lang.models import END, Call, Gate, Generative, HookCondition, Machine, Otherwise, Over, Repair, State, Tool

MOST_STATES = 80
"""How many states a picture has at most; called machines beyond that are single boxes."""


def build_chart(
    machine: Machine, library: Mapping[str, Machine], *, depth: int = 1, route: Sequence[Visit] | None = None
) -> Chart:
    """The picture of a machine. The machines it calls are drawn inside it, ``depth`` levels deep, each once.

    With a ``route``, the states and gates it went through are counted.
    """
    builder = _Builder(library, route, room=MOST_STATES - len(machine.states))
    return builder.chart(machine, depth)


@dataclass(slots=True)
class _Builder:
    """One picture in the making. ``room`` is how many more states it may have."""

    library: Mapping[str, Machine]
    route: Sequence[Visit] | None
    room: int
    keys: dict[str, str] = field(default_factory=dict)

    def chart(self, machine: Machine, depth: int) -> Chart:
        prefix = self.keys.setdefault(machine.name, f"m{len(self.keys)}")
        visits = [(step, visit) for step, visit in enumerate(self.route or (), 1) if visit.machine is machine]
        callees, boxes, calls = self._callees(machine, prefix, depth)
        level = _Level(machine, build_graph(machine), prefix, visits)
        return Chart(
            key=prefix,
            title=one_line(machine.name),
            boxes=(*level.boxes(), *boxes),
            arrows=(*level.arrows(), *calls),
            callees=tuple(callees),
            route=self.route is not None,
        )

    def _callees(self, machine: Machine, prefix: str, depth: int) -> tuple[list[Chart], list[Box], list[Arrow]]:
        """The called machines: inside, as one box, or only as a line where they are drawn elsewhere already."""
        charts: list[Chart] = []
        boxes: list[Box] = []
        arrows: list[Arrow] = []
        seen: set[str] = set()
        for number, state in enumerate(machine.states.values()):
            if not isinstance(state, Call):
                continue
            if state.machine in seen:
                continue  # one line is enough: every caller says whom it calls
            seen.add(state.machine)
            callee, target = self.library.get(state.machine), self.keys.get(state.machine)
            if callee is not None and target is None and depth > 0 and len(callee.states) <= self.room:
                self.room -= len(callee.states)
                charts.append(self.chart(callee, depth - 1))
                target = charts[-1].key
            if target is None:
                boxes.append(_machine_box(f"{prefix}c{number}", state.machine, callee))
            key = boxes[-1].key if target is None else f"{target}start"
            arrows.append(Arrow(source=f"{prefix}s{number}", target=key, policy="call"))
        return charts, boxes, arrows


def _machine_box(key: str, name: str, callee: Machine | None) -> Box:
    if callee is None:
        return Box(key=key, shape=Shape.MISSING, label=one_line(name), details=("no such machine",))
    count = len(callee.states)
    return Box(
        key=key, shape=Shape.MACHINE, label=one_line(name), details=(f"{count} state{'' if count == 1 else 's'}",)
    )


@dataclass(frozen=True, slots=True)
class _Level:
    """One machine of the picture: its keys begin with ``prefix``; ``visits`` are the run's, by step."""

    machine: Machine
    graph: Graph
    prefix: str
    visits: list[tuple[int, Visit]]

    def boxes(self) -> Iterator[Box]:
        yield Box(key=f"{self.prefix}start", shape=Shape.START, label="")
        for number, state in enumerate(self.graph.states):
            yield Box(
                key=f"{self.prefix}s{number}",
                shape=_shape(state),
                label=one_line(state.id),
                details=tuple(_details(state, self.machine)),
                reachable=number in self.graph.origins,
                visits=len(self._steps(state)),
            )
            if any(gate.target is None for gate in state.gates):
                failed = len(self._steps(state, policy="fail"))
                yield Box(key=f"{self.prefix}f{number}", shape=Shape.FAIL, label="fail", visits=failed)
        if END in self._targets():
            ended = sum(visit.gate is not None and visit.gate.target == END for _, visit in self.visits)
            yield Box(key=f"{self.prefix}end", shape=Shape.END, label="END", visits=ended)
        for number, name in enumerate(self._lost()):
            key = f"{self.prefix}x{number}"
            yield Box(key=key, shape=Shape.MISSING, label=one_line(name), details=("no such state",))

    def arrows(self) -> Iterator[Arrow]:
        if self.graph.entry is not None:
            yield Arrow(source=f"{self.prefix}start", target=f"{self.prefix}s{self.graph.entry}", policy="start")
        for number, state in enumerate(self.graph.states):
            live = {gate.index for gate in self.graph.live[number]}
            groups: dict[tuple[str, str], list[Gate]] = {}
            for gate in state.gates:
                groups.setdefault((self._key_of(gate, number), policy_of(gate)), []).append(gate)
            for (target, policy), gates in groups.items():
                indexes = {gate.index for gate in gates}
                yield Arrow(
                    source=f"{self.prefix}s{number}",
                    target=target,
                    policy=policy,
                    labels=tuple(_label(gate) for gate in gates if len(state.gates) > 1 or not _is_otherwise(gate)),
                    gates=tuple(gate.index for gate in gates),
                    live=bool(indexes & live),
                    taken=tuple(self._steps(state, gates=indexes)),
                )

    def _steps(self, state: State, *, policy: str = "", gates: set[int] | None = None) -> list[int]:
        """The run's steps in a state, those with this policy, those through these gates."""
        return [
            step
            for step, visit in self.visits
            if visit.state.id == state.id
            and policy in ("", visit.policy)
            and (gates is None or (visit.gate is not None and visit.gate.index in gates))
        ]

    def _targets(self) -> list[str]:
        found = {gate.target: None for state in self.graph.states for gate in state.gates}
        return [name for name in found if name is not None]

    def _lost(self) -> list[str]:
        return [name for name in self._targets() if name != END and name not in self.graph.index]

    def _key_of(self, gate: Gate, number: int) -> str:
        to = gate.target
        if to is None:
            return f"{self.prefix}f{number}"
        if to == END:
            return f"{self.prefix}end"
        if to in self.graph.index:
            return f"{self.prefix}s{self.graph.index[to]}"
        return f"{self.prefix}x{self._lost().index(to)}"


def _shape(state: State) -> Shape:
    if isinstance(state, Generative):
        return Shape.GENERATIVE
    return Shape.CALL if isinstance(state, Call) else Shape.TOOL


def _details(state: State, machine: Machine) -> Iterator[str]:
    """What a reader wants to know of a state at a glance."""
    if isinstance(state, Tool):
        yield one_line(f"{'reads' if state.tool in READ_TOOLS else 'acts'}: {state.tool}")
    elif isinstance(state, Call):
        yield one_line(f"calls {state.machine}")
    if state.fan_out is not None:
        items = f"for each of {state.fan_out.items.path}" if isinstance(state.fan_out, Over) else None
        yield one_line(items or f"{state.fan_out.count} samples")  # type: ignore[union-attr]  # it is a Sample
    if state.tier is not None and state.tier is not machine.default_tier:
        yield state.tier.value
    if state.max_visits is not None:
        yield f"at most {state.max_visits} visits"


def _is_otherwise(gate: Gate) -> bool:
    """A state with nothing but this gate has nothing to say about it."""
    return isinstance(gate.condition, Otherwise)


def _label(gate: Gate) -> str:
    """A gate in a few words: its place in the order, its condition, how often it may repair."""
    condition = gate.condition
    if isinstance(condition, Otherwise):
        words = "otherwise"
    elif isinstance(condition, HookCondition):
        words = f"[{shorten(condition.name)}]"
    else:
        words = shorten(condition.text)
    repairs = f" (repair ×{gate.policy.limit})" if isinstance(gate.policy, Repair) else ""
    return f"{gate.index + 1}. {words}{repairs}"
