"""Time that stands still until everybody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from heapq import heappop, heappush
from typing import Any, TypeVar

from mklang.engine.requests import Usage
from mklang.llm.retry import Pace, Traffic, Transient
from tests.llm.asking import NOON

T = TypeVar("T")


class VirtualTime:
    """A pace whose sleeps end when nothing is under way any more, in the order of their moments."""

    def __init__(self) -> None:
        self.now = 0.0
        self.under_way = 0
        self.slept: list[float] = []
        self.sleeping = asyncio.Event()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    @property
    def pace(self) -> Pace:
        return Pace(sleep=self.sleep, now=lambda: NOON, jitter=lambda: 0.0, elapsed=lambda: self.now)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.sleeping.set()
        moment = self.now + seconds
        wake = asyncio.get_running_loop().create_future()
        heappush(self._sleepers, (moment, len(self.slept), wake))
        await wake

    async def run(self, *work: Coroutine[Any, Any, T]) -> list[T | BaseException]:
        """Do all the work, moving the clock whenever only sleepers are left."""
        together = asyncio.gather(*work, return_exceptions=True)
        while not together.done():
            for _ in range(30):
                await asyncio.sleep(0)
            if self._sleepers and not self.under_way and not together.done():
                self.now, _, wake = heappop(self._sleepers)
                if not wake.done():
                    wake.set_result(None)
        return list(await together)


class CountedTraffic(Traffic):
    """Traffic that tells a virtual clock what is under way, and notes when each request was sent."""

    def __init__(self, time: VirtualTime, **options: Any) -> None:
        super().__init__(pace=time.pace, **options)
        self.time = time
        self.sent: list[float] = []
        self.most_at_once = 0

    async def send(
        self,
        attempt: Callable[[], Awaitable[T]],
        *,
        tokens: int = 0,
        told: Callable[[Transient, float], None] | None = None,
    ) -> tuple[T, Usage]:
        async def counted() -> T:
            self.sent.append(self.time.now)
            self.time.under_way += 1
            self.most_at_once = max(self.most_at_once, self.time.under_way)
            try:
                return await attempt()
            finally:
                self.time.under_way -= 1

        return await super().send(counted, tokens=tokens, told=told)
