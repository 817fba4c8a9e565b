"""Killed at every journal write, a run ends the same: same result, trace, bill and effects (house style 23)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mklang.durable.journal import read_journal
from mklang.lang.reader import machine_from_text
from tests.durable.dying import Story, tell

pytestmark = [pytest.mark.rule("L81"), pytest.mark.rule("L83")]

ROOT = """
machine: paper
entry: draft
budget: 40
result: filed
context: {parts: [one, two]}
states:
  draft:
    structure: a line
    prompt: "Write {{note}}"
    output: note
    max_visits: 3
    gates:
      - {when: good enough, then: ok, to: check}
      - {when: one more round, then: ok, to: draft}
  check:
    call: helper
    over: "{{parts}}"
    input: {part: "{{item}}"}
    output: checked
    gates: [{when: otherwise, then: ok, to: announce}]
  announce:
    tool: announce
    input: {text: "{{note}}"}
    output: announced
    gates:
      - {when: otherwise, escalate: true, to: file, ask: "File it?"}
  file:
    tool: file_away
    input: {text: "{{checked}}"}
    output: filed
    gates: [{when: otherwise, then: ok, to: END}]
"""
HELPER = """
machine: helper
entry: look
budget: 5
context: {part: ""}
states:
  look:
    structure: a line
    prompt: "Look at {{part}}"
    output: seen
    gates:
      - {when: it is fine, then: ok, to: END}
"""
STORY = Story(
    machine=machine_from_text(ROOT),
    library={"helper": machine_from_text(HELPER)},
    verdicts={
        "1:draft/judge[0]": 1,
        "2:draft/judge[0]": 0,
        "3:check[0]/call/1:look/judge[0]": 0,
        "3:check[1]/call/1:look/judge[0]": 0,
    },
    replies={"5:file/ask": "yes"},
)


@pytest.mark.parametrize("after", [False, True], ids=["before the write", "after the write"])
def test_a_run_killed_at_any_write_ends_as_if_nothing_had_happened(tmp_path: Path, after: bool) -> None:
    calm = tmp_path / "calm"
    calm.mkdir()
    expected = tell(STORY, calm)
    assert expected.deaths == 0
    assert len(expected.ledger) == 2
    writes = len(read_journal(calm / "run.jsonl").lines)
    deaths = 0
    for number in range(1, writes + 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        told = tell(STORY, folder, kill_at=number, after=after)
        deaths += told.deaths
        assert told.result == expected.result, f"killed at write {number}"
        assert sorted(told.ledger) == sorted(expected.ledger), f"killed at write {number}"
    assert deaths > 10
