"""A run that gets here can neither reach END nor be stopped by a fail gate.

Why: it goes round until its budget or a visit ceiling stops it, and is paid for all the while. A state that only leads
to a fail gate is exempt: that is a decision.

Fires:
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
        output: greeting
        gates: [{ when: otherwise, then: ok, to: soften }]

Repaired:
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
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Only the author knows which state should lead out.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import name_of
from mklang.analysis.subject import Subject
from mklang.analysis.words import listed
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """Each group of states that lead only to each other, once. Silent when nothing leads to END at all."""
    graph = subject.graph
    if not graph.complete or graph.shortest is None:
        return
    if graph.finishing.issuperset(graph.origins):
        return
    for component in graph.components:
        first = min(component)
        if first not in graph.origins or first in graph.finishing or _leads_out(component, graph.targets):
            continue
        names = listed([graph.states[node].id for node in sorted(component)])
        message = f"a run that reaches {names} can neither end nor fail any more"
        yield Finding(name_of(graph.states[first]), message, "lead a gate out, or add a fail gate")


def _leads_out(component: list[int], targets: tuple[tuple[int, ...], ...]) -> bool:
    inside = set(component)
    return any(not inside.issuperset(targets[node]) for node in component)


RULE = Rule(code="dead-end", severity=Severity.WARNING, find=find, basis="L36 L40", page=__doc__)
