"""Gates stand behind an ``otherwise`` that is always true.

An ``otherwise`` that is a repair is used up at some time, so gates behind it do get their turn.

Why: gates are tried in the order written, and the first that is true fires. What stands behind cannot happen (L16, F2;
L57).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: otherwise, then: ok, to: END }
          - { when: it is rude, fail: true }

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates:
          - { when: it is rude, fail: true }
          - { when: otherwise, then: ok, to: END }

Fix: unsafe. Moving the gate to the end, or deleting those behind it, changes what a run does.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """Every catch-all with gates behind it that can never fire."""
    for state, live in zip(subject.graph.states, subject.graph.live, strict=True):
        dead = len(state.gates) - len(live)
        if dead:
            message = (
                f"the {dead} gates behind this one can never fire"
                if dead > 1
                else "the gate behind this one can never fire"
            )
            yield Finding(in_gate(state, live[-1], "when"), message, "move 'otherwise' to the end")


RULE = Rule(code="otherwise-not-last", severity=Severity.WARNING, find=find, basis="L16 F2", page=__doc__, strict=True)
