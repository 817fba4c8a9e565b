"""Code orchestrates, a model works: a loop that code owns, over steps that each ask a worker for one thing (S44).

When it ends, how often a step is tried, what happens with a result and where it goes on after a crash is decided here;
the worker sees one task and what was wrong with its last attempt. It cannot see the loop, and cannot ask for more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from typing import Any, TypeAlias

from mklang.engine.options import DEFAULT_OPTIONS, RunOptions
from mklang.engine.oracle import Oracle
from mklang.engine.outcome import Done
from mklang.engine.run import arun
from mklang.errors import AnswerFailed, StateFailed, UsageError
from mklang.guards.checked import Checked, Receipt, canonical
from mklang.guards.guard import Guard
from mklang.lang.models import Machine
from mklang.lang.values import Json
from mklang.patterns.conformance import Conformance
from mklang.patterns.filters import Filter
from mklang.patterns.judging import Enforce
from mklang.patterns.steps import (
    Began,
    Ended,
    Intended,
    Passed,
    Refused,
    Settled,
    Standing,
    StepJournal,
    Tried,
    standing_of,
)


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to be done. ``id`` is the step's name in the journal, unique; ``inputs`` are what the worker gets."""

    id: str
    inputs: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a worker is asked. ``feedback`` says what was wrong with the attempt before, else it is empty."""

    task: Task
    number: int
    feedback: str = ""


Worker: TypeAlias = Callable[[Attempt], Awaitable[str]]
"""Does one small task and gives text. May raise ``AnswerFailed``; whatever else it raises ends the run as a fault."""

Effect: TypeAlias = Callable[[Task, Checked[Any], str], None]
"""What code does with a result that passed; the last argument is a key that is the same whenever this step is taken."""


class OnFailure(Enum):
    """What happens when a step has used up its attempts."""

    STOP = "stop"
    SKIP = "skip"


class Status(Enum):
    """How a step, or the whole, stands."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "outcome-unknown"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What ends the loop whatever a worker says, all of it required. ``attempts`` are those of one step, ever."""

    steps: int
    attempts: int
    seconds: float

    def __post_init__(self) -> None:
        if self.steps < 1 or self.attempts < 1 or self.seconds <= 0:
            raise UsageError("an orchestrator's limits are at least one step, one attempt and some time")


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step: how it stands, the receipt of what passed, why it did not. ``result`` is what passed, for a step that
    is done; None when the journal's copy of it no longer passes."""

    id: str
    status: Status
    receipt: Receipt | None = None
    why: str = ""
    result: Checked[Any] | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The loop: how it ended and every step that was begun."""

    status: Status
    steps: tuple[StepReport, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Orchestrator:
    """A loop over tasks that code lists before it begins.

    Each result passes ``guard``, or the step is tried again with its failures as feedback, within ``limits``. Then
    ``effect`` happens once: an intent is on disk before it, and after a crash between the two the run stops as
    ``outcome-unknown`` and asks, unless the effect is ``repeatable``: doing it again with the same key changes nothing.
    ``filter`` and ``enforce`` are named here to be told in the conformance; they act inside worker and effect.
    """

    name: str
    worker: Worker
    guard: Guard
    limits: Limits
    effect: Effect | None = None
    repeatable: bool = False
    on_failure: OnFailure = OnFailure.STOP
    filter: Filter | None = None
    enforce: Enforce[Any, Any] | None = None

    def __post_init__(self) -> None:
        if self.guard.vacuous:
            raise UsageError(f"orchestrator '{self.name}': guard '{self.guard.name}' says nothing of its own")

    async def run(self, tasks: Iterable[Task], journal: str) -> Report:
        """Do the tasks in order, going on where the journal at this path ends.

        Raises ``UsageError`` for tasks with the same id, ``RunStoreError`` for a journal of other tasks or guards.
        """
        listed = tuple(tasks)
        if len({task.id for task in listed}) != len(listed):
            raise UsageError(f"orchestrator '{self.name}': two tasks have the same id")
        first = Began(orchestrator=self.name, identity=self._identity(listed))
        reports: list[StepReport] = []
        clock = asyncio.timeout(self.limits.seconds)
        with StepJournal(journal, first) as file:
            try:
                async with clock:
                    status = await self._loop(listed, file, reports)
            except TimeoutError:
                if not clock.expired():
                    raise
                status = Status.LIMIT
        return Report(status, tuple(reports))

    async def _loop(self, tasks: tuple[Task, ...], file: StepJournal, reports: list[StepReport]) -> Status:
        known = standing_of(file.entries)
        for number, task in enumerate(tasks):
            if number >= self.limits.steps:
                return Status.LIMIT
            report = await self._step(task, known.get(task.id, Standing()), file)
            reports.append(report)
            if report.status in {Status.FAILED, Status.UNKNOWN}:
                return report.status
        return Status.DONE

    def settle(self, tasks: Iterable[Task], journal: str, step: str, *, happened: bool) -> None:
        """Say what became of an effect whose end was never recorded: it happened, or it is to be done again."""
        with StepJournal(journal, Began(orchestrator=self.name, identity=self._identity(tuple(tasks)))) as file:
            known = standing_of(file.entries).get(step)
            if known is None or not known.intended or known.ended is not None:
                raise UsageError(f"orchestrator '{self.name}': the outcome of step '{step}' is not unknown")
            file.write(Settled(step=step, happened=happened))

    def _identity(self, tasks: tuple[Task, ...]) -> str:
        meant: list[Json] = [self.guard.sha, [[task.id, dict(task.inputs)] for task in tasks]]
        return sha256(canonical(meant)).hexdigest()

    async def _step(self, task: Task, known: Standing, file: StepJournal) -> StepReport:
        if known.ended is not None and (known.ended.status == "done" or self.on_failure is OnFailure.SKIP):
            return self._over(task, known)
        passed = self._again(known.passed) if known.passed else await self._work(task, known.attempts, file)
        if isinstance(passed, str):
            file.write(Ended(step=task.id, status="failed", why=passed))
            status = Status.SKIPPED if self.on_failure is OnFailure.SKIP else Status.FAILED
            return StepReport(task.id, status, why=passed)
        if self.effect is not None:
            if known.intended and not self.repeatable:
                why = "it was begun and its end was never recorded: find out whether it happened"
                return StepReport(task.id, Status.UNKNOWN, passed.receipt, why)
            key = sha256(f"{self.name}\0{task.id}\0{passed.receipt.out_sha}".encode()).hexdigest()
            file.write(Intended(step=task.id, key=key))
            passed.content()
            self.effect(task, passed, key)
        file.write(Ended(step=task.id, status="done"))
        return StepReport(task.id, Status.DONE, passed.receipt, result=passed)

    def _over(self, task: Task, known: Standing) -> StepReport:
        ended, receipt = known.ended, known.passed.receipt if known.passed else None
        if ended is not None and ended.status == "done":
            found = self._again(known.passed) if known.passed else None
            return StepReport(task.id, Status.DONE, receipt, result=found if isinstance(found, Checked) else None)
        return StepReport(task.id, Status.SKIPPED, receipt, ended.why if ended else "")

    def _again(self, passed: Passed) -> Checked[Any] | str:
        """A result from the journal, held against the guard once more: a file can be edited."""
        found = self.guard.examine(passed.text)
        return found if isinstance(found, Checked) else f"the journal's result: {found[0]}"

    async def _work(self, task: Task, attempts: int, file: StepJournal) -> Checked[Any] | str:
        """Ask the worker until a result passes or the attempts are used up; those before a crash count."""
        feedback = why = ""
        for number in range(attempts + 1, self.limits.attempts + 1):
            file.write(Tried(step=task.id, attempt=number))
            try:
                reply: object = await self.worker(Attempt(task, number, feedback))
            except AnswerFailed as failed:
                why, feedback = str(failed), ""
            else:
                found = self.guard.examine(reply) if isinstance(reply, str) else ()
                if isinstance(found, Checked):
                    file.write(Passed(step=task.id, text=found.content().decode(), receipt=found.receipt))
                    return found
                why = "; ".join(str(failure) for failure in found[:3]) or "the worker gave no text"
                feedback = self.guard.feedback(found)
            file.write(Refused(step=task.id, attempt=number, why=why))
        return why or f"{self.limits.attempts} attempts are used up"

    def conformance(self) -> Conformance:
        """What a review asks of a pipeline: the seven questions, answered by how it is built."""
        facts = (
            ("where is the guard", f"'{self.guard.name}' v{self.guard.version} on every result, {self.guard.sha[:12]}"),
            ("who ends the loop", f"code: {self.limits.steps} steps, {self.limits.attempts} attempts each"),
            ("filter before the model, in code", f"'{self.filter.name}'" if self.filter else "unclear: none is named"),
            ("can the judge write", "no" if self.enforce else "there is no judge"),
            ("resumes from disk", "yes: every step is on disk before the next; an effect is never repeated unasked"),
            ("inputs fenced", "by the worker; machines fence every value that is not the author's"),
            (
                "budget and completion",
                f"{self.limits.seconds:g} s, a list of tasks; on failure {self.on_failure.value}",
            ),
        )
        parts = (*((self.filter.conformance(),) if self.filter else ()), guard_conformance(self.guard))
        parts += (self.enforce.conformance(),) if self.enforce else ()
        return Conformance("orchestrator (code loop, model works)", self.name, facts, parts)


def guard_conformance(guard: Guard) -> Conformance:
    """What a review asks of a guard."""
    forbidden = len(tuple(guard.forbidden))
    facts = (
        ("structure", "one document, sound text, finite numbers, no key twice"),
        ("schema", "yes" if guard.schema not in (None, True, {}) else "none"),
        ("forbidden texts", str(forbidden) if forbidden else "none: the operator supplies them"),
        ("bounds", f"{guard.limit:,} bytes" if guard.bounds else "the built-in ones"),
        (
            "partial results",
            "items that fail are left out and reported" if guard.per_item else "never: whole or nothing",
        ),
        ("asks a model", "cannot"),
    )
    return Conformance("guard (model → code)", guard.name, facts)


def machine_worker(
    machine: Machine,
    oracle: Callable[[], Oracle],
    *,
    library: Mapping[str, Machine] | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
    feedback: str = "feedback",
) -> Worker:
    """A worker that is a run of a machine, with its own budget. The task's inputs are the run's; what was wrong with
    the attempt before stands in the context under ``feedback``, where the machine declares that key."""

    async def work(attempt: Attempt) -> str:
        inputs = dict(attempt.task.inputs)
        if feedback in machine.context:
            inputs[feedback] = attempt.feedback
        outcome = await arun(machine, inputs, oracle=oracle(), library=library, options=options)
        if not isinstance(outcome, Done):
            raise StateFailed(f"machine '{machine.name}': {outcome.error}")
        return outcome.result if isinstance(outcome.result, str) else canonical(outcome.result).decode()

    return work
