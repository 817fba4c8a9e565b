"""A call names a machine that cannot be found.

Nothing is said when it is not known which machines there are, or when the machine's file is there and cannot be read,
which is reported by whoever reads it. A machine always finds itself.

Why: the call state halts the run with ``state-error`` when it is reached (L12, E3; L20, L54).

Fires:
    states:
      delegate:
        call: summarise
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
    context: { text: "" }

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
    context: { text: "" }

Fix: unsafe. The hint names the closest machine; a file may also be missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_state
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity
from mklang.lang.models import Call


def find(subject: Subject) -> Iterator[Finding]:
    """Every call whose machine is not in the library."""
    library = subject.closure.library
    if library is None:
        return
    listed: frozenset[str] = frozenset()
    names: Names | None = None
    for state in subject.graph.states:
        if isinstance(state, Call) and subject.closure.get(state.machine) is None:
            listed = listed or frozenset(library)
            if state.machine in listed:
                continue
            names = names or Names((*sorted(listed), subject.machine.name))
            hint = names.hint(state.machine, "it must stand in a file beside this one or in 'machines', or be bundled")
            yield Finding(in_state(state, "call"), f"there is no machine called '{state.machine}'", hint)


RULE = Rule(code="callee-unknown", severity=Severity.ERROR, find=find, basis="L12 E3", page=__doc__)
