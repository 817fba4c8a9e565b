"""A state calls a tool that the ``tools`` block does not list.

Only when the block is there and not empty.

Why: the block tells whoever runs the machine what to provide. A tool that is missing there is probably misspelt, or
will be missing in the host, where it halts the run (L13, C2; L8, L55).

Fires:
    tools: [{ name: search }]
    states:
      find:
        tool: saerch
        input: { query: opening hours }
        output: hits
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    tools: [{ name: search }]
    states:
      find:
        tool: search
        input: { query: opening hours }
        output: hits
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. The hint names the closest declared tool; the declaration may be what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_state
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity
from mklang.lang.models import Tool


def find(subject: Subject) -> Iterator[Finding]:
    """Every tool state whose tool is not listed."""
    declared = {declaration.name for declaration in subject.machine.tools}
    if not declared:
        return
    names = Names(declared)
    for state in subject.graph.states:
        if isinstance(state, Tool) and state.tool not in declared:
            hint = names.hint(state.tool, "add it to 'tools'")
            yield Finding(in_state(state, "tool"), f"the tool '{state.tool}' is not declared in 'tools'", hint)


RULE = Rule(code="tool-undeclared", severity=Severity.WARNING, find=find, basis="L13 C2", page=__doc__)
