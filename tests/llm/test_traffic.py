"""Everybody who asks one endpoint keeps its pauses and its limits, together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mklang.engine.requests import NO_USAGE, Produced, Usage
from mklang.errors import AnswerFailed, ProviderFailed, Refused, TimeExhausted
from mklang.llm.retry import Limits, Pace, Patience, RetryPolicy, Traffic, Transient
from tests.llm.asking import NOON, Slept
from tests.llm.clocks import CountedTraffic, VirtualTime


class Counter:
    """An endpoint in this process that allows so many requests a second and asks for the rest of the second."""

    def __init__(self, time: VirtualTime, *, per_second: int) -> None:
        self.time, self.per_second = time, per_second
        self.let_in: list[float] = []
        self.paused_until: list[tuple[float, float]] = []

    async def __call__(self) -> Produced:
        now = self.time.now
        await asyncio.sleep(0)
        if sum(1 for at in self.let_in if at > now - 1) >= self.per_second:
            self.paused_until.append((now, now + 1))
            raise Transient("slow down", 1.0, status=429)
        self.let_in.append(now)
        return Produced(text="ok", usage=Usage(10, 5))


def run_branches(
    count: int, make: Callable[[VirtualTime], Callable[[], Awaitable[Produced]]], **options: object
) -> tuple[list[object], CountedTraffic]:
    async def scenario() -> tuple[list[object], CountedTraffic]:
        time = VirtualTime()
        traffic = CountedTraffic(time, **options)
        endpoint = make(time)
        return list(await time.run(*[traffic.send(endpoint, tokens=10) for _ in range(count)])), traffic

    return asyncio.run(scenario())


@pytest.mark.parametrize(("branches", "per_second"), [(10, 3), (10, 1), (60, 3), (200, 7)])
def test_branches_finish_at_an_endpoint_that_slows_them_down(branches: int, per_second: int) -> None:
    endpoints: list[Counter] = []

    def make(time: VirtualTime) -> Counter:
        endpoints.append(Counter(time, per_second=per_second))
        return endpoints[0]

    results, traffic = run_branches(branches, make)
    assert all(isinstance(result, tuple) for result in results), results
    for begin, end in endpoints[0].paused_until:
        assert not [at for at in traffic.sent if begin < at < end]


def test_a_pause_asked_of_one_is_kept_by_all() -> None:
    async def scenario() -> list[float]:
        time = VirtualTime()
        traffic = CountedTraffic(time)
        first = asyncio.Event()

        async def paused() -> str:
            if not first.is_set():
                first.set()
                raise Transient("busy", 5.0, status=429)
            return "ok"

        async def late() -> str:
            return "ok"

        async def after() -> object:
            await first.wait()
            return await traffic.send(late)

        await time.run(traffic.send(paused), after(), after())
        return traffic.sent

    assert asyncio.run(scenario()) == [0.0, 5.0, 5.0, 5.0]


def test_a_failure_of_one_request_alone_holds_up_nobody_else() -> None:
    async def scenario() -> list[float]:
        time = VirtualTime()
        traffic = CountedTraffic(time)
        outcomes = [Transient("odd", status=500)]

        async def attempt() -> str:
            if outcomes:
                raise outcomes.pop()
            return "ok"

        await time.run(*[traffic.send(attempt) for _ in range(3)])
        return traffic.sent

    assert asyncio.run(scenario()) == [0.0, 0.0, 0.0, 0.5]


@given(
    limits=st.builds(
        Limits,
        concurrency=st.integers(1, 5),
        rpm=st.none() | st.integers(1, 6),
        tpm=st.none() | st.integers(20, 200),
    ),
    costs=st.lists(st.tuples(st.integers(0, 80), st.integers(1, 80)), min_size=1, max_size=25),
)
@settings(max_examples=60, deadline=None)
def test_no_sixty_seconds_ever_hold_more_than_the_limits(limits: Limits, costs: list[tuple[int, int]]) -> None:
    async def scenario() -> CountedTraffic:
        time = VirtualTime()
        traffic = CountedTraffic(time, limits=limits)

        def cost(used: int) -> Callable[[], Awaitable[Produced]]:
            async def attempt() -> Produced:
                await asyncio.sleep(0)
                return Produced(text="ok", usage=Usage(used, 0))

            return attempt

        await time.run(*[traffic.send(cost(max(guess, used)), tokens=max(guess, used)) for guess, used in costs])
        return traffic

    traffic = asyncio.run(scenario())
    assert len(traffic.sent) == len(costs)
    assert traffic.most_at_once <= limits.concurrency
    for begin in traffic.sent:
        within = sum(1 for at in traffic.sent if begin <= at < begin + 60)
        assert limits.rpm is None or within <= limits.rpm


def test_tokens_of_a_minute_are_kept_and_put_right_by_what_was_used() -> None:
    async def answer(used: int) -> Produced:
        return Produced(text="ok", usage=Usage(used, 0))

    async def scenario(used: int) -> list[float]:
        time = VirtualTime()
        traffic = CountedTraffic(time, limits=Limits(concurrency=1, tpm=100))
        await time.run(*[traffic.send(lambda: answer(used), tokens=40) for _ in range(4)])
        return traffic.sent

    assert asyncio.run(scenario(40)) == [0.0, 0.0, 60.0, 60.0]
    assert asyncio.run(scenario(10)) == [0.0, 0.0, 0.0, 0.0]
    assert asyncio.run(scenario(500)) == [0.0, 60.0, 120.0, 180.0]


@dataclass
class Left:
    """A run that has so many seconds left."""

    run: float | None = None
    request_seconds: float | None = None

    def run_left(self) -> float | None:
        return self.run

    def in_line(self) -> AbstractContextManager[None]:
        return nullcontext()


def one(
    *outcomes: Exception | str, patience: Patience | None = None, retry: RetryPolicy | None = None
) -> tuple[object, Slept]:
    slept, left = Slept(), list(outcomes)

    async def attempt() -> object:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def scenario() -> object:
        try:
            return await Traffic(pace=slept.pace, patience=patience, retry=retry).send(attempt)
        except AnswerFailed as failed:
            return failed

    return asyncio.run(scenario()), slept


@pytest.mark.parametrize("status", [429, 500])
def test_a_pause_that_cannot_end_before_the_run_does_fails_at_once(status: int) -> None:
    patience = Left(run=3.0)
    failed, slept = one(Transient("busy", 5.0, status=status), "ok", patience=patience)
    assert isinstance(failed, TimeExhausted)
    assert "a pause of 5 s is due and the run has 3 s left" in str(failed)
    assert slept.pauses == []
    assert one(Transient("busy", 2.0, status=status), "ok", patience=patience)[0] == ("ok", NO_USAGE)


def test_a_pause_that_cannot_end_before_the_request_must_fails_as_the_provider() -> None:
    patience = Left(request_seconds=4.0)
    failed, slept = one(Transient("a", 3.0, status=429), Transient("b", 3.0, status=429), patience=patience)
    assert type(failed) is ProviderFailed
    assert (failed.status, slept.pauses) == (429, [3.0])
    assert "the request has 1 s left" in str(failed)


def test_a_request_that_waits_for_its_first_turn_has_all_its_time_then() -> None:
    async def scenario() -> list[float]:
        time = VirtualTime()
        traffic = Traffic(pace=time.pace, limits=Limits(rpm=1), patience=Left(request_seconds=10.0))
        sent: list[float] = []

        async def attempt() -> None:
            sent.append(time.now)

        await time.run(*[traffic.send(attempt) for _ in range(3)])
        return sent

    assert asyncio.run(scenario()) == [0.0, 60.0, 120.0]


def test_while_a_long_pause_lasts_nobody_sends_at_all() -> None:
    async def scenario() -> tuple[list[object], int]:
        slept = Slept()
        traffic = Traffic(pace=slept.pace)
        sent = 0

        async def attempt() -> str:
            nonlocal sent
            sent += 1
            raise Transient("closed until tomorrow", 86400.0, status=429)

        ends = [(await asyncio.gather(traffic.send(attempt), return_exceptions=True))[0] for _ in range(3)]
        return ends, sent

    ends, sent = asyncio.run(scenario())
    assert sent == 1
    assert all(isinstance(end, ProviderFailed) and "pause of 86400 s" in str(end) for end in ends)


def test_what_failed_attempts_cost_is_told_and_stands_on_the_failure() -> None:
    cut = [Transient("cut", cause="cut", usage=Usage(10, n, 0, 10 + n)) for n in (1, 2, 3, 4)]
    assert one(*cut[:2], "ok")[0] == ("ok", Usage(20, 3, 0, 23))
    failed, _ = one(*cut)
    assert isinstance(failed, ProviderFailed)
    assert (failed.cause, failed.input_tokens, failed.output_tokens, failed.estimated_tokens) == ("cut", 40, 10, 50)
    refused, _ = one(cut[0], Refused("no", input_tokens=5))
    assert isinstance(refused, Refused)
    assert (refused.input_tokens, refused.output_tokens) == (15, 1)


def test_whoever_hangs_up_while_waiting_leaves_the_way_free() -> None:
    async def scenario() -> str:
        time = VirtualTime()
        traffic = Traffic(pace=time.pace, limits=Limits(concurrency=1))
        hold = asyncio.Event()

        async def held() -> str:
            await hold.wait()
            return "held"

        async def quick() -> str:
            return "quick"

        tasks = [asyncio.create_task(traffic.send(held)) for _ in range(4)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in (tasks[2], tasks[1], tasks[0]):
            task.cancel()
            await asyncio.sleep(0)
        last = asyncio.create_task(traffic.send(quick))
        hold.set()
        await asyncio.wait([*tasks, last], timeout=5)
        return (await last)[0]

    assert asyncio.run(scenario()) == "quick"


def test_one_traffic_serves_one_event_loop_after_the_other() -> None:
    slept = Slept()
    traffic = Traffic(pace=slept.pace, limits=Limits(concurrency=1))

    async def attempt() -> str:
        await asyncio.sleep(0)
        return "ok"

    async def scenario() -> int:
        return len(await asyncio.gather(*[traffic.send(attempt) for _ in range(5)]))

    assert [asyncio.run(scenario()), asyncio.run(scenario())] == [5, 5]


def test_a_clock_that_stands_still_holds_up_no_pause() -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    outcomes = [Transient("busy", 2.0, status=429), Transient("busy", 1.0, status=429)]

    async def attempt() -> str:
        if outcomes:
            raise outcomes.pop(0)
        return "ok"

    pace = Pace(sleep=sleep, now=lambda: NOON, jitter=lambda: 0.0, elapsed=lambda: 7.0)
    assert asyncio.run(Traffic(pace=pace).send(attempt)) == ("ok", NO_USAGE)
    assert pauses == [2.0, 1.0]
