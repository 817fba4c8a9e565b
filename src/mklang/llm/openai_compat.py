"""Models behind an endpoint that speaks the chat completions API, through the official ``openai`` client.

The client sends and authenticates; everything else is ours (``mklang.llm.transport``). A streamed reply and a plain one
are read the same way: a stream is put together into the body that a plain call would have brought.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace

import msgspec

from mklang.engine.requests import Produce, Produced
from mklang.errors import AnswerFailed, MissingExtra
from mklang.llm.base import NO_PARAMS, Exchange, Params, exchange_of
from mklang.llm.conversing import Told, converse, prompt_bytes
from mklang.llm.dialect import REFUSALS, Dialect, output_limit
from mklang.llm.failures import Cause, Origin, error_message, failure_of, parse_body
from mklang.llm.reasoning import with_notes
from mklang.llm.replies import read_completion, require_text, usage_or_estimate
from mklang.llm.retry import Traffic, Transient, asked_wait
from mklang.llm.signals import Watch
from mklang.llm.sse import Event
from mklang.llm.streams import Assembler, BadEvent, Completion
from mklang.llm.transport import STALL_TIMEOUT, TIMEOUT, Reply, Sdk, Transport, check_key

NO_KEY = "none"
"""Sent where no key is configured; local servers take anything."""


class NoThinking(Exception):
    """Inside this package only: the endpoint does not take the parameters that make a model show its thinking."""


class OpenAICompat:
    """One endpoint. Usable from several event loops, one after the other; connections belong to a loop.

    What it learns about the endpoint (``Dialect``) it keeps per model, on itself and nowhere else. The key never
    appears in a message or a ``repr``.
    """

    def __init__(
        self,
        base_url: str,
        *,
        traffic: Traffic,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        stall: float = STALL_TIMEOUT,
        dialect: Dialect | None = None,
        watch: Watch | None = None,
    ) -> None:
        """Connects to nothing yet. Raises ``ConfigError`` for an address that may not be used (see ``check_url``), and
        ``MissingExtra`` without the extra ``openai``. ``timeout`` is in seconds, for one request, ``stall`` for the
        silence of a stream; ``dialect`` is what is known about the endpoint beforehand.
        """
        if importlib.util.find_spec("openai") is None:
            raise MissingExtra("a model behind an HTTP endpoint", "openai")
        key = check_key(api_key)
        headers = {"authorization": f"Bearer {key or NO_KEY}"}
        self._transport = Transport(base_url, self._sdk, headers=headers, key=key, timeout=timeout, stall=stall)
        self._traffic = traffic
        self._watch = watch
        self._beforehand = dialect or Dialect()
        self._dialects: dict[str, Dialect] = {}

    def __repr__(self) -> str:
        return f"OpenAICompat({self.base_url!r})"

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

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._transport.aclose()

    async def _reasoned(self, exchange: Exchange) -> Produced:
        """With the model's own thinking where it shows any, with notes where not (L45)."""
        dialect = self._dialect(exchange.model)
        if dialect.thinking is not None or dialect.thinks:
            try:
                return await self.reply(replace(exchange, reason=True))
            except NoThinking:
                pass
        return await with_notes(self, exchange)

    async def _negotiated(self, exchange: Exchange, told: Told) -> Produced:
        """One reply; a refused optional parameter is left out from then on and the request sent again."""
        dialect = self._dialect(exchange.model)
        while True:
            body = dialect.body(exchange, streamed=told.watching)
            stream = Completion()
            reply = await self._send(body, exchange, stream, told)
            if reply.status in REFUSALS:
                learned = dialect.learn(exchange, reply.text or "", streamed=told.watching)
                if learned is not None:
                    self._dialects[exchange.model] = learned
                    if exchange.reason and learned.thinking is not dialect.thinking:
                        raise NoThinking
                    dialect = learned
                    continue
            produced = self._read(reply, stream, exchange, limit=output_limit(body))
            if produced.reasoning and not exchange.aside and not dialect.thinks:
                self._dialects[exchange.model] = replace(dialect, thinks=True)
            if reply.text is not None:
                told.whole(produced)
            return produced

    async def _send(self, body: Params, exchange: Exchange, stream: Assembler, told: Told) -> Reply:
        def take(event: Event) -> bool:
            try:
                told.pieces(stream.take(event))
            except BadEvent as bad:
                if not stream.complete:
                    raise Transient(f"{self.base_url}: the answer broke off: {bad}", cause=Cause.CUT) from None
                return False
            return not stream.over

        try:
            reply = await self._transport.post("/chat/completions", body, take)
        except Transient as cut:
            if cut.cause is not Cause.CUT or not stream.complete:
                raise self._charged(cut, stream, exchange) from None
            reply = Reply(200, {}, None)
        if reply.text is None and not stream.complete:
            what = f"{self.base_url}: the answer broke off: the stream ended without an end"
            raise self._charged(Transient(what, cause=Cause.CUT), stream, exchange)
        return reply

    def _charged(self, cut: Transient, stream: Assembler, exchange: Exchange) -> Transient:
        """A reply that broke off was begun, and what was begun is paid."""
        written = stream.written
        if cut.cause == Cause.CUT and written:
            cut.usage = usage_or_estimate(stream.body().get("usage"), prompt=prompt_bytes(exchange), written=written)
        return cut

    def _read(self, reply: Reply, stream: Completion, exchange: Exchange, *, limit: int | None) -> Produced:
        body = stream.body() if reply.text is None else parse_body(reply.text)
        text = json.dumps(body) if reply.text is None and stream.failed else reply.text or ""
        origin = Origin(endpoint=self.base_url, status=reply.status, text=text)
        wait = asked_wait(reply.headers, error_message(body), self._traffic.pace.now)
        try:
            if reply.status >= 300:
                raise failure_of(body, origin, wait=wait)
            produced = read_completion(
                body, origin, model=exchange.model, limit=limit, wait=wait, prompt=prompt_bytes(exchange)
            )
        except (AnswerFailed, Transient) as failed:
            failed.args = (self._transport.redacted(str(failed)),)
            raise
        reasoning = None if produced.reasoning is None else self._transport.redacted(produced.reasoning)
        return msgspec.structs.replace(produced, text=self._transport.redacted(produced.text), reasoning=reasoning)

    def _dialect(self, model: str) -> Dialect:
        return self._dialects.get(model, self._beforehand)

    def _sdk(self) -> Sdk:
        import openai

        def client(http: object) -> object:
            return openai.AsyncOpenAI(
                api_key=NO_KEY,
                base_url=self.base_url,
                max_retries=0,
                http_client=http,  # type: ignore[arg-type]
            )

        return Sdk(openai, openai.OpenAIError, client)
