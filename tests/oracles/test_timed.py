"""Time limits: nothing is asked after the run's time, and one slow request does not hold the rest."""

from __future__ import annotations

import asyncio

import pytest

from mklang.engine.options import RunOptions
from mklang.engine.oracle import Oracle
from mklang.engine.outcome import Done, Halted, Outcome, Reason, Suspended
from mklang.engine.requests import Answer, Nonce, NonceValue, Produced, Request
from mklang.engine.run import arun
from mklang.lang.reader import machine_from_text
from mklang.oracles.timed import RunClock, TimedOracle

LOOP = machine_from_text("""
machine: loop
entry: s
budget: 5
states:
  s:
    structure: a word
    prompt: go
    output: o
    gates: [{when: otherwise, then: ok, to: s}]
""")


class Clock:
    """A clock that only moves when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """Every answer takes two seconds on the clock; ``stuck`` ones never come."""

    def __init__(self, clock: Clock, *, stuck: bool = False) -> None:
        self.clock = clock
        self.stuck = stuck
        self.asked = 0

    async def answer(self, request: Request, /) -> Answer:
        if isinstance(request, Nonce):
            return NonceValue("a-seed")
        self.asked += 1
        if self.stuck:
            await asyncio.Event().wait()
        self.clock.now += 2
        return Produced(text="ok")


def run(oracle: Oracle, *, suspend: bool = False) -> Outcome:
    return asyncio.run(arun(LOOP, oracle=oracle, options=RunOptions(suspend_on_limit=suspend)))


def test_nothing_is_asked_once_the_runs_time_has_passed() -> None:
    clock = Clock()
    slow = Slow(clock)
    outcome = run(TimedOracle(slow, elapsed=clock, run_seconds=3))
    assert isinstance(outcome, Halted)
    assert outcome.reason is Reason.TIME_EXHAUSTED
    assert slow.asked == 2
    assert [step.seconds for step in outcome.trace] == [2, 2, 0]


def test_a_run_out_of_time_waits_where_the_host_wants_to_go_on_later() -> None:
    clock = Clock()
    outcome = run(TimedOracle(Slow(clock), elapsed=clock, run_seconds=3), suspend=True)
    assert isinstance(outcome, Suspended)
    assert outcome.reason is Reason.TIME_EXHAUSTED


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"request_seconds": 0.01}, Reason.PROVIDER_ERROR), ({"run_seconds": 0.01}, Reason.TIME_EXHAUSTED)],
)
def test_an_answer_that_does_not_come_is_given_up(limits: dict[str, float], reason: Reason) -> None:
    clock = Clock()
    outcome = run(TimedOracle(Slow(clock, stuck=True), elapsed=clock, **limits))
    assert isinstance(outcome, Halted)
    assert outcome.reason is reason


def test_without_limits_every_answer_comes_through() -> None:
    clock = Clock()
    slow = Slow(clock)
    assert not isinstance(run(TimedOracle(slow, elapsed=clock)), Done)
    assert slow.asked == 5


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop on which nothing takes time: when everybody waits, its clock jumps to whoever waits least."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        select = self._selector.select  # type: ignore[attr-defined] # the loop's own

        def jump(timeout: float | None = None) -> object:
            self.now += timeout or 0.0
            return select(0)

        self._selector.select = jump  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now


class InLine:
    """An oracle that waits for its turn before it sends anything, and then for an answer."""

    def __init__(self, clock: RunClock, *, line: float, answer: float) -> None:
        self.clock, self.line, self.takes = clock, line, answer

    async def answer(self, request: Request, /) -> Answer:
        if isinstance(request, Nonce):
            return NonceValue("a-seed")
        with self.clock.in_line():
            await asyncio.sleep(self.line)
        await asyncio.sleep(self.takes)
        return Produced(text="ok")


@pytest.mark.parametrize(
    ("line", "answer", "run_seconds", "reason", "took"),
    [
        (15.0, 1.0, None, Reason.BUDGET_EXHAUSTED, 80.0),
        (0.0, 50.0, None, Reason.PROVIDER_ERROR, 10.0),
        (15.0, 50.0, None, Reason.PROVIDER_ERROR, 25.0),
        (50.0, 0.0, 20.0, Reason.TIME_EXHAUSTED, 20.0),
        (15.0, 50.0, 20.0, Reason.TIME_EXHAUSTED, 20.0),
        (5.0, 50.0, 100.0, Reason.PROVIDER_ERROR, 15.0),
    ],
)
def test_waiting_for_a_turn_is_no_part_of_a_requests_time_but_of_the_runs(
    line: float, answer: float, run_seconds: float | None, reason: Reason, took: float
) -> None:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        loop = runner.get_loop()
        clock = RunClock(loop.time, run_seconds=run_seconds, request_seconds=10.0)
        oracle = TimedOracle(InLine(clock, line=line, answer=answer), elapsed=loop.time, clock=clock)
        outcome = runner.run(arun(LOOP, oracle=oracle))
        assert loop.time() == pytest.approx(took, abs=0.01)
    assert isinstance(outcome, Halted)
    assert outcome.reason is reason


class InParts(InLine):
    """The same with questions that are asked all at once, each in line by itself."""

    async def answer(self, request: Request, /) -> Answer:
        if isinstance(request, Nonce):
            return NonceValue("a-seed")
        await asyncio.gather(*[self.part(line) for line in (0.0, self.line / 2, self.line)])
        return Produced(text="ok")

    async def part(self, line: float) -> None:
        with self.clock.in_line():
            await asyncio.sleep(line)
        await asyncio.sleep(self.takes)


@pytest.mark.parametrize(
    ("line", "answer", "run_seconds", "reason", "took"),
    [
        (40.0, 1.0, None, Reason.BUDGET_EXHAUSTED, 205.0),
        (40.0, 50.0, None, Reason.PROVIDER_ERROR, 50.0),
        (40.0, 50.0, 45.0, Reason.TIME_EXHAUSTED, 45.0),
        (40.0, 1.0, 20.0, Reason.TIME_EXHAUSTED, 20.0),
    ],
)
def test_a_request_in_parts_has_its_time_once_all_of_them_are_sent(
    line: float, answer: float, run_seconds: float | None, reason: Reason, took: float
) -> None:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        loop = runner.get_loop()
        clock = RunClock(loop.time, run_seconds=run_seconds, request_seconds=10.0)
        oracle = TimedOracle(InParts(clock, line=line, answer=answer), elapsed=loop.time, clock=clock)
        outcome = runner.run(arun(LOOP, oracle=oracle))
        assert loop.time() == pytest.approx(took, abs=0.01)
    assert isinstance(outcome, Halted)
    assert outcome.reason is reason
