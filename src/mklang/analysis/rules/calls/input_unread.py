"""A call passes an input that the callee neither declares nor reads.

Silent when the callee asks a hook of the host's own, which might look at any key.

Why: the value is put on the callee's blackboard and nothing happens; mostly its name is misspelt, and the key that was
meant keeps its default (L52).

Fires:
    states:
      delegate:
        call: summarize
        input: { txt: hello }
        output: summary
        gates: [{ when: otherwise, then: ok, to: END }]
    ---
    machine: summarize
    context: { text: "" }
    states:
      write:
        structure: One line.
        prompt: "Shorten: {{text}}"
        output: line
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    states:
      delegate:
        call: summarize
        input: { text: hello }
        output: summary
        gates: [{ when: otherwise, then: ok, to: END }]
    ---
    machine: summarize
    context: { text: "" }
    states:
      write:
        structure: One line.
        prompt: "Shorten: {{text}}"
        output: line
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. The hint names the closest key the callee knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import key_of_input
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity
from mklang.lang.models import Call


def find(subject: Subject) -> Iterator[Finding]:
    """Every such input of every call to a known machine."""
    for state in subject.graph.states:
        if not isinstance(state, Call) or not state.input:
            continue
        callee = subject.closure.get(state.machine)
        if callee is None or callee.data.opaque:
            continue
        known = callee.data.used | callee.data.provided
        for argument in state.input:
            if argument.name not in known:
                hint = Names(callee.data.used | callee.data.context).hint(argument.name, "delete it")
                message = f"'{state.machine}' never reads '{argument.name}'"
                yield Finding(key_of_input(state, argument.name), message, hint)


RULE = Rule(code="input-unread", severity=Severity.WARNING, find=find, basis="L52", page=__doc__, strict=True)
