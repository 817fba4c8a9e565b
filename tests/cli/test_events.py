"""``--events FILE``: JSON lines while a run runs, and a guide whose table and example are true (L116)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main
from mklang.engine import events as events_module
from mklang.engine.events import Event
from mklang.engine.trace import Judgement
from tests.cli.scripted_models import Scripted, answer_with
from tests.cli.test_guides import GUIDES, blocks
from tests.cli.test_recording import LETTER

pytestmark = pytest.mark.rule("L116")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))
    Path("letter.mkl").write_text(LETTER)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    return answer_with(monkeypatch, {"draft": "drops", "mend": "drops drip"}, {"draft": 0})


def run(*arguments: str) -> int:
    return main(["run", "letter.mkl", "--quiet", *arguments])


def written(path: str = "events.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_each_event_is_a_line_with_the_time(model: Scripted) -> None:
    assert run("--events", "events.jsonl") == 0
    lines = written()
    of_the_run = {"run-start", "state-start", "state-done", "run-finished"}
    assert [line["type"] for line in lines if line["type"] in of_the_run] == [
        *("run-start", "state-start", "state-done", "run-finished")
    ]
    assert all(list(line)[:2] == ["type", "time"] for line in lines)
    times = [datetime.fromisoformat(line["time"]) for line in lines]
    assert times == sorted(times)
    assert all(moment.tzinfo is not None for moment in times)


def test_a_run_that_is_taken_up_again_says_so_and_keeps_its_id(model: Scripted) -> None:
    model.verdicts = {"draft": None}
    assert run("--hitl", "--record", "letter.jsonl", "--events", "events.jsonl") == 3
    first = written()
    assert main(["resume", "letter.jsonl", "--set", "human.reply=x", "--events", "again.jsonl", "--quiet"]) == 0
    again = written("again.jsonl")
    assert (first[0]["resumed"], again[0]["resumed"]) == (False, True)
    assert {line["run_id"] for line in [*first, *again]} == {first[0]["run_id"]}
    assert [line["state"] for line in again if line["type"] == "state-done"] == ["draft", "mend"]


@pytest.mark.parametrize("command", ["run", "resume"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    command: str, model: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    model.verdicts = {"draft": None}
    run("--hitl", "--record", "letter.jsonl")
    before, asked = Path("letter.jsonl").read_bytes(), list(model.asked)
    what = ["letter.mkl"] if command == "run" else ["letter.jsonl", "--set", "human.reply=x"]
    assert main([command, *what, "--events", "nowhere/events.jsonl", "--format", "text"]) == 2
    assert "nowhere/events.jsonl: cannot be written" in capsys.readouterr().err
    assert (Path("letter.jsonl").read_bytes(), model.asked) == (before, asked)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_once_and_the_run_goes_on(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--events", "/dev/full", "--format", "text") == 0
    told = capsys.readouterr()
    assert told.out == "drops\n"
    assert told.err.count("No space left on device") == 1


def test_the_guides_example_says_what_each_state_cost(model: Scripted) -> None:
    model.verdicts = {"draft": None}
    assert run("--events", "events.jsonl") == 0
    (example,) = blocks("events.md", "python")
    said = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True)
    assert said.stdout == "draft: 36 tokens\nmend: 15 tokens\n"


def test_the_guides_table_names_every_type_and_key() -> None:
    table = (GUIDES / "events.md").read_text("utf-8").split("| type | when | keys |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| [^|]* \| (.*) \|$", table, re.MULTILINE)
    shown = {name: set(re.findall(r"`([a-z_]+)`", re.sub(r"\([^)]*\)", "", keys))) for name, keys in rows}
    kinds = [kind for kind in vars(events_module).values() if isinstance(kind, type) and issubclass(kind, Event)]
    in_code = {
        str(kind.__struct_config__.tag): _written(kind) - {"machine", "depth", "run_id", "parent_run_id"}
        for kind in kinds
        if kind is not Event
    }
    assert {name: keys - {"usd"} for name, keys in shown.items()} == in_code


def _written(record: type[Any]) -> set[str]:
    """The keys that the fields of an event, or of a judgement in it, are written under."""
    names = set(record.__struct_fields__)
    inner = _written(Judgement) if "judgement" in names else set()
    return {"tokens" if name == "usage" else name for name in names - {"judgement"}} | inner
