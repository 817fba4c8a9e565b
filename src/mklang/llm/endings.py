"""Why a reply ended, from the words that endpoints use for it. Words nobody has seen yet are read by their parts.

There is no list that every endpoint keeps to, so a word is sorted by what it speaks of. What speaks of nothing we know
is an ordinary end.
"""

from __future__ import annotations

import re
from enum import Enum


class Ending(Enum):
    """What an end means for the text before it."""

    WHOLE = "whole"
    CUT = "cut"
    FILTERED = "filtered"
    REFUSED = "refused"
    BROKEN = "broken"
    TOOL = "tool"


_ORDINARY = frozenset(
    {"", "stop", "stop_sequence", "end_turn", "eos", "eos_token", "stop_token", "complete", "completed"}
)
_SPEAKS_OF = (
    (Ending.FILTERED, "filter|safety|unsafe|sensitive|block|prohibit|recitation|guardrail|spii|moderat|policy|csam"),
    (Ending.REFUSED, "refus|declin"),
    (
        Ending.BROKEN,
        "error|fail|abort|cancel|timeout|timed_out|resource|rate_limit|overload|interrupt|unavailable|network|disconnect",
    ),
    (Ending.TOOL, "tool|function"),
    (Ending.CUT, "length|token|limit|context|window|exceed|truncat|incomplete|pause"),
)
_PATTERNS = tuple((ending, re.compile(words)) for ending, words in _SPEAKS_OF)


def ending_of(reason: str | None) -> Ending:
    """What a finish or stop reason means; none at all is an ordinary end."""
    word = (reason or "").strip().lower().replace(" ", "_").replace("-", "_")
    if word in _ORDINARY:
        return Ending.WHOLE
    return next((ending for ending, pattern in _PATTERNS if pattern.search(word)), Ending.WHOLE)


def worse(reason: str | None, native: str | None) -> tuple[Ending, str | None]:
    """What two reasons for one end mean, and the telling one: a gateway may call an outage a stop (P-06)."""
    ending = ending_of(reason)
    if ending is Ending.WHOLE and (hidden := ending_of(native)) is not Ending.WHOLE:
        return hidden, native
    return ending, reason
