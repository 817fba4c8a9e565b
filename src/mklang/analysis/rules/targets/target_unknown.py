"""A gate leads to a state that does not exist.

Ids are compared exactly: ``end`` is not ``END``, ``Review`` is not ``review``.

Why: when this gate fires the run cannot go on, after everything before it has been paid for (L12, E2).

Fires:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: end }]

Repaired:
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. The hint names the closest state; only the author knows which one was meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_gate
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity
from mklang.lang.models import END


def find(subject: Subject) -> Iterator[Finding]:
    """Every gate whose target is neither END nor a state."""
    index = subject.graph.index
    names = Names((END, *index))
    for state in subject.graph.states:
        for gate in state.gates:
            to = gate.target
            if to is not None and to not in index and to != END:
                hint = names.hint(to, "name a state of this machine, or END")
                yield Finding(in_gate(state, gate, "to"), f"'{to}' is not a state", hint)


RULE = Rule(code="target-unknown", severity=Severity.ERROR, find=find, basis="L12 E2", page=__doc__)
