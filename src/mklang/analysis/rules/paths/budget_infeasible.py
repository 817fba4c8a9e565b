"""The budget is smaller than the shortest way to END.

A fan-out counts as one step here; ``budget-fan-out`` looks at its width.

Why: every run halts ``budget-exhausted``, whatever the models say (L12, E5; L36).

Fires:
    budget: 1
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

Repaired:
    budget: 4
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

Fix: unsafe. A larger budget is a decision about cost.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_machine
from mklang.analysis.subject import Subject
from mklang.analysis.words import steps
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """The budget, when the shortest way needs more steps."""
    graph, budget = subject.graph, subject.machine.budget
    if not graph.complete or graph.shortest is None or budget >= len(graph.shortest):
        return
    needed = len(graph.shortest)
    message = f"the budget is {steps(budget)}, the shortest way to END takes {needed}: {graph.names(graph.shortest)}"
    yield Finding(in_machine(subject.machine, "budget"), message, f"allow at least {needed + 2}")


RULE = Rule(code="budget-infeasible", severity=Severity.ERROR, find=find, basis="L12 E5", page=__doc__)
