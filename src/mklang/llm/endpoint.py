"""A model behind an address: one exchange over the wire, whatever API the address speaks.

What differs between the APIs is a ``Speech``: the body of a request, what a refusal teaches, how a reply is read. All
else is here, once: the traffic, negotiating, streaming, failures and their cost, the model's own thinking or notes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import msgspec

from mklang.engine.requests import Produce, Produced, Usage
from mklang.errors import AnswerFailed
from mklang.lang.values import Json
from mklang.llm.base import NO_PARAMS, Exchange, Params, exchange_of
from mklang.llm.conversing import Told, converse, most_tokens, prompt_bytes
from mklang.llm.dialect import PRODUCE_TOKENS, REFUSALS
from mklang.llm.failures import Cause, Origin, error_message, failure_of, parse_body
from mklang.llm.reasoning import with_notes
from mklang.llm.replies import require_text, usage_or_estimate
from mklang.llm.retry import Traffic, Transient, asked_wait
from mklang.llm.signals import Watch
from mklang.llm.sse import Event
from mklang.llm.streams import Assembler, BadEvent
from mklang.llm.transport import Reply, Transport
from mklang.llm.withholding import Withheld


class NoThinking(Exception):
    """Inside this package only: the endpoint does not take the parameters that make a model show its thinking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A reply's body and what is to be known to read it. ``limit`` is the output limit that was asked for."""

    body: object
    origin: Origin
    exchange: Exchange
    limit: int | None
    wait: float | None


class Speech(Protocol):
    """One API, and what has been learned about one endpoint's way with it, for each model."""

    path: str
    """Where requests go, below the address."""

    def body(self, exchange: Exchange, *, streamed: bool) -> dict[str, Json]:
        """The request's body."""
        ...

    def limit_of(self, body: Params) -> int | None:
        """The output limit a body asks for."""
        ...

    def learn(self, exchange: Exchange, message: str, *, streamed: bool) -> bool:
        """Take note of a refusal; whether the next body will be another. Raises ``NoThinking``."""
        ...

    def shows_thinking(self, exchange: Exchange) -> bool:
        """Whether the model shows its thinking, by itself or when asked."""
        ...

    def saw(self, exchange: Exchange, produced: Produced) -> None:
        """Take note of a reply."""
        ...

    def stream(self) -> Assembler:
        """Something that puts a streamed reply together."""
        ...

    def read(self, received: Received) -> Produced:
        """The reply. Raises ``ProviderFailed``, ``Refused`` or ``Transient``."""
        ...


class Endpoint:
    """One address. Usable from several event loops, one after the other. The key appears in no message."""

    def __init__(self, transport: Transport, speech: Speech, traffic: Traffic, watch: Watch | None) -> None:
        self._transport = transport
        self._speech = speech
        self._traffic = traffic
        self._watch = watch

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"

    @property
    def base_url(self) -> str:
        """The address."""
        return self._transport.base_url

    async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
        """Text from the model ``model``; see ``Model.produce``."""
        exchange = exchange_of(request, model, params)
        produced = await (self._reasoned(exchange) if request.reason else self.reply(exchange))
        return require_text(produced, Origin(endpoint=self.base_url))

    async def reply(self, exchange: Exchange) -> Produced:
        """The model's reply, after as many attempts as the policy allows; see ``Chat.reply``."""
        return await converse(self._traffic, exchange, self._watch, lambda told: self._negotiated(exchange, told))

    def most(self, exchange: Exchange) -> Usage:
        """See ``Chat.most``. Where nobody limits the reply, it is taken to be no longer than ours are."""
        limit = self._speech.limit_of(self._speech.body(exchange, streamed=False))
        return most_tokens(exchange, PRODUCE_TOKENS if limit is None else limit)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._transport.aclose()

    async def _reasoned(self, exchange: Exchange) -> Produced:
        """With the model's own thinking where it shows any, with notes where not (L45)."""
        if self._speech.shows_thinking(exchange):
            try:
                return await self.reply(replace(exchange, reason=True))
            except NoThinking:
                pass
        return await with_notes(self, exchange)

    async def _negotiated(self, exchange: Exchange, told: Told) -> Produced:
        """One reply; a refused optional parameter is left out from then on and the request sent again."""
        streamed = told.watching
        while True:
            body = self._speech.body(exchange, streamed=streamed)
            stream = self._speech.stream()
            reply = await self._send(body, exchange, stream, told)
            refused = reply.status in REFUSALS
            if refused and self._speech.learn(exchange, reply.text or "", streamed=streamed):
                continue
            produced = self._read(reply, stream, exchange, self._speech.limit_of(body))
            self._speech.saw(exchange, produced)
            if reply.text is not None:
                told.whole(produced)
            return produced

    async def _send(self, body: Params, exchange: Exchange, stream: Assembler, told: Told) -> Reply:
        withheld = self._transport.secret.withheld()
        try:
            reply = await self._transport.post(self._speech.path, body, self._taking(stream, told, withheld))
        except Transient as cut:
            if cut.cause != Cause.CUT or not stream.complete:
                raise _charged(cut, stream, exchange) from None
            reply = Reply(200, {}, None)
        if reply.text is None and not stream.complete:
            what = f"{self.base_url}: the answer broke off: the stream ended without an end"
            raise _charged(Transient(what, cause=Cause.CUT), stream, exchange)
        told.pieces(withheld.rest())
        return reply

    def _taking(self, stream: Assembler, told: Told, withheld: Withheld) -> Callable[[Event], bool]:
        def take(event: Event) -> bool:
            try:
                told.pieces(withheld.through(stream.take(event)))
            except BadEvent as bad:
                if not stream.complete:
                    raise Transient(f"{self.base_url}: the answer broke off: {bad}", cause=Cause.CUT) from None
                return False
            return not stream.over

        return take

    def _read(self, reply: Reply, stream: Assembler, exchange: Exchange, limit: int | None) -> Produced:
        body = stream.body() if reply.text is None else parse_body(reply.text)
        text = json.dumps(body) if reply.text is None and stream.failed else reply.text or ""
        origin = Origin(endpoint=self.base_url, status=reply.status, text=text, path=self._speech.path)
        wait = asked_wait(reply.headers, error_message(body), self._traffic.pace.now)
        secret = self._transport.secret
        try:
            if reply.status >= 300:
                raise failure_of(body, origin, wait=wait)
            produced = self._speech.read(Received(body=body, origin=origin, exchange=exchange, limit=limit, wait=wait))
        except (AnswerFailed, Transient) as failed:
            failed.args = (secret.out_of(str(failed)),)
            raise
        reasoning = None if produced.reasoning is None else secret.out_of_reply(produced.reasoning)
        return msgspec.structs.replace(produced, text=secret.out_of_reply(produced.text), reasoning=reasoning)


def _charged(cut: Transient, stream: Assembler, exchange: Exchange) -> Transient:
    """A reply that broke off was begun, and what was begun is paid."""
    written = stream.written
    if cut.cause == Cause.CUT and written:
        cut.usage = usage_or_estimate(stream.body().get("usage"), prompt=prompt_bytes(exchange), written=written)
    return cut
