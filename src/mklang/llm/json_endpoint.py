"""Sending JSON to one address and getting JSON back: what the probability judges share.

One request is one question that costs little and changes nothing, so every passing failure is tried again by the one
policy (``mklang.llm.retry``), a slow answer included. Whoever asks the same endpoint shares its ``Traffic``. The key
appears in no message and no ``repr``.
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
from mklang.errors import MissingExtra, ProviderFailed
from mklang.lang.values import Json
from mklang.llm.addresses import is_loopback
from mklang.llm.failures import Cause, Origin, error_message, failure_of, parse_body
from mklang.llm.retry import Traffic, Transient, asked_wait
from mklang.llm.transport import check_key
from mklang.llm.withholding import Secret

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

CONNECT_TIMEOUT = 10.0
TIMEOUT = 120.0
"""Seconds one request may take, from connecting to the last byte."""


@dataclass(frozen=True, slots=True)
class JsonReply:
    """What came back, whatever its status. ``text`` is the body as it is, ``told`` the same without the key."""

    status: int
    headers: Mapping[str, str]
    text: str
    told: str


class JsonEndpoint:
    """One address that takes JSON. Usable from several event loops, one after the other."""

    def __init__(
        self,
        url: str,
        *,
        traffic: Traffic,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        """Connects to nothing yet. ``url`` is checked by the caller, who knows what may be sent there.

        Raises ``MissingExtra`` without the extra ``jev``, ``ConfigError`` for a key that can be none.
        """
        if importlib.util.find_spec("httpx2") is None:
            raise MissingExtra("a judge behind an HTTP endpoint", "jev")
        self.url = url
        self._secret = Secret(check_key(api_key))
        self._traffic = traffic
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
            raise Transient(f"{self.url}: no complete answer within {self._timeout:g} s", cause=Cause.TIMEOUT) from None
        except httpx2.HTTPError as error:
            what = f"no connection ({self._secret.out_of(_said(error))})"
            raise Transient(f"{self.url}: {what}", cause=Cause.CONNECTION) from None
        text = response.content.decode("utf-8", "replace")
        return JsonReply(response.status_code, response.headers, text, self._secret.out_of(text))

    async def retried(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What ``attempt`` returns, tried again by this endpoint's policy while it raises ``Transient``."""
        answer, _ = await self._traffic.send(attempt)
        return answer

    def check(self, reply: JsonReply) -> dict[str, Any]:
        """The reply's JSON object. Raises ``Transient`` or ``ProviderFailed`` when it is an error or none."""
        body = self._cleaned(_unambiguous(reply.text))
        if reply.status < 300 and isinstance(body, dict) and not body.get("error"):
            return body
        shown = parse_body(reply.told)
        origin = Origin(endpoint=self.url, status=reply.status, text=reply.told)
        error = shown.get("error") if isinstance(shown, dict) else None
        if reply.status >= 300 or error:
            wait = asked_wait(reply.headers, error_message(shown), self._traffic.pace.now)
            raise failure_of(shown, origin, error=error, wait=wait)
        raise ProviderFailed(
            origin.no_api("the answer is no JSON object whose keys appear once", shown), cause=Cause.MALFORMED
        )

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
            if self._secret.key:
                headers["authorization"] = f"Bearer {self._secret.key}"
            client = self._clients[loop] = httpx2.AsyncClient(
                headers=headers,
                timeout=httpx2.Timeout(self._timeout, connect=min(CONNECT_TIMEOUT, self._timeout)),
                follow_redirects=False,
                trust_env=not is_loopback(self.url),  # a proxy is no way to this machine
            )
        return client

    def _cleaned(self, body: object) -> object:
        """The body without the key in any of its texts; None when it is nested beyond reason."""
        try:
            return _mapped(body, self._secret.out_of_reply) if self._secret.key else body
        except RecursionError:
            return None


def _unambiguous(text: str) -> object:
    """A body as JSON; None when it is none, or says the same thing twice: nobody could say which of the two counts."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key appears twice")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError):
        return None


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every text in it changed; names of keys stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _mapped(inner, change) for name, inner in value.items()}
    return [_mapped(inner, change) for inner in value] if isinstance(value, list) else value


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
