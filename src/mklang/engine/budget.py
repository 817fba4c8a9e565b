"""Limits, checked before the request. What is left is one pool, shared live by branches and callees (L65)."""

from __future__ import annotations

from mklang.engine.requests import NO_USAGE, Usage


class Pool:
    """The tokens and the money of a whole run, every level and branch together. A limit of None means no limit."""

    __slots__ = ("limited", "max_nano_usd", "max_tokens", "spent")

    def __init__(self, max_tokens: int | None, max_nano_usd: int | None) -> None:
        self.max_tokens = max_tokens
        self.max_nano_usd = max_nano_usd
        self.limited = max_tokens is not None or max_nano_usd is not None
        self.spent: Usage = NO_USAGE

    def charge(self, usage: Usage) -> None:
        """Add what an answer cost."""
        self.spent = self.spent + usage

    @property
    def exhausted(self) -> str:
        """Why nothing more may be asked of a model; empty while something is left."""
        if self.max_tokens is not None and self.spent.total >= self.max_tokens:
            return f"{self.spent.total} tokens used, the limit is {self.max_tokens}"
        if self.max_nano_usd is not None and self.spent.nano_usd >= self.max_nano_usd:
            return f"${self.spent.nano_usd / 1e9:.6f} spent, the limit is ${self.max_nano_usd / 1e9:.6f}"
        return ""
