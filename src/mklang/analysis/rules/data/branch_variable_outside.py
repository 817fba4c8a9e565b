"""``{{item}}`` or ``{{index}}`` stands where there is no such branch variable, and nothing else has that name.

``index`` exists in the branches of ``over`` and ``sample``, ``item`` in those of ``over`` only; neither exists in
``over`` itself.

Why: the placeholder is empty text and no error (L16, F11; L29).

Fires:
    states:
      write:
        structure: One line.
        prompt: "Say hello to {{item}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    context: { names: [Ada, Alan] }
    states:
      write:
        over: "{{names}}"
        structure: One line.
        prompt: "Say hello to {{item}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Make the state a fan-out, or read another key.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import at_read
from mklang.analysis.subject import Subject
from mklang.diagnostics import Severity
from mklang.lang.models import Sample, State


def find(subject: Subject) -> Iterator[Finding]:
    """The first such placeholder of each name in each state."""
    data = subject.data
    for state, reads in zip(data.states, data.reads, strict=True):
        seen: set[str] = set()
        for read in reads:
            root = read.placeholder.root
            if root in ("item", "index") and root not in data.provided and root not in seen:
                seen.add(root)
                yield Finding(at_read(subject.source, state, read), *_words(root, state))


def _words(root: str, state: State) -> tuple[str, str]:
    if root == "item" and isinstance(state.fan_out, Sample):
        return "'item' exists in the branches of 'over', not of 'sample'", "read 'index', or fan out with 'over'"
    if state.fan_out is not None:
        return f"'{root}' exists in the branches, not in 'over' itself", "name the list to run over"
    return f"'{root}' exists only in a fan-out, and '{state.id}' is none", "add 'over', or read another key"


RULE = Rule(
    code="branch-variable-outside", severity=Severity.WARNING, find=find, basis="L16 F11", page=__doc__, strict=True
)
