"""No way from the entry leads to END.

Why: the run cannot be done; it goes on until its budget is spent or a gate stops it (L12, E4).

Fires:
    context: { polished: "" }
    states:
      write:
        structure: One line.
        prompt: "Say hello, not like this: {{polished}}"
        output: greeting
        gates: [{ when: otherwise, then: ok, to: polish }]
      polish:
        structure: One line.
        prompt: "Polish: {{greeting}}"
        output: polished
        gates: [{ when: otherwise, then: ok, to: write }]

Repaired:
    context: { polished: "" }
    states:
      write:
        structure: One line.
        prompt: "Say hello, not like this: {{polished}}"
        output: greeting
        gates: [{ when: otherwise, then: ok, to: polish }]
      polish:
        structure: One line.
        prompt: "Polish: {{greeting}}"
        output: polished
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Only the author knows which state should end the run.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_machine
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """The entry, when END is out of reach. Silent while a gate's target is unknown: that may be the way."""
    graph = subject.graph
    if graph.complete and graph.shortest is None:
        message = f"no way from the entry '{subject.machine.entry}' leads to END"
        yield Finding(in_machine(subject.machine, "entry"), message, "add a gate with 'to: END' to a state it reaches")


RULE = Rule(code="end-unreachable", severity=Severity.ERROR, find=find, basis="L12 E4", page=__doc__)
