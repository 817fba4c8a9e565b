"""A built-in comparison hook is not written as ``eq:KEY:VALUE`` or ``neq:KEY:VALUE``, or its key has a dot.

A name that the ``hooks`` block lists is the host's own and exempt.

Why: a name of another form is an unknown hook and halts the run with ``state-error``. KEY is one top-level key;
``eq:order.status:paid`` compares a key called ``order.status`` that nothing can write, so it is never true (L59).

Fires:
    context: { status: "" }
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates:
          - { when: it is paid, "hook": "eq:status", then: ok, to: END }
          - { when: otherwise, fail: true }

Repaired:
    context: { status: "" }
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates:
          - { when: it is paid, "hook": "eq:status:paid", then: ok, to: END }
          - { when: otherwise, fail: true }

Fix: unsafe. What to compare is the author's decision.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.effects import compared_key, is_comparison
from mklang.lang.models import HookCondition


def find(subject: Subject) -> Iterator[Finding]:
    """Every comparison without a key or a value, or with a dotted key."""
    declared = {declaration.name for declaration in subject.machine.hooks}
    for state in subject.graph.states:
        for gate in state.gates:
            condition = gate.condition
            if not isinstance(condition, HookCondition) or condition.name in declared:
                continue
            if not is_comparison(condition.name):
                continue
            key = compared_key(condition.name)
            if key is None:
                message, hint = f"'{condition.name}' is no comparison", "write eq:KEY:VALUE or neq:KEY:VALUE"
                yield Finding(in_gate(state, gate, "hook"), message, hint)
            elif "." in key and key not in subject.data.context:
                message = f"'{condition.name}' compares a key called '{key}', which nothing can write"
                yield Finding(in_gate(state, gate, "hook"), message, "compare a top-level key, without a dot")


RULE = Rule(code="hook-malformed", severity=Severity.WARNING, find=find, basis="L59", page=__doc__)
