"""Other models for when one cannot answer, by plain rules (T6, T7).

Each is asked the same question from the beginning: nothing of a broken answer is handed on, no prompt changes. What
became of those before stands in the answer, with what it cost.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from mklang.engine.requests import NO_USAGE, Attempt, Produce, Produced, Usage, usage_of
from mklang.errors import ProviderFailed, Refused
from mklang.llm.base import NO_PARAMS, Backend, Exchange, Params
from mklang.llm.failures import Cause
from mklang.llm.retry import add_cost
from mklang.llm.signals import Retrying, Watch

WORDS = frozenset({"timeout", "connection", "filtered", "refused", "truncated", "empty", "malformed", "error"})
"""What a rule can name besides a status (``429``) and a kind of status (``5xx``)."""
OUTAGES = frozenset({"429", "5xx", "timeout", "connection", "error"})
"""The rule when a host names none: the model cannot be reached, or not now."""
_PAID = WORDS - OUTAGES
"""What a model has cost its tokens for when the next one is asked."""
_STATUS = re.compile(r"[45](?:\d\d|xx)")
_SAID_AS: dict[str, str] = {Cause.CUT: "connection", Cause.THINKING: "truncated"}
MESSAGE_CHARS = 300


def is_rule(word: str) -> bool:
    """Whether a rule can name this."""
    return word in WORDS or _STATUS.fullmatch(word) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A model that is asked when the one before it failed in one of the ways in ``on``."""

    backend: Backend
    model: str
    on: frozenset[str] = OUTAGES
    params: Params = field(default_factory=lambda: NO_PARAMS)


class FallbackBackend:
    """A model with others behind it. For another model than its own it is the first back-end and nothing else."""

    def __init__(
        self, first: Backend, model: str, alternatives: Sequence[Alternative], *, watch: Watch | None = None
    ) -> None:
        self._first = first
        self._model = model
        self._alternatives = tuple(alternatives)
        self._watch = watch

    def __repr__(self) -> str:
        return f"FallbackBackend({self._model!r}, {[other.model for other in self._alternatives]!r})"

    async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
        """See ``Model.produce``."""

        def ask(one: Alternative) -> Awaitable[Produced]:
            return one.backend.produce(request, model=one.model, params=one.params)

        return await self._first_to_answer(request.key, self._chain(model, params), ask)

    async def reply(self, exchange: Exchange) -> Produced:
        """See ``Chat.reply``. Judges bring no parameters of their own, and their models get none (L44)."""

        def ask(one: Alternative) -> Awaitable[Produced]:
            return one.backend.reply(replace(exchange, model=one.model))

        return await self._first_to_answer(exchange.key, self._chain(exchange.model, exchange.params), ask)

    def most(self, exchange: Exchange) -> Usage:
        """See ``Chat.most``: of the dearest model, and of all where one may be asked for another's paid reply."""
        chain = self._chain(exchange.model, exchange.params)
        writes = exchange.choices is None
        costs = [
            one.backend.most(replace(exchange, model=one.model, params=one.params if writes else NO_PARAMS))
            for one in chain
        ]
        if any(_PAID.intersection(one.on) for one in chain):
            return sum(costs, NO_USAGE)
        return max(costs, key=lambda cost: (cost.nano_usd, cost.total))

    async def aclose(self) -> None:
        """Close every back-end."""
        backends = (self._first, *(other.backend for other in self._alternatives))
        for backend in {id(backend): backend for backend in backends}.values():
            await backend.aclose()

    def _chain(self, model: str, params: Params) -> list[Alternative]:
        own = Alternative(backend=self._first, model=model, on=frozenset(), params=params)
        return [own, *self._alternatives] if model == self._model else [own]

    async def _first_to_answer(
        self, key: str, chain: list[Alternative], ask: Callable[[Alternative], Awaitable[Produced]]
    ) -> Produced:
        """The first answer that no rule rejects. A text that was cut off stands, when nobody after it has a better."""
        before = _Before()
        while True:
            one = chain.pop(0)
            try:
                produced = await ask(one)
            except (ProviderFailed, Refused) as failed:
                words, cause, message = words_of(failed), cause_of(failed), str(failed)
                if not (chain := _following(chain, words)):
                    if before.spare is not None:
                        before.note(one.model, cause, message, usage_of(failed))
                        return before.added_to(before.spare)
                    raise before.charged(failed) from None
                before.note(one.model, cause, message, usage_of(failed))
            else:
                rest = _following(chain, {"truncated"}) if produced.truncated else []
                if not rest:
                    return before.added_to(produced)
                chain, cause = rest, str(Cause.TRUNCATED)
                before.keep(produced)
            if self._watch is not None and self._watch.watching:
                self._watch(Retrying(key=key, model=chain[0].model, attempt=len(before.attempts), cause=cause))


class _Before:
    """What became of the models before, and a text that was cut off."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []
        self.spare: Produced | None = None
        self._spare_at = -1

    def note(self, model: str, cause: str, message: str, usage: Usage) -> None:
        self.attempts.append(Attempt(model=model, cause=cause, message=message[:MESSAGE_CHARS], usage=usage))

    def keep(self, produced: Produced) -> None:
        message = f"cut off (finish reason '{produced.finish_reason}')"
        self.note(produced.model, Cause.TRUNCATED, message, produced.usage)
        self.spare, self._spare_at = produced, len(self.attempts) - 1

    def added_to(self, produced: Produced) -> Produced:
        """The answer with the attempts that are not its own, and with their cost."""
        own = self._spare_at if produced is self.spare else None
        others = [attempt for place, attempt in enumerate(self.attempts) if place != own]
        usage = sum((attempt.usage for attempt in others), produced.usage)
        return msgspec.structs.replace(produced, usage=usage, attempts=(*others, *produced.attempts))

    def charged(self, failed: ProviderFailed | Refused) -> ProviderFailed | Refused:
        """The last failure, the earlier ones in its words and in its cost."""
        for attempt in self.attempts:
            add_cost(failed, attempt.usage)
        if self.attempts:
            earlier = "; ".join(f"{attempt.model}: {attempt.message}" for attempt in self.attempts)
            failed.args = (f"{failed} (asked before: {earlier})",)
        return failed


def words_of(failed: ProviderFailed | Refused) -> set[str]:
    """What rules can name about a failure."""
    cause = cause_of(failed)
    words = {_SAID_AS.get(cause, cause)}
    status = failed.status if isinstance(failed, ProviderFailed) else None
    return words | {str(status), f"{status // 100}xx"} if status is not None else words


def cause_of(failed: ProviderFailed | Refused) -> str:
    """One word for what happened."""
    return Cause.REFUSED if isinstance(failed, Refused) else failed.cause or Cause.ERROR


def _following(chain: list[Alternative], words: Collection[str]) -> list[Alternative]:
    """The rest of the chain from the first model that is there for this."""
    return next((chain[place:] for place, other in enumerate(chain) if other.on.intersection(words)), [])
