"""A called machine cannot end without being called again.

Every way through it goes through a call to itself, directly or by others.

Why: each level calls the next until the ninth fails with ``call-depth-exceeded``, and every level was paid for (L53).

Fires:
    machine: chat
    states:
      again:
        call: chat
        output: reply
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    machine: chat
    states:
      ask:
        structure: A question.
        prompt: Ask something.
        output: question
        gates:
          - { when: the question is simple, then: ok, to: END }
          - { when: otherwise, then: ok, to: again }
      again:
        call: chat
        output: reply
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Give the machine a way to END that does not call it again.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_state
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Call


def find(subject: Subject) -> Iterator[Finding]:
    """Every call in a reachable state to a machine that never ends."""
    graph = subject.graph
    for number in sorted(graph.origins):
        state = graph.states[number]
        if isinstance(state, Call) and state.machine in subject.closure.endless:
            message = f"'{state.machine}' cannot end without being called again"
            yield Finding(in_state(state, "call"), message, "give it a way to END without that call")


RULE = Rule(code="call-endless", severity=Severity.WARNING, find=find, basis="L53", page=__doc__)
