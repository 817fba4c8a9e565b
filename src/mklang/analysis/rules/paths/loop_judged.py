"""A loop without a ceiling that only a judge's word ends.

No state in it has ``max_visits``, no repair limits it, and every gate that leads out is decided by a judge.

Why: code should own how often a loop runs. A judge that never says the word leaves the run looping until the whole
budget is spent, with nothing left for the states behind the loop.

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: review }]
      review:
        structure: A short critique.
        prompt: "Criticise: {{greeting}}"
        output: critique
        gates:
          - { when: the critique finds nothing, then: ok, to: END }
          - { when: otherwise, then: ok, to: write }

Repaired:
    mklang: "0.4"
    states:
      write:
        max_visits: 3
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: review }]
      review:
        structure: A short critique.
        prompt: "Criticise: {{greeting}}"
        output: critique
        gates:
          - { when: the critique finds nothing, then: ok, to: END }
          - { when: otherwise, then: ok, to: write }

Fix: unsafe. Add ``max_visits`` to a state of the loop, make the way back a repair, or let a hook lead out.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from mklang.analysis.digraph import components, is_cycle
from mklang.analysis.graph import Graph
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import name_of
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Gate, HookCondition, Prose, Repair


def find(subject: Subject) -> Iterator[Finding]:
    """Each unbounded loop with an exit whose exits are all judged, at its first state."""
    graph = subject.graph
    edges = _unbounded(graph)
    for component in components(edges):
        if not is_cycle(component, edges):
            continue
        exits = list(_exits(graph, set(component)))
        if exits and all(exits):
            members = sorted(component)
            message = f"only a judge's word ends this loop: {graph.names([*members, members[0]])}"
            yield Finding(name_of(graph.states[members[0]]), message, "add 'max_visits' to one of its states")


def _unbounded(graph: Graph) -> list[list[int]]:
    """The moves that nothing limits: no repairs, and none into a state with a ceiling."""
    return [
        [target for target in _targets(graph, gates) if graph.states[target].max_visits is None]
        if number in graph.origins
        else []
        for number, gates in enumerate(graph.live)
    ]


def _targets(graph: Graph, gates: tuple[Gate, ...]) -> Iterator[int]:
    for gate in gates:
        target = None if isinstance(gate.policy, Repair) else graph.index.get(gate.target or "")
        if target is not None:
            yield target


def _exits(graph: Graph, loop: Set[int]) -> Iterator[bool]:
    """For each gate that leads out of the loop, whether a judge decides it."""
    for number in loop:
        asked = False
        for gate in graph.live[number]:
            asked = asked or isinstance(gate.condition, Prose)
            leaves = graph.index.get(gate.target or "") not in loop
            if leaves:
                yield asked and not isinstance(gate.condition, HookCondition)


RULE = Rule(code="loop-judged", severity=Severity.WARNING, find=find, basis="L36 S40", page=__doc__, strict=True)
