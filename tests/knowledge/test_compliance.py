"""Compliance: measured on what was done, in order, with what cannot be seen kept apart from what was not done."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mklang.errors import UsageError
from mklang.guards import Checked
from mklang.knowledge.compliance.enforcing import breaks
from mklang.knowledge.compliance.labelling import label, label_guard
from mklang.knowledge.compliance.measuring import Distribution, measure
from mklang.knowledge.compliance.outcomes import Outcome, outcomes
from mklang.knowledge.compliance.spec import spec_in
from mklang.knowledge.compliance.timeline import TEXT, Event, Session, session_in
from mklang.knowledge.distil import Stage
from tests.knowledge.world import Worker, akc, approve, made

pytestmark = pytest.mark.rule("S49")

REFERENCE = """
id: test-first
name: Test first
source_rule: rules/testing.md
version: "1.0"
steps:
  - id: write_test
    description: A test is written
    required: true
    detector: { description: a test file is written, before_step: write_code }
  - id: run_red
    description: The test fails first
    required: true
    detector: { description: a test run that fails, after_step: write_test, before_step: write_code }
  - id: write_code
    description: Code is written
    required: true
    detector: { description: code is written, after_step: write_test }
  - id: run_green
    description: The tests pass
    required: false
    detector: { description: a test run that passes, after_step: write_code }
scoring: { threshold_promote_to_hook: 0.6 }
"""
OURS = """
id: test-first
steps:
  - { id: write_test, match: { tool: Write, path: "test_*.py" }, detector: { before_step: write_code } }
  - { id: write_code, match: { tool: [Write, Edit], path: "*.py", not: { path: "test_*.py" } } }
  - { id: no_force, never: true, match: { tool: Bash, command: { regex: "git push .*(-f|--force)\\\\b" } } }
  - { id: tests_before_commit, match: { command: pytest }, each: { command: "git commit" }, within: 3 }
  - { id: explains, required: false, match: { text: { any: [because, since] } } }
  - { id: docs, match: { path: "docs/**" }, when: { path: "src/api.py" } }
