"""A gate asks a hook that the ``hooks`` block does not list.

Only when the block is there and not empty. The comparisons, such as ``eq:PATH:VALUE``, are part of the
language, not of the host, and need not be listed; guards (``guard:NAME``) are files beside the machine.

Why: the block tells whoever runs the machine what to provide. A hook that is missing there is probably misspelt, or
will be missing in the host, where it halts the run (L13, C1; L8, L58).

Fires:
    hooks: [{ name: small_amount }]
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates:
          - { when: the amount is small, hook: small_amuont, then: ok, to: END }
          - { when: otherwise, fail: true }

Repaired:
    hooks: [{ name: small_amount }]
    states:
      offer:
        structure: One sentence.
        prompt: Offer a refund.
        output: offer
        gates:
          - { when: the amount is small, hook: small_amount, then: ok, to: END }
          - { when: otherwise, fail: true }

Fix: unsafe. The hint names the closest declared hook; the declaration may be what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity
from mklang.lang.comparisons import is_comparison
from mklang.lang.effects import GUARD
from mklang.lang.models import HookCondition


def find(subject: Subject) -> Iterator[Finding]:
    """Every gate with a hook that is not listed."""
    declared = {declaration.name for declaration in subject.machine.hooks}
    if not declared:
        return
    names = Names(declared)
    for state in subject.graph.states:
        for gate in state.gates:
            condition = gate.condition
            if not isinstance(condition, HookCondition) or condition.name in declared:
                continue
            if not is_comparison(condition.name) and not condition.name.startswith(GUARD):
                hint = names.hint(condition.name, "add it to 'hooks'")
                message = f"the hook '{condition.name}' is not declared in 'hooks'"
                yield Finding(in_gate(state, gate, "hook"), message, hint)


RULE = Rule(code="hook-undeclared", severity=Severity.WARNING, find=find, basis="L13 C1", page=__doc__)
