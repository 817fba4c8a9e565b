"""What the guides show is run as they show it (house style 24)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mklang.cli.main import main
from mklang.source import Source
from mklang.testing.reading import read_scenarios
from mklang.testing.scenario import Scenario
from tests.cli.scripted_models import answer_with

GUIDES = Path(__file__).parents[2] / "docs/guides"


def blocks(guide: str, kind: str) -> list[str]:
    """The fenced blocks of one kind in a guide, in order."""
    return re.findall(rf"^```{kind}\n(.*?)^```", (GUIDES / guide).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def commands(guide: str, about: str) -> list[list[str]]:
    """The ``mklang`` calls in a guide that mention something, without their comments."""
    lines = [line for block in blocks(guide, "console") for line in block.splitlines() if about in line]
    return [shlex.split(line, comments=True)[1:] for line in lines]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))
    machine, script, *_ = blocks("testing.md", "yaml")
    Path("one_line.mkl").write_text(machine)
    Path("one_line.test.yaml").write_text(script)


def test_the_first_scenario_of_the_testing_guide_passes() -> None:
    (test, *_) = commands("testing.md", "--script")
    assert main(test) == 0


@pytest.mark.rule("L88", "L90")
def test_the_testing_guides_recording_is_replayed_and_pinned_and_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer_with(monkeypatch, {"write": "We meet at 5 in the old hall."}, {"write": None})
    recorded = commands("testing.md", "good.jsonl")
    assert [main(command) for command in recorded] == [0, 0, 0]
    assert main(["test", "one_line.mkl"]) == 0
    assert "2 scenarios in 2 scripts: 2 passed" in capsys.readouterr().out


@pytest.mark.parametrize("part", ["answers:", "replies:"])
def test_the_parts_of_scenarios_in_the_testing_guide_are_readable(part: str) -> None:
    (block,) = [block for block in blocks("testing.md", "yaml") if part in block]
    lines = "".join(f"    {line}\n" for line in block.splitlines())
    file = read_scenarios(Source("guide", f"scenarios:\n  - name: n\n{lines}    expect: {{ status: done }}\n"))
    assert file.diagnostics == ()
    assert isinstance(file.entries[0], Scenario)
