"""A hook stands beside ``otherwise`` and is never asked.

Why: ``otherwise`` is always true, so the gate fires whatever the hook would say. Who wrote the hook believes that it
guards something (L57).

Fires:
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates: [{ when: otherwise, hook: small_amount, then: ok, to: END }]

Repaired:
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates:
          - { when: the amount is small, hook: small_amount, then: ok, to: END }
          - { when: otherwise, fail: true }

Fix: unsafe. Deleting the hook changes no run; but it was probably meant to decide.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import has_key, key_of_gate
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Otherwise


def find(subject: Subject) -> Iterator[Finding]:
    """Every hook on a catch-all. The model has dropped it, so this looks at the text."""
    for state in subject.graph.states:
        for gate in state.gates:
            if gate.condition.__class__ is Otherwise and has_key(gate.at, "hook"):
                message = "this hook is never asked: 'otherwise' is always true"
                yield Finding(
                    key_of_gate(state, gate, "hook"), message, "write a condition in 'when', or delete the hook"
                )


RULE = Rule(code="hook-ignored", severity=Severity.WARNING, find=find, basis="L57", page=__doc__, strict=True)
