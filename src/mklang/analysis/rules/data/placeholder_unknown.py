"""A placeholder names a key that nothing provides.

It is no key of ``context``, no state's output and no reply path.

Why: a placeholder that leads nowhere is empty text and no error, so the model is asked a question with a hole in it
(L16, F10; L24).

Fires:
    context: { name: "" }
    states:
      write:
        structure: One line.
        prompt: "Say hello to {{nmae}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    context: { name: "" }
    states:
      write:
        structure: One line.
        prompt: "Say hello to {{name}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. The hint names the closest key. A key that only the host provides belongs into ``context`` with an empty
value.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import at_read
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """The first placeholder of each unknown key in each state; the branch variables have a rule of their own."""
    data = subject.data
    names: Names | None = None
    for state, reads in zip(data.states, data.reads, strict=True):
        seen = {"item", "index"}
        for read in reads:
            root = read.placeholder.root
            if root and root not in data.provided and root not in seen:
                seen.add(root)
                names = names or Names(data.provided)
                hint = names.hint(root, "declare it in 'context', or let a state write it")
                yield Finding(at_read(subject.source, state, read), f"nothing provides '{root}'", hint)


RULE = Rule(
    code="placeholder-unknown", severity=Severity.WARNING, find=find, basis="L16 F10", page=__doc__, strict=True
)
