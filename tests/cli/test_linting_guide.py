"""The linting guide's example and commands, run as they are shown (house style 24)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mklang.analysis.runner import Analyser
from mklang.cli.main import main
from mklang.engine.outcome import to_wire
from mklang.lang.reader import machine_from_text
from mklang.source import Source
from mklang.testing.playing import play_all
from mklang.testing.reading import load_scenarios
from tests.cli.test_guides import blocks, commands
from tests.testing.test_suites import PLAIN, TRIAGE

GUIDE = "linting.md"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))
    Path("triage.mkl").write_text(TRIAGE, "utf-8")
    Path("flows").mkdir()
    Path("flows/triage.mkl").write_text(TRIAGE, "utf-8")


def test_the_finding_is_told_as_the_guide_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    machine, _ = blocks(GUIDE, "yaml")
    Path("notes.mkl").write_text(machine, "utf-8")
    shown = next(block for block in blocks(GUIDE, "console") if block.startswith("$ "))
    command, _, told = shown.partition("\n")
    assert main(command.split()[2:]) == 0
    assert capsys.readouterr().out == told


def test_the_comment_of_the_guide_silences_what_it_says() -> None:
    _, block = blocks(GUIDE, "yaml")
    head = "machine: m\nentry: a\nbudget: 5\nstates:\n  a:\n    structure: s\n    prompt: p\n    output: o\n"
    text = head + "".join(f"    {line.removeprefix('    ')}\n" for line in block.splitlines())
    assert Analyser().lint(machine_from_text(text), Source("m", text)) == ()


def test_every_command_of_the_guide_works(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.test.yaml").write_text("scenarios:\n" + PLAIN, "utf-8")
    outcome = play_all(load_scenarios("x.test.yaml").entries, machine_from_text(TRIAGE), {})[0].outcome
    assert outcome is not None
    Path("RUN").write_text(json.dumps(to_wire(outcome)), "utf-8")
    shown = [command for command in commands(GUIDE, "mklang") if command and command[0] != "mklang"]
    called = {command[0] for command in shown}
    assert called >= {"check", "lint", "explain", "fmt", "graph"}
    assert [(command, code) for command in shown if (code := main(command)) not in (0, 1)] == []
