"""A state writes an output that nothing reads.

No placeholder and no hook argument names it, it is not the result, no judge or hook of the state decides on it, and no
gate of the state ends the run. A tool that changes the world is run for that, so an output of its that nobody reads is
a note.

Why: a model was paid for a text that cannot have any effect; mostly a name is misspelt on one of its two sides (L16,
F6).

Fires:
    states:
      think:
        structure: Some thoughts.
        prompt: What could be said?
        output: thoughts
        gates: [{ when: otherwise, then: ok, to: write }]
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    states:
      think:
        structure: Some thoughts.
        prompt: What could be said?
        output: thoughts
        gates: [{ when: otherwise, then: ok, to: write }]
      write:
        structure: One line.
        prompt: "Say hello. Think of: {{thoughts}}"
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Use the output, or delete the state.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.dataflow import judges_output
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_state
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity
from mklang.lang.effects import READ_TOOLS
from mklang.lang.models import State, Tool


def find(subject: Subject) -> Iterator[Finding]:
    """Every output of a reachable state that goes nowhere."""
    graph, data = subject.graph, subject.data
    names: Names | None = None
    for number in sorted(graph.origins):
        state = graph.states[number]
        if state.output in data.used or number in graph.ending or not graph.targets[number] or judges_output(state):
            continue
        names = names or Names(data.used - data.provided)
        hint = names.hint(state.output, "read it in a prompt, an input or a hook, or make it the result")
        yield Finding(in_state(state, "output"), f"nothing reads '{state.output}'", hint, _severity(state))


def _severity(state: State) -> Severity:
    acting = isinstance(state, Tool) and state.tool not in READ_TOOLS
    return Severity.NOTE if acting else Severity.WARNING


RULE = Rule(code="output-unread", severity=Severity.WARNING, find=find, basis="L16 F6", page=__doc__, strict=True)
