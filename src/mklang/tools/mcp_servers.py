"""MCP servers as tools: each tool of a server is one of the host's, called ``SERVER.TOOL``.

Connections live on a loop of their own in a thread of their own, so that they can be opened before a run and outlast
the loop of whoever calls. A server that dies fails the call it was asked, and is started again for the next one; a call
that is not answered in time fails, and its server is stopped when nobody else waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import threading
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, TypeVar

from mklang.engine.options import Effect
from mklang.errors import ConfigError, MissingExtra, ToolFailed
from mklang.lang.values import Json
from mklang.tools.mcp_results import effect_told, text_of
from mklang.tools.tool import HostTool

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool as McpTool

_log = logging.getLogger("mklang.mcp")
_T = TypeVar("_T")
_STDERR_CHARS = 400
_CLOSE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A server: started by ``command``, or asked at ``url`` with ``headers``.

    ``env`` is what a command gets besides the few variables that every program needs. ``effects`` are the host's words
    about tools, over the server's own; ``only`` names the tools that are offered, None for all. Times are in seconds.
    """

    name: str
    command: tuple[str, ...] = ()
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    effects: Mapping[str, Effect] = field(default_factory=lambda: MappingProxyType({}))
    only: frozenset[str] | None = None
    timeout: float = 60.0
    start_timeout: float = 30.0


