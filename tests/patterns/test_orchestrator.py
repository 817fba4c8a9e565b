"""An orchestrator: code ends the loop, a result passes its guard, an effect happens once, whenever the process dies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mklang.errors import ProviderFailed, RunStoreError, UsageError
from mklang.guards import Bounds, Checked, Guard
from mklang.lang.reader import machine_from_text
from mklang.patterns import (
    Attempt,
    Enforce,
    Filter,
    Judge,
    Limits,
    OnFailure,
    Orchestrator,
    Status,
    Task,
    machine_worker,
)
from mklang.patterns.steps import Entry, StepJournal
from tests.engine.worlds import World

pytestmark = pytest.mark.rule("S44")

NUMBERS = Guard(name="numbers", schema={"type": "array", "items": {"type": "integer"}}, bounds=Bounds(bytes=100))
LIMITS = Limits(steps=10, attempts=3, seconds=30)
TASKS = [Task("a", {"n": 1}), Task("b", {"n": 2}), Task("c", {"n": 3})]


class Working:
    """A worker that gives the replies of each task in turn, and an effect that keeps what it was given."""

    def __init__(self, **replies: list[object]) -> None:
        self.replies = replies
        self.attempts: list[Attempt] = []
        self.effects: list[tuple[str, Any, str]] = []

    async def __call__(self, attempt: Attempt) -> str:
        self.attempts.append(attempt)
        left = self.replies.get(attempt.task.id)
        reply = left.pop(0) if left else json.dumps([attempt.task.inputs["n"]])
        if isinstance(reply, BaseException):
            raise reply
        return reply  # type: ignore[return-value]

    def effect(self, task: Task, result: Checked[Any], key: str) -> None:
        self.effects.append((task.id, result.value, key))

    @property
    def asked(self) -> list[tuple[str, int]]:
        return [(attempt.task.id, attempt.number) for attempt in self.attempts]


def built(working: Working, **more: Any) -> Orchestrator:
    fields: dict[str, Any] = {
        "name": "o",
        "worker": working,
        "guard": NUMBERS,
        "limits": LIMITS,
        "effect": working.effect,
    }
    return Orchestrator(**fields | more)


def test_every_task_is_done_once_in_order(tmp_path: Path) -> None:
    working = Working()
    report = asyncio.run(built(working).run(TASKS, str(tmp_path / "j")))
    assert report.status is Status.DONE
    assert [(name, value) for name, value, _ in working.effects] == [("a", [1]), ("b", [2]), ("c", [3])]
    assert all(step.receipt is not None and step.receipt.guard == "numbers" for step in report.steps)
    assert (tmp_path / "j").stat().st_mode & 0o777 == 0o600


def test_a_result_that_does_not_pass_is_asked_for_again_with_what_was_wrong(tmp_path: Path) -> None:
    working = Working(a=["no JSON", '["x"]', "[7]"])
    asyncio.run(built(working).run(TASKS[:1], str(tmp_path / "j")))
    assert [attempt.feedback.partition("\n")[2][:12] for attempt in working.attempts] == [
        "",
        "- G104: not ",
        "- G201 at /0",
    ]
    assert working.effects[0][1] == [7]


def test_attempts_run_out_whatever_the_worker_says(tmp_path: Path) -> None:
    working = Working(b=["bad"] * 9)
    report = asyncio.run(built(working).run(TASKS, str(tmp_path / "j")))
    assert (report.status, [step.status for step in report.steps]) == (Status.FAILED, [Status.DONE, Status.FAILED])
    assert working.asked == [("a", 1), ("b", 1), ("b", 2), ("b", 3)]
    again = Working()
    report = asyncio.run(built(again).run(TASKS, str(tmp_path / "j")))
    assert (report.status, again.asked) == (Status.FAILED, [])


def test_a_step_can_be_skipped_and_the_report_says_so(tmp_path: Path) -> None:
    working = Working(b=[ProviderFailed("down")] * 3)
    orchestrator = built(working, on_failure=OnFailure.SKIP)
    report = asyncio.run(orchestrator.run(TASKS, str(tmp_path / "j")))
    assert report.status is Status.DONE
    assert [(step.id, step.status) for step in report.steps][1] == ("b", Status.SKIPPED)
    assert [name for name, _, _ in working.effects] == ["a", "c"]


def test_the_loop_ends_at_its_limits(tmp_path: Path) -> None:
    working = Working()
    report = asyncio.run(built(working, limits=Limits(steps=2, attempts=1, seconds=9)).run(TASKS, str(tmp_path / "j")))
    assert (report.status, len(report.steps)) == (Status.LIMIT, 2)

    async def never(attempt: Attempt) -> str:
        await asyncio.Event().wait()
        return ""

    slow = built(working, worker=never, limits=Limits(steps=2, attempts=1, seconds=0.01))
    assert asyncio.run(slow.run(TASKS, str(tmp_path / "k"))).status is Status.LIMIT


class Died(BaseException):
    """The process is gone."""


def dying_at(point: int, *, before: bool) -> Callable[[StepJournal, Entry], None]:
    """A way to write records that ends the process at one of them."""
    write, written = StepJournal.write, [0]

    def dying(self: StepJournal, entry: Entry) -> None:
        written[0] += 1
        if written[0] == point and before:
            raise Died
        write(self, entry)
        if written[0] == point:
            raise Died

    return dying


@pytest.mark.parametrize("before", [True, False], ids=["before it is on disk", "after it is on disk"])
@pytest.mark.parametrize("repeatable", [True, False])
def test_dying_at_every_record_gives_the_same_end_and_no_effect_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool, repeatable: bool
) -> None:
    deaths = 0
    for point in range(1, 40):
        working, path, tasks = Working(a=["bad"]), str(tmp_path / f"j{point}"), TASKS[:2]
        orchestrator = built(working, repeatable=repeatable)
        with monkeypatch.context() as patch:
            patch.setattr(StepJournal, "write", dying_at(point, before=before))
            try:
                asyncio.run(orchestrator.run(tasks, path))
                break
            except Died:
                deaths += 1
        report = asyncio.run(orchestrator.run(tasks, path))
        if report.status is Status.UNKNOWN:
            assert not repeatable
            step = report.steps[-1].id
            orchestrator.settle(tasks, path, step, happened=step in [name for name, _, _ in working.effects])
            report = asyncio.run(orchestrator.run(tasks, path))
        assert report.status is Status.DONE, point
        assert len({(name, key) for name, _, key in working.effects}) == 2, point
        if not repeatable:
            assert [name for name, _, _ in working.effects] == ["a", "b"], point
        assert len([number for name, number in working.asked if name == "a"]) <= 3
    assert deaths >= 10


def test_a_torn_last_line_is_no_record_and_an_edited_one_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "j"
    asyncio.run(built(Working()).run(TASKS, str(path)))
    with path.open("ab") as file:
        file.write(b'{"type":"end')
    assert asyncio.run(built(Working()).run(TASKS, str(path))).status is Status.DONE
    path.write_bytes(path.read_bytes().replace(b'"tried"', b'"tired"', 1))
    with pytest.raises(RunStoreError, match=r"j:2: no record"):
        asyncio.run(built(Working()).run(TASKS, str(path)))


def test_a_result_in_the_journal_is_held_against_the_guard_again(tmp_path: Path) -> None:
    path, working = tmp_path / "j", Working()
    asyncio.run(built(working, effect=None).run(TASKS[:1], str(path)))
    lines = [line for line in path.read_bytes().splitlines(keepends=True) if b'"ended"' not in line]
    path.write_bytes(b"".join(lines).replace(b'"[1]"', b'"[\\"rm\\"]"'))
    report = asyncio.run(built(working).run(TASKS[:1], str(path)))
    assert (report.status, working.effects) == (Status.FAILED, [])


def test_a_journal_belongs_to_its_tasks_its_guard_and_one_process(tmp_path: Path) -> None:
    path = str(tmp_path / "j")
    asyncio.run(built(Working()).run(TASKS, path))
    with pytest.raises(RunStoreError, match="something else"):
        asyncio.run(built(Working()).run(TASKS[:1], path))
    with pytest.raises(RunStoreError, match="something else"):
        asyncio.run(built(Working(), guard=Guard(name="n", bounds=Bounds())).run(TASKS, path))

    async def twice(attempt: Attempt) -> str:
        await built(Working(), worker=twice).run(TASKS, str(tmp_path / "k"))
        return ""

    with pytest.raises(RunStoreError, match="another process"):
        asyncio.run(built(Working(), worker=twice).run(TASKS, str(tmp_path / "k")))
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(RunStoreError):
        asyncio.run(built(Working()).run(TASKS, str(tmp_path / "link")))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Limits(steps=0, attempts=1, seconds=1),
        lambda: Limits(steps=1, attempts=0, seconds=1),
        lambda: Limits(steps=1, attempts=1, seconds=0),
        lambda: built(Working(), guard=Guard(name="empty")),
    ],
)
def test_a_loop_without_an_end_or_a_guard_cannot_be_made(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        make()


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="same id"):
        asyncio.run(built(Working()).run([TASKS[0], TASKS[0]], str(tmp_path / "j")))


MACHINE = """
machine: worker
entry: count
budget: 3
context: { n: 0, feedback: "" }
states:
  count:
    structure: JSON
    prompt: "List {{n}}. {{feedback}}"
    output: list
    gates: [{ when: otherwise, then: ok, to: END }]
