"""Layer 2: patterns that a guard let pass. The discipline is the library's; what is forbidden is yours to say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from episode_log import now

from mklang.guards import Checked, Forbidden
from mklang.knowledge import Home, KnowledgeStore, Pattern, ranked
from mklang.knowledge.operations import Basis

DEFAULT_FORBIDDEN_SUBSTRINGS: tuple[str, ...] = ()
"""Nothing is forbidden until you say so: the mechanism takes no position on content."""


class HarnessStore:
    """A store that takes checked values alone, and fails closed when what is on disk is not in order."""

    def __init__(self, home: Home, forbidden: Iterable[Forbidden | str] = DEFAULT_FORBIDDEN_SUBSTRINGS) -> None:
        self.inner = KnowledgeStore(home, now, forbid=forbidden)

    def load(self) -> list[Pattern]:
        """The patterns. Raises ``Sealed`` for a file that was cut, edited, or holds what is forbidden; it stays as it
        is, and nothing can be written over it."""
        self.inner.require_open()
        return self.inner.patterns

    def add(self, found: Checked[list[dict[str, Any]]], basis: Basis) -> int:
        """Keep what passed the guard; a plain list is a TypeError. Returns how many patterns are new."""
        return self.inner.keep(found, basis)

    def top(self, count: int) -> list[str]:
        """The heaviest patterns, for a prompt. Their weight halves in 13.5 days."""
        return [one.pattern.pattern for one in ranked(self.load(), now())[:count]]
