"""Documents for the tests of this folder, and the short way from their text to a played scenario."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from textwrap import dedent, indent

from mklang.diagnostics import Diagnostic
from mklang.lang.models import Machine
from mklang.lang.reader import machine_from_text
from mklang.oracles.scripted import Manner
from mklang.source import Source
from mklang.testing.playing import Played, play, play_entry
from mklang.testing.reading import read_scenarios
from mklang.testing.scenario import Scenario, ScenarioFile, Unreadable

NOTE = """
    machine: note
    entry: write
    budget: 6
    result: note
    context: { raw: "" }
    states:
      write:
        structure: one sentence
        prompt: "tidy {{raw}}"
        output: note
        gates:
          - { when: every fact is kept, then: ok, to: END }
          - { when: a fact is missing, repair: 2, to: write }
          - { when: otherwise, fail: true }
"""

PAIR = """
    machine: pair
    entry: first
    budget: 4
    states:
      first:
        structure: s
        prompt: one
        output: a
        gates: [{ when: otherwise, then: ok, to: second }]
      second:
        structure: s
        prompt: two
        output: b
        gates: [{ when: otherwise, then: ok, to: END }]
"""

SPREAD = """
    machine: spread
    entry: each
    budget: 20
    context: { items: [x, y, z] }
    states:
      before:
        structure: s
        prompt: before
        output: start
        gates: [{ when: otherwise, then: ok, to: each }]
      each:
        structure: s
        prompt: "handle {{item}}"
        over: "{{items}}"
        output: parts
        gates: [{ when: otherwise, then: ok, to: after }]
      after:
        structure: s
        prompt: "join"
        output: whole
        gates: [{ when: otherwise, then: ok, to: END }]
"""


def machine(text: str, name: str = "m.mkl") -> Machine:
    return machine_from_text(dedent(text), name)


def scenario_file(*scenarios: str) -> ScenarioFile:
    """A scenario file with these scenarios, each the text of a map."""
    items = "".join("  -\n" + indent(dedent(text).strip("\n"), "    ") + "\n" for text in scenarios)
    return read_scenarios(Source("s.test.yaml", f"scenarios:\n{items}"))


def scenario(text: str) -> Scenario:
    (entry,) = scenario_file(text).entries
    assert isinstance(entry, Scenario), entry
    return entry


def problems(text: str) -> tuple[Diagnostic, ...]:
    """What is wrong with a scenario that cannot be read."""
    (entry,) = scenario_file(text).entries
    assert isinstance(entry, Unreadable)
    return entry.diagnostics


def play_text(
    document: str,
    text: str,
    *,
    manner: Manner = Manner.STRICT,
    callees: Mapping[str, str] | None = None,
) -> Played:
    """Play a scenario, both given as text."""
    library = {name: machine(callee, f"{name}.mkl") for name, callee in (callees or {}).items()}
    if manner is Manner.STRICT:
        (entry,) = scenario_file(text).entries
        return asyncio.run(play_entry(entry, machine(document), library))
    return asyncio.run(play(scenario(text), machine(document), library, manner=manner))


def told(played: Played) -> list[str]:
    return [str(mismatch) for mismatch in played.mismatches]
