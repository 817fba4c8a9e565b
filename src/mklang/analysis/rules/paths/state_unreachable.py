"""No way from the entry leads to a state.

A gate behind an ``otherwise`` never fires and leads nowhere.

Why: the state never runs, so either it is left over or a gate leads to the wrong place (L13, C6).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]
      polish:
        structure: One line.
        prompt: "Polish: {{greeting}}"
        output: line
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: polish }]
      polish:
        structure: One line.
        prompt: "Polish: {{greeting}}"
        output: line
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Only the author knows whether to lead a gate there or to delete the state.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import name_of
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """Every state a run never enters. Silent when the entry itself is unknown."""
    graph = subject.graph
    if graph.entry is None:
        return
    for number, state in enumerate(graph.states):
        if number not in graph.origins:
            yield Finding(name_of(state), f"the state '{state.id}' is never reached", "lead a gate to it, or delete it")


RULE = Rule(code="state-unreachable", severity=Severity.WARNING, find=find, basis="L13 C6", page=__doc__)
