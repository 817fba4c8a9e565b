"""Asking models within one invocation: counted, never past the limit, and never paid for twice.

What was answered is kept on disk by what was asked, so that the next invocation pays only for the rest. The same
question asked several times on purpose is several questions: its number among equals is part of what it is.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

import msgspec

from mklang.engine.budget import Pool
from mklang.engine.oracle import Oracle
from mklang.engine.requests import (
    NO_USAGE,
    Answer,
    Hook,
    HookValue,
    Judge,
    Produce,
    Produced,
    Read,
    Request,
    Usage,
    Verdict,
    usage_of,
)
from mklang.errors import AnswerFailed

Kept: TypeAlias = Produced | Verdict
_FILE = "answers.jsonl"


class _Line(msgspec.Struct, frozen=True):
    key: str
    answer: Kept


class AnswerCache:
    """Answers on disk, one line each, appended as they come. A damaged line is passed over."""

    def __init__(self, folder: Path) -> None:
        """Reads what is there; makes nothing until something is kept."""
        self._path = folder / _FILE
        self._known: dict[str, Kept] = {}
        decode = msgspec.json.Decoder(_Line).decode
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            lines = []
        for line in lines:
            try:
                found = decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
            self._known[found.key] = found.answer

    def get(self, key: str) -> Kept | None:
        """The answer kept under a key."""
        return self._known.get(key)

    def keep(self, key: str, answer: Kept) -> None:
        """Keep an answer, at once; a full disk or a folder that cannot be written costs the next run, not this one."""
        self._known[key] = answer
        try:
            line = msgspec.json.encode(_Line(key, answer)) + b"\n"
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            with os.fdopen(os.open(self._path, flags, 0o600), "ab") as stream:
                stream.write(line)
        except (OSError, UnicodeEncodeError):
            return


@dataclass(slots=True)
class Tally:
    """What an invocation asked: calls that were made, answers that came from the cache, and what it cost."""

    produce: int = 0
    judge: int = 0
    cached: int = 0
    unread: int = 0
    usage: Usage = NO_USAGE

    @property
    def calls(self) -> int:
        """Calls that were really made."""
        return self.produce + self.judge


@dataclass(slots=True)
class Asking:
    """An oracle for measuring: models and judges by ``inner``, hooks by nobody. ``who`` names those who answer.

    ``pool`` is the invocation's; what fails is charged to it here, what is answered by whoever asked.
    """

    inner: Oracle
    pool: Pool
    who: str
    cache: AnswerCache | None = None
    watch: Callable[[Tally], None] = lambda _tally: None
    tally: Tally = field(default_factory=Tally)
    _seen: Counter[str] = field(default_factory=Counter)

    async def answer(self, request: Request, /) -> Answer:
        """Answer one request, from the cache where it has the answer to this very question."""
        if isinstance(request, Hook):
            return HookValue(False)
        if not isinstance(request, Produce | Judge):
            return await self.inner.answer(request)
        key = self._key(request)
        known = self.cache.get(key) if self.cache else None
        if known is not None:
            self.tally.cached += 1
            self.watch(self.tally)
            return msgspec.structs.replace(known, usage=NO_USAGE)
        answer = await self._ask(request)
        if self.cache and isinstance(answer, Produced | Verdict):
            self.cache.keep(key, answer)
        return answer

    async def _ask(self, request: Produce | Judge) -> Answer:
        tally = self.tally
        if isinstance(request, Produce):
            tally.produce += 1
        else:
            tally.judge += 1
        try:
            answer = await self.inner.answer(request)
        except AnswerFailed as failed:
            spent = usage_of(failed)
            self.pool.charge(spent)
            tally.usage = tally.usage + spent
            raise
        if isinstance(answer, Produced | Verdict):
            tally.usage = tally.usage + answer.usage
            tally.unread += isinstance(answer, Verdict) and answer.read is Read.UNREAD
        self.watch(tally)
        return answer

    def _key(self, request: Produce | Judge) -> str:
        """What is asked, by whom it is answered, and how often the same was asked before; nonces say nothing."""
        blank = msgspec.structs.replace(request, key="", **({"nonce": ""} if isinstance(request, Judge) else {}))
        asked = repr((self.who, blank)).encode("utf-8", "surrogatepass")
        same = blake2b(asked, digest_size=16).hexdigest()
        self._seen[same] += 1
        return f"{same}/{self._seen[same]}"
