"""The one retry policy, and the traffic to one endpoint: what is tried again, how often, and who may ask when.

Everybody who asks the same endpoint shares one ``Traffic``. When it asks one of them for a pause, nobody sends a
request until the pause is over; what the host allows per minute and at a time is kept by all of them together. Clients
retry nothing themselves, so a request that keeps failing is sent exactly as often as the policy says.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from typing import Protocol, TypeVar

from msgspec.structs import asdict

from mklang.engine.requests import NO_USAGE, Produced, Usage
from mklang.errors import AnswerFailed, ProviderFailed, TimeExhausted
from mklang.llm.waits import asked_wait as asked_wait

T = TypeVar("T")

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""HTTP statuses that pass. Every other failure is permanent: the same request would fail the same way."""
THROTTLED = frozenset({429, 503, 529})
"""Statuses that are about the endpoint and not about this request: nobody else is to ask it now either."""
EASING = 0.9
"""What the gap between requests shrinks to with each success: few requests meet the next refusal."""
SHORTEST_GAP, LONGEST_GAP = 0.005, 2.0
"""Seconds between two requests: what is too little to wait for, and the most."""


class Transient(Exception):
    """Inside this package only: a failure that may pass. ``wait`` is how many seconds the endpoint asks to wait.

    ``cause`` and ``status`` say what happened (see ``mklang.llm.failures``), ``usage`` what it cost all the same.
    """

    def __init__(
        self,
        message: str,
        wait: float | None = None,
        *,
        cause: str = "",
        status: int | None = None,
        usage: Usage = NO_USAGE,
    ) -> None:
        super().__init__(message)
        self.wait = wait
        self.cause = cause
        self.status = status
        self.usage = usage

    @property
    def throttles(self) -> bool:
        """Whether the endpoint wants to be left alone, by everybody."""
        return self.wait is not None or self.status in THROTTLED


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """At most ``attempts`` requests, the pauses between them doubling from ``first_wait``, in seconds.

    An endpoint that asks for a longer pause gets it, up to ``longest_wait``; beyond that the failure is reported.
    """

    attempts: int = 4
    first_wait: float = 0.5
    longest_wait: float = 60.0

    def wait(self, failures: int, asked: float | None, jitter: float) -> float:
        """The pause after the ``failures``-th failure, from 1. Never less than asked; ``jitter`` is in [0, 1)."""
        backoff = min(self.first_wait * 2.0 ** (failures - 1), self.longest_wait)
        return max(backoff, asked or 0.0) + jitter * backoff


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The one seam for time and chance in this package; a test's sleeps take no time.

    ``elapsed`` counts seconds and never goes back, ``now`` is the time of day, ``jitter`` a number in [0, 1).
    """

    sleep: Callable[[float], Awaitable[object]]
    now: Callable[[], datetime]
    jitter: Callable[[], float]
    elapsed: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may be asked of one endpoint: requests at a time, requests a minute, tokens a minute.

    A minute is any sixty seconds, not one of the clock's. Tokens are guessed when a request is sent and put right when
    its answer is there.
    """

    concurrency: int = 8
    rpm: int | None = None
    tpm: int | None = None


