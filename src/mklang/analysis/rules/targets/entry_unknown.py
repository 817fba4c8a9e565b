"""The entry is not a state.

Why: the run has nowhere to begin; it cannot take its first step (L12, E1).

Fires:
    entry: wriet
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    entry: write
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. The hint names the closest state; only the author knows where the run should begin.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_machine
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """The entry, when no state has that id."""
    machine = subject.machine
    if subject.graph.entry is None:
        hint = Names(machine.states).hint(machine.entry, "name one of the states")
        yield Finding(in_machine(machine, "entry"), f"the entry '{machine.entry}' is not a state", hint)


RULE = Rule(code="entry-unknown", severity=Severity.ERROR, find=find, basis="L12 E1", page=__doc__)
