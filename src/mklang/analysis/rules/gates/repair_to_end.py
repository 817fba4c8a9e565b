"""A repair leads to END.

Why: a repair sends its feedback to a state that can do better. END ends the run as done, with the output that was just
found wanting (L6, L43).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is rude, repair: 1, to: END }
          - { when: otherwise, then: ok, to: END }

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is rude, repair: 1, to: write }
          - { when: otherwise, then: ok, to: END }

Fix: unsafe. Lead the repair to the state that should try again, or make it an ok gate.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import END, Repair


def find(subject: Subject) -> Iterator[Finding]:
    """Every repair gate to END."""
    for state in subject.graph.states:
        for gate in state.gates:
            if gate.policy.__class__ is Repair and gate.target == END:
                hint = "lead it to the state that should try again, or write 'then: ok'"
                yield Finding(in_gate(state, gate, "to"), "a repair that leads to END repairs nothing", hint)


RULE = Rule(code="repair-to-end", severity=Severity.WARNING, find=find, basis="L6 W51", page=__doc__)
