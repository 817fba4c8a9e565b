"""The host seam: the one place where time and chance enter (house style 7). Tests replace ``Seam``, nothing else."""

from __future__ import annotations

import secrets  # noqa: TID251 - this is the seam
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime


def local_now() -> datetime:
    """The local time with its offset from UTC."""
    return datetime.now().astimezone()  # noqa: TID251 - this is the seam


def unguessable() -> str:
    """A string nobody can guess: 32 hex digits."""
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """The real clock and the real dice. ``elapsed`` counts seconds from an arbitrary start, never backwards."""

    now: Callable[[], datetime] = local_now
    elapsed: Callable[[], float] = time.monotonic
    nonce: Callable[[], str] = unguessable


REAL = Seam()
