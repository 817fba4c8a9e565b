"""A context key or output called ``item`` or ``index`` cannot be read in the branches of a fan-out.

Outside of fan-outs such a key can be read like any other.

Why: in a branch the placeholder means the branch's own element or number, whatever the author had in mind (L4, L29,
W46).

Fires:
    context: { item: a birthday, names: [Ada, Alan] }
    states:
      write:
        over: "{{names}}"
        structure: One line.
        prompt: "Write about {{item}}."
        output: lines
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    context: { occasion: a birthday, names: [Ada, Alan] }
    states:
      write:
        over: "{{names}}"
        structure: One line.
        prompt: "Write to {{item}} about {{occasion}}."
        output: lines
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Renaming the key means renaming it everywhere, in the host too.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.dataflow import is_branch_variable, reads_of
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import Spot, in_state, key_of_context
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """Each place that provides such a key, when some branch uses the name."""
    data = subject.data
    for name in ("item", "index"):
        if name not in data.context and name not in data.writers:
            continue
        using = [
            state.id
            for state in data.states
            if any(read.placeholder.root == name and is_branch_variable(read, state) for read in reads_of(state))
        ]
        if using:
            message = f"in the branches of '{using[0]}', '{name}' means their own: this one cannot be read there"
            for spot in _spots(subject, name):
                yield Finding(spot, message, "give it another name")


def _spots(subject: Subject, name: str) -> Iterator[Spot]:
    if name in subject.data.context:
        yield key_of_context(subject.machine, name)
    for number in subject.data.writers.get(name, ()):
        yield in_state(subject.graph.states[number], "output")


RULE = Rule(
    code="branch-variable-shadowed", severity=Severity.WARNING, find=find, basis="L4 L29", page=__doc__, strict=True
)
