"""An escalate gate to END has a question that nobody is ever asked.

Why: an escalate gate asks a person only when a state follows that can use the reply; one to END just ends the run (L7,
L81).

Fires:
    mklang: "0.4"
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates: [{ when: otherwise, escalate: true, ask: "Is this all right?", to: END }]

Repaired:
    mklang: "0.4"
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates: [{ when: otherwise, escalate: true, ask: "Is this all right?", to: send }]
      send:
        structure: One sentence.
        prompt: "Offer: {{offer}} Reply: {{human.reply}}"
        output: letter
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Deleting the key changes no run; but the author probably wanted the question asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import key_of_gate
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import END, Escalate


def find(subject: Subject) -> Iterator[Finding]:
    """Every ``ask`` or ``reply_to`` on an escalate gate to END."""
    for state in subject.graph.states:
        for gate in state.gates:
            policy = gate.policy
            if isinstance(policy, Escalate) and policy.to == END:
                for key, value in (("ask", policy.ask), ("reply_to", policy.reply_to)):
                    if value is not None:
                        message = f"'{key}' has no effect: an escalate gate to END asks nobody"
                        yield Finding(key_of_gate(state, gate, key), message, "lead the gate to a state")


RULE = Rule(code="ask-unused", severity=Severity.WARNING, find=find, basis="L7 L81", page=__doc__, strict=True)
