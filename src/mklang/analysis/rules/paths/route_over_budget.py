"""A machine without loops has a way to END that its budget does not allow.

Why: a run that takes this way halts ``budget-exhausted`` at its end, although nothing went wrong. Without loops the
budget protects against nothing, so it can simply be large enough.

Fires:
    budget: 3
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is rude, then: ok, to: soften }
          - { when: otherwise, then: ok, to: END }
      soften:
        structure: One line.
        prompt: "Make this kinder: {{greeting}}"
        output: kinder
        gates: [{ when: otherwise, then: ok, to: shorten }]
      shorten:
        structure: One line.
        prompt: "Make this shorter: {{kinder}}"
        output: shorter
        gates: [{ when: otherwise, then: ok, to: sign }]
      sign:
        structure: One line.
        prompt: "Sign this: {{shorter}}"
        output: letter
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    budget: 4
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is rude, then: ok, to: soften }
          - { when: otherwise, then: ok, to: END }
      soften:
        structure: One line.
        prompt: "Make this kinder: {{greeting}}"
        output: kinder
        gates: [{ when: otherwise, then: ok, to: shorten }]
      shorten:
        structure: One line.
        prompt: "Make this shorter: {{kinder}}"
        output: shorter
        gates: [{ when: otherwise, then: ok, to: sign }]
      sign:
        structure: One line.
        prompt: "Sign this: {{shorter}}"
        output: letter
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. A larger budget is a decision about cost.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.digraph import longest
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_machine
from mklang.analysis.subject import Subject
from mklang.analysis.words import steps
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """The budget, when it is enough for the shortest way and not for the longest."""
    graph, budget = subject.graph, subject.machine.budget
    if not graph.complete or graph.shortest is None or graph.entry is None or budget < len(graph.shortest):
        return
    if len(graph.origins) <= budget:
        return
    route = longest(graph.targets, graph.entry)
    if route is not None and len(route) > budget:
        message = f"a way through the machine takes {steps(len(route))}, the budget is {budget}: {graph.names(route)}"
        yield Finding(in_machine(subject.machine, "budget"), message, f"allow at least {len(route)}")


RULE = Rule(code="route-over-budget", severity=Severity.WARNING, find=find, basis="L36", page=__doc__, strict=True)
