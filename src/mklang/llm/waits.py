"""The pause an endpoint asks for, in every form that endpoints write it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

_IN_TEXT = re.compile(r"(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) ?(ms|s|sec|seconds?|m|min|minutes?)\b", re.I)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


def asked_wait(headers: Mapping[str, str], message: str, now: Callable[[], datetime]) -> float | None:
    """The pause an endpoint asks for, in seconds: ``Retry-After`` as a number or a date, else what its message says.

    None when it asks for nothing that can be understood; never negative.
    """
    header = headers.get("retry-after", "").strip()
    for text, unit in ((headers.get("retry-after-ms", ""), 0.001), (header, 1.0)):
        seconds = _seconds(text, unit)
        if seconds is not None:
            return seconds
    if header:
        return _until(header, now)
    said = _IN_TEXT.search(message)
    return (
        _seconds(said[1], _UNITS[said[2].lower() if said[2].lower() == "ms" else said[2][0].lower()]) if said else None
    )


def _seconds(text: str, unit: float) -> float | None:
    try:
        value = float(text) * unit
    except ValueError:
        return None
    return None if math.isnan(value) else max(value, 0.0)


def _until(date: str, now: Callable[[], datetime]) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
        return max((moment.astimezone() - now().astimezone()).total_seconds(), 0.0)
    except (ValueError, OverflowError):
        return None
