"""The result is a key that no state writes.

A key of ``context`` alone does not count: then the run would return what went in.

Why: the run is done, everything was paid for, and its result is null or unchanged (L13, C4; L41).

Fires:
    result: greting
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Repaired:
    result: greeting
    states:
      write:
        structure: One line.
        prompt: Say hello.
        output: greeting
        gates: [{ when: otherwise, then: ok, to: END }]

Fix: unsafe. The hint names the closest output; only the author knows which one was meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from mklang.analysis.registry import Finding, Rule
from mklang.analysis.spots import in_machine
from mklang.analysis.subject import Subject
from mklang.analysis.words import Names, listed
from mklang.diagnostics import Severity


def find(subject: Subject) -> Iterator[Finding]:
    """The result, when it is no state's output."""
    machine, writers = subject.machine, subject.data.writers
    if machine.result is not None and machine.result not in writers:
        hint = Names(writers).hint(machine.result, f"the states write {listed(list(writers))}")
        yield Finding(in_machine(machine, "result"), f"no state writes the result '{machine.result}'", hint)


RULE = Rule(code="result-unknown", severity=Severity.WARNING, find=find, basis="L13 C4", page=__doc__)
