"""``mklang trust`` shows what a folder asks for, and nothing of it counts before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mklang.cli.main import main

MACHINE = """\
machine: writes
entry: save
budget: 4
states:
  save:
    tool: write_file
    input: { path: out.txt, content: hello }
    output: wrote
    gates:
      - { when: it was not written, hook: write_failed, fail: true }
      - { when: otherwise, then: ok, to: END }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that asks for a write grant."""
    project = tmp_path / "project"
    (project / "config").mkdir(parents=True)
    (project / "config/runtime.yaml").write_text("tools: { fs: { write: true } }\n")
    (project / "writes.mkl").write_text(MACHINE)
    monkeypatch.chdir(project)
    monkeypatch.setenv("MKLANG_CONFIG_DIR", str(tmp_path / "user"))
    return project


def run(*more: str) -> int:
    return main(["run", "writes.mkl", "--no-keep", "--base-url", "http://localhost:9/v1", "--model", "none", *more])


def test_a_grant_takes_effect_when_the_folder_is_trusted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 1
    assert "tools.fs.write: 'fs.write: true' takes no effect: this folder is not trusted" in capsys.readouterr().err
    assert not (folder / "out.txt").exists()
    assert main(["trust"]) == 2  # nobody to ask
    told = capsys.readouterr().err
    assert "tools.fs.write" in told
    assert "--yes" in told
    assert run() == 1
    assert main(["trust", "--yes"]) == 0
    capsys.readouterr()
    assert run() == 0
    assert "untrusted" not in capsys.readouterr().err
    assert (folder / "out.txt").read_text() == "hello"
    assert main(["trust", "--list"]) == 0
    assert capsys.readouterr().out.strip() == str(folder)
    assert main(["trust", "--remove"]) == 0
    (folder / "out.txt").unlink()
    assert run() == 1


def test_flags_stand_over_every_file(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run("--workspace", str(elsewhere), "--allow-write") == 0
    assert (elsewhere / "out.txt").read_text() == "hello"
    assert main(["trust", "--yes"]) == 0
    assert run("--no-allow-write") == 1
    assert not (folder / "out.txt").exists()


def test_the_json_form_names_what_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", "--yes", "--format", "json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert (item["folder"], item["asks"]) == (str(folder), ["tools.fs.write"])


def test_a_folder_that_is_none_and_a_broken_configuration(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", "nowhere"]) == 2
    (folder / "config/runtime.yaml").write_text("tools: [")
    assert main(["trust", "--yes"]) == 2
    assert "runtime.yaml:1" in capsys.readouterr().err
