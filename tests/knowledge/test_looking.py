"""Looking at a cycle: chains in both directions, what is not in order, how it is built, and what a task is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mklang.knowledge.patterns import pattern_id
from mklang.knowledge.trial import Example, Verdict, judge
from tests.cli.scripted_models import answer_with
from tests.knowledge.world import TESTS_FIRST, World, akc, approve, made

PATTERN = pattern_id(TESTS_FIRST)


def with_rule(folder: Path) -> World:
    world = made(folder)
    world.happened("red tests were pushed", session="monday")
    asyncio.run(world.distil())
    assert akc(folder, "propose", "--rule", TESTS_FIRST, "--from", PATTERN).returncode == 0
    approve(folder)
    return world


def chain(folder: Path, subject: str) -> list[tuple[int, str]]:
    done = akc(folder, "where", subject, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [(link["depth"], link["kind"]) for link in json.loads(done.stdout)["items"]]


@pytest.mark.rule("S49")
def test_a_rule_leads_to_what_happened_and_back(tmp_path: Path) -> None:
    world = with_rule(tmp_path)
    assert chain(tmp_path, PATTERN) == [(0, "rule"), (1, "pattern"), (2, "run"), (3, "record")]
    (run,) = world.cycle.store().state.runs.values()
    assert chain(tmp_path, run.basis.run) == [(0, "rule"), (1, "pattern"), (2, "record")]
    assert chain(tmp_path, run.basis.episodes[0]) == [(0, "rule"), (1, "pattern"), (2, "record")]
    assert chain(tmp_path, "monday")[:2] == [(0, "rule"), (1, "pattern")]
    shown = akc(tmp_path, "where", PATTERN).stdout
    assert "red tests were pushed" in shown and "observed observation" in shown
    assert akc(tmp_path, "where", "nothing").returncode == 2


@pytest.mark.rule("S49")
def test_the_doctor_names_what_is_not_in_order_and_what_to_do(tmp_path: Path) -> None:
    world = with_rule(tmp_path)
    assert akc(tmp_path, "doctor").stdout == "everything is in order\n"
    world.home.config.write_text(f"forbid: ['{TESTS_FIRST}']\n")
    done = akc(tmp_path, "doctor")
    assert (done.returncode, f"--quarantine {PATTERN}" in done.stdout) == (1, True)
    assert akc(tmp_path, "doctor", "--quarantine", PATTERN, "--why", "no").returncode == 0
    assert akc(tmp_path, "review", "--list").stdout.count("remove-rule") == 1
    world.home.config.unlink()
    with world.home.ledger.open("ab") as file:
        file.write(b"garbage\n")
    assert "ledger: row" in akc(tmp_path, "doctor").stdout
    world.home.logs.chmod(0o755)
    assert "chmod 700" in akc(tmp_path, "doctor").stdout


@pytest.mark.rule("S45", "S49")
def test_the_cycle_tells_itself_by_its_patterns(tmp_path: Path) -> None:
    made(tmp_path)
    shown = akc(tmp_path, "describe").stdout
    for part in ("filter (code → model) 'experience'", "orchestrator (code loop, model works) 'akc-reflect'"):
        assert part in shown
    assert "mklang.knowledge.approval alone" in shown
    assert "none: the operator supplies them" in shown
    assert "unclear" not in shown
    found = json.loads(akc(tmp_path, "describe", "--format", "json").stdout)
    assert [one["pattern"].split()[0] for one in found["pipelines"]] == [
        "filter",
        "orchestrator",
        "orchestrator",
        "judge",
    ]


def trial(code_wrong: int, machine_wrong: int, count: int = 20, **more: Any) -> Verdict:
    examples = [Example(input=number, label=number % 2 == 0) for number in range(count)]
    right = [one.label for one in examples]
    by_code = [not label if number < code_wrong else label for number, label in enumerate(right)]
    by_machine = [not label if number < machine_wrong else label for number, label in enumerate(right)]
    return judge(examples, by_code, by_machine, **more).verdict


@pytest.mark.rule("S47")
def test_a_task_is_structural_when_code_is_always_right_and_semantic_when_only_the_machine_is() -> None:
    assert trial(0, 0) is Verdict.STRUCTURAL
    assert trial(1, 0) is Verdict.SEMANTIC
    assert trial(1, 3) is Verdict.NEITHER
    assert trial(1, 3, threshold=0.8) is Verdict.SEMANTIC
    assert trial(0, 0, count=9) is Verdict.TOO_FEW
    same = [Example(input="x", label=True), Example(input="x", label=False)] * 5
    found = judge(same, [True] * 10, [True] * 10)
    assert (found.verdict, found.same_bytes) == (Verdict.NEITHER, 1)


@pytest.mark.rule("S47")
def test_the_command_asks_a_function_and_a_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mklang.cli.main import main

    lines = [json.dumps({"input": f"text {number}", "label": "bug"}) for number in range(10)]
    (tmp_path / "e.jsonl").write_text("\n".join(lines))
    (tmp_path / "c.py").write_text("def kind(text):\n    return 'bug' if text != 'text 3' else 1 / 0\n")
    (tmp_path / "m.mkl").write_text(
        'mklang: "0.4"\nmachine: m\nentry: say\nbudget: 2\nresult: kind\ncontext: { input: "" }\nstates:\n'
        '  say:\n    structure: one word\n    prompt: "{{input}}"\n    output: kind\n'
        "    gates: [{ when: otherwise, then: ok, to: END }]\n"
    )
    answer_with(monkeypatch, {"say": "Bug\n"})
    monkeypatch.chdir(tmp_path)
    assert main(["akc", "trial", "e.jsonl", "--code", "c.py:kind", "--machine", "m.mkl"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("semantic: code is wrong 1 times")
    assert "code said 'division by zero' in line 4" in shown
    for words in (["--code", "c.py:none"], ["--code", "none.py:f"], ["--code", "c.py:kind", "--key", "zzz"]):
        assert main(["akc", "trial", "e.jsonl", "--machine", "m.mkl", "--code", "c.py:kind", *words]) == 2
