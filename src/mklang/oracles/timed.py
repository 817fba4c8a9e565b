"""Time around every request: how long each took, how long one may take, and when the whole run has to stop asking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import msgspec

from mklang.engine.oracle import Oracle, most_of
from mklang.engine.requests import Answer, Judge, Observation, Produce, Produced, Request, Tool, Usage, Verdict
from mklang.errors import AnswerFailed, ProviderFailed, TimeExhausted, ToolFailed


class RunClock:
    """What a run and a request may take, in seconds; None means no bound. The run's time starts at its first request.

    ``elapsed`` counts seconds and never goes back. Whoever waits on behalf of a request asks here whether there is
    time.
    """

    def __init__(
        self, elapsed: Callable[[], float], *, run_seconds: float | None = None, request_seconds: float | None = None
    ) -> None:
        self.elapsed = elapsed
        self.run_seconds = run_seconds
        self.request_seconds = request_seconds
        self._deadline: float | None = None

    def allow(self, *, run_seconds: float | None, request_seconds: float | None) -> None:
        """Set the bounds, before the run begins."""
        self.run_seconds, self.request_seconds = run_seconds, request_seconds

    def run_left(self) -> float | None:
        """What is left of the run's time; the first call starts it."""
        if self.run_seconds is None:
            return None
        now = self.elapsed()
        if self._deadline is None:
            self._deadline = now + self.run_seconds
        return self._deadline - now

    @contextmanager
    def timing(self, bound: asyncio.Timeout) -> Iterator[None]:
        """While this lasts, ``bound`` ends the request that the current task, or a task it starts, waits for."""
        left = self.run_left()
        latest = None if left is None else asyncio.get_running_loop().time() + left
        before = _BOUND.set(_Bound(bound, latest))
        try:
            yield
        finally:
            _BOUND.reset(before)

    @contextmanager
    def in_line(self) -> Iterator[None]:
        """While this lasts, a part of the current request has not been sent: the request's time stands still, the run's
        goes on."""
        bound = _BOUND.get()
        if bound is None:
            yield
            return
        bound.stand_still()
        try:
            yield
        finally:
            bound.go_on()


@dataclass(slots=True)
class _Bound:
    """What ends one request. ``latest`` is when the run's time is over, on the loop's clock; None means never.

    A request can be asked in several parts at once: its time stands still while any of them is in line.
    """

    timeout: asyncio.Timeout
    latest: float | None
    waiting: int = 0
    left: float | None = None

    def stand_still(self) -> None:
        self.waiting += 1
        when = self.timeout.when()
        if self.waiting == 1 and when is not None:
            self.left = when - asyncio.get_running_loop().time()
            self.timeout.reschedule(self.latest)

    def go_on(self) -> None:
        self.waiting -= 1
        if self.waiting or self.left is None:
            return
        due, self.left = asyncio.get_running_loop().time() + self.left, None
        if not self.timeout.expired():
            self.timeout.reschedule(due if self.latest is None else min(due, self.latest))


_BOUND: ContextVar[_Bound | None] = ContextVar("mklang.request", default=None)
"""The request that the current task waits for. A context's variable, for a request's parts are asked by tasks of its
own."""


class TimedOracle:
    """Wraps a live oracle. Bounds the run, and one request to a model, judge or tool.

    People are not timed here: a question has a deadline of its own.
    """

    def __init__(
        self,
        inner: Oracle,
        *,
        elapsed: Callable[[], float],
        run_seconds: float | None = None,
        request_seconds: float | None = None,
        clock: RunClock | None = None,
    ) -> None:
        """``clock`` is one that others look at too, in place of one of its own."""
        self._inner = inner
        self._clock = clock or RunClock(elapsed, run_seconds=run_seconds, request_seconds=request_seconds)

    async def answer(self, request: Request, /) -> Answer:
        """The inner answer with the seconds it took; fails when there is no time, or not enough."""
        clock = self._clock
        started, left = clock.elapsed(), clock.run_left()
        if not isinstance(request, Produce | Judge | Tool):
            return await self._inner.answer(request)
        if left is not None and left <= 0:
            raise TimeExhausted(f"{clock.run_seconds:g} s have passed")
        allowed = [seconds for seconds in (left, clock.request_seconds) if seconds is not None]
        try:
            async with asyncio.timeout(min(allowed) if allowed else None) as bound:
                with clock.timing(bound):
                    answer = await self._inner.answer(request)
        except TimeoutError:
            raise self._too_late(request, left) from None
        if isinstance(answer, Produced | Verdict | Observation):
            return msgspec.structs.replace(answer, seconds=round(clock.elapsed() - started, 6))
        return answer

    def most(self, request: Request, /) -> Usage:
        """See ``Foreseeing.most``."""
        return most_of(self._inner, request)

    def _too_late(self, request: Produce | Judge | Tool, left: float | None) -> AnswerFailed:
        run, one = self._clock.run_seconds, self._clock.request_seconds
        if one is None or (left is not None and (left < one or (self._clock.run_left() or 0.0) <= 0)):
            return TimeExhausted(f"{run:g} s have passed")
        if isinstance(request, Tool):
            return ToolFailed(f"tool '{request.name}': no answer within {one:g} s")
        return ProviderFailed(f"no answer within {one:g} s", cause="timeout")
