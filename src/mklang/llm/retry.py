"""The one retry policy: what is worth trying again, how often, after how long. Clients retry nothing themselves."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from mklang.errors import ProviderFailed

T = TypeVar("T")

RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""HTTP statuses that pass. Every other failure is permanent: the same request would fail the same way."""

_IN_TEXT = re.compile(r"(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) ?(ms|s|sec|seconds?|m|min|minutes?)\b", re.I)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


class Transient(Exception):
    """Inside this package only: a failure that may pass. ``wait`` is how many seconds the endpoint asks to wait."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """At most ``attempts`` requests, the pauses between them doubling from ``first_wait``, in seconds.

    An endpoint that asks for a longer pause gets it, up to ``longest_wait``; beyond that the failure is reported.
    """

    attempts: int = 4
    first_wait: float = 0.5
    longest_wait: float = 60.0

    def wait(self, failures: int, asked: float | None, jitter: float) -> float:
        """The pause after the ``failures``-th failure, from 1. Never less than asked; ``jitter`` is in [0, 1)."""
        backoff = min(self.first_wait * 2.0 ** (failures - 1), self.longest_wait)
        return max(backoff, asked or 0.0) + jitter * backoff


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The one seam for time and chance in this package; a test's sleeps take no time."""

    sleep: Callable[[float], Awaitable[object]]
    now: Callable[[], datetime]
    jitter: Callable[[], float]


async def retrying(attempt: Callable[[], Awaitable[T]], policy: RetryPolicy, pace: Pace) -> T:
    """What ``attempt`` returns, tried again while it raises ``Transient``; then ``ProviderFailed``."""
    failures = 0
    while True:
        try:
            return await attempt()
        except Transient as failed:
            failures += 1
            if failed.wait is not None and failed.wait > policy.longest_wait:
                raise ProviderFailed(f"{failed}; it asks for a pause of {failed.wait:.0f} s: try again then") from None
            if failures >= policy.attempts:
                raise ProviderFailed(f"{failed}; tried {failures} times" if failures > 1 else str(failed)) from None
            pause = policy.wait(failures, failed.wait, pace.jitter())
        await pace.sleep(pause)


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
