"""One exchange with a model, as all adapters hold it: in the endpoint's traffic, told to whoever watches, paid in full.

Adapters say what one attempt is. This adds what attempts that failed cost to what came of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from mklang.engine.requests import Produced, Usage
from mklang.errors import AnswerFailed
from mklang.llm.base import Exchange
from mklang.llm.replies import BYTES_PER_TOKEN
from mklang.llm.retry import Traffic, Transient
from mklang.llm.signals import Broke, Delta, Finished, Retrying, Signal, Started, Watch
from mklang.llm.streams import Piece


@dataclass(frozen=True, slots=True)
class Told:
    """Whoever watches one exchange; nobody, when ``watch`` is None or looks away."""

    watch: Watch | None
    exchange: Exchange

    @property
    def watching(self) -> bool:
        """Whether anybody is."""
        return self.watch is not None and self.watch.watching

    def pieces(self, pieces: list[Piece]) -> None:
        """Show what came. What a model writes for itself alone is thinking, all of it."""
        for piece in pieces:
            self.tell(Delta(key=self.exchange.key, text=piece.text, thought=piece.thought or self.exchange.aside))

    def whole(self, produced: Produced) -> None:
        """Show a reply that came in one piece."""
        thought = [Piece(produced.reasoning, thought=True)] if produced.reasoning else []
        self.pieces([*thought, Piece(produced.text)])

    def tell(self, signal: Signal) -> None:
        """Pass a signal on."""
        if self.watch is not None and self.watch.watching:
            self.watch(signal)


async def converse(
    traffic: Traffic, exchange: Exchange, watch: Watch | None, attempt: Callable[[Told], Awaitable[Produced]]
) -> Produced:
    """The model's reply, after as many attempts as the policy allows; see ``Chat.reply``."""
    told = Told(watch, exchange)
    failures = 0

    def again(failed: Transient, pause: float) -> None:
        nonlocal failures
        failures += 1
        told.tell(
            Retrying(
                key=exchange.key,
                model=exchange.model,
                attempt=failures,
                cause=failed.cause,
                status=failed.status,
                pause=pause,
            )
        )

    async def sent() -> Produced:
        tokens = prompt_tokens(exchange)
        produced, lost = await traffic.send(lambda: attempt(told), tokens=tokens, told=again)
        return msgspec.structs.replace(produced, usage=produced.usage + lost) if lost.total else produced

    return await announced(told, sent)


async def announced(told: Told, reply: Callable[[], Awaitable[Produced]]) -> Produced:
    """A reply, its beginning and its end told to whoever watches."""
    key, model = told.exchange.key, told.exchange.model
    told.tell(Started(key=key, model=model))
    try:
        produced = await reply()
    except AnswerFailed as failed:
        told.tell(Broke(key=key, model=model, error=type(failed).__name__))
        raise
    told.tell(
        Finished(
            key=key,
            model=model,
            usage=produced.usage,
            finish_reason=produced.finish_reason,
            chars=len(produced.text),
            thought_chars=len(produced.reasoning or ""),
        )
    )
    return produced


def most_tokens(exchange: Exchange, limit: int) -> Usage:
    """The most that one exchange can use, the reply's tokens being limited; see ``Chat.most``."""
    read = prompt_tokens(exchange)
    return Usage(2 * read + limit, 2 * limit) if exchange.reason else Usage(read, limit)


def prompt_tokens(exchange: Exchange) -> int:
    """How many tokens a prompt is taken to be."""
    return -(-prompt_bytes(exchange) // BYTES_PER_TOKEN)


def prompt_bytes(exchange: Exchange) -> int:
    """How long a prompt is, in bytes."""
    texts = (exchange.system, exchange.user, *exchange.turns)
    return sum(len(text.encode("utf-8", "replace")) for text in texts)
