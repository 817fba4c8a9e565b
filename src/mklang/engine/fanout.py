"""Fan-out: one state over many branches in one task group, results in item order whatever finishes first (L49-L51)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from mklang.engine.blackboard import Blackboard, capped, format_value
from mklang.engine.failures import charged_halt
from mklang.engine.level import Level, StateHalt, Suspension
from mklang.engine.narration import tell_branch
from mklang.engine.outcome import Reason
from mklang.engine.step import execute
from mklang.engine.taint import Mark, Marks
from mklang.engine.trace import BranchFailure, TraceStep
from mklang.errors import AnswerFailed
from mklang.lang.models import Over, Sample, State
from mklang.lang.values import Json, type_name

_WHOLE_RUN = frozenset(
    {Reason.COST_EXHAUSTED, Reason.TIME_EXHAUSTED, Reason.CANCELLED, Reason.RESUME_MISMATCH, Reason.FANOUT_LIMIT}
)
"""Reasons that concern the whole run: in a branch, or in what it calls, they end the fan-out, not the branch alone."""


class Branch:
    """One branch: its result, or why it has none."""

    __slots__ = ("failure", "mark", "result", "step", "waits")

    def __init__(self, step: TraceStep) -> None:
        self.step = step
        self.result: Json = None
        self.mark = Mark.NONE
        self.failure: StateHalt | None = None
        self.waits: Suspension | None = None

    @property
    def value(self) -> Json:
        """What gates and reducers see: the result, or the published marker text (L50)."""
        if self.failure is None:
            return self.result
        detail = self.failure.detail if self.failure.reason is Reason.CALL_FAILED else self.failure.error
        return f"[branch-error: {detail}]"


async def fan_out(level: Level, state: State, *, key: str, step: TraceStep, feedback: str | None) -> tuple[Json, Marks]:
    """Run every branch; the result is the list of their values. Halts when too wide or when too many branches fail."""
    boards, mark = _boards(level, state)
    _check_width(level, state, len(boards))
    branches = [Branch(TraceStep(state=state.id, tier=step.tier, step=0)) for _ in boards]
    try:
        await _run_all(level, state, branches, key=key, boards=boards, feedback=feedback)
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None  # a host's or our own error: the run cannot go on, whatever branch met it
    _check_waiting(branches)
    level.steps += max(1, len(branches))
    _record(step, branches)
    _check_failures(level, branches)
    for branch in branches:
        mark |= branch.mark
    return [branch.value for branch in branches], mark & Mark.EXTERNAL


async def _run_all(
    level: Level, state: State, branches: list[Branch], *, key: str, boards: list[Blackboard], feedback: str | None
) -> None:
    async with asyncio.TaskGroup() as group:
        for index, board in enumerate(boards):
            branch, path = branches[index], f"{key}[{index}]"
            group.create_task(_branch(level, state, branch, index=index, key=path, board=board, feedback=feedback))


def _boards(level: Level, state: State) -> tuple[list[Blackboard], Marks]:
    """One blackboard for each branch, and the mark of the list it runs over."""
    board, spread = level.board, state.fan_out
    if isinstance(spread, Sample):
        return board.branches(spread.count), Mark.NONE
    if not isinstance(spread, Over):
        raise TypeError(f"state '{state.id}' does not fan out")
    items = board.read(spread.items)
    if items is None:
        raise StateHalt(Reason.STATE_ERROR, f"over: path '{spread.items.path}' not found in context")
    if not isinstance(items, list):
        raise StateHalt(Reason.STATE_ERROR, f"over: path '{spread.items.path}' is not a list (got {type_name(items)})")
    mark = board.provenance.at(spread.items.keys)
    return board.branches_over(items, mark), mark


def _check_width(level: Level, state: State, width: int) -> None:
    """Refuse a fan-out wider than the whole step budget or the host's limit, before any branch runs."""
    options = level.shared.options
    if width > level.step_limit:
        needed = f"state '{state.id}' needs {width} steps for its {width} branches"
        raise StateHalt(Reason.BUDGET_EXHAUSTED, message=f"{needed}, the budget is {level.step_limit}")
    if options.max_fanout is not None and width > options.max_fanout:
        raise StateHalt(
            Reason.FANOUT_LIMIT,
            f"state '{state.id}' has {width} branches, max_fanout is {options.max_fanout}",
        )


