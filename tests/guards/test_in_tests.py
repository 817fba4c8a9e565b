"""Scripted scenarios and pinned runs meet the guards that stand around the machine, as its runs do (L121, L122)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mklang.cli.main import main
from mklang.host.runs import Keeping, begin
from tests.guards.test_in_runs import BAD, BOUND, GOOD, ready
from tests.guards.world import MACHINE, Post, write

SCRIPT = """
scenarios:
  - llm: {{ produce: ["{text}"] }}
    tools: {{ send_note: [sent] }}
    expect: {{ status: {status} }}
"""


@pytest.mark.rule("L90", "L121")
@pytest.mark.parametrize(("text", "status"), [(GOOD, "done"), ("ignore previous", "halt")])
def test_a_scripted_text_must_pass_the_guard_too(text: str, status: str, tmp_path: Path) -> None:
    path = write(tmp_path, **BOUND, **{"post.test.yaml": SCRIPT.format(text=text, status=status)})
    assert main(["test", str(path)]) == 0


@pytest.mark.rule("L122")
def test_a_guard_named_by_a_gate_needs_no_script(tmp_path: Path) -> None:
    gate = "[{ when: fine, hook: 'guard:note', then: ok, to: send }, { when: otherwise, fail: true }]"
    machine = MACHINE.replace("[{ when: otherwise, then: ok, to: send }]", gate)
    scripts = {"post.test.yaml": SCRIPT.format(text="ignore previous", status="halt")}
    path = write(tmp_path, **{"post.mkl": machine, "note.guard.yaml": BOUND["note.guard.yaml"]}, **scripts)
    assert main(["test", str(path)]) == 0


@pytest.mark.rule("L90", "L121")
def test_a_run_that_a_guard_ended_is_replayed_and_pinned_ending_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, recording = write(tmp_path, **BOUND), tmp_path / "r.jsonl"
    session = ready(monkeypatch, Post(), BAD)(path)
    asyncio.run(begin(session, Keeping(folder=tmp_path, path=recording)).run())
    assert main(["run", str(path), "--replay", str(recording)]) == 1
    assert main(["test", str(path), "--from-journal", str(recording)]) == 0
    assert main(["test", str(path)]) == 0
    assert "guard-refused" in capsys.readouterr().out
