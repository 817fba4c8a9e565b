"""A call does not pass a key that the callee reads and nothing in it provides.

A key that the callee declares in its ``context``, even empty, has a value and is exempt.

Why: in the callee the placeholder is empty text, so a model is asked a question with a hole in it (L24, L52).

Fires:
    states:
      delegate:
        call: summarize
        output: summary
        gates: [{ when: otherwise, then: ok, to: END }]
    ---
    machine: summarize
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
    states:
      write:
        structure: One line.
        prompt: "Shorten: {{text}}"
        output: line
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Which value to pass is the author's decision.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_state
from mklang.analysis.subject import Subject
from mklang.analysis.words import listed
from mklang.diagnostics import Severity
from mklang.lang.models import Call


def find(subject: Subject) -> Iterator[Finding]:
    """Every call to a known machine that leaves such keys out."""
    for state in subject.graph.states:
        callee = subject.closure.get(state.machine) if isinstance(state, Call) else None
        if callee is None or not isinstance(state, Call):
            continue
        needed = {read.placeholder.root for reads in callee.data.reads for read in reads}
        passed = {argument.name for argument in state.input}
        missing = sorted(needed - callee.data.provided - passed - {"", "item", "index"})
        if missing:
            message = f"'{state.machine}' reads {listed(missing)}, which neither it nor this call provides"
            yield Finding(in_state(state, "call"), message, "pass it in 'input', or declare it there in 'context'")


RULE = Rule(code="input-missing", severity=Severity.WARNING, find=find, basis="L24 L52", page=__doc__, strict=True)
