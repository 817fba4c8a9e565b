"""All gates of a state are repairs.

Why: repairs are used up. Then no gate is left, and the run halts ``no-gate-matched`` however good the output is (L16,
F3; L56).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is longer than one line, repair: 1, to: write }
          - { when: it is rude, repair: 1, to: soften }
      soften:
        structure: One line.
        prompt: "Make this kinder: {{greeting}}"
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is longer than one line, repair: 1, to: write }
          - { when: it is rude, repair: 1, to: soften }
          - { when: otherwise, then: ok, to: END }
      soften:
        structure: One line.
        prompt: "Make this kinder: {{greeting}}"
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Where the run goes once the repairs are used up is the author's decision.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import key_of_state
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Repair


def find(subject: Subject) -> Iterator[Finding]:
    """Every state from which only repairs lead on."""
    for state in subject.graph.states:
        if all(gate.policy.__class__ is Repair for gate in state.gates):
            message = f"every gate of '{state.id}' is a repair: once they are used up, the run halts"
            hint = "add a gate 'when: otherwise' that goes on, escalates or fails"
            yield Finding(key_of_state(state, "gates"), message, hint)


RULE = Rule(code="repairs-only", severity=Severity.WARNING, find=find, basis="L16 F3", page=__doc__, strict=True)
