"""Promotion: a model drafts and doubts, code drops what one answer speaks against, a person decides the rest."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mklang.knowledge.candidates import QUESTIONS, candidates
from mklang.knowledge.curating import curate
from mklang.knowledge.distil import Stage
from mklang.knowledge.health import health_of
from mklang.knowledge.loaded import loaded_files
from mklang.knowledge.maintaining import stale_files
from mklang.knowledge.patterns import Pattern
from tests.cli.scripted_models import answer_with
from tests.knowledge.world import TESTS_FIRST, Worker, akc, approve, made, plain_environment

pytestmark = pytest.mark.rule("S43", "S49")
PATTERN = Pattern(id="aaaaaaaaaaaa", pattern="tests were red")
DRAFT = [{"rule": "Run the tests before a commit.", "patterns": ["aaaaaaaaaaaa"], "risk": "red tests get pushed"}]


def answers(**other: str) -> str:
    return json.dumps({name: {"answer": other.get(name, "yes"), "evidence": "line 1"} for name in QUESTIONS})


def examined(drafts: Any, reply: str, folder: Path) -> Any:
    stages = Stage(worker=Worker([json.dumps(drafts)]), identity="d"), Stage(worker=Worker([reply]), identity="r")
    return asyncio.run(candidates([PATTERN], "", stages, folder))


def test_a_candidate_that_nothing_speaks_against_is_left(tmp_path: Path) -> None:
    (found,) = examined(DRAFT, answers(), tmp_path)
    assert (found.candidate.rule, found.why_not) == (DRAFT[0]["rule"], "")


@pytest.mark.parametrize("question", QUESTIONS)
def test_one_no_settles_it(question: str, tmp_path: Path) -> None:
    (found,) = examined(DRAFT, answers(**{question: "no"}), tmp_path)
    assert found.why_not == f"not {question}: line 1"


@pytest.mark.parametrize("reply", ["", "yes", "{}", answers(new="maybe"), answers() + answers()])
def test_answers_that_do_not_pass_drop_it(reply: str, tmp_path: Path) -> None:
    (found,) = examined(DRAFT, reply, tmp_path)
    assert "no answers that pass" in found.why_not


@pytest.mark.parametrize(
    "drafts",
    [
        [{**DRAFT[0], "patterns": ["bbbbbbbbbbbb"]}],
        [{**DRAFT[0], "patterns": []}],
        [{**DRAFT[0], "rule": "two\nlines of rule"}],
        [DRAFT[0]] * 11,
    ],
)
def test_drafts_that_rest_on_nothing_are_refused(drafts: Any, tmp_path: Path) -> None:
    assert "G201" in examined(drafts, answers(), tmp_path)


def test_without_patterns_nobody_is_asked(tmp_path: Path) -> None:
    worker = Worker(["x"])
    stage = Stage(worker=worker, identity="d")
    assert asyncio.run(candidates([], "", (stage, stage), tmp_path)) == []
    assert worker.asked == []


def test_the_command_puts_candidates_up_and_a_person_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mklang.cli.main import main

    world = made(tmp_path)
    world.happened("a")
    asyncio.run(world.distil())
    (pattern,) = world.cycle.store().patterns
    draft = json.dumps([{**DRAFT[0], "patterns": [pattern.id]}])
    answer_with(monkeypatch, {"draft": draft, "refute": answers()})
    monkeypatch.chdir(tmp_path)
    assert main(["akc", "promote", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["proposals"]) == 1
    assert not (tmp_path / "AGENTS.md").exists()
    shown = approve(tmp_path)
    assert "a model's opinion, which counts for nothing here" in shown
    assert "Run the tests" in (tmp_path / "AGENTS.md").read_text()


def test_the_distil_command_asks_the_bundled_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mklang.cli.main import main

    world = made(tmp_path)
    world.happened("a </data> {{braces}}", "b")
    found = json.dumps([{"pattern": TESTS_FIRST, "importance": 1, "category": "important"}])
    asked = answer_with(monkeypatch, {"reflect": "prose", "format": found})
    monkeypatch.chdir(tmp_path)
    assert main(["akc", "distil"]) == 0
    assert "1 patterns found, 1 of them new" in capsys.readouterr().out
    assert main(["akc", "distil"]) == 0
    assert "no model was asked" in capsys.readouterr().out
    assert len(asked.asked) == 2


def test_opinions_come_in_batches_and_change_nothing(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / "skills" / f"s{number}").mkdir(parents=True)
        (tmp_path / "skills" / f"s{number}" / "SKILL.md").write_text(f"skill {number}\n")
    files = loaded_files(tmp_path)

    seen: list[str] = []

    class Curator:
        async def __call__(self, attempt: Any) -> str:
            shown = str(attempt.task.inputs["files"])
            seen.append(shown)
            paths = [line.split()[1] for line in shown.splitlines() if line.startswith("FILE ")]
            return json.dumps({path: {"verdict": "Keep", "reason": "used"} for path in paths})

    found = asyncio.run(curate(files, (), Stage(worker=Curator(), identity="c"), tmp_path / "runs"))
    assert [one.verdict for one in found] == ["Keep"] * 10
    assert len(seen) == 2
    silent = asyncio.run(curate(files[:1], (), Stage(worker=Worker(['{"x": 1}']), identity="x"), tmp_path / "runs"))
    assert (silent[0].verdict, "G201" in silent[0].reason) == (None, True)


def test_health_finds_what_leads_nowhere_and_what_is_said_twice(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "real.py").write_text("")
    (tmp_path / "CLAUDE.md").write_text(
        "See [this](real.py), [that](gone.md), [web](https://x.org) and [here](#top).\n"
        "Run `bash scripts/gone.sh` and `python -m pytest`, never touch `src/gone/` or `a/b.py`.\n"
        "Always run the complete test suite before you commit.\n"
    )
    (tmp_path / "AGENTS.md").write_text("Before you commit, always run the complete test suite!\n")
    for name in ("a", "b"):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text("---\nname: same\n---\n")
    files = loaded_files(tmp_path)
    found = [(one.kind, one.file, one.line) for one in health_of(tmp_path, files, tmp_path / "last").findings]
    assert found == [
        ("dangling", "CLAUDE.md", 1),
        ("dangling", "CLAUDE.md", 2),
        ("unresolved", "CLAUDE.md", 2),
        ("unresolved", "CLAUDE.md", 2),
        ("said-twice", "AGENTS.md", 1),
        ("name-twice", "skills/b/SKILL.md", 1),
    ]
    done = akc(tmp_path, "health")
    assert done.returncode == 1
    assert "every session loads 4 lines" in done.stdout
    (tmp_path / "AGENTS.md").unlink()
    assert "-1 since last time" in akc(tmp_path, "health").stdout


def test_a_document_is_stale_when_its_subject_was_committed_to_since(tmp_path: Path) -> None:
    made(tmp_path)

    def git(*words: str) -> None:
        names = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *names, *words], cwd=tmp_path, check=True, env=plain_environment(), capture_output=True)

    git("init", "-q")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("1\n")
    (tmp_path / "AGENTS.md").write_text("See [a](src/a.py).\n")
    (tmp_path / "CLAUDE.md").write_text("About <!-- akc sources: src/b.py -->\n")
    git("add", "-A")
    git("commit", "-qm", "one")
    assert stale_files(tmp_path, loaded_files(tmp_path)) == []
    for number in range(2):
        (tmp_path / "src/a.py").write_text(f"{number}{number}\n")
        git("commit", "-qam", "x")
    (found,) = stale_files(tmp_path, loaded_files(tmp_path))
    assert (found.file, found.commits, found.sources) == ("AGENTS.md", 2, ("src/a.py",))
    assert akc(tmp_path, "maintain").returncode == 1
    (tmp_path / "AGENTS.md").write_text("See [a](src/a.py), again.\n")
    git("commit", "-qam", "looked at")
    assert akc(tmp_path, "maintain").returncode == 0
