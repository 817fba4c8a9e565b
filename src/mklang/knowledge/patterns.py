"""A pattern: what recurs in experience, with its weight. How old it is decides how much of that is left, on reading."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec

from mklang.errors import UsageError
from mklang.guards.normal import normalised
from mklang.knowledge.home import parse_time, utc

DECAY = 0.95
"""What is left after a day (half of it after 13.5 days)."""
UNDATED = 0.1
"""What is left of a pattern that nobody can date."""
UNKNOWN = "unknown"
DEFAULT_IMPORTANCE = 0.5
DEFAULT_CATEGORY = "uncategorized"
CATEGORIES = ("important", "uncategorized", "noise")


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """One pattern as it stands. ``id`` is decided by the text; ``distilled`` is when it was found last, ``count`` how
    often, ``runs`` by which distillations; ``share`` counts the records it came from, by origin."""

    id: str
    pattern: str
    distilled: str = UNKNOWN
    importance: float = DEFAULT_IMPORTANCE
    category: str = DEFAULT_CATEGORY
    source: str | None = None
    last_accessed: str | None = None
    count: int = 1
    runs: tuple[str, ...] = ()
    share: dict[str, int] = {}

    def to_reference(self) -> dict[str, Any]:
        """The form of the public reference's ``knowledge.json``."""
        item: dict[str, Any] = {
            "pattern": self.pattern,
            "distilled": self.distilled,
            "importance": self.importance,
            "category": self.category,
        }
        if self.source is not None:
            item["source"] = self.source
        if self.last_accessed is not None:
            item["last_accessed"] = self.last_accessed
        return item


def pattern_id(text: str) -> str:
    """A pattern's name: 12 hex digits. The same words in other letters, widths and spaces have the same."""
    return sha256(normalised(text, fold_whitespace=True).strip().encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Weighed:
    """A pattern and what it weighs now, 0 to 1. ``ahead`` when it is dated in the future, which counts as today."""

    pattern: Pattern
    weight: float
    ahead: bool = False


def weigh(pattern: Pattern, now: datetime, *, by_age_alone: bool = False) -> Weighed:
    """What a pattern weighs now: its importance, or 1 ``by_age_alone``, times what its age leaves of it."""
    base = 1.0 if by_age_alone else pattern.importance
    if math.isnan(base):
        base = 0.0
    found = parse_time(pattern.distilled)
    if found is None:
        return Weighed(pattern, _clamped(base * UNDATED))
    days = (utc(now) - found).total_seconds() / 86_400
    return Weighed(pattern, _clamped(base * DECAY ** max(0.0, days)), ahead=days < 0)


def ranked(patterns: Iterable[Pattern], now: datetime, *, by_age_alone: bool = False) -> list[Weighed]:
    """The heaviest first; of equal weight the newest, then by name: always the same order."""
    weighed = [weigh(pattern, now, by_age_alone=by_age_alone) for pattern in patterns]
    weighed.sort(key=lambda one: (one.pattern.distilled, one.pattern.id), reverse=True)
    return sorted(weighed, key=lambda one: -one.weight)


def top(weighed: Sequence[Weighed], count: int) -> list[Weighed]:
    """The first ``count``. Raises ``UsageError`` for less than none."""
    if count < 0:
        raise UsageError(f"a number of patterns is 0 or more, not {count}")
    return list(weighed[:count])


def _clamped(weight: float) -> float:
    return min(1.0, max(0.0, weight))