class McpServers:
    """The servers of one host, opened together and closed together. Nothing is started before :meth:`open`."""

    def __init__(self) -> None:
        """No server yet."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: list[_Connection] = []

    def open(self, servers: Iterable[McpServer]) -> dict[str, HostTool]:
        """Start or reach the servers and learn their tools.

        Raises ``ConfigError`` for one that cannot be started, does not answer in time or speaks another protocol,
        ``MissingExtra``. Those that were opened before it are closed.
        """
        wanted = list(servers)
        if not wanted:
            return {}
        try:
            import mcp  # noqa: F401 - an extra
        except ImportError:
            raise MissingExtra("an MCP server", "mcp") from None
        self._start_loop()
        self._connections = [_Connection(server) for server in wanted]
        try:
            found = self._wait(_gathered(self._tools_of(connection) for connection in self._connections))
        except BaseException:
            self.close()
            raise
        return {tool.name: tool for tools in found for tool in tools}

    def close(self) -> None:
        """Close every connection and stop what was started. May be called twice."""
        if self._loop is None or self._thread is None:
            return
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        try:
            closing = asyncio.run_coroutine_threadsafe(
                _gathered(connection.close() for connection in self._connections), loop
            )
            closing.result(_CLOSE_SECONDS)
        except TimeoutError:
            _log.warning("an MCP server could not be stopped within %g s", _CLOSE_SECONDS)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_CLOSE_SECONDS)
            if not thread.is_alive():
                loop.close()

    async def aclose(self) -> None:
        """Close without holding up the caller's loop."""
        if self._loop is not None:
            await asyncio.to_thread(self.close)

    def _start_loop(self) -> None:
        loop = asyncio.new_event_loop()
        self._loop = loop

        def work() -> None:
            asyncio.set_event_loop(loop)
            loop.run_forever()

        self._thread = threading.Thread(target=work, name="mklang-mcp", daemon=True)
        self._thread.start()

    def _wait(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        if self._loop is None:
            raise ConfigError("the MCP servers are closed")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _tools_of(self, connection: _Connection) -> list[HostTool]:
        server = connection.server
        listed = await connection.tools()
        names = {tool.name for tool in listed}
        for name in sorted((server.only or frozenset()) - names):
            raise ConfigError(f"MCP server '{server.name}' has no tool '{name}', only {', '.join(sorted(names))}")
        return [self._tool(connection, tool) for tool in listed if server.only is None or tool.name in server.only]

    def _tool(self, connection: _Connection, tool: McpTool) -> HostTool:
        server = connection.server

        async def call(arguments: Mapping[str, Json]) -> str:
            if self._loop is None:
                raise ToolFailed(f"MCP server '{server.name}' is closed")
            asked = asyncio.run_coroutine_threadsafe(connection.call(tool.name, dict(arguments)), self._loop)
            return await asyncio.wrap_future(asked)

        return HostTool(
            name=f"{server.name}.{tool.name}",
            function=call,
            description=tool.description or tool.title or "",
            schema=MappingProxyType(dict(tool.input_schema)),
            effect=server.effects.get(tool.name) or effect_told(tool.annotations),
            idempotent=bool(tool.annotations and tool.annotations.idempotent_hint),
            timeout=None,  # the connection keeps its own, the start of a server apart
        )


async def _gathered(coroutines: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    return list(await asyncio.gather(*coroutines))


class _Connection:
    """One server's connection, made when it is needed and again after it broke. Lives on the servers' loop."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self._turn = asyncio.Lock()
        self._held: _Held | None = None
        self._waiting = 0
        self._names: frozenset[str] = frozenset()

    async def tools(self) -> list[McpTool]:
        """The server's tools. Raises ``ConfigError``."""
        try:
            held = await self._open()
            async with asyncio.timeout(self.server.start_timeout):
                found: list[McpTool] = []
                cursor: str | None = None
                while True:
                    page = await held.client.list_tools(cursor=cursor)
                    found += page.tools
                    cursor = page.next_cursor
                    if not cursor:
                        return found
        except _Unreachable as error:
            raise ConfigError(str(error)) from None
        except Exception as error:  # noqa: BLE001 - a server is a plug-in: whatever went wrong is said of it
            await self.close()
            raise ConfigError(f"MCP server '{self.server.name}' does not list its tools: {_said(error)}") from None

    async def call(self, name: str, arguments: dict[str, Json]) -> str:
        """Call a tool, once. Raises ``ToolFailed``: for an error result, a server that dies or does not answer."""
        server = self.server
        try:
            held = await self._open()
        except _Unreachable as error:
            raise ToolFailed(str(error)) from None
        self._waiting += 1
        try:
            async with asyncio.timeout(server.timeout):
                result = await held.client.call_tool(name, arguments)
        except TimeoutError:
            if self._waiting == 1:
                await self._drop(held)
            told = f"MCP server '{server.name}' did not answer within {server.timeout:g} s"
            raise ToolFailed(f"tool '{server.name}.{name}': {told}") from None
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            told = _said(error)
            if held.broken or _is_closed(error):
                told = f"MCP server '{server.name}' stopped before it answered{held.complaint()}"
                await self._drop(held)
            raise ToolFailed(f"tool '{server.name}.{name}': {told}") from None
        finally:
            self._waiting -= 1
        text = text_of(result)
        if result.is_error:
            raise ToolFailed(f"tool '{server.name}.{name}': {text or 'the server reports an error and no reason'}")
        return text

    async def close(self) -> None:
        """Let go of the server."""
        if self._held is not None:
            await self._drop(self._held)

    async def _drop(self, held: _Held) -> None:
        if self._held is held:
            self._held = None
        await held.close()

    async def _open(self) -> _Held:
        async with self._turn:
            if self._held is not None and self._held.broken:
                await self._drop(self._held)
            if self._held is None:
                self._held = await _Held.opened(self.server)
            return self._held


class _Unreachable(Exception):
    """A server that cannot be started or reached."""


class _Held:
    """An open connection, kept by a task of its own: what opens it must also close it."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self._errors: IO[str] | None = None
        self._noisy = False
        self._task = asyncio.create_task(self._keep())

    @classmethod
    async def opened(cls, server: McpServer) -> _Held:
        """A connection that answers. Raises ``_Unreachable``."""
        held = cls(server)
        try:
            async with asyncio.timeout(server.start_timeout):
                await asyncio.shield(held._ready)
        except TimeoutError:
            await held.close()
            told = f"does not answer within {server.start_timeout:g} s"
        except Exception as error:  # noqa: BLE001 - as above
            await held.close()
            told = f"cannot be used: {_said(error)}{held.complaint()}"
        else:
            return held
        finally:
            if held._ready.done() and not held._ready.cancelled():
                held._ready.exception()
        raise _Unreachable(f"MCP server '{server.name}' {told}")

    @property
    def client(self) -> Client:
        """The connected client."""
        return self._ready.result()

    @property
    def broken(self) -> bool:
        """Whether the connection has ended."""
        return self._task.done()

    async def close(self) -> None:
        """End the connection; a program that was started is stopped, its children too."""
        self._stop.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait([self._task], timeout=_CLOSE_SECONDS)

    def complaint(self) -> str:
        """The end of what the program wrote to its stderr, for messages."""
        if self._errors is None:
            return ""
        self._errors.seek(0)
        text = " ".join(self._errors.read()[-_STDERR_CHARS:].split())
        return f"; its stderr ends: {text}" if text else ""

    async def _keep(self) -> None:
        try:
            async with self._connected() as client:
                self._ready.set_result(client)
                await self._stop.wait()
        except Exception as error:  # noqa: BLE001 - the connection's top level: whoever waits for it gets the reason
            if not self._ready.done():
                self._ready.set_exception(error)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        from mcp import Client

        async with self._transport() as transport, Client(transport, message_handler=self._hear) as client:
            yield client

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        server = self._server
        if server.url is not None:
            import httpx2
            from mcp.client.streamable_http import streamable_http_client

            # A redirect would take the headers along, keys among them, to an address that nobody named.
            timeout = httpx2.Timeout(server.start_timeout, read=server.timeout)
            async with httpx2.AsyncClient(
                headers=dict(server.headers), timeout=timeout, follow_redirects=False
            ) as http:
                yield streamable_http_client(server.url, http_client=http)
            return
        from mcp import StdioServerParameters, stdio_client

        logging.getLogger("mcp.client.stdio").addHandler(_SILENT)  # it prints a traceback for every line of noise
        command, *args = server.command
        parameters = StdioServerParameters(command=command, args=args, env=dict(server.env), cwd=server.cwd)
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            self._errors = errors
            try:
                yield stdio_client(parameters, errlog=errors)
            finally:
                self._errors = _kept(errors)

    async def _hear(self, message: object) -> None:
        if isinstance(message, Exception) and not self._noisy:
            self._noisy = True
            _log.warning(
                "MCP server '%s' writes lines to stdout that are no messages; they are skipped", self._server.name
            )


_SILENT = logging.NullHandler()


def _kept(errors: IO[str]) -> IO[str]:
    """What was written, after the file is gone."""
    import io

    errors.seek(0)
    return io.StringIO(errors.read()[-_STDERR_CHARS:])


def _is_closed(error: Exception) -> bool:
    from mcp_types import CONNECTION_CLOSED

    return getattr(getattr(error, "error", None), "code", None) == CONNECTION_CLOSED or _any_closed(error)


def _any_closed(error: BaseException) -> bool:
    closed = {"ClosedResourceError", "BrokenResourceError", "EndOfStream"}
    return type(error).__name__ in closed


def _said(error: BaseException) -> str:
    """An error in words; of a group of them the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"there is no program '{error.filename}'"
    return str(error) or type(error).__name__
