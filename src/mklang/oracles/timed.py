"""Time around every request: how long each took, how long one may take, and when the whole run has to stop asking."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from mklang.engine.oracle import Oracle
from mklang.engine.requests import Answer, Judge, Observation, Produce, Produced, Request, Tool, Verdict
from mklang.errors import AnswerFailed, ProviderFailed, TimeExhausted, ToolFailed


class TimedOracle:
    """Wraps a live oracle. ``elapsed`` counts seconds and never goes back; the run's time starts at the first request.

    ``run_seconds`` bounds the run, ``request_seconds`` one request to a model, judge or tool; None means no bound.
    People are not timed here: a question has a deadline of its own.
    """

    def __init__(
        self,
        inner: Oracle,
        *,
        elapsed: Callable[[], float],
        run_seconds: float | None = None,
        request_seconds: float | None = None,
    ) -> None:
        self._inner = inner
        self._elapsed = elapsed
        self._run_seconds = run_seconds
        self._request_seconds = request_seconds
        self._deadline: float | None = None

    async def answer(self, request: Request, /) -> Answer:
        """The inner answer with the seconds it took; fails when there is no time, or not enough."""
        started = self._elapsed()
        if self._run_seconds is not None and self._deadline is None:
            self._deadline = started + self._run_seconds
        if not isinstance(request, Produce | Judge | Tool):
            return await self._inner.answer(request)
        left = None if self._deadline is None else self._deadline - started
        if left is not None and left <= 0:
            raise TimeExhausted(f"{self._run_seconds:g} s have passed")
        allowed = [seconds for seconds in (left, self._request_seconds) if seconds is not None]
        try:
            async with asyncio.timeout(min(allowed) if allowed else None):
                answer = await self._inner.answer(request)
        except TimeoutError:
            raise self._too_late(request, left) from None
        if isinstance(answer, Produced | Verdict | Observation):
            return msgspec.structs.replace(answer, seconds=round(self._elapsed() - started, 6))
        return answer

    def _too_late(self, request: Produce | Judge | Tool, left: float | None) -> AnswerFailed:
        if self._request_seconds is None or (left is not None and left < self._request_seconds):
            return TimeExhausted(f"{self._run_seconds:g} s have passed")
        if isinstance(request, Tool):
            return ToolFailed(f"tool '{request.name}': no answer within {self._request_seconds:g} s")
        return ProviderFailed(f"no answer within {self._request_seconds:g} s")
