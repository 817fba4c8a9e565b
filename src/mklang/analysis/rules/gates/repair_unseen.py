"""A repair leads where no model will ever see its feedback.

Feedback waits for the next generative state. From here only tools and calls can be reached, so it waits in vain: a
tool is asked the same thing again, a callee never sees its caller's feedback. Repeating a tool because a hook says
that it failed is a retry, and exempt.

Why: the attempts are paid for and cannot turn out better for what the judge said (L43).

Fires:
    states:
      find:
        tool: search
        input: { query: opening hours }
        output: hits
        gates:
          - { when: the hits do not answer the question, repair: 2, to: find }
          - { when: otherwise, then: ok, to: END }

Repaired:
    states:
      ask:
        structure: A search query.
        prompt: Write a query that finds the opening hours.
        output: query
        gates: [{ when: otherwise, then: ok, to: find }]
      find:
        tool: search
        input: { query: "{{query}}" }
        output: hits
        gates:
          - { when: the hits do not answer the question, repair: 2, to: ask }
          - { when: otherwise, then: ok, to: END }

Fix: unsafe. Lead the repair to the generative state whose text should change.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.digraph import leading_to
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Generative, HookCondition, Repair


def find(subject: Subject) -> Iterator[Finding]:
    """Every judged repair whose target leads to no generative state."""
    graph = subject.graph
    writing = leading_to(graph.targets, [n for n, state in enumerate(graph.states) if isinstance(state, Generative)])
    if len(writing) == len(graph.states):
        return
    for state, live in zip(graph.states, graph.live, strict=True):
        for gate in live:
            if not isinstance(gate.policy, Repair) or isinstance(gate.condition, HookCondition):
                continue
            target = graph.index.get(gate.policy.to)
            if target is not None and target not in writing:
                message = f"no model sees the feedback of this repair: '{gate.policy.to}' leads to no generative state"
                yield Finding(in_gate(state, gate, "to"), message, "lead it to the state whose text should change")


RULE = Rule(code="repair-unseen", severity=Severity.WARNING, find=find, basis="L43", page=__doc__, strict=True)
