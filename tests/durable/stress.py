"""``make stress``: the large version of the dying test. Killed before and after every journal write of a long run."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from mklang.durable.journal import read_journal
from mklang.lang.reader import machine_from_text
from tests.durable.dying import Story, tell

WIDTH, ROUNDS = 8, 5

ROOT = f"""
machine: paper
entry: draft
budget: 80
result: filed
context: {{parts: [{", ".join(f"part{number}" for number in range(WIDTH))}]}}
states:
  draft:
    structure: a line
    prompt: "Write {{{{note}}}}"
    output: note
    accumulate: true
    gates:
      - {{when: good enough, then: ok, to: check}}
      - {{when: one more round, then: ok, to: draft}}
  check:
    call: helper
    over: "{{{{parts}}}}"
    input: {{part: "{{{{item}}}}"}}
    output: checked
    gates: [{{when: otherwise, then: ok, to: announce}}]
  announce:
    tool: announce
    over: "{{{{parts}}}}"
    input: {{text: "{{{{item}}}}"}}
    output: announced
    gates:
      - {{when: otherwise, escalate: true, to: file, ask: "File it?"}}
  file:
    tool: file_away
    input: {{text: "{{{{checked}}}}"}}
    output: filed
    gates: [{{when: otherwise, then: ok, to: END}}]
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
      - {when: it is fine, then: ok, to: note}
  note:
    tool: note_down
    input: {text: "{{seen}}"}
    output: noted
    gates: [{when: otherwise, then: ok, to: END}]
"""


def story() -> Story:
    """A loop, two fan-outs, nested calls, three acting tools and an approval."""
    call = ROUNDS + 1
    return Story(
        machine=machine_from_text(ROOT),
        library={"helper": machine_from_text(HELPER)},
        verdicts={f"{number}:draft/judge[0]": int(number < ROUNDS) for number in range(1, ROUNDS + 1)}
        | {f"{call}:check[{branch}]/call/1:look/judge[0]": 0 for branch in range(WIDTH)},
        replies={f"{call + 2}:file/ask": "yes"},
    )


def main() -> int:
    """Die everywhere; say what differed. Exit code 1 when anything did."""
    told, failures = story(), 0
    with tempfile.TemporaryDirectory() as scratch:
        calm = Path(scratch) / "calm"
        calm.mkdir()
        expected = tell(told, calm)
        writes = len(read_journal(calm / "run.jsonl").lines)
        deaths = questions = 0
        for after in (False, True):
            for number in range(1, writes + 1):
                folder = Path(scratch) / f"{number}-{after}"
                folder.mkdir()
                got = tell(told, folder, kill_at=number, after=after)
                deaths, questions = deaths + got.deaths, questions + got.questions
                if got.result != expected.result or sorted(got.ledger) != sorted(expected.ledger):
                    failures += 1
                    print(f"killed {'after' if after else 'before'} write {number}: the run ended differently")
    print(f"{writes} writes, {deaths} deaths, {questions} answers by people, {failures} runs that ended differently")
    return 1 if failures or not deaths else 0


if __name__ == "__main__":
    sys.exit(main())
