"""A machine called on a judge's word can change the world on it.

On some way to the call a judge decided, with no hook and no person after it; and the callee, or a machine that it
calls, reaches an effectful tool without one of its own.

Why: as for ``effect-judged``; a callee starts with its caller's flow mark (L16, F9; L79).

Fires:
    context: { mail: "" }
    states:
      write:
        structure: A reply.
        prompt: "Reply to: {{mail}}"
        output: reply
        gates:
          - { when: the reply is polite, then: ok, to: send }
          - { when: otherwise, fail: true }
      send:
        call: sender
        input: { text: "{{reply}}" }
        output: receipt
        gates: [{ when: otherwise, then: ok, to: END }]
    ---
    machine: sender
    context: { text: "" }
    states:
      send:
        tool: send_reply
        input: { text: "{{text}}" }
        output: receipt
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    context: { mail: "" }
    states:
      write:
        structure: A reply.
        prompt: "Reply to: {{mail}}"
        output: reply
        gates:
          - { when: the reply is short and free of links, hook: safe_to_send, then: ok, to: send }
          - { when: otherwise, fail: true }
      send:
        call: sender
        input: { text: "{{reply}}" }
        output: receipt
        gates: [{ when: otherwise, then: ok, to: END }]
    ---
    machine: sender
    context: { text: "" }
    states:
      send:
        tool: send_reply
        input: { text: "{{text}}" }
        output: receipt
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Put a hook gate or an escalate gate before the call, or before the tool in the callee.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_state
from mklang.analysis.subject import Subject
from mklang.analysis.words import way
from mklang.diagnostics import Severity
from mklang.lang.models import Call


def find(subject: Subject) -> Iterator[Finding]:
    """Every such call, with a shortest way to it."""
    trust = subject.facts.trust
    for number, state in enumerate(subject.graph.states):
        if isinstance(state, Call) and trust.judged(number) and state.machine in subject.closure.unsafe:
            message = (
                f"'{state.machine}' can run an effectful tool on a judge's word: {way(trust.witness(number), state)}"
            )
            hint = f"put a hook or a person before the call, or before the tool in '{state.machine}'"
            yield Finding(in_state(state, "call"), message, hint)


RULE = Rule(code="effect-in-callee", severity=Severity.NOTE, find=find, basis="L16 F9, L79", page=__doc__)
