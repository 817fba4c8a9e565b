"""A number is written with zeros at its end that a number does not keep.

Why: ``1.10`` is the number 1.1, and that is what a prompt, a tool or a hook gets. Where a version or a price was meant,
that is wrong; where a number was meant, it is the same, so this is a note (L1, L26).

Fires:
    context: { release: 1.10 }
    states:
      write:
        structure: One line.
        prompt: "Announce release {{release}}."
        output: line
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    context: { release: "1.10" }
    states:
      write:
        structure: One line.
        prompt: "Announce release {{release}}."
        output: line
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. Quoting makes it text; only the author knows which of the two was meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.prose import passages
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.subject import Subject
from mklang.analysis.texts import written
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """Every such number in the author's values and in what is handed to tools and callees."""
    if subject.source is None:
        return
    for passage in passages(subject.machine):
        if not isinstance(passage.value, float):
            continue
        text = written(subject.source, passage.at, *passage.path)
        if text.endswith("0") and "." in text and text != str(passage.value):
            message = f"{text} is a number and becomes {passage.value}"
            yield Finding(passage.spot, message, f'quote it if it is meant as text: "{text}"')


RULE = Rule(code="number-shortened", severity=Severity.NOTE, find=find, basis="L1 L26", page=__doc__)
