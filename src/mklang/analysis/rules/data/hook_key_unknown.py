"""A hook looks at a context key that nothing provides.

The built-in hooks and the comparisons, such as ``eq:PATH:VALUE``, name the key they look at.

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

from collections.abc import Collection, Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity
from mklang.lang.comparisons import Comparison, read_comparison
from mklang.lang.effects import keys_read
from mklang.lang.models import HookCondition


def find(subject: Subject) -> Iterator[Finding]:
    """Every hook that looks at an unknown key."""
    provided = subject.data.provided
    for state in subject.graph.states:
        for gate in state.gates:
            if not isinstance(gate.condition, HookCondition):
                continue
            for key in _unknown(gate.condition.name, state.output, provided):
                hint = Names(provided).hint(key, "declare it in 'context', or let a state write it")
                message = f"nothing provides '{key}', which '{gate.condition.name}' looks at"
                yield Finding(in_gate(state, gate, "hook"), message, hint)


def _unknown(hook: str, output: str, provided: Collection[str]) -> Iterator[str]:
    """The keys that nothing provides; a comparison over a dotted path has two to choose from."""
    keys = keys_read(hook, output) or ()
    if isinstance(read_comparison(hook), Comparison):
        if not set(keys) & set(provided):
            yield keys[0]
        return
    yield from (key for key in keys if key not in provided)


RULE = Rule(code="hook-key-unknown", severity=Severity.WARNING, find=find, basis="L59", page=__doc__, strict=True)
