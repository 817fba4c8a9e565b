"""Answers that are never paid for twice: recorded ones are used again, new ones are recorded before anyone sees them.

Wraps another oracle; :mod:`mklang.oracles.replayed` answers from a recording alone. An answer is used again only under
the same key and for the same question (digest). A call that changes something leaves an intent first; when a crash left
an intent without an outcome, the run waits for a person instead of doing it twice or not at all, unless the tool is
safe to repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from mklang.engine.digests import digest_of
from mklang.engine.options import Effect
from mklang.engine.oracle import Oracle, most_of
from mklang.engine.requests import NO_USAGE, Answer, Ask, NotYet, Reply, Request, Tool, Usage
from mklang.errors import AnswerFailed, ReplayMismatch
from mklang.oracles.recording import Answered, Asked, Failed, Intent, Journal, as_exception, failure

OUTCOMES = ("happened", "again", "failed")
"""What a person can say about a call of unknown outcome."""


class JournaledOracle:
    """An oracle that remembers.

    ``clock`` gives seconds since the epoch and is read only for questions to people. ``ask_seconds`` is how long such a
    question waits before it expires; None means for ever. ``repeatable`` names effectful tools that may be called again
    with the same idempotency key.
    """

    def __init__(
        self,
        inner: Oracle,
        journal: Journal,
        *,
        clock: Callable[[], float],
        ask_seconds: float | None = None,
        repeatable: Collection[str] = (),
    ) -> None:
        self._inner = inner
        self._journal = journal
        self._clock = clock
        self._ask_seconds = ask_seconds
        self._repeatable = repeatable

    async def answer(self, request: Request, /) -> Answer:
        """The recorded answer, or a new one, recorded."""
        digest = digest_of(request)
        record = self._journal.answered(request.key)
        if record is not None:
            return reuse(record, digest)
        if isinstance(request, Ask):
            return await self._ask(request, digest)
        if isinstance(request, Tool) and request.effect is Effect.EFFECT:
            if self._journal.intended(request.key) and request.name not in self._repeatable:
                return unknown_outcome(request)
            await self._journal.append(Intent(key=request.key, digest=digest, tool=request.name))
        return await self._fresh(request, digest)

    def remembers(self, key: str, /) -> bool:
        """Whether an answer to this request, or to one below it, is recorded."""
        return self._journal.remembers(key)

    def most(self, request: Request, /) -> Usage:
        """See ``Foreseeing.most``: what is recorded costs nothing more."""
        return NO_USAGE if self._journal.answered(request.key) is not None else most_of(self._inner, request)

    async def _fresh(self, request: Request, digest: str) -> Answer:
        try:
            answer = await self._inner.answer(request)
        except ReplayMismatch:
            raise
        except AnswerFailed as failed:
            await self._journal.append(failure(request.key, digest, failed))
            raise
        if not isinstance(answer, NotYet):
            await self._journal.append(Answered(key=request.key, digest=digest, answer=answer))
        return answer

    async def _ask(self, request: Ask, digest: str) -> Answer:
        asked = self._journal.asked(request.key)
        if asked is None:
            now = self._clock()
            deadline = None if self._ask_seconds is None else now + self._ask_seconds
            question = request.question or f"'{request.asked_by}' escalated to '{request.state}': {request.about}"
            asked = Asked(
                key=request.key,
                digest=digest,
                question=question,
                reply_to=request.reply_to,
                at=now,
                deadline=deadline,
            )
            await self._journal.append(asked)
        elif asked.deadline is not None and self._clock() >= asked.deadline:
            expired = Reply(values={request.reply_to: None}, expired=True)
            await self._journal.append(Answered(key=request.key, digest=digest, answer=expired))
            return expired
        return await self._fresh(request, digest)


def reuse(record: Answered | Failed, digest: str) -> Answer:
    """A recorded answer, if it was given to this very question."""
    if record.digest != digest:
        raise ReplayMismatch(
            f"the answer recorded for {record.key} was given to another question "
            f"(recorded {record.digest}, asked now {digest})"
        )
    if isinstance(record, Failed):
        raise as_exception(record)
    return record.answer


def unknown_outcome(request: Tool) -> NotYet:
    """The wait for somebody to say what became of a call (L84)."""
    return NotYet(
        question=(
            f"Tool '{request.name}' of state '{request.state}' was called, and its outcome was never recorded. "
            "Did it happen?"
        ),
        choices=OUTCOMES,
    )
