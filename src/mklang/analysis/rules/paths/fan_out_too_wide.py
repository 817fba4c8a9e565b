"""A state samples more branches than the whole budget has steps.

Why: such a fan-out runs no branch; the run halts ``budget-exhausted`` at this state (L37).

Fires:
    budget: 4
    states:
      draft:
        sample: 5
        structure: One line.
        prompt: Say hello.
        output: drafts
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    budget: 8
    states:
      draft:
        sample: 5
        structure: One line.
        prompt: Say hello.
        output: drafts
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. A larger budget is a decision about cost, fewer branches one about quality.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.graph import width
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_state
from mklang.analysis.subject import Subject
from mklang.analysis.words import steps
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """Every ``sample`` above the budget."""
    budget = subject.machine.budget
    for state in subject.graph.states:
        if width(state) > budget > 0 and state.fan_out is not None:
            message = f"{width(state)} branches are more than the whole budget of {steps(budget)}"
            yield Finding(in_state(state, "sample"), message, "sample fewer, or allow more steps")


RULE = Rule(code="fan-out-too-wide", severity=Severity.WARNING, find=find, basis="L37", page=__doc__)
