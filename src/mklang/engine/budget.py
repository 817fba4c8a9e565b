"""Limits, checked before the request. What is left is one pool, shared live by branches and callees (L65)."""

from __future__ import annotations

from mklang.engine.requests import NO_USAGE, Usage


class TokenPool:
    """The tokens of a whole run, every level and branch together. ``limit`` None means no limit."""

    __slots__ = ("limit", "spent")

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.spent: Usage = NO_USAGE

    def charge(self, usage: Usage) -> None:
        """Add what an answer cost."""
        self.spent = self.spent + usage

    @property
    def exhausted(self) -> bool:
        """Whether nothing more may be asked of a model."""
        return self.limit is not None and self.spent.total >= self.limit
