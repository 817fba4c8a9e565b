"""``mklang test --from-journal``: a run that happened becomes a test that passes (L90, L107)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mklang.cli.main import main
from tests.cli.scripted_models import Scripted, answer_with
from tests.cli.test_recording import LETTER

pytestmark = pytest.mark.rule("L90", "L107")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))
    Path("letter.mkl").write_text(LETTER)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    return answer_with(monkeypatch, {"draft": "drops", "mend": "drops drip"}, {"draft": 0})


def record(*flags: str) -> None:
    main(["run", "letter.mkl", "--record", "letter.jsonl", "--quiet", *flags])


def pin(*arguments: str) -> int:
    return main(["test", "letter.mkl", "--from-journal", "letter.jsonl", *arguments])


@pytest.mark.parametrize(
    ("verdict", "flags", "status"),
    [(0, (), "done"), (None, ("--hitl",), "suspended"), (None, ("--max-steps", "1"), "halt")],
)
def test_a_pinned_run_passes_at_once(
    verdict: int | None, flags: tuple[str, ...], status: str, model: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    model.verdicts = {"draft": verdict}
    record("--set", "topic=snow", *flags)
    capsys.readouterr()
    assert pin("--output", "letter.test.yaml", "--name", "as it was") == 0
    assert capsys.readouterr().out == "PINNED as it was: letter.test.yaml\n"
    assert f"status: {status}" in Path("letter.test.yaml").read_text()
    assert main(["test", "letter.mkl", "--script", "letter.test.yaml"]) == 0
    assert capsys.readouterr().out.startswith("PASS as it was\n")


def test_a_pinned_run_fails_when_the_route_changes(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    record()
    assert pin("--output", "letter.test.yaml") == 0
    Path("letter.mkl").write_text(LETTER.replace("then: ok, to: END }", "then: ok, to: mend }", 1))
    capsys.readouterr()
    assert main(["test", "letter.mkl", "--script", "letter.test.yaml"]) == 1
    told = capsys.readouterr().out
    assert "'answers' has no 2:mend/produce" in told
    assert 'trace[0].to: expected "END", got "mend"' in told


def test_without_an_output_the_file_stands_where_it_is_found_and_played(
    model: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("machines").mkdir()
    Path("machines/letter.mkl").write_text(LETTER)
    assert main(["run", "machines/letter.mkl", "--quiet"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert main(["test", "machines/letter.mkl", "--from-journal", run, "--format", "json"]) == 0
    wire = json.loads(capsys.readouterr().out)
    path = f"machines/letter.{run}.test.yaml"
    assert wire["items"] == [{"scenario": run, "status": "pinned", "path": path, "mismatches": []}]
    assert Path(path).is_file()
    assert main(["test", "machines/letter.mkl"]) == 0
    assert f"PASS {run}" in capsys.readouterr().out


@pytest.mark.rule("W26")
def test_a_file_is_replaced_only_when_that_is_said(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    record()
    Path("mine.yaml").write_text("mine")
    assert pin("--output", "mine.yaml") == 2
    assert "this file exists" in capsys.readouterr().err
    assert Path("mine.yaml").read_text() == "mine"
    assert pin("--output", "mine.yaml", "--overwrite") == 0
    assert Path("mine.yaml").read_text().startswith("# Pinned from run ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--script", "s", "--from-journal", "r"), "takes one machine, and goes with"),
        (("other.mkl", "--from-journal", "r"), "takes one machine, and goes with"),
        (("--name", "n"), "go with --from-journal"),
        (("--from-journal", "nowhere"), "no run 'nowhere'"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", "letter.mkl", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_machine_with_errors_and_a_folder_that_is_not_there_are_told(
    model: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    record()
    assert pin("--output", "nowhere/x.yaml") == 2
    assert "nowhere/x.yaml: cannot be written" in capsys.readouterr().err
    Path("letter.mkl").write_text(LETTER.replace("budget: 4", "budget: 0"))
    assert pin("--format", "json") == 2
    assert json.loads(capsys.readouterr().out)["diagnostics"][0]["code"] == "bad-value"
