"""An output is always replaced before anything reads it.

The key is read somewhere, but on every way from this state another state writes it first.

Why: a model was paid for a text that cannot have any effect (L39).

Fires:
    states:
      draft:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: polish }]
      polish:
        structure: One line.
        prompt: Say hello kindly.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: sign }]
      sign:
        structure: One line.
        prompt: "Sign this: {{greeting}}"
        output: letter
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    states:
      draft:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: polish }]
      polish:
        structure: One line.
        prompt: "Say this more kindly: {{greeting}}"
        output: greeting
        gates: [{ when: otherwise, then: ok, to: sign }]
      sign:
        structure: One line.
        prompt: "Sign this: {{greeting}}"
        output: letter
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Read the first output, give it another name, or delete the state.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.liveness import overwritten_unread
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_state
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.effects import READ_TOOLS
from mklang.lang.models import Tool


def find(subject: Subject) -> Iterator[Finding]:
    """Every such output, except of tools that change the world and of states that only fail."""
    graph = subject.graph
    for number in overwritten_unread(graph, subject.data, subject.machine.result):
        state = graph.states[number]
        acting = isinstance(state, Tool) and state.tool not in READ_TOOLS
        if not acting and graph.targets[number]:
            message = f"this '{state.output}' is always replaced before anything reads it"
            yield Finding(in_state(state, "output"), message, "read it, rename it, or delete the state")


RULE = Rule(code="output-overwritten", severity=Severity.WARNING, find=find, basis="L39", page=__doc__, strict=True)
