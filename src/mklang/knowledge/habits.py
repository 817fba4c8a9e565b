"""How decisions are taken: the measurable side of nodding things through. It is reported and enforces nothing."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from mklang.knowledge.ledger import Event, Row

DECIDED = frozenset({Event.APPROVED, Event.REJECTED, Event.HELD})


class Habits(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the decisions that were taken. ``fast`` are approvals that came sooner than anybody reads, ``unread``
    the longest run of those, one after the other."""

    decisions: int
    approved: int
    rejected: int
    held: int
    edited: int
    full: int
    median_seconds: float
    fast: int
    unread: int


def habits_of(rows: Sequence[Row], *, least_seconds: float = 3.0) -> Habits:
    """The habits in a ledger. An approval in less than ``least_seconds`` counts as fast."""
    decided = [row for row in rows if row.event in DECIDED]
    approved = [row for row in decided if row.event is Event.APPROVED]
    longest = streak = 0
    for row in decided:
        streak = streak + 1 if row.event is Event.APPROVED and row.seconds < least_seconds else 0
        longest = max(longest, streak)
    return Habits(
        decisions=len(decided),
        approved=len(approved),
        rejected=sum(row.event is Event.REJECTED for row in decided),
        held=sum(row.event is Event.HELD for row in decided),
        edited=sum(row.edited for row in approved),
        full=sum(row.full for row in decided),
        median_seconds=round(median([row.seconds for row in approved] or [0.0]), 1),
        fast=sum(row.seconds < least_seconds for row in approved),
        unread=longest,
    )
