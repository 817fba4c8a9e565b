"""Models behind an endpoint that speaks the chat completions API, through the official ``openai`` client.

The client sends and authenticates; everything else is ours: it retries nothing (``mklang.llm.retry`` does), follows no
redirect, adds no header from the environment, and its reply is read from the body's bytes.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mklang.engine.requests import Produce, Produced
from mklang.errors import ConfigError, MissingExtra, ProviderFailed
from mklang.lang.values import Json
from mklang.llm.addresses import check_url, is_loopback
from mklang.llm.base import NO_PARAMS, Exchange, Params, exchange_of
from mklang.llm.dialect import REFUSALS, Dialect, output_limit
from mklang.llm.failures import Origin, error_message, failure_of, parse_body
from mklang.llm.replies import read_completion, require_text
from mklang.llm.retry import Pace, RetryPolicy, Transient, asked_wait, retrying

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

TIMEOUT = 300.0
"""Seconds one request may take, from connecting to the last byte."""
CONNECT_TIMEOUT = 10.0
NO_KEY = "none"
"""Sent where no key is configured; local servers take anything."""

_SENT_HEADERS = frozenset(
    {"accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host", "user-agent"}
)


@dataclass(frozen=True, slots=True)
class _Received:
    status: int
    headers: Mapping[str, str]
    text: str


class OpenAICompat:
    """One endpoint. Usable from several event loops, one after the other; connections belong to a loop.

    What it learns about the endpoint (``Dialect``) it keeps per model, on itself and nowhere else. The key never
    appears in a message or a ``repr``.
    """

    def __init__(
        self,
        base_url: str,
        *,
        pace: Pace,
        api_key: str | None = None,
        retry: RetryPolicy | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """Connects to nothing yet. Raises ``ConfigError`` for an address that may not be used (see ``check_url``), and
        ``MissingExtra`` without the extra ``openai``. ``timeout`` is in seconds, for one request.
        """
        if importlib.util.find_spec("openai") is None:
            raise MissingExtra("a model behind an HTTP endpoint", "openai")
        self.base_url = check_url(base_url)
        self._key = _check_key(api_key)
        self._retry = retry or RetryPolicy()
        self._pace = pace
        self._timeout = timeout
        self._dialects: dict[str, Dialect] = {}
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"OpenAICompat({self.base_url!r})"

    async def produce(self, request: Produce, *, model: str, params: Params = NO_PARAMS) -> Produced:
        """Text from the model ``model``; see ``Model.produce``."""
        produced = await self.reply(exchange_of(request, model, params))
        return require_text(produced, Origin(endpoint=self.base_url))

    async def reply(self, exchange: Exchange) -> Produced:
        """The model's reply, after as many attempts as the policy allows; see ``Chat.reply``."""
        return await retrying(lambda: self._negotiated(exchange), self._retry, self._pace)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _negotiated(self, exchange: Exchange) -> Produced:
        """One reply; a refused optional parameter is left out from then on and the request sent again."""
        dialect = self._dialects.get(exchange.model, Dialect())
        while True:
            body = dialect.body(exchange)
            received = await self._send(body)
            parsed = parse_body(received.text)
            learned = dialect.learn(exchange, received.text) if received.status in REFUSALS else None
            if learned is None:
                return self._read(received, parsed, model=exchange.model, limit=output_limit(body))
            dialect = self._dialects[exchange.model] = learned

    def _read(self, received: _Received, body: object, *, model: str, limit: int | None) -> Produced:
        origin = Origin(endpoint=self.base_url, status=received.status, text=received.text)
        wait = asked_wait(received.headers, error_message(body), self._pace.now)
        if received.status >= 300:
            raise failure_of(body, origin, wait=wait)
        return read_completion(body, origin, model=model, limit=limit, wait=wait)

    async def _send(self, body: dict[str, Json]) -> _Received:
        """One HTTP request and its answer, whatever the status. Raises ``Transient`` when no answer came.

        A request that was not answered in time is not sent again, for it would take as long: ``ProviderFailed``.
        """
        import httpx2
        import openai

        client = self._client()
        try:
            async with asyncio.timeout(self._timeout):
                try:
                    response = await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
                except openai.APIStatusError as error:
                    response = error.response
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, httpx2.ReadTimeout | httpx2.WriteTimeout):
                raise self._too_slow() from None
            raise Transient(f"{self.base_url}: {_cause(error)}") from None
        except TimeoutError:
            raise self._too_slow() from None
        except openai.OpenAIError as error:
            raise ProviderFailed(f"{self.base_url}: {self._redacted(str(error))}") from None
        text = response.content.decode("utf-8", "replace")
        return _Received(response.status_code, response.headers, self._redacted(text))

    def _client(self) -> AsyncOpenAI:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._connect()
        return client

    def _connect(self) -> AsyncOpenAI:
        import httpx2
        import openai

        async def scrub(request: httpx2.Request) -> None:
            # The client reads organization, project and custom headers from the environment and sends them anywhere.
            for name in [name for name in request.headers if name.lower() not in _SENT_HEADERS]:
                del request.headers[name]
            request.headers["authorization"] = f"Bearer {self._key or NO_KEY}"

        timeout = httpx2.Timeout(self._timeout, connect=min(CONNECT_TIMEOUT, self._timeout))
        http = openai.DefaultAsyncHttpxClient(
            timeout=timeout,
            follow_redirects=False,
            trust_env=not is_loopback(self.base_url),  # a proxy is no way to this machine
            event_hooks={"request": [scrub]},
        )
        return openai.AsyncOpenAI(
            api_key=self._key or NO_KEY, base_url=self.base_url, max_retries=0, timeout=timeout, http_client=http
        )

    def _too_slow(self) -> ProviderFailed:
        return ProviderFailed(f"{self.base_url}: no complete answer within {self._timeout:g} s")

    def _redacted(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


def _check_key(key: str | None) -> str | None:
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError("the API key holds characters that no key has (a space, a line end, a letter with an accent)")
    return key or None


def _cause(error: Exception) -> str:
    cause = error.__cause__ or error
    text = " ".join(str(cause).split())
    return f"no connection ({text or type(cause).__name__})"
