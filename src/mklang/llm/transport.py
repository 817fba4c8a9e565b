"""One address over HTTP, through a provider's official client: sending JSON, and reading what comes back, however.

The client builds and sends the request; everything else is ours. It retries nothing, follows no redirect, adds no
header from the environment. A reply is read from its bytes: a body as a whole, a stream event by event. The key appears
in no message and no ``repr``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mklang.errors import ConfigError, ProviderFailed
from mklang.lang.values import Json
from mklang.llm.addresses import check_url, is_loopback
from mklang.llm.failures import Cause
from mklang.llm.retry import Transient
from mklang.llm.sse import Event, EventDecoder
from mklang.llm.withholding import Secret

if TYPE_CHECKING:
    import httpx2

TIMEOUT = 300.0
"""Seconds one request may take, from connecting to the last byte."""
CONNECT_TIMEOUT = 10.0
STALL_TIMEOUT = 120.0
"""Seconds a stream may be silent; then it is taken to be cut."""
DRAIN_TIMEOUT = 0.5
_EVENTS_BEGIN = (b"data:", b"event:", b"id:", b"retry:", b":")

_SENT_HEADERS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent"}
)


@dataclass(frozen=True, slots=True)
class Sdk:
    """A provider's official client: its module, the base of its errors, and how to make a client over a connection."""

    module: Any
    error: type[Exception]
    client: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. ``text`` is the body; None when it was a stream and has been taken."""

    status: int
    headers: Mapping[str, str]
    text: str | None


class Transport:
    """Sends to one address. Usable from several event loops, one after the other; connections belong to a loop.

    ``sdk`` is called when the first request is made, so that nothing is imported before. ``headers`` are sent with
    every request, in place of whatever else the client would send; the key is among them and is ``key``.
    """

    def __init__(
        self,
        base_url: str,
        sdk: Callable[[], Sdk],
        *,
        headers: Mapping[str, str],
        key: str | None,
        timeout: float = TIMEOUT,
        stall: float = STALL_TIMEOUT,
    ) -> None:
        """Connects to nothing yet. Raises ``ConfigError`` for an address that may not be used (see ``check_url``)."""
        self.base_url = check_url(base_url)
        self._load = sdk
        self._headers = dict(headers)
        self.secret = Secret(key)
        self._timeout = timeout
        self._stall = stall
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Sdk, Any]] = WeakKeyDictionary()

    async def post(self, path: str, body: Mapping[str, Json], take: Callable[[Event], bool]) -> Reply:
        """One HTTP request and its answer, whatever the status.

        The events of a streamed answer go to ``take``; when that says False, nothing more is read. Raises ``Transient``
        when no answer came or it broke off. A request that was not answered in time is not sent again, for it would
        take as long: ``ProviderFailed``.
        """
        import httpx2

        sdk, client = self._client()
        try:
            async with asyncio.timeout(self._timeout):
                try:
                    stream = await client.post(
                        path, cast_to=object, body=body, stream=True, stream_cls=sdk.module.AsyncStream[object]
                    )
                except sdk.module.APIStatusError as error:
                    return self._reply(error.response, error.response.content)
                return await self._read(stream.response, take)
        except sdk.module.APIConnectionError as error:
            if isinstance(error.__cause__, httpx2.ReadTimeout | httpx2.WriteTimeout):
                raise self._too_slow() from None
            raise self._no_connection(error) from None
        except TimeoutError:
            raise self._too_slow() from None
        except sdk.error as error:
            raise ProviderFailed(f"{self.base_url}: {self.secret.out_of(str(error))}") from None

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        _, client = self._clients.pop(asyncio.get_running_loop(), (None, None))
        if client is not None:
            await client.close()

    async def _read(self, response: httpx2.Response, take: Callable[[Event], bool]) -> Reply:
        import httpx2

        # Some gateways send events under another name, and a plain error under the name of events.
        plain: bytes | None
        try:
            if "text/event-stream" in response.headers.get("content-type", ""):
                plain = await self._take_all(response.aiter_bytes(), take)
            else:
                plain = await response.aread()
                if plain.lstrip().startswith(_EVENTS_BEGIN):
                    plain = await self._take_all(_once(plain), take)
            if plain is None:
                return Reply(response.status_code, response.headers, None)
            return self._reply(response, plain)
        except httpx2.ReadTimeout:
            raise self._too_slow() from None
        except httpx2.HTTPError as error:
            what = f"the answer broke off ({' '.join(str(error).split()) or type(error).__name__})"
            raise Transient(f"{self.base_url}: {self.secret.out_of(what)}", cause=Cause.CUT) from None
        finally:
            await response.aclose()

    async def _take_all(self, chunks: AsyncIterator[bytes], take: Callable[[Event], bool]) -> bytes | None:
        """Hand on the events. The body where it is JSON instead, None otherwise."""
        decoder, begun, taken = EventDecoder(), b"", False
        while True:
            try:
                async with asyncio.timeout(self._stall):
                    chunk = await anext(chunks, None)
            except TimeoutError:
                what = f"the answer broke off: nothing came for {self._stall:g} s"
                raise Transient(f"{self.base_url}: {what}", cause=Cause.CUT) from None
            for event in decoder.finish() if chunk is None else decoder.feed(chunk):
                taken = True
                if not take(Event(event.name, self.secret.out_of_reply(event.data))):
                    await _drain(chunks)
                    return None
            if chunk is None:
                return begun if not taken and begun.lstrip().startswith(b"{") else None
            begun = b"" if taken else begun + chunk

    def _reply(self, response: httpx2.Response, content: bytes) -> Reply:
        return Reply(
            response.status_code, response.headers, self.secret.out_of_reply(content.decode("utf-8", "replace"))
        )

    def _client(self) -> tuple[Sdk, Any]:
        loop = asyncio.get_running_loop()
        known = self._clients.get(loop)
        if known is None:
            sdk = self._load()
            known = self._clients[loop] = sdk, sdk.client(self._http(sdk))
        return known

    def _http(self, sdk: Sdk) -> Any:
        import httpx2

        async def scrub(request: httpx2.Request) -> None:
            # Clients read organization, project and custom headers from the environment and send them anywhere.
            for name in [name for name in request.headers if name.lower() not in _SENT_HEADERS]:
                del request.headers[name]
            request.headers.update(self._headers)

        return sdk.module.DefaultAsyncHttpxClient(
            timeout=httpx2.Timeout(self._timeout, connect=min(CONNECT_TIMEOUT, self._timeout)),
            follow_redirects=False,
            trust_env=not is_loopback(self.base_url),  # a proxy is no way to this machine
            event_hooks={"request": [scrub]},
        )

    def _too_slow(self) -> ProviderFailed:
        return ProviderFailed(f"{self.base_url}: no complete answer within {self._timeout:g} s", cause=Cause.TIMEOUT)

    def _no_connection(self, error: Exception) -> Transient:
        cause = error.__cause__ or error
        text = self.secret.out_of(" ".join(str(cause).split())) or type(cause).__name__
        return Transient(f"{self.base_url}: no connection ({text})", cause=Cause.CONNECTION)


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read the little that is left, so that the connection can be used again; whoever keeps it open loses it."""
    try:
        async with asyncio.timeout(DRAIN_TIMEOUT):
            async for _ in chunks:
                pass
    except TimeoutError:
        return


def check_key(key: str | None) -> str | None:
    """The key, if it can be one. Raises ``ConfigError``, which does not show it."""
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError("the API key holds characters that no key has (a space, a line end, a letter with an accent)")
    return key or None
