"""Sending JSON to one address and getting JSON back: what the probability judges share.

One request is one question that costs little and changes nothing, so every passing failure is tried again by the one
policy (``mklang.llm.retry``), a slow answer included. The key appears in no message and no ``repr``.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from mklang import __version__
from mklang.errors import ConfigError, MissingExtra, ProviderFailed
from mklang.lang.values import Json
from mklang.llm.addresses import is_loopback
from mklang.llm.failures import Origin, error_message, failure_of, parse_body
from mklang.llm.retry import Pace, RetryPolicy, Transient, asked_wait, retrying

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

CONNECT_TIMEOUT = 10.0
TIMEOUT = 120.0
"""Seconds one request may take, from connecting to the last byte."""


@dataclass(frozen=True, slots=True)
class JsonReply:
    """What came back, whatever its status. ``text`` is the body, with the key taken out should it stand there."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> object:
        """The body as JSON, or None."""
        return parse_body(self.text)


class JsonEndpoint:
    """One address that takes JSON. Usable from several event loops, one after the other."""

    def __init__(
        self,
        url: str,
        *,
        pace: Pace,
        api_key: str | None = None,
        retry: RetryPolicy | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """Connects to nothing yet. ``url`` is checked by the caller, who knows what may be sent there.

        Raises ``MissingExtra`` without the extra ``jev``, ``ConfigError`` for a key that can be none.
        """
        if importlib.util.find_spec("httpx2") is None:
            raise MissingExtra("a judge behind an HTTP endpoint", "jev")
        if api_key and not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
            raise ConfigError("the judge's API key holds characters that no key has (a space, a line end, an accent)")
        self.url = url
        self._key = api_key or None
        self._pace = pace
        self._retry = retry or RetryPolicy()
        self._timeout = timeout
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"JsonEndpoint({self.url!r})"

    async def ask(self, body: Mapping[str, Json]) -> dict[str, Any]:
        """The JSON object in answer to ``body``. Raises ``ProviderFailed`` after as many tries as the policy allows."""
        return await self.retried(lambda: self._answer(body))

    async def ask_once(self, body: Mapping[str, Json]) -> JsonReply:
        """One request and what came back, whatever its status. Raises ``Transient`` when nothing did."""
        import httpx2

        content = json.dumps(body, ensure_ascii=True, allow_nan=False).encode()
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client().post(self.url, content=content)
        except (TimeoutError, httpx2.TimeoutException):
            raise Transient(f"{self.url}: no complete answer within {self._timeout:g} s") from None
        except httpx2.HTTPError as error:
            raise Transient(f"{self.url}: no connection ({self._redacted(_said(error))})") from None
        text = response.content.decode("utf-8", "replace")
        return JsonReply(response.status_code, response.headers, self._redacted(text))

    async def retried(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What ``attempt`` returns, tried again by this endpoint's policy while it raises ``Transient``."""
        return await retrying(attempt, self._retry, self._pace)

    def check(self, reply: JsonReply) -> dict[str, Any]:
        """The reply's JSON object. Raises ``Transient`` or ``ProviderFailed`` when it is an error or none."""
        body = reply.body
        origin = Origin(endpoint=self.url, status=reply.status, text=reply.text)
        error = body.get("error") if isinstance(body, dict) else None
        if reply.status >= 300 or error:
            wait = asked_wait(reply.headers, error_message(body), self._pace.now)
            raise failure_of(body, origin, error=error, wait=wait)
        if not isinstance(body, dict):
            raise ProviderFailed(origin.failure("the answer is not a JSON object", body))
        return body

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _answer(self, body: Mapping[str, Json]) -> dict[str, Any]:
        return self.check(await self.ask_once(body))

    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            headers = {"content-type": "application/json", "accept": "application/json"}
            headers["user-agent"] = f"mklang/{__version__}"
            if self._key:
                headers["authorization"] = f"Bearer {self._key}"
            client = self._clients[loop] = httpx2.AsyncClient(
                headers=headers,
                timeout=httpx2.Timeout(self._timeout, connect=min(CONNECT_TIMEOUT, self._timeout)),
                follow_redirects=False,
                trust_env=not is_loopback(self.url),  # a proxy is no way to this machine
            )
        return client

    def _redacted(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
