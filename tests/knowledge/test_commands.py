"""What a person sees: each command in text and in JSON, with its exit code, also when there is nothing or it fails."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mklang.errors import ProviderFailed
from tests.cli.scripted_models import answer_with
from tests.knowledge.test_compliance import REFERENCE, transcript
from tests.knowledge.test_looking import PATTERN, with_rule
from tests.knowledge.world import FOUND, TESTS_FIRST, akc, made

pytestmark = pytest.mark.rule("S49")


def told(folder: Path, *words: str) -> Any:
    done = akc(folder, *words, "--format", "json")
    return json.loads(done.stdout)


def test_a_distillation_that_fails_says_which_stage_and_keeps_the_prose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = made(tmp_path)
    world.happened("a")
    answer_with(monkeypatch, {"reflect": "prose", "format": ProviderFailed("the line is down")})
    done = akc(tmp_path, "distil")
    assert done.returncode == 1
    assert "stage 'format' gave nothing that passes" in done.stdout and "the line is down" in done.stdout
    assert "form: lines" in done.stdout
    asked = answer_with(monkeypatch, {"reflect": "other prose", "format": FOUND})
    failed = told(tmp_path, "distil")
    assert (failed["status"], failed["stage"], asked.asked) == ("failed", "format", [])  # its attempts are used up
    anew = told(tmp_path, "distil", "--again")
    assert (anew["status"], anew["added"]) == ("done", 1)
    assert [key.partition("/")[0] for key in asked.asked] == ["1:format"]  # the prose of stage 1 is kept


def test_stored_prose_takes_a_new_form_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = made(tmp_path)
    world.happened("a")
    answer_with(monkeypatch, {"reflect": "prose", "format": FOUND})
    run = told(tmp_path, "distil")["run"]
    other = json.dumps([{"pattern": "another form", "importance": 0.2, "category": "noise"}])
    machine = (Path(__file__).parents[2] / "src/mklang/knowledge/machines/format.mkl").read_text()
    (tmp_path / "mine.mkl").write_text(machine.replace("in the order of the text", "the shortest first"))
    world.home.config.write_text("format: mine.mkl\n")
    asked = answer_with(monkeypatch, {"format": other})
    again = told(tmp_path, "distil", "--reformat", run)
    assert (again["status"], again["added"], len(asked.asked)) == ("done", 1, 1)
    assert told(tmp_path, "distil", "--reformat", run)["status"] == "done-before"
    assert akc(tmp_path, "distil", "--reformat", "nothing").returncode == 2


def test_what_stands_in_the_log_and_is_no_record_is_told_when_distilling(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.happened("a")
    (day,) = world.home.logs.glob("*.jsonl")
    with day.open("ab") as file:
        file.write(b"garbage\n")
    done = akc(tmp_path, "distil", "--dry-run")
    assert f"no record: {day.name}:2" in done.stderr
    assert akc(tmp_path, "log", "show").returncode == 1
    assert akc(tmp_path, "log", "verify").returncode == 1
    assert "broken" in akc(tmp_path, "log", "verify").stdout
    assert told(tmp_path, "log", "verify")["ok"] is False


def test_lists_are_readable_and_the_same_in_json(tmp_path: Path) -> None:
    with_rule(tmp_path)
    assert PATTERN in akc(tmp_path, "knowledge").stdout
    assert told(tmp_path, "knowledge", "--by-age", "--top", "1")["items"][0]["id"] == PATTERN
    assert "approved by" in akc(tmp_path, "rules").stdout
    rows = akc(tmp_path, "ledger").stdout.splitlines()
    assert [row.split()[2] for row in rows] == ["proposed", "intended", "approved"]
    assert [row["event"] for row in told(tmp_path, "ledger")["items"]] == ["proposed", "intended", "approved"]
    assert "1 decisions: 1 approved" in akc(tmp_path, "ledger", "habits").stdout
    assert told(tmp_path, "ledger", "verify")["ok"] is True
    assert told(tmp_path, "doctor")["items"] == []
    assert told(tmp_path, "rebuild")["same"] is True
    gone = told(tmp_path, "knowledge", "refute", PATTERN, "--why", "not so")
    assert (gone["gone"], len(gone["proposals"])) == ([PATTERN], 1)
    assert [one["kind"] for one in told(tmp_path, "review", "--list")["items"]] == ["remove-rule"]
    assert (tmp_path / ".akc/knowledge.json").read_text() == "[]\n"
    assert akc(tmp_path, "knowledge", "export").returncode == 0


def test_a_rule_that_was_rewritten_by_hand_is_not_taken_out_and_that_is_said(tmp_path: Path) -> None:
    with_rule(tmp_path)
    (tmp_path / "AGENTS.md").write_text(f"- {TESTS_FIRST} Always.\n")
    done = akc(tmp_path, "knowledge", "retire", PATTERN, "--why", "old")
    assert done.returncode == 0
    assert "review" not in done.stdout  # it is nobody's rule any more
    assert akc(tmp_path, "rules").stdout == ""


def test_a_sealed_store_says_so_everywhere(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.happened("a")
    asyncio.run(world.distil())
    world.home.knowledge.write_text("[]")
    done = akc(tmp_path, "knowledge")
    assert (done.returncode, "sealed" in done.stderr) == (1, True)
    assert "rebuild --replay" in akc(tmp_path, "doctor").stdout
    assert akc(tmp_path, "knowledge", "retire", PATTERN, "--why", "x").returncode == 2
    assert akc(tmp_path, "promote").returncode == 2
    assert akc(tmp_path, "rebuild", "--replay").returncode == 0
    assert akc(tmp_path, "knowledge").returncode == 0
    assert [path.read_bytes() for path in (world.home.root / "aside").glob("knowledge.json.*")] == [b"[]"]


def test_steps_in_prose_are_labelled_by_a_model_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path)
    (tmp_path / "spec.yaml").write_text(REFERENCE)
    (tmp_path / "s.jsonl").write_text(transcript("pytest"))
    run = ["comply", "run", "spec.yaml", "s.jsonl", "--distribution", "held-out"]
    unasked = akc(tmp_path, *run).stdout
    assert unasked.count("not-observable") == 4
    labels = {"write_test": [0], "run_red": [], "write_code": [1], "run_green": []}
    answer_with(monkeypatch, {"label": json.dumps(labels)})
    done = akc(tmp_path, *run, "--ask", "--least", "1")
    assert "write_test: 100% (21% to 100%); 1 done" in done.stdout
    assert "run_red: 0%" in done.stdout
    assert "every required step: 0 of 1 sessions" in done.stdout
    answer_with(monkeypatch, {"label": "it all went well"})
    (tmp_path / "t.jsonl").write_text(transcript("other"))
    broken = told(tmp_path, "comply", "run", "spec.yaml", "t.jsonl", "--distribution", "home", "--ask")
    assert (broken["ok"], len(broken["unmeasured"])) == (False, 1)


def test_curating_prints_opinions_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path)
    assert akc(tmp_path, "curate").returncode == 2
    (tmp_path / "CLAUDE.md").write_text("Be kind.\n")
    opinion = {"CLAUDE.md": {"verdict": "Demote", "reason": "everybody knows"}}
    answer_with(monkeypatch, {"curate": json.dumps(opinion)})
    assert akc(tmp_path, "curate").stdout == "Demote: CLAUDE.md: everybody knows\n"
    (tmp_path / "CLAUDE.md").write_text("Be kinder.\n")
    answer_with(monkeypatch, {"curate": "Keep it"})
    assert told(tmp_path, "curate")["items"][0]["verdict"] is None
    assert (tmp_path / "CLAUDE.md").read_text() == "Be kinder.\n"


def test_a_candidate_that_is_dropped_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.knowledge.test_promote import DRAFT, answers

    world = made(tmp_path)
    assert "0 patterns, 0 candidates" in akc(tmp_path, "promote").stdout
    world.happened("a")
    asyncio.run(world.distil())
    draft = json.dumps([{**DRAFT[0], "patterns": [PATTERN]}])
    answer_with(monkeypatch, {"draft": draft, "refute": answers(new="no")})
    done = akc(tmp_path, "promote")
    assert "dropped: Run the tests before a commit." in done.stdout
    assert "not new: line 1" in done.stdout
    (tmp_path / "CLAUDE.md").write_text("Another question.\n")
    answer_with(monkeypatch, {"draft": "none", "refute": ""})
    assert "drafts do not pass" in akc(tmp_path, "promote").stderr
    answer_with(monkeypatch, {"draft": draft, "refute": answers()})
    assert "1 wait for a person" in akc(tmp_path, "promote").stdout  # what failed is asked again


def test_what_costs_too_much_to_load_is_said(tmp_path: Path) -> None:
    made(tmp_path, config="always_loaded: 1\n")
    (tmp_path / "CLAUDE.md").write_text("one\ntwo\n")
    done = akc(tmp_path, "health")
    assert (done.returncode, "more than 1 lines" in done.stdout) == (0, True)
    assert akc(tmp_path, "maintain").returncode == 2  # no repository


def test_many_records_come_in_on_stdin_whole_or_not_at_all(tmp_path: Path) -> None:
    world = made(tmp_path)
    lines = "".join(f'{{"n": {number}}}\n' for number in range(50))
    assert akc(tmp_path, "log", "append", "note", "--data", "-", text=lines).returncode == 0
    assert akc(tmp_path, "log", "append", "note", "--data", "-", text=f"{lines}[1]\n").returncode == 2
    assert len(akc(tmp_path, "log", "show", "--format", "json").stdout.splitlines()) == 50
    assert akc(tmp_path, "log", "show", "--last", "2").stdout.count("note") == 2
    assert akc(tmp_path, "log", "seal").stdout == "0 days sealed\n"
    assert told(tmp_path, "log", "seal")["items"] == []
    assert world.home.logs.is_dir()


def test_outside_of_a_cycle_every_command_says_how_to_make_one(tmp_path: Path) -> None:
    for words in (["knowledge"], ["review", "--list"], ["ledger"], ["doctor"], ["log", "verify"], ["health"]):
        done = akc(tmp_path, *words)
        assert (done.returncode, "mklang akc init" in done.stderr) == (2, True), words


@pytest.mark.parametrize("name", ["proposals", "runs", "imports", "aside", "logs"])
def test_a_link_in_a_folders_place_is_refused_and_nothing_is_written_behind_it(name: str, tmp_path: Path) -> None:
    world = made(tmp_path)
    world.happened("a")
    asyncio.run(world.distil())
    behind = tmp_path / "behind"
    behind.mkdir()
    place = world.home.root / name
    if place.exists():
        place.rename(tmp_path / "kept")
    place.symlink_to(behind)
    (tmp_path / "x.jsonl").write_text("{}\n")
    world.format.replies = [FOUND.replace("before", "after")]
    codes = {
        "proposals": lambda: akc(tmp_path, "propose", "--rule", "Be kind.").returncode,
        "runs": lambda: _raises(world),
        "imports": lambda: akc(tmp_path, "log", "import", "x.jsonl", "--as", "jsonl").returncode,
        "aside": lambda: akc(tmp_path, "rebuild", "--replay").returncode,
        "logs": lambda: akc(tmp_path, "log", "append", "note", "x").returncode,
    }
    assert codes[name]() == 2
    assert list(behind.iterdir()) == []


def _raises(world: Any) -> int:
    from mklang.errors import KnowledgeError

    world.happened("new")
    with pytest.raises(KnowledgeError):
        asyncio.run(world.distil())
    return 2


def test_a_stocktake_of_the_reference_spares_what_has_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path)
    for name in ("a", "b"):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(f"---\nname: {name}\n---\nSkill {name}.\n")
    mtime = (tmp_path / "skills/a/SKILL.md").stat().st_mtime
    theirs = {
        "evaluated_at": "2025-11-30T09:15:00Z",
        "mode": "full",
        "skills": {"a": {"path": "skills/a/SKILL.md", "verdict": "Keep", "reason": "used daily", "mtime": mtime}},
    }
    (tmp_path / "results.json").write_text(json.dumps(theirs))
    opinion = {"skills/b/SKILL.md": {"verdict": "Retire", "reason": "nobody calls it"}}
    asked = answer_with(monkeypatch, {"curate": json.dumps(opinion)})
    done = akc(tmp_path, "curate", "--ledger", "results.json")
    assert done.stdout == "Keep: skills/a/SKILL.md: used daily\nRetire: skills/b/SKILL.md: nobody calls it\n"
    ours = json.loads((tmp_path / ".akc/curation.json").read_text())
    assert [ours["skills"][name]["verdict"] for name in ("a", "b")] == ["Keep", "Retire"]
    assert akc(tmp_path, "curate").stdout == done.stdout  # nothing has changed, and nobody is asked
    assert len(asked.asked) == 1
    (tmp_path / "results.json").write_text("[]")
    assert akc(tmp_path, "curate", "--ledger", "results.json").returncode == 2