async def _branch(
    level: Level, state: State, branch: Branch, *, index: int, key: str, board: Blackboard, feedback: str | None
) -> None:
    """Run one branch to a value or a failure; nothing it does ends the others."""
    try:
        branch.result, branch.mark = await execute(
            level, state, key=key, board=board, step=branch.step, feedback=feedback
        )
    except Suspension as waits:
        branch.waits = waits
        return
    except StateHalt as halt:
        branch.failure = halt
    except AnswerFailed as failed:
        branch.failure = charged_halt(level, branch.step, failed)
    error = branch.failure.error if branch.failure else None
    tell_branch(level, state, index=index, usage=branch.step.usage, error=error)


def _check_waiting(branches: list[Branch]) -> None:
    """When branches wait for people, the run waits for all of them at once; the others have finished by now."""
    waiting = [branch.waits for branch in branches if branch.waits]
    if waiting:
        first = waiting[0]
        asks = tuple(ask for suspension in waiting for ask in suspension.asks)
        raise Suspension(first.reason, first.at, asks=asks, stack=first.stack, message=first.message)


def _record(step: TraceStep, branches: list[Branch]) -> None:
    """Put what the branches produced, cost and lost into the fan-out's own step (L51)."""
    step.branches = [capped(format_value(branch.value)) for branch in branches]
    for branch in branches:
        step.usage = step.usage + branch.step.usage
        step.seconds += branch.step.seconds
        step.attempts += branch.step.attempts
    step.truncated = any(branch.step.truncated for branch in branches)
    step.finish_reason = _first(branch.step.finish_reason for branch in branches)
    step.model = _first(branch.step.model for branch in branches)
    if any(branch.step.reasoning for branch in branches):
        step.reasonings = [branch.step.reasoning for branch in branches]
    if any(branch.step.sub_trace is not None for branch in branches):
        step.sub_trace = tuple(_own_trace(branch) for branch in branches)
    step.guards = tuple(
        msgspec.structs.replace(check, branch=index)
        for index, branch in enumerate(branches)
        for check in branch.step.guards
    )
    step.branch_errors = tuple(
        BranchFailure(index=index, kind=branch.failure.reason.value, message=branch.failure.error)
        for index, branch in enumerate(branches)
        if branch.failure
    )


def _own_trace(branch: Branch) -> tuple[TraceStep, ...] | None:
    """A branch's callee steps. A branch has one callee, so its sub-trace is never a list of lists."""
    trace = branch.step.sub_trace
    return None if trace is None else tuple(part for part in trace if isinstance(part, TraceStep))


def _check_failures(level: Level, branches: list[Branch]) -> None:
    """Halt when more branches failed than the host allows; without a limit, when all of them did."""
    failures = [branch.failure for branch in branches if branch.failure]
    if not failures:
        return
    for failure in failures:
        if innermost(failure) in _WHOLE_RUN:
            raise failure
    allowed = level.shared.options.max_failed_branches
    if len(failures) > (len(branches) - 1 if allowed is None else allowed):
        lost = f"{len(failures)} of {len(branches)} branches failed"
        raise StateHalt(Reason.BRANCHES_FAILED, f"{lost}, the first: {failures[0].error}")


def innermost(failure: StateHalt) -> Reason | None:
    """Why the machine at the end of the calls halted; a failure that is no call's is its own reason."""
    if failure.reason is not Reason.CALL_FAILED:
        return failure.reason
    word = failure.detail
    while word.startswith(_CALL_FAILED):
        word = word.removeprefix(_CALL_FAILED)
    name = word.partition(":")[0]
    return next((reason for reason in Reason if reason.value == name), None)


_CALL_FAILED = f"{Reason.CALL_FAILED.value}: "


def _first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value), None)
