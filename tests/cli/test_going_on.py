"""A run that goes on is answered by whoever answered before, unless the person names somebody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main
from mklang.errors import ConfigError
from mklang.host.config import Layer

MACHINE = """
machine: m
entry: a
budget: 3
states:
  a:
    tool: calc
    input: {expr: 1+1}
    output: o
    gates: [{when: otherwise, escalate: true, to: b}]
  b:
    tool: calc
    input: {expr: 1+2}
    output: p
    gates: [{when: otherwise, then: ok, to: END}]
"""


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """Every choice of models that was asked for; each is then refused, so that nothing runs."""
    asked: list[dict[str, Any]] = []

    def choose(**choice: Any) -> None:
        named = [str(place.path) for place in choice["config"].places if place.layer is Layer.EXPLICIT]
        asked.append(
            {name: choice.get(name) for name in ("provider", "model", "base_url")} | {"config": [*named, None][0]}
        )
        raise ConfigError("chosen")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))
    Path("m.mkl").write_text(MACHINE)
    Path("models.yaml").write_text(
        "active: here\nproviders:\n  here:\n    protocol: openai_compat\n    base_url: http://127.0.0.1:9/v1\n"
        "    tiers: {fast: a, balanced: a, reasoning: a}\n"
    )
    assert main(["run", "m.mkl", "--config", "models.yaml", "--hitl", "--checkpoint", "kept.jsonl", "--quiet"]) == 3
    monkeypatch.setattr("mklang.host.session.choose_models", choose)
    return asked


@pytest.mark.rule("L113")
def test_resume_takes_the_choice_from_the_journal(chosen: list[dict[str, Any]], tmp_path: Path) -> None:
    assert json.loads(Path("kept.jsonl").read_text().splitlines()[0])["answered_by"] == {
        "config": str(tmp_path / "models.yaml")
    }
    assert main(["resume", "kept.jsonl", "--quiet"]) == 2
    assert chosen == [{"config": str(tmp_path / "models.yaml"), "provider": None, "model": None, "base_url": None}]


def test_a_person_may_name_somebody_else(chosen: list[dict[str, Any]]) -> None:
    assert main(["resume", "kept.jsonl", "--base-url", "http://127.0.0.1:9/v1", "--model", "b", "--quiet"]) == 2
    assert chosen == [{"config": None, "provider": None, "model": "b", "base_url": "http://127.0.0.1:9/v1"}]


@pytest.fixture
def waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments that answer a kept run's question, from another directory than the one it began in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))
    Path("m.mkl").write_text(MACHINE)
    Path("models.yaml").write_text(
        "active: here\nproviders:\n  here:\n    protocol: openai_compat\n    base_url: http://127.0.0.1:9/v1\n"
        "    tiers: {fast: a, balanced: a, reasoning: a}\n"
    )
    assert main(["run", "m.mkl", "--config", "models.yaml", "--hitl", "--checkpoint", "kept.jsonl", "--quiet"]) == 3
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    return ["resume", "../kept.jsonl", "--set", "human.reply=yes", "--quiet", "--format", "text"]


@pytest.mark.rule("W25")
def test_a_run_goes_on_from_any_directory(waiting: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(waiting) == 0
    assert capsys.readouterr().out == "3\n"


@pytest.mark.rule("W25")
def test_a_machine_whose_file_is_gone_goes_on_as_it_was(waiting: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("../m.mkl").unlink()
    capsys.readouterr()
    assert main(waiting) == 0
    assert capsys.readouterr().out == "3\n"


@pytest.mark.rule("L113", "W25")
def test_a_missing_file_and_a_changed_machine_are_told_apart(
    waiting: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("../m.mkl").write_text(MACHINE.replace("1+2", "1+3"))
    capsys.readouterr()
    assert main(waiting) == 2
    assert "state 'b' is changed" in capsys.readouterr().err
    assert main([*waiting, "--machine", "nowhere.mkl"]) == 2
    err = capsys.readouterr().err
    assert "file-missing" in err and "nowhere.mkl" in err and "changed" not in err
