"""``mklang run --record`` and ``--replay``: a run once paid for is played again for nothing (L88, L111)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mklang.cli.main import main
from mklang.errors import ProviderFailed
from tests.cli.scripted_models import Scripted, answer_with

pytestmark = pytest.mark.rule("L88")

LETTER = """\
machine: letter
entry: draft
budget: 4
result: letter
context: { topic: rain, today: "" }
states:
  draft:
    structure: a line
    prompt: "Write about {{topic}} on {{today}}"
    output: letter
    gates:
      - { when: it rhymes, then: ok, to: END }
      - { when: otherwise, escalate: true, to: mend, ask: "What is wrong?" }
  mend:
    structure: a line
    prompt: "Mend {{letter}}: {{human.reply}}"
    output: letter
    gates: [{ when: otherwise, then: ok, to: END }]
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))
    Path("letter.mkl").write_text(LETTER)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    return answer_with(monkeypatch, {"draft": "drops", "mend": "drops drip"}, {"draft": 0})


def run(*arguments: str) -> int:
    return main(["run", "letter.mkl", *arguments])


def output(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    wire: dict[str, object] = json.loads(capsys.readouterr().out)
    return wire


def same_run(first: dict[str, object], second: dict[str, object]) -> bool:
    """Whether two outputs tell of the same run; when it was played and where it is kept does not count."""
    apart = {"run", "checkpoint", "provenance", "seconds"}
    return {key: first[key] for key in first.keys() - apart} == {key: second[key] for key in second.keys() - apart}


def test_a_replay_tells_the_same_and_asks_nobody(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--set", "topic=snow", "--max-steps", "3", "--record", "letter.jsonl") == 0
    first = output(capsys)
    asked = list(model.asked)
    assert run("--replay", "letter.jsonl") == 0
    assert same_run(first, output(capsys))
    assert model.asked == asked == ["1:draft/produce", "1:draft/judge[0]"]


def test_a_kept_run_is_a_recording_too(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    first = output(capsys)
    assert run("--replay", str(first["run"])) == 0
    assert same_run(first, output(capsys))


def test_a_replay_says_so_and_needs_no_model(
    model: Scripted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--record", "letter.jsonl") == 0
    capsys.readouterr()
    monkeypatch.setattr("mklang.host.session.choose_models", lambda **_: pytest.fail("a model was chosen"))
    assert run("--replay", "letter.jsonl", "--format", "text") == 0
    told = capsys.readouterr()
    assert told.out == "drops\n"
    assert "no model is called" in told.err


@pytest.mark.rule("L81")
def test_a_waiting_run_waits_again(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    model.verdicts = {"draft": None}
    assert run("--hitl", "--record", "letter.jsonl") == 3
    first = output(capsys)
    assert run("--replay", "letter.jsonl") == 3
    again = output(capsys)
    assert same_run(first, again)
    assert "checkpoint" not in again


def test_a_failed_run_fails_again(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    model.texts = {"draft": ProviderFailed("no route")}
    assert run("--record", "letter.jsonl") == 1
    first = output(capsys)
    assert run("--replay", "letter.jsonl") == 1
    assert same_run(first, output(capsys))


def test_recording_does_not_make_limits_wait(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    model.verdicts = {"draft": None}
    assert run("--max-steps", "1", "--record", "letter.jsonl") == 1
    assert output(capsys)["error"] == "budget-exhausted"


def test_a_changed_prompt_is_shown_beside_the_recorded_one(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--record", "letter.jsonl", "--quiet") == 0
    Path("letter.mkl").write_text(LETTER.replace("Write about", "Sing of"))
    capsys.readouterr()
    assert run("--replay", "letter.jsonl") == 1
    told = capsys.readouterr()
    wire = json.loads(told.out)
    assert wire["error"].startswith("resume-mismatch: the answer recorded for 1:draft/produce was given to another")
    assert 'user was "Write about rain on ' in wire["error"]
    assert "machine-changed: since the recording: machine 'letter'" in told.err


@pytest.mark.rule("L111")
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--set", "topic=x"), "--set goes with no --replay"),
        (("--input", "x.json"), "--input goes with no --replay"),
        (("--model", "x"), "--model goes with no --replay"),
        (("--max-steps", "9"), "--max-steps goes with no --replay"),
        (("--hitl",), "--hitl goes with no --replay"),
        (("--record", "other.jsonl"), "--record goes with no --replay"),
    ],
)
def test_what_the_recording_decides_is_refused_beside_replay(
    flags: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--replay", "letter.jsonl", *flags) == 2
    assert said in capsys.readouterr().err


@pytest.mark.rule("W26")
def test_a_recording_replaces_nothing(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    Path("letter.jsonl").write_text("mine")
    assert run("--record", "letter.jsonl") == 2
    assert "this file exists" in capsys.readouterr().err
    assert Path("letter.jsonl").read_text() == "mine"
    assert run("--record", "new.jsonl", "--checkpoint", "other.jsonl") == 2
    assert model.asked == []


@pytest.mark.parametrize(("name", "text"), [("no-such-run", None), ("x.jsonl", "not a journal\n"), ("y.jsonl", "")])
def test_what_is_no_recording_cannot_be_replayed(
    name: str, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        Path(name).write_text(text)
    assert run("--replay", name, "--format", "text") == 2
    assert name in capsys.readouterr().err


def test_a_recording_that_waits_goes_on_from_its_file(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    model.verdicts = {"draft": None}
    assert run("--hitl", "--record", "letter", "--format", "text") == 3
    assert "mklang resume ./letter --set human.reply=" in capsys.readouterr().err
    assert main(["resume", "./letter", "--set", "human.reply=shorter"]) == 0
    first = output(capsys)
    assert first["result"] == "drops drip"
    assert run("--replay", "letter") == 0
    assert same_run(first, output(capsys))
