"""Limits, checked before the request. What is left is one pool, shared live by branches and callees (L65)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mklang.engine.requests import NO_USAGE, Usage
from mklang.errors import CostExhausted


class Pool:
    """The tokens and the money of a whole run, every level and branch together. A limit of None means no limit."""

    __slots__ = ("_held", "_waiting", "limited", "max_nano_usd", "max_tokens", "spent")

    def __init__(self, max_tokens: int | None, max_nano_usd: int | None) -> None:
        self.max_tokens = max_tokens
        self.max_nano_usd = max_nano_usd
        self.limited = max_tokens is not None or max_nano_usd is not None
        self.spent: Usage = NO_USAGE
        self._held: list[Usage] = []
        self._waiting: list[asyncio.Future[None]] = []

    def charge(self, usage: Usage) -> None:
        """Add what an answer cost."""
        self.spent = self.spent + usage

    @property
    def exhausted(self) -> str:
        """Why nothing more may be asked of a model; empty while something is left."""
        if self.max_tokens is not None and self.spent.total >= self.max_tokens:
            return f"{self.spent.total} tokens used, the limit is {self.max_tokens}"
        if self.max_nano_usd is not None and self.spent.nano_usd >= self.max_nano_usd:
            return f"{_usd(self.spent.nano_usd)} spent, the limit is {_usd(self.max_nano_usd)}"
        return ""

    @asynccontextmanager
    async def holding(self, most: Usage) -> AsyncIterator[None]:
        """Set aside what a request can cost at most, while it is made.

        Where too little is left, waits for the requests under way: they may cost less than was set aside for them.
        Raises ``CostExhausted`` when none is under way that could leave room.
        """
        while refusal := self._too_much_with(most):
            if not self._held:
                raise CostExhausted(refusal)
            news = asyncio.get_running_loop().create_future()
            self._waiting.append(news)
            await news
        self._held.append(most)
        try:
            yield
        finally:
            self._held.remove(most)
            waiting, self._waiting = self._waiting, []
            for news in waiting:
                if not news.done():
                    news.set_result(None)

    def _too_much_with(self, most: Usage) -> str:
        """Why a request that can cost so much may not be made now; empty when it may."""
        taken = sum(self._held, self.spent)
        if self.max_tokens is not None and taken.total + most.total > self.max_tokens:
            left = f"{max(self.max_tokens - self.spent.total, 0)} of {self.max_tokens}"
            return f"the next request can use {most.total} tokens, and {left} are left"
        if self.max_nano_usd is not None and taken.nano_usd + most.nano_usd > self.max_nano_usd:
            left = f"{_usd(max(self.max_nano_usd - self.spent.nano_usd, 0))} of {_usd(self.max_nano_usd)}"
            return f"the next request can cost {_usd(most.nano_usd)}, and {left} is left"
        return ""


def _usd(nano: int) -> str:
    return f"${nano / 1e9:.6f}"
