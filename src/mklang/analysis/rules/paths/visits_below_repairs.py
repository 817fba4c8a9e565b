"""The visit ceiling is reached before the state's own repairs are used up.

``max_visits: N`` lets a state run N times, and ``repair: N`` to itself needs N + 1.

Why: the last repair ends in ``loop-ceiling`` instead of running, and the gates behind it never get their turn (L13,
C8; L38).

Fires:
    mklang: "0.4"
    states:
      write:
        max_visits: 2
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is longer than one line, repair: 2, to: write }
          - { when: otherwise, then: ok, to: END }

Repaired:
    mklang: "0.4"
    states:
      write:
        max_visits: 3
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is longer than one line, repair: 2, to: write }
          - { when: otherwise, then: ok, to: END }

Fix: unsafe. Raise the ceiling or lower the number of repairs.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_state
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Repair


def find(subject: Subject) -> Iterator[Finding]:
    """Every ``max_visits`` that a repair of the same state, to itself, would exceed."""
    for state in subject.graph.states:
        ceiling = state.max_visits
        if ceiling is None:
            continue
        own = [gate.policy for gate in state.gates if isinstance(gate.policy, Repair) and gate.target == state.id]
        repairs = max((policy.limit for policy in own), default=0)
        if ceiling <= repairs:
            message = f"'max_visits: {ceiling}' stops the state before its 'repair: {repairs}' is used up"
            yield Finding(in_state(state, "max_visits"), message, f"allow at least {repairs + 1} visits")


RULE = Rule(code="visits-below-repairs", severity=Severity.WARNING, find=find, basis="L13 C8", page=__doc__)
