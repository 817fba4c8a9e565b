"""Every ``otherwise`` gate of a state is a repair.

Why: a catch-all that is a repair catches nothing once it is used up; then the run halts ``no-gate-matched`` when no
other condition is true (L16, F5; L56).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is one polite line, then: ok, to: END }
          - { when: otherwise, repair: 2, to: write }

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is one polite line, then: ok, to: END }
          - { when: otherwise, repair: 2, to: write }
          - { when: otherwise, fail: true }

Fix: unsafe. Where the run goes once the repairs are used up is the author's decision.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Otherwise, Repair


def find(subject: Subject) -> Iterator[Finding]:
    """The last catch-all of every state whose catch-alls are repairs; if all gates are, it is ``repairs-only``."""
    for state in subject.graph.states:
        catching = [gate for gate in state.gates if gate.condition.__class__ is Otherwise]
        if not catching or any(gate.policy.__class__ is not Repair for gate in catching):
            continue
        if any(gate.policy.__class__ is not Repair for gate in state.gates):
            message = "this catch-all is a repair: once it is used up, nothing catches what the other gates do not"
            hint = "add another gate 'when: otherwise' behind it that goes on, escalates or fails"
            yield Finding(in_gate(state, catching[-1], "repair"), message, hint)


RULE = Rule(code="otherwise-repair", severity=Severity.WARNING, find=find, basis="L16 F5", page=__doc__, strict=True)