class Patience(Protocol):
    """How long there is to wait, in seconds; None means no bound."""

    @property
    def request_seconds(self) -> float | None:
        """What one request may take."""
        ...

    def run_left(self) -> float | None:
        """What the run has left."""
        ...

    def in_line(self) -> AbstractContextManager[None]:
        """While this lasts, the request has not been sent yet: its own time stands still, the run's goes on."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Endless:
    """Patience without a bound for the run."""

    request_seconds: float | None = None

    def run_left(self) -> float | None:
        """No bound."""
        return None

    def in_line(self) -> AbstractContextManager[None]:
        """Nothing to stop."""
        return nullcontext()


@dataclass(slots=True)
class _Sent:
    """A request of the last minute."""

    at: float
    tokens: int


@dataclass(order=True, slots=True)
class _Waiter:
    """Somebody who wants to send. Who has failed before goes first, lest a request fail again and again."""

    rank: tuple[int, int]
    ready: asyncio.Future[None] = field(compare=False)


class Traffic:
    """All requests to one endpoint. Usable from several event loops, one after the other.

    After a pause the endpoint is approached carefully: one request after the other, no faster than it answered before,
    and faster again as they succeed.
    """

    MINUTE = 60.0

    def __init__(
        self,
        *,
        pace: Pace,
        retry: RetryPolicy | None = None,
        limits: Limits | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.pace = pace
        self._retry = retry or RetryPolicy()
        self._limits = limits or Limits()
        self._patience: Patience = patience or Endless()
        self._queue: list[_Waiter] = []
        self._order = itertools.count()
        self._taken = False
        self._freed: asyncio.Future[None] | None = None
        self._running = 0
        self._pause_ends = 0.0
        self._paused_by = Transient("")
        self._gap = 0.0
        self._last_sent = 0.0
        self._paused_at = 0.0
        self._answered = 0
        self._minute: deque[_Sent] = deque()
        self._waited_to = 0.0

    async def send(
        self,
        attempt: Callable[[], Awaitable[T]],
        *,
        tokens: int = 0,
        told: Callable[[Transient, float], None] | None = None,
    ) -> tuple[T, Usage]:
        """What ``attempt`` returns, sent when it may be and again while it raises ``Transient``; and what the attempts
        that failed cost.

        ``tokens`` is a guess at what one attempt will use; ``told`` hears of every failure that is tried again, and of
        the pause before that. Raises ``ProviderFailed`` when the attempts are used up or the pause asked for is too
        long, ``TimeExhausted`` when it is longer than the run has. A failure carries what all attempts cost.
        """
        started: float | None = None
        failures, spent = 0, NO_USAGE
        try:
            while True:
                try:
                    async with self._turn(failures, tokens, started) as sent:
                        started = sent.at if started is None else started
                        answer = await attempt()
                        if isinstance(answer, Produced) and answer.usage.total:
                            sent.tokens = answer.usage.total
                    return answer, spent
                except Transient as failed:
                    failures += 1
                    spent = spent + failed.usage
                    pause = self._pause_after(failed, failures)
                    if told is not None:
                        told(failed, pause)
                    alone = not failed.throttles
                    if alone:
                        self._check_patience(pause, started, failed)
                if alone:
                    await self._wait(pause)
        except AnswerFailed as given_up:
            add_cost(given_up, spent)
            raise

    @asynccontextmanager
    async def _turn(self, failures: int, tokens: int, started: float | None) -> AsyncIterator[_Sent]:
        """One request's place in the traffic. Whoever is next waits for all of it; the others wait for their turn.

        ``started`` is when the request was first sent; until then its time stands still.
        """
        with self._patience.in_line() if started is None else nullcontext():
            sent = await self._wait_for_turn(failures, tokens, started)
        try:
            yield sent
            self._answered += 1
            self._gap *= EASING
        finally:
            self._running -= 1
            if self._freed is not None and not self._freed.done():
                self._freed.set_result(None)

    async def _wait_for_turn(self, failures: int, tokens: int, started: float | None) -> _Sent:
        async with self._next_in_line(failures):
            while self._running >= self._limits.concurrency:
                self._freed = asyncio.get_running_loop().create_future()
                await self._freed
            while (wait := self._closed_for(tokens, started)) > 0:
                await self._wait(wait)
            self._running += 1
            self._last_sent = self._now()
            sent = _Sent(self._last_sent, tokens)
            self._minute.append(sent)
            return sent

    @asynccontextmanager
    async def _next_in_line(self, failures: int) -> AsyncIterator[None]:
        waiter = _Waiter((-failures, next(self._order)), asyncio.get_running_loop().create_future())
        heappush(self._queue, waiter)
        self._call_next()
        try:
            await waiter.ready
            yield
        finally:
            if not waiter.ready.cancelled():
                self._taken = False
                self._call_next()

    def _call_next(self) -> None:
        while self._queue and not self._taken:
            waiter = heappop(self._queue)
            if not waiter.ready.done():
                self._taken = True
                waiter.ready.set_result(None)

    def _now(self) -> float:
        """The time; never before a moment that has been waited for, however coarse the clock."""
        return max(self.pace.elapsed(), self._waited_to)

    async def _wait(self, seconds: float) -> None:
        until = self._now() + seconds
        await self.pace.sleep(seconds)
        self._waited_to = max(self._waited_to, until)

    def _closed_for(self, tokens: int, started: float | None) -> float:
        """How long nothing may be sent from now on, in seconds. Raises when that is longer than there is time for."""
        now = self._now()
        pause = self._pause_ends - now
        if pause > 0:
            if (self._paused_by.wait or 0.0) > self._retry.longest_wait:
                raise _given_up(self._paused_by, _too_long(self._paused_by, pause))
            self._check_patience(pause, started, self._paused_by)
            return pause
        wait = max(self._full_for(tokens, now), self._last_sent + self._gap - now if self._gap > SHORTEST_GAP else 0.0)
        if wait > 0:
            self._check_patience(wait, started, Transient("the limit per minute is reached"))
        return wait

    def _full_for(self, tokens: int, now: float) -> float:
        """How long the last minute holds all it may, in seconds. A request larger than the limit goes alone."""
        minute, limits = self._minute, self._limits
        while minute and minute[0].at <= now - self.MINUTE:
            minute.popleft()
        leave = len(minute) - limits.rpm + 1 if limits.rpm is not None else 0
        if limits.tpm is not None:
            over = sum(sent.tokens for sent in minute) + tokens - limits.tpm
            for count, sent in enumerate(minute, 1):
                if over <= 0:
                    break
                over -= sent.tokens
                leave = max(leave, count)
        return minute[leave - 1].at + self.MINUTE - now if leave > 0 else 0.0

    def _pause_after(self, failed: Transient, failures: int) -> float:
        """The pause before the next attempt, in seconds; everybody's where the endpoint asks for it. Raises when there
        is to be none."""
        pause = self._retry.wait(failures, failed.wait, self.pace.jitter())
        if failed.throttles:
            self._pause(failed, pause)
        if failed.wait is not None and failed.wait > self._retry.longest_wait:
            raise _given_up(failed, _too_long(failed, failed.wait))
        if failures >= self._retry.attempts:
            raise _given_up(failed, f"{failed}; tried {failures} times" if failures > 1 else str(failed))
        return pause

    def _pause(self, failed: Transient, seconds: float) -> None:
        """Close the endpoint for everybody. What it answered since the last time says how fast to ask afterwards."""
        now = self._now()
        if now >= self._pause_ends:
            if self._answered:
                self._gap = min(max(now - self._paused_at, seconds) / self._answered, seconds, LONGEST_GAP)
            self._paused_at, self._answered = now, 0
        if now + seconds > self._pause_ends:
            self._pause_ends, self._paused_by = now + seconds, failed

    def _check_patience(self, pause: float, started: float | None, failed: Transient) -> None:
        """Fail now when the pause cannot end in time: waiting for it would only lose more of it. A request that was not
        sent yet has all its time."""
        left = self._patience.run_left()
        if left is not None and pause > left:
            raise TimeExhausted(f"{failed}; a pause of {pause:.0f} s is due and the run has {left:.0f} s left")
        if self._patience.request_seconds is not None and started is not None:
            left = self._patience.request_seconds - (self._now() - started)
            if pause > left:
                due = f"a pause of {pause:.0f} s is due and the request has {left:.0f} s left"
                raise _given_up(failed, f"{failed}; {due}")


async def retrying(attempt: Callable[[], Awaitable[T]], policy: RetryPolicy, pace: Pace) -> T:
    """What ``attempt`` returns, tried again while it raises ``Transient``; then ``ProviderFailed``. For one request at
    a time: what is asked together, belongs into one ``Traffic``."""
    answer, _ = await Traffic(pace=pace, retry=policy).send(attempt)
    return answer


def add_cost(failed: AnswerFailed, usage: Usage) -> None:
    """Put a cost on a failure, on top of what it carries."""
    for name, amount in asdict(usage).items():
        setattr(failed, name, getattr(failed, name) + amount)


def _given_up(failed: Transient, message: str) -> ProviderFailed:
    return ProviderFailed(message, cause=failed.cause, status=failed.status)


def _too_long(failed: Transient, pause: float) -> str:
    return f"{failed}; it asks for a pause of {pause:.0f} s: try again then"
