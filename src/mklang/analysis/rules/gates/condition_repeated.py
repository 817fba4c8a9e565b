"""Two gates of a state have the same condition, and the first is never used up.

Texts count as the same when they differ only in case, white space and punctuation. Behind a repair the same condition
makes sense: it says what happens once the repairs are used up.

Why: the first of them fires whenever the condition is true, so the second never does; and the judge is shown one
condition under two numbers (L57, L60).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: The line is rude., fail: true }
          - { when: the line is rude, repair: 1, to: write }
          - { when: otherwise, then: ok, to: END }

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: the line is rude, repair: 1, to: write }
          - { when: The line is rude., fail: true }
          - { when: otherwise, then: ok, to: END }

Fix: unsafe. Deleting the second gate changes nothing about a run, but one of the two was probably meant differently.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.analysis.words import gist
from mklang.diagnostics import Severity
from mklang.lang.models import Gate, HookCondition, Prose, Repair


def find(subject: Subject) -> Iterator[Finding]:
    """Every gate that repeats the condition of an earlier one that cannot be used up."""
    for state, live in zip(subject.graph.states, subject.graph.live, strict=True):
        seen: dict[tuple[str, str], Gate] = {}
        for gate in live:
            key = _key(gate)
            first = seen.get(key) if key else None
            if first is not None:
                message = f"gate {first.index + 1} of '{state.id}' has the same condition: this one can never fire"
                spot = in_gate(state, gate, "hook" if isinstance(gate.condition, HookCondition) else "when")
                yield Finding(spot, message, "delete one of them, or say what sets them apart")
            elif key and gate.policy.__class__ is not Repair:
                seen[key] = gate


def _key(gate: Gate) -> tuple[str, str] | None:
    condition = gate.condition
    if isinstance(condition, Prose):
        return "when", gist(condition.text)
    return ("hook", condition.name) if isinstance(condition, HookCondition) else None


RULE = Rule(code="condition-repeated", severity=Severity.WARNING, find=find, basis="L57 L60", page=__doc__, strict=True)
