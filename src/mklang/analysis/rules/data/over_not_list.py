"""A fan-out runs over something that is never a list.

A generative state without ``parse`` writes text, so does a tool, and so does a callee that ends in one of them.

Why: the fan-out halts the run with ``state-error`` (L49).

Fires:
    states:
      plan:
        structure: A list of topics.
        prompt: Name three topics.
        output: topics
        gates: [{ when: otherwise, then: ok, to: write }]
      write:
        over: "{{topics}}"
        structure: One line.
        prompt: "About {{item}}:"
        output: lines
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    mklang: "0.3"
    states:
      plan:
        parse: list
        structure: A JSON list of topics.
        prompt: Name three topics.
        output: topics
        gates: [{ when: otherwise, then: ok, to: write }]
      write:
        over: "{{topics}}"
        structure: One line.
        prompt: "About {{item}}:"
        output: lines
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. ``parse: list`` on the writing state also needs a structure that asks for a JSON list.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.kinds import Kind, kinds_at
from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_state
from mklang.analysis.subject import Subject
from mklang.analysis.words import listed
from mklang.diagnostics import Severity
from mklang.lang.models import Call, Generative, Over


def find(subject: Subject) -> Iterator[Finding]:
    """Every ``over`` whose key is known and can hold no list."""
    for state in subject.graph.states:
        if not isinstance(state.fan_out, Over):
            continue
        keys = state.fan_out.items.keys
        kinds = kinds_at(keys[0], subject.facts, subject.closure.returns)
        fitting = {Kind.UNKNOWN, Kind.LIST} if len(keys) == 1 else {Kind.UNKNOWN, Kind.MAP}
        if kinds and kinds.isdisjoint(fitting):
            what = " or ".join(sorted(kind.value for kind in kinds))
            message = f"'{state.fan_out.items.path}' is never a list: '{keys[0]}' is {what}"
            yield Finding(in_state(state, "over"), message, _hint(subject, keys[0]))


def _hint(subject: Subject, key: str) -> str:
    writers = [subject.graph.states[number] for number in subject.data.writers.get(key, ())]
    writing = [state.id for state in writers if isinstance(state, Generative)]
    if writing:
        return f"let {listed(writing)} write a list: 'parse: list'"
    called = [state.machine for state in writers if isinstance(state, Call)]
    if called:
        return f"let {listed(called)} return a list"
    return "let a generative state with 'parse: list' make a list of it" if writers else "give it a list in 'context'"


RULE = Rule(code="over-not-list", severity=Severity.WARNING, find=find, basis="L49", page=__doc__)
