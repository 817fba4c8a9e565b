"""The pause an endpoint asks for, in every form that endpoints write it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = r"(\d+(?:\.\d+)?)\s?(ms|millisecond|s|sec|second|m|min|minute|h|hr|hour)s?(?![a-z])"
_PARTS = re.compile(_PART, re.IGNORECASE)
_DURATION = re.compile(rf"(?:{_PART}\s?)+", re.IGNORECASE)
_IN_TEXT = re.compile(r"(?:try again|retry) (?:in|after) (.{1,80})", re.IGNORECASE)


def asked_wait(headers: Mapping[str, str], message: str, now: Callable[[], datetime]) -> float | None:
    """The pause an endpoint asks for, in seconds: ``Retry-After`` as a number, a duration or a date, else what its
    message says.

    None when it asks for nothing that can be understood; never negative.
    """
    header = headers.get("retry-after", "").strip()
    said = _IN_TEXT.search(message)
    ways = (
        _seconds(headers.get("retry-after-ms", ""), 0.001),
        _seconds(header, 1.0),
        _duration(header),
        _until(header, now) if header else None,
        _duration(said[1]) if said else None,
    )
    return next((seconds for seconds in ways if seconds is not None), None)


def _seconds(text: str, unit: float) -> float | None:
    try:
        value = float(text) * unit
    except ValueError:
        return None
    return None if math.isnan(value) else max(value, 0.0)


def _duration(text: str) -> float | None:
    """What a text begins with, such as ``20s``, ``1m2.5s`` or ``2 minutes``."""
    found = _DURATION.match(text)
    if found is None:
        return None
    parts = ((float(amount), unit.lower()) for amount, unit in _PARTS.findall(found[0]))
    return sum(amount * _UNITS["ms" if unit.startswith(("ms", "mil")) else unit[0]] for amount, unit in parts)


def _until(date: str, now: Callable[[], datetime]) -> float | None:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return max((read(date).astimezone() - now().astimezone()).total_seconds(), 0.0)
        except (ValueError, OverflowError):
            continue
    return None
