"""A state has no ``otherwise`` gate.

Why: when none of its conditions is true, or the judge's reply cannot be read, the run halts ``no-gate-matched`` or
``judge-unparseable`` (L13, C3; L16, F4; L57, L62).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: it is polite, then: ok, to: END }]

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is polite, then: ok, to: END }
          - { when: otherwise, fail: true }

Fix: unsafe. What should happen in the remaining case is the author's decision.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import key_of_state
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Otherwise, Repair


def find(subject: Subject) -> Iterator[Finding]:
    """Every state without a catch-all; one whose gates are all repairs is ``repairs-only``."""
    for state in subject.graph.states:
        for gate in state.gates:
            if gate.condition.__class__ is Otherwise:
                break
        else:
            if any(gate.policy.__class__ is not Repair for gate in state.gates):
                message = f"'{state.id}' has no 'otherwise' gate: the run halts when none of its conditions is true"
                hint = "end with a gate 'when: otherwise', if only to fail"
                yield Finding(key_of_state(state, "gates"), message, hint)


RULE = Rule(
    code="otherwise-missing", severity=Severity.WARNING, find=find, basis="L13 C3, L16 F4", page=__doc__, strict=True
)
