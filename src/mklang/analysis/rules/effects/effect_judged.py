"""A tool that changes the world runs on a judge's word.

On some way to it a judge decided, and no hook and no person came after. ``otherwise`` behind a judged gate is the
judge's word too. A built-in hook that only looks at what a state wrote does not count: the text would vouch for
itself. Tools that only look are exempt (L77).

Why: whoever can put text before the judge, in an input or a document that a tool reads, can talk it into this (L16,
F8; L76, L78).

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
        tool: send_reply
        input: { text: "{{reply}}" }
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
        tool: send_reply
        input: { text: "{{reply}}" }
        output: receipt
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Put a hook gate or an escalate gate before the tool, or let the host class the tool as ``read``.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_state
from mklang.analysis.subject import Subject
from mklang.analysis.words import way
from mklang.diagnostics import Severity
from mklang.lang.effects import READ_TOOLS
from mklang.lang.models import Tool


def find(subject: Subject) -> Iterator[Finding]:
    """Every effectful tool state that can be reached on a judge's word, with a shortest such way."""
    trust = subject.facts.trust
    for number, state in enumerate(subject.graph.states):
        if isinstance(state, Tool) and state.tool not in READ_TOOLS and trust.judged(number):
            message = f"'{state.tool}' can run on a judge's word alone: {way(trust.witness(number), state)}"
            hint = "put a hook or a person before it, or let the host class the tool as 'read'"
            yield Finding(in_state(state, "tool"), message, hint)


RULE = Rule(code="effect-judged", severity=Severity.NOTE, find=find, basis="L16 F8, L17", page=__doc__)
