"""A placeholder leads into an output that never has keys.

A generative state without ``parse`` writes text, a tool returns text, so does a callee that ends in one of them, and
a fan-out or an accumulated output is a list.

Why: a path into a text is empty text and no error, so the model is asked a question with a hole in it (L24, L39, L47).

Fires:
    states:
      extract:
        structure: A JSON object with name and city.
        prompt: Invent a person.
        output: person
        gates: [{ when: otherwise, then: ok, to: write }]
      write:
        structure: One line.
        prompt: "Say hello to {{person.name}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    mklang: "0.4"
    states:
      extract:
        parse: json
        structure: A JSON object with name and city.
        prompt: Invent a person.
        output: person
        gates: [{ when: otherwise, then: ok, to: write }]
      write:
        structure: One line.
        prompt: "Say hello to {{person.name}}."
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. ``parse: json`` on the writing state makes keys readable, and halts the run when the text is no JSON. A
host that reads a tool's observations as JSON (``structured_tools``, L55) makes the path work; silence this there.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.kinds import Kind, kinds_at
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import at_read
from mklang.analysis.subject import Subject
from mklang.analysis.words import listed
from mklang.diagnostics import Severity
from mklang.lang.models import Generative, Tool

_KEYLESS = frozenset((Kind.TEXT, Kind.LIST))


def find(subject: Subject) -> Iterator[Finding]:
    """The first placeholder of each path in each state; a fan-out's own ``over`` is ``over-not-list``."""
    data = subject.data
    for state, reads in zip(data.states, data.reads, strict=True):
        seen: set[str] = set()
        for read in reads:
            found = read.placeholder
            if len(found.keys) == 1 or read.face == ("over",) or found.path in seen or found.root not in data.writers:
                continue
            seen.add(found.path)
            kinds = kinds_at(found.root, subject.facts, subject.closure.returns)
            if all(found.keys) and kinds <= _KEYLESS:
                what = " or ".join(sorted(kind.value for kind in kinds))
                message = f"'{found.root}' is {what} and has no key '{found.keys[1]}'"
                yield Finding(at_read(subject.source, state, read), message, _hint(subject, found.root))


def _hint(subject: Subject, key: str) -> str:
    writers = [subject.graph.states[number] for number in subject.data.writers[key]]
    if all(isinstance(state, Generative) and state.fan_out is None and not state.accumulate for state in writers):
        return f"write 'parse: json' in {listed([state.id for state in writers])}"
    if all(isinstance(state, Tool) for state in writers):
        return "read it whole, or let the host read the tool's observations as JSON (tools.structured)"
    return "read it whole"


RULE = Rule(code="path-into-text", severity=Severity.WARNING, find=find, basis="L24 L47", page=__doc__, strict=True)