"""


def write(path: str) -> Event:
    return Event(tool="Write", input={"file_path": path})


def shell(command: str, output: str = "") -> Event:
    return Event(tool="Bash", input={"command": command}, output=output)


def said(text: str) -> Event:
    return Event(tool=TEXT, text=text)


def session(*events: Event, name: str = "s") -> Session:
    return Session(name=name, events=events)


def ours(*events: Event) -> dict[str, str]:
    return {step: outcome.value for step, outcome in outcomes(spec_in(OURS, "x"), session(*events)).items()}


def test_the_references_specs_are_read() -> None:
    spec = spec_in(REFERENCE, "x")
    assert [step.id for step in spec.prose_steps] == ["write_test", "run_red", "write_code", "run_green"]
    assert spec.scoring.threshold_promote_to_hook == 0.6


COMPLIANT = {"write_test": [0], "run_red": [1], "write_code": [2], "run_green": [3]}
CODE_FIRST = {"write_code": [0], "write_test": [1], "run_red": [], "run_green": [2]}


def test_code_first_and_tests_after_earns_nothing_for_order() -> None:
    spec = spec_in(REFERENCE, "x")
    four = session(*[said("x")] * 4)
    assert set(outcomes(spec, four, COMPLIANT).values()) == {Outcome.DONE}
    found = outcomes(spec, session(*[said("x")] * 3), CODE_FIRST)
    assert found["write_test"] is Outcome.VIOLATED
    assert found["run_red"] is Outcome.NOT_DONE
    assert found["write_code"] is Outcome.VIOLATED
    assert found["run_green"] is Outcome.DONE
    done = measure(spec, {"s": found}, distribution=Distribution.HOME)
    assert (done.whole, done.whole_of) == (0, 1)


def test_an_order_whose_neighbour_is_not_there_is_a_column_of_its_own() -> None:
    spec = spec_in(REFERENCE, "x")
    found = outcomes(spec, session(*[said("x")] * 3), {"write_test": [0], "run_red": [1], "write_code": []})
    assert found["write_test"] is Outcome.UNORDERED
    assert found["run_green"] is Outcome.NOT_OBSERVABLE  # nobody looked for it


def test_an_order_holds_when_some_choice_of_events_keeps_it() -> None:
    spec = spec_in(REFERENCE, "x")
    labels = {"write_test": [5, 1], "run_red": [0, 2], "write_code": [0, 3], "run_green": [1, 4]}
    assert set(outcomes(spec, session(*[said("x")] * 6), labels).values()) == {Outcome.DONE}


def test_more_than_ten_thousand_events_stay_in_order() -> None:
    events = [said("x")] * 9_998 + [write("a/test_x.py"), *[said("x")] * 3, write("a/x.py")]
    assert ours(*events)["write_test"] == "done"


def test_code_sees_tools_paths_commands_and_texts() -> None:
    found = ours(write("test_a.py"), write("src/api.py"), shell("pytest -q"), said("since"), shell("git commit -m x"))
    assert found == {
        "write_test": "done",
        "write_code": "done",
        "no_force": "done",
        "tests_before_commit": "done",
        "explains": "done",
        "docs": "not-done",
    }
    found = ours(write("a.py"), write("test_a.py"), shell("git push origin --force"), shell("git commit"))
    assert (found["write_test"], found["no_force"]) == ("violated", "violated")
    assert (found["tests_before_commit"], found["docs"]) == ("violated", "not-applicable")
    far = ours(shell("pytest"), *[said("x")] * 4, shell("git commit"))
    assert far["tests_before_commit"] == "violated"
    twice = ours(shell("pytest"), shell("git commit"), shell("git commit"))
    assert twice["tests_before_commit"] == "violated"


def test_what_cannot_be_seen_is_not_what_was_not_done() -> None:
    found = ours(said("hello"))
    assert found["write_test"] == "not-observable"
    assert found["explains"] == "not-applicable"
    assert ours(shell("ls"))["explains"] == "not-observable"
    assert outcomes(spec_in(REFERENCE, "x"), session(said("x")))["write_test"] is Outcome.NOT_OBSERVABLE


def test_shares_have_intervals_and_a_least_number_of_sessions() -> None:
    spec = spec_in("id: a\nsteps: [{ id: x, match: { command: x } }]", "x")
    few = {str(n): {"x": Outcome.DONE} for n in range(4)}
    assert measure(spec, few, distribution=Distribution.HOME).steps[0].share is None
    many = {str(n): {"x": Outcome.DONE if n < 2 else Outcome.NOT_DONE} for n in range(10)}
    step = measure(spec, many, distribution=Distribution.HELD_OUT).steps[0]
    assert (step.share, step.done, step.of, step.enforce) == (0.2, 2, 10, True)
    assert (round(step.low, 3), round(step.high, 3)) == (0.057, 0.51)
    unseen = {str(n): {"x": Outcome.NOT_OBSERVABLE} for n in range(10)}
    assert measure(spec, unseen, distribution=Distribution.HOME).steps[0].of == 0


def test_a_spec_of_optional_steps_says_so_and_no_share() -> None:
    spec = spec_in("id: a\nsteps: [{ id: x, required: false, match: { command: x } }]", "x")
    found = measure(spec, {"s": {"x": Outcome.NOT_APPLICABLE}}, distribution=Distribution.HOME)
    assert (found.note, found.steps[0].share) == ("no required steps", None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "id: a",
        "id: a\nsteps: []",
        "id: a\nsteps: [{ id: x }, { id: x }]",
        "id: a\nsteps: [{ id: x, detector: { after_step: y } }]",
        "id: a\nsteps: [{ id: x, detector: { after_step: x } }]",
        "id: a\nsteps: [{ id: x, match: { toool: y } }]",
        "id: a\nsteps: [{ id: x, never: true }]",
        'id: a\nsteps: [{ id: x, match: { command: { regex: "(" } } }]',
        "id: a\nsteps: [{ id: x, count: 0, match: { command: x } }]",
    ],
)
def test_a_spec_that_means_nothing_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(UsageError, match=r"x\.yaml"):
        spec_in(text, "x.yaml")


def test_labels_are_numbers_in_range_of_steps_that_exist() -> None:
    steps = spec_in(REFERENCE, "x").prose_steps[:1]
    guard = label_guard(steps, 3)
    good = [{"write_test": []}, {"write_test": [0, 2]}]
    bad: list[Any] = [{}, {"write_test": [-1]}, {"write_test": [3]}, {"write_test": [True]}, {"write_test": ["0"]}]
    bad += [{"write_test": [1.5]}, {"write_test": [], "other": []}, [], {"write_test": None}]
    assert all(isinstance(guard.examine(json.dumps(value)), Checked) for value in good)
    assert not any(isinstance(guard.examine(json.dumps(value)), Checked) for value in bad)


def test_a_model_labels_in_batches_and_is_not_asked_twice(tmp_path: Path) -> None:
    steps = spec_in(REFERENCE, "x").prose_steps[:1]
    worker = Worker(['{"write_test": [1]}', "nonsense", '{"write_test": [0]}'])
    stage = Stage(worker=worker, identity="m")
    long = session(*[said(f"{number}") for number in range(5)])
    assert asyncio.run(label(long, steps, stage, tmp_path, batch=3)) == {"write_test": [1, 3]}
    assert len(worker.asked) == 3
    assert asyncio.run(label(long, steps, stage, tmp_path, batch=3)) == {"write_test": [1, 3]}
    assert len(worker.asked) == 3
    silent = Stage(worker=Worker(["no"]), identity="n")
    assert "G104" in str(asyncio.run(label(long, steps, silent, tmp_path, batch=3)))


def lines(*entries: dict[str, Any]) -> str:
    return "\n".join(json.dumps(entry) for entry in entries) + "\n"


def assistant(name: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "assistant",
        "session_id": "s1",
        "message": {"id": name, "role": "assistant", "content": list(blocks)},
    }


def used(name: str, tool: str, **given: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def result(name: str, output: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": name, "content": output}
    return {"type": "user", "session_id": "s1", "message": {"role": "user", "content": [block]}}


def transcript(command: str) -> str:
    text = {"type": "text", "text": "I commit because it is done."}
    return lines(
        {"type": "system", "subtype": "init", "session_id": "s1"},
        assistant("m1", text),
        assistant("m1", text, used("t1", "Bash", command=command)),  # the message grows
        result("t1", "ok"),
    )


def test_a_transcript_becomes_events_once(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(transcript("git commit"))
    found = session_in(tmp_path / "s.jsonl")
    assert [event.tool for event in found.events] == [TEXT, "Bash"]
    assert found.events[1].output == "ok"


def test_the_command_measures_and_puts_a_hook_up_that_works(tmp_path: Path) -> None:
    world = made(tmp_path)
    spec = tmp_path / "commit.yaml"
    spec.write_text(
        "id: commits\nsteps:\n"
        "  - { id: tested, description: tests first, match: { command: pytest }, each: { command: git commit } }\n"
    )
    files = []
    for number in range(6):
        files.append(f"s{number}.jsonl")
        (tmp_path / files[-1]).write_text(transcript("git commit -m x"))
    done = akc(
        tmp_path, "comply", "run", "commit.yaml", *files, "--distribution", "home", "--propose", "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["steps"][0]["share"] == 0.0
    assert found["steps"][0]["outcomes"] == {"violated": 6}
    approve(tmp_path)
    hook = tmp_path / ".claude/hooks/commits-tested.sh"
    assert "akc comply hook commit.yaml --step tested" in hook.read_text()
    event = {
        "tool_name": "Bash",
        "tool_input": {"command": "git commit"},
        "transcript_path": str(tmp_path / "s0.jsonl"),
    }
    refused = akc(tmp_path, "comply", "hook", "commit.yaml", "--step", "tested", text=json.dumps(event))
    assert (refused.returncode, "tested comes first" in refused.stderr) == (2, True)
    (tmp_path / "s0.jsonl").write_text(transcript("pytest"))
    assert akc(tmp_path, "comply", "hook", "commit.yaml", "--step", "tested", text=json.dumps(event)).returncode == 0
    assert akc(tmp_path, "comply", "hook", "commit.yaml", "--step", "tested", text="{").returncode == 2
    assert world.cycle.ledger().rows[-1].event.value == "approved"


def test_a_transcript_that_is_missing_or_broken_is_unmeasured(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "spec.yaml").write_text(OURS)
    (tmp_path / "broken.jsonl").write_text(transcript("ls") + "{torn")
    (tmp_path / "empty.jsonl").write_text("")
    names = ["missing.jsonl", "broken.jsonl", "empty.jsonl"]
    done = akc(tmp_path, "comply", "run", "spec.yaml", *names, "--distribution", "home", "--format", "json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (len(found["unmeasured"]), found["sessions"]) == (3, 0)


def test_imported_sessions_are_measured_and_brought_in_once(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "spec.yaml").write_text(OURS)
    (tmp_path / "s1.jsonl").write_text(transcript("git push -f"))
    for expected in ("4 events read, 4 of them new\n", "4 events read, 0 of them new\n"):
        assert akc(tmp_path, "log", "import", "s1.jsonl", "--as", "claude-code").stdout == expected
    done = akc(tmp_path, "comply", "run", "spec.yaml", "--distribution", "home", "--format", "json")
    assert json.loads(done.stdout)["results"]["s1"]["no_force"] == "violated"


def test_a_prohibition_is_enforced_before_the_tool_is_used() -> None:
    spec = spec_in(OURS, "x")
    step = next(one for one in spec.steps if one.id == "no_force")
    assert breaks(spec, step, {"tool_name": "Bash", "tool_input": {"command": "git push x -f"}})
    assert not breaks(spec, step, {"tool_name": "Bash", "tool_input": {"command": "git push x"}})