"""


def test_a_machine_is_a_worker_and_gets_the_feedback_where_it_declares_it(tmp_path: Path) -> None:
    from mklang.engine.requests import Produced

    replies = ["ok", "[1]"]
    world = World(produce=lambda request: Produced(text=replies.pop(0)))
    worker = machine_worker(machine_from_text(MACHINE), lambda: world)
    working = Working()
    report = asyncio.run(built(working, worker=worker).run(TASKS[:1], str(tmp_path / "j")))
    assert report.status is Status.DONE
    assert "G104" in world.prompts[1]
    assert working.effects[0][1] == [1]


@pytest.mark.rule("S45")
def test_a_pipeline_tells_its_patterns_and_answers_the_review() -> None:
    async def ask(question: str) -> str:
        return ""

    def publish(change: Any) -> None:
        """Write it."""

    enforce: Enforce[Any, None] = Enforce(
        judge=Judge(name="quality", ask=ask, verdicts=("keep", "drop")), actions={"keep": publish, "drop": None}
    )
    pipeline = built(Working(), filter=Filter(name="today", since="2026-01-01", items=50), enforce=enforce)
    told = str(pipeline.conformance())
    for line in (
        "orchestrator (code loop, model works) 'o'",
        "who ends the loop: code: 10 steps, 3 attempts each",
        "  filter (code → model) 'today'",
        "  guard (model → code) 'numbers'",
        "forbidden texts: none: the operator supplies them",
        "  enforce (verdict → code) 'quality'",
        "actions: keep → publish, drop → refuse",
        "    judge (model → verdict) 'quality'",
    ):
        assert line in told
    assert [part["pattern"].split()[0] for part in pipeline.conformance().to_wire()["parts"]] == [  # type: ignore[attr-defined]
        "filter",
        "guard",
        "enforce",
    ]
