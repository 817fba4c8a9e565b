"""Answers from a recording only: no model is called, and what the recording lacks fails, saying what it was.

A recording may be of a run that waits, was broken off or reached a limit; the replay goes as far as the run went and
ends as it did.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from mklang.engine.digests import digest_of
from mklang.engine.requests import Answer, Ask, Judge, NotYet, Produce, Request, Tool
from mklang.errors import CostExhausted, ReplayMismatch
from mklang.oracles.journaled import reuse, unknown_outcome
from mklang.oracles.recording import Journal

Recall: TypeAlias = Callable[[str], Awaitable[Request | None]]
"""The request that was recorded under a key, where it can be known."""

SHOWN_CHARS = 160
"""How much of a text a difference shows."""


class ReplayedOracle:
    """An oracle that only remembers.

    ``spent`` says that the recorded run had reached its token or money limit, in words: a request to a model that is
    missing was refused by it then. ``ending`` says why the recording ends where it does. ``recall`` lets a mismatch
    show what was asked when the answer was recorded.
    """

    def __init__(self, journal: Journal, *, spent: str = "", ending: str = "", recall: Recall | None = None) -> None:
        self._journal = journal
        self._spent = spent
        self._ending = ending
        self._recall = recall

    async def answer(self, request: Request, /) -> Answer:
        """The recorded answer to exactly this request.

        It comes a turn of the loop later, as a live one would: branches have all asked before the first is answered.
        """
        await asyncio.sleep(0)
        record, digest = self._journal.answered(request.key), digest_of(request)
        if record is not None and record.digest != digest and self._recall is not None:
            raise ReplayMismatch(_told(request, await self._recall(request.key), (record.digest, digest)))
        return self.recorded(request)

    def remembers(self, key: str, /) -> bool:
        """Whether an answer to this request, or to one below it, is recorded."""
        return self._journal.remembers(key)

    def recorded(self, request: Request) -> Answer:
        """The same, at once."""
        record = self._journal.answered(request.key)
        if record is not None:
            return reuse(record, digest_of(request))
        if isinstance(request, Ask) and self._journal.asked(request.key):
            return NotYet(question=request.question or "")
        if isinstance(request, Tool) and self._journal.intended(request.key):
            return unknown_outcome(request)
        if self._spent and isinstance(request, Produce | Judge):
            raise CostExhausted(self._spent)
        raise ReplayMismatch(f"the recording has no answer for {request.key}" + (self._ending and f": {self._ending}"))


def _told(asked: Request, recorded: Request | None, digests: tuple[str, str]) -> str:
    """What was recorded and what is asked now."""
    difference = None if recorded is None else first_difference(recorded, asked)
    told = f": {difference}" if difference else ""
    return (
        f"the answer recorded for {asked.key} was given to another question{told} "
        f"(recorded {digests[0]}, asked now {digests[1]})"
    )


def first_difference(recorded: Request, asked: Request) -> str | None:
    """The first field in which two requests differ, with both values around the place; None when none is seen."""
    for name in asked.__struct_fields__:
        before, now = getattr(recorded, name, None), getattr(asked, name)
        if before != now and name != "context":
            first, second = _around(_text(before), _text(now))
            return f"{name} was {first} and is {second}"
    return _in_context(recorded, asked)


def _in_context(recorded: Request, asked: Request) -> str | None:
    """A judge's context is compared last: what differs elsewhere usually stands in it too."""
    if not isinstance(recorded, Judge) or not isinstance(asked, Judge) or recorded.context == asked.context:
        return None
    first, second = _around(recorded.context, asked.context)
    return f"context was {first} and is {second}"


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return "; ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False, default=lambda other: getattr(other, "value", str(other)))


def _around(first: str, second: str) -> tuple[str, str]:
    """Both texts as one-line JSON, cut to the part around their first difference."""
    same = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    start = max(0, same - SHOWN_CHARS // 3)
    return _window(first, start), _window(second, start)


def _window(text: str, start: int) -> str:
    end = start + SHOWN_CHARS
    cut = f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
    return json.dumps(" ".join(cut.split()), ensure_ascii=False)
