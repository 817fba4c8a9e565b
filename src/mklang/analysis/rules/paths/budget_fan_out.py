"""With the widths of its fan-outs, every way to END costs more than the budget.

A fan-out costs one step for each branch, so ``sample: 5`` takes five steps before the next state can begin. The width
of an ``over`` is not known before a run and counts as one.

Why: every run halts ``budget-exhausted`` after its branches were paid for (L36, L37).

Fires:
    budget: 5
    states:
      draft:
        sample: 5
        structure: One line.
        prompt: Say hello.
        output: drafts
        gates: [{ when: otherwise, then: ok, to: choose }]
      choose:
        structure: One line.
        prompt: "Choose the best: {{drafts}}"
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    budget: 8
    states:
      draft:
        sample: 5
        structure: One line.
        prompt: Say hello.
        output: drafts
        gates: [{ when: otherwise, then: ok, to: choose }]
      choose:
        structure: One line.
        prompt: "Choose the best: {{drafts}}"
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. A larger budget is a decision about cost.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.digraph import cheapest
from mklang.analysis.graph import width
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_machine
from mklang.analysis.subject import Subject
from mklang.analysis.words import steps
from mklang.diagnostics import Severity
from mklang.lang.models import Sample


def find(subject: Subject) -> Iterator[Finding]:
    """The budget, when no way fits it although one would fit if each fan-out cost one step."""
    graph, budget = subject.graph, subject.machine.budget
    if not graph.complete or graph.shortest is None or budget < len(graph.shortest) or graph.entry is None:
        return
    if not any(isinstance(graph.states[node].fan_out, Sample) for node in graph.shortest):
        return
    widths = [width(state) for state in graph.states]
    if max(widths) > budget:  # a finding of its own: fan-out-too-wide
        return
    spent = cheapest(graph.targets, graph.entry, widths)
    needed = min(max(spent[node] + 1, widths[node]) for node in graph.ending if node in spent)
    if needed > budget:
        message = (
            f"the budget is {steps(budget)}; counting the branches of fan-outs, every way to END takes {needed} or more"
        )
        yield Finding(in_machine(subject.machine, "budget"), message, f"allow at least {needed}")


RULE = Rule(code="budget-fan-out", severity=Severity.WARNING, find=find, basis="L36 L37", page=__doc__)
