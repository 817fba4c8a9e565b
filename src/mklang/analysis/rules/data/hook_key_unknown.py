"""A hook looks at a context key that nothing provides.

The built-in hooks and the comparisons ``eq:KEY:VALUE`` and ``neq:KEY:VALUE`` name the key they look at.

Why: a missing key is empty text to them, so the gate is decided the same way in every run (L59).

Fires:
    context: { status: "" }
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates:
          - { when: it is paid, hook: "eq:statsu:paid", then: ok, to: END }
          - { when: otherwise, fail: true }

Repaired:
    context: { status: "" }
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates:
          - { when: it is paid, hook: "eq:status:paid", then: ok, to: END }
          - { when: otherwise, fail: true }

Fix: unsafe. The hint names the closest key. A key that only the host provides belongs into ``context`` with an empty
value.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity
from mklang.lang.effects import keys_read
from mklang.lang.models import HookCondition


def find(subject: Subject) -> Iterator[Finding]:
    """Every hook that looks at an unknown key; a dotted one is ``hook-malformed``."""
    provided = subject.data.provided
    for state in subject.graph.states:
        for gate in state.gates:
            if not isinstance(gate.condition, HookCondition):
                continue
            for key in keys_read(gate.condition.name, state.output) or ():
                if key not in provided and "." not in key:
                    hint = Names(provided).hint(key, "declare it in 'context', or let a state write it")
                    message = f"nothing provides '{key}', which '{gate.condition.name}' looks at"
                    yield Finding(in_gate(state, gate, "hook"), message, hint)


RULE = Rule(code="hook-key-unknown", severity=Severity.WARNING, find=find, basis="L59", page=__doc__, strict=True)
