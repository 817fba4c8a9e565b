"""A chat completions server that plays a script of replies, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Scripted:
    """One reply. ``body`` is JSON unless it is text or bytes; ``drop`` closes the connection instead of answering.

    ``hold`` is waited for before anything is sent. With ``pieces`` the body is those, each sent by itself, in the
    chunked form, as a stream of events; ``broken`` leaves out the end mark of that form, ``hang`` keeps the connection
    open behind them; ``pause`` is how long a piece waits, for another program to draw the one before.
    """

    body: object = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    hold: asyncio.Event | None = None
    pieces: Sequence[bytes] | None = None
    broken: bool = False
    hang: bool = False
    pause: float = 0.0

    def payload(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


@dataclass(frozen=True)
class Asked:
    """One request, its header names in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class StubServer:
    """``async with StubServer(reply, ...) as server``: each request takes the next reply, a request too many a 599.

    With ``answer`` a function answers every request instead of the script.
    """

    def __init__(self, *replies: Scripted, answer: Callable[[Asked], Scripted] | None = None, port: int = 0) -> None:
        self._replies = list(replies)
        self._reply_to = answer
        self._port = port
        self.asked: list[Asked] = []
        self.closed_early = asyncio.Event()
        self._news = asyncio.Condition()
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def base_url(self) -> str:
        host, port = self._server.sockets[0].getsockname()
        return f"http://{host}:{port}/v1"

    async def arrived(self, count: int = 1) -> None:
        """Wait until so many requests have arrived."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.asked) >= count)

    async def __aenter__(self) -> StubServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        asked = Asked(first.split(" ")[1], headers, json.loads(body or b"{}"))
        async with self._news:
            self.asked.append(asked)
            self._news.notify_all()
        reply = self._reply_to(asked) if self._reply_to else self._scripted()
        if reply.hold is not None:
            await self._held(reply.hold, reader)
        if reply.drop:
            return
        if reply.pieces is not None:
            await self._stream(reply, reader, writer)
            return
        payload = reply.payload()
        fields = {"Content-Type": "application/json", "Content-Length": str(len(payload)), "Connection": "close"}
        lines = [f"{name}: {value}" for name, value in {**fields, **reply.headers}.items()]
        writer.write("\r\n".join([f"HTTP/1.1 {reply.status} Scripted", *lines, "", ""]).encode() + payload)
        await writer.drain()

    def _scripted(self) -> Scripted:
        return self._replies.pop(0) if self._replies else Scripted("the script is used up", status=599)

    async def _stream(self, reply: Scripted, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fields = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **reply.headers}
        lines = [f"{name}: {value}" for name, value in fields.items()]
        writer.write("\r\n".join([f"HTTP/1.1 {reply.status} Scripted", *lines, "", ""]).encode())
        for piece in filter(None, reply.pieces or ()):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(reply.pause)
        if reply.hang:
            await self._held(asyncio.Event(), reader)
        elif not reply.broken:
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    async def _held(self, hold: asyncio.Event, reader: asyncio.StreamReader) -> None:
        """Wait for the event, or note that the client has hung up."""
        gone = asyncio.create_task(reader.read())
        held = asyncio.create_task(hold.wait())
        await asyncio.wait([gone, held], return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            self.closed_early.set()
        for task in (gone, held):
            task.cancel()


def streamed(*payloads: object, done: bool = True) -> bytes:
    """A stream of events, one for each payload: JSON unless it is text."""
    texts = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    return "".join(f"data: {text}\n\n" for text in [*texts, *(["[DONE]"] if done else [])]).encode()


def chunk(content: str | None = None, *, finish: str | None = None, usage: object = None, **delta: object) -> object:
    """One chunk of a streamed completion."""
    parts = {"content": content, **delta} if content is not None else delta
    found: dict[str, object] = {"id": "r", "object": "chat.completion.chunk", "choices": []}
    if parts or finish:
        found["choices"] = [{"index": 0, "delta": parts, "finish_reason": finish}]
    return found if usage is None else {**found, "usage": usage}


def completion(
    content: object = "ok", *, finish: str | None = "stop", usage: object = None, **message: object
) -> object:
    """A chat completion with one choice."""
    counted = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10} if usage is None else usage
    return {
        "id": "r",
        "object": "chat.completion",
        "model": "m-2026",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
        ],
        "usage": counted,
    }
