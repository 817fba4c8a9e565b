"""What ``run`` and ``resume`` write as JSON: the published schema, where it all came from, hashes (L71-L73)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import mklang
from mklang.cli.main import main
from mklang.engine.result_schema import result_schema
from mklang.engine.wire_keys import RESULT_KEYS
from mklang.errors import ProviderFailed
from mklang.lang.reader import machine_from_text
from mklang.lang.semantics import semantic_hash
from tests.cli.scripted_models import Scripted, answer_with
from tests.cli.test_recording import LETTER

pytestmark = pytest.mark.rule("L72", "L73")

VALIDATORS = [jsonschema_rs.validator_for(result_schema(closed=closed)) for closed in (False, True)]
CALLER = """\
machine: caller
entry: call
budget: 4
states:
  call:
    call: letter
    input: { topic: snow }
    output: letter
    gates: [{ when: otherwise, then: ok, to: END }]
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "state"))
    Path("letter.mkl").write_text(LETTER)
    Path("caller.mkl").write_text(CALLER)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    return answer_with(monkeypatch, {"draft": "drops", "mend": "größer"}, {"draft": 0})


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The JSON that a command writes; it is valid, and its keys stand in their order."""
    main([*arguments, "--format", "json"])
    wire: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [error.message for one in VALIDATORS for error in one.iter_errors(wire)] == []
    assert list(wire) == [name for name in RESULT_KEYS if name in wire]
    return wire


def steps_in(trace: list[Any]) -> Iterator[dict[str, Any]]:
    for step in trace:
        yield step
        yield from steps_in(step.get("sub_trace", []))


def test_every_kind_of_ending_is_valid(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "run", "letter.mkl")["status"] == "done"
    model.verdicts = {"draft": None}
    waiting = call(capsys, "run", "letter.mkl", "--hitl")
    assert (waiting["status"], Path(waiting["checkpoint"]).is_file()) == ("suspended", True)
    resumed = call(capsys, "resume", waiting["run"], "--set", "human.reply=shorter")
    assert (resumed["status"], resumed["run"]) == ("done", waiting["run"])
    assert call(capsys, "run", "letter.mkl", "--max-steps", "1")["error"] == "budget-exhausted"
    model.texts = {"draft": ProviderFailed("no route")}
    assert call(capsys, "run", "letter.mkl", "--no-keep")["error"] == "provider-error: no route"


@pytest.mark.rule("L71")
def test_each_output_has_its_hash_in_callees_too(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    model.verdicts = {"draft": None}
    steps = list(steps_in(call(capsys, "run", "caller.mkl")["trace"]))
    assert [step["output"] for step in steps] == ["größer", "drops", "größer"]
    hashes = [hashlib.sha256(step["output"].encode()).hexdigest()[:16] for step in steps]
    assert [step["output_hash"] for step in steps] == hashes


def test_provenance_says_what_was_run_on_what_and_when(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    before = datetime.now().astimezone().replace(microsecond=0)
    wire = call(capsys, "run", "caller.mkl", "--max-tokens", "99", "--untrusted-flow", "halt")
    about = wire["provenance"]
    assert about["mklang"] == mklang.__version__
    assert about["machines"] == [
        {"machine": name, "semantic_hash": semantic_hash(machine_from_text(text))}
        for name, text in (("caller", CALLER), ("letter", LETTER))
    ]
    assert about["models"] == {tier: f"model-{tier}" for tier in ("fast", "balanced", "reasoning")}
    assert about["judges"] == dict.fromkeys(about["models"], "judge-1")
    assert about["options"] == {"max_tokens": 99, "on_untrusted_flow": "halt"}
    assert about["run"] == wire["run"]
    started, finished = (datetime.fromisoformat(about[name]) for name in ("started", "finished"))
    assert before <= started <= finished <= datetime.now().astimezone()


def test_the_same_inputs_have_the_same_hash_in_any_order(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    def hash_of(*inputs: str) -> str:
        flags = [word for one in (*inputs, "today=now") for word in ("--set", one)]
        found: str = call(capsys, "run", "letter.mkl", *flags)["provenance"]["inputs_hash"]
        return found

    assert hash_of("topic=a", "more=b") == hash_of("more=b", "topic=a") != hash_of("topic=b", "more=a")


def test_a_layout_that_changes_leaves_the_machines_hash(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    first = call(capsys, "run", "letter.mkl")["provenance"]["machines"]
    Path("letter.mkl").write_text("# a comment\n" + LETTER.replace("budget: 4", "budget:   4"))
    assert call(capsys, "run", "letter.mkl")["provenance"]["machines"] == first


def test_a_run_that_was_taken_up_again_started_when_it_began(
    model: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    model.verdicts = {"draft": None}
    first = call(capsys, "run", "letter.mkl", "--hitl", "--record", "letter.jsonl")
    lines = Path("letter.jsonl").read_text().splitlines(keepends=True)
    begin = json.loads(lines[0])
    begin["created"] -= 3600
    Path("letter.jsonl").write_text("".join([json.dumps(begin) + "\n", *lines[1:]]))
    again = call(capsys, "resume", "letter.jsonl", "--set", "human.reply=x")["provenance"]
    passed = datetime.fromisoformat(first["provenance"]["started"]) - datetime.fromisoformat(again["started"])
    assert 3598 <= passed.total_seconds() <= 3602


def test_a_replay_names_the_run_it_repeats_and_no_models(model: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    first = call(capsys, "run", "letter.mkl", "--record", "letter.jsonl")
    again = call(capsys, "run", "letter.mkl", "--replay", "letter.jsonl")
    assert again["provenance"]["replayed"] == first["run"]
    assert "models" not in again["provenance"]
    assert again["provenance"]["inputs_hash"] == first["provenance"]["inputs_hash"]
    assert again["trace"] == first["trace"]
