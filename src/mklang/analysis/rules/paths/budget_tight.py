"""The budget leaves no room for one repair.

It is enough for the shortest way to END, but not for two steps more.

Why: the first repair or detour makes the run halt ``budget-exhausted`` after most of it was paid for (L13, C7).

Fires:
    budget: 1
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is longer than one line, repair: 1, to: write }
          - { when: otherwise, then: ok, to: END }

Repaired:
    budget: 3
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is longer than one line, repair: 1, to: write }
          - { when: otherwise, then: ok, to: END }

Fix: unsafe. A larger budget is a decision about cost.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_machine
from mklang.analysis.subject import Subject
from mklang.analysis.words import steps
from mklang.diagnostics import Severity

ROOM = 2
"""The steps of one repair or loop back, there and on."""


def find(subject: Subject) -> Iterator[Finding]:
    """The budget, when it allows the shortest way and less than two steps more."""
    graph, budget = subject.graph, subject.machine.budget
    if not graph.complete or graph.shortest is None:
        return
    needed = len(graph.shortest)
    if needed <= budget < needed + ROOM:
        message = f"the budget of {steps(budget)} leaves no room for a repair: the shortest way to END takes {needed}"
        yield Finding(in_machine(subject.machine, "budget"), message, f"allow at least {needed + ROOM}")


RULE = Rule(code="budget-tight", severity=Severity.WARNING, find=find, basis="L13 C7", page=__doc__)
