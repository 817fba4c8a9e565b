"""A judge alone decides whether a person is asked.

Why: what must reach a person for certain should not depend on a model noticing it. A hook decides the same way every
time (L16, F7).

Fires:
    states:
      offer:
        structure: One sentence with an amount.
        prompt: Offer a refund.
        output: offer
        gates:
          - { when: the amount is above 100, escalate: true, to: approve }
          - { when: otherwise, then: ok, to: END }
      approve:
        structure: One sentence.
        prompt: "Confirm: {{offer}} {{human.reply}}"
        output: offer
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    states:
      offer:
        structure: One sentence with an amount.
        prompt: Offer a refund.
        output: offer
        gates:
          - { when: the amount is above 100, hook: above_100, escalate: true, to: approve }
          - { when: otherwise, then: ok, to: END }
      approve:
        structure: One sentence.
        prompt: "Confirm: {{offer}} {{human.reply}}"
        output: offer
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. A hook must be written and registered with the host.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.analysis.words import listed
from mklang.diagnostics import Severity
from mklang.lang.models import Escalate, Prose


def find(subject: Subject) -> Iterator[Finding]:
    """One note for the machine, at the first such gate; an escalating catch-all is no judge's choice."""
    graph = subject.graph
    found = [
        (state, gate)
        for state, live in zip(graph.states, graph.live, strict=True)
        for gate in live
        if gate.policy.__class__ is Escalate and gate.condition.__class__ is Prose
    ]
    if found:
        state, gate = found[0]
        names = listed(list(dict.fromkeys(state.id for state, _ in found)))
        message = f"only a judge decides whether a person is asked, in {names}"
        yield Finding(in_gate(state, gate, "when"), message, "where it must not be missed, add a 'hook'")


RULE = Rule(code="escalate-judged", severity=Severity.NOTE, find=find, basis="L16 F7", page=__doc__)
