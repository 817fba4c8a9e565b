"""A fan-out runs over something that is never a list.

A generative state without ``parse`` writes text, and so does a tool.

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
from mklang.lang.models import Over


def find(subject: Subject) -> Iterator[Finding]:
    """Every ``over`` whose key is known and can hold no list."""
    for state in subject.graph.states:
        if not isinstance(state.fan_out, Over):
            continue
        keys = state.fan_out.items.keys
        kinds = kinds_at(keys[0], subject.machine, subject.data)
        fitting = {Kind.UNKNOWN, Kind.LIST} if len(keys) == 1 else {Kind.UNKNOWN, Kind.MAP}
        if kinds and kinds.isdisjoint(fitting):
            writers = [subject.graph.states[number].id for number in subject.data.writers.get(keys[0], ())]
            what = " or ".join(sorted(kind.value for kind in kinds))
            message = f"'{state.fan_out.items.path}' is never a list: '{keys[0]}' is {what}"
            hint = f"let {listed(writers)} write a list: 'parse: list'" if writers else "give it a list in 'context'"
            yield Finding(in_state(state, "over"), message, hint)


RULE = Rule(code="over-not-list", severity=Severity.WARNING, find=find, basis="L49", page=__doc__)
