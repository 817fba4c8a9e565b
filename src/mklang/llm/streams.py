"""A streamed chat completion, put together again into the body that a plain call would have brought.

So there is one reader for both (``mklang.llm.replies``), and the result cannot depend on how a stream was cut up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mklang.llm.sse import Event

DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class Piece:
    """A bit of a reply, as it comes. ``thought`` is not part of the text."""

    text: str
    thought: bool = False


class BadEvent(Exception):
    """An event that is none of the protocol's: the stream cannot be trusted any further."""


class Assembler(Protocol):
    """Puts one streamed reply together."""

    def take(self, event: Event) -> list[Piece]:
        """Take the next event; what it adds to the reply. Raises ``BadEvent``."""
        ...

    @property
    def failed(self) -> bool:
        """Whether an error came."""
        ...

    @property
    def over(self) -> bool:
        """Whether nothing that comes now can matter: an error came, or the end mark."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the reply was ended by the one who wrote it."""
        ...

    @property
    def written(self) -> str:
        """All that the model wrote so far, thinking included."""
        ...

    def body(self) -> dict[str, object]:
        """What a plain call would have brought."""
        ...


class Completion:
    """The chat completions API."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._parts: list[object] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._tools = False
        self._ends: dict[str, str] = {}
        self._usage: object = None
        self._error: object = None
        self._done = False
        self._split = ThoughtSplitter()

    @property
    def failed(self) -> bool:
        """Whether an error came."""
        return self._error is not None

    @property
    def over(self) -> bool:
        """See ``Assembler.over``."""
        return self._done or self._error is not None

    @property
    def complete(self) -> bool:
        """See ``Assembler.complete``."""
        return self.over or "finish_reason" in self._ends

    @property
    def written(self) -> str:
        """See ``Assembler.written``."""
        return "".join([*self._reasoning, *self._content, *map(_said, self._parts)])

    def take(self, event: Event) -> list[Piece]:
        """See ``Assembler.take``."""
        pieces: list[Piece] = []
        for payload in payloads(event):
            if payload.strip() == DONE:
                self._done = True
                break
            pieces += self.add(parsed(payload))
        return pieces

    def add(self, chunk: Mapping[str, Any]) -> list[Piece]:
        """Take a chunk that is read already."""
        self._usage = chunk.get("usage") or self._usage
        self._error = chunk.get("error") or self._error
        choices = chunk.get("choices")
        pieces: list[Piece] = []
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
                pieces += self._choice(choice)
        return pieces

    def body(self) -> dict[str, object]:
        """See ``Assembler.body``."""
        if self._error is not None:
            return {"error": self._error, "usage": self._usage}
        content: object = "".join(self._content)
        if self._parts:
            content = [*self._parts, *([{"type": "text", "text": content}] if content else [])]
        message: dict[str, object] = {"content": content, "reasoning_content": "".join(self._reasoning)}
        message["refusal"] = "".join(self._refusal)
        message["tool_calls"] = self._tools
        return {"choices": [{"message": message, **self._ends}], "usage": self._usage}

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[Piece]:
        self._error = choice.get("error") or self._error
        for name in ("finish_reason", "native_finish_reason"):
            if isinstance(choice.get(name), str):
                self._ends[name] = choice[name]
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, dict):
            return
        for name in ("reasoning_content", "reasoning"):
            if isinstance(delta.get(name), str) and delta[name]:
                self._reasoning.append(delta[name])
                yield Piece(delta[name], thought=True)
                break
        if isinstance(delta.get("refusal"), str):
            self._refusal.append(delta["refusal"])
        self._tools = self._tools or bool(delta.get("tool_calls") or delta.get("function_call"))
        content = delta.get("content")
        if isinstance(content, list):
            self._parts += content
            yield from (Piece(_said(part), thought=part.get("type") != "text") for part in content if _said(part))
        elif isinstance(content, str) and content:
            self._content.append(content)
            yield from self._split.feed(content) if not self._reasoning else (Piece(content),)


class ThoughtSplitter:
    """Tells thinking between marks from the answer while both come in, for people who watch.

    What it shows may be wrong about marks that turn out to be part of the answer; the result never depends on it.
    """

    _OPEN, _CLOSE = "<think>", "</think>"

    def __init__(self) -> None:
        self._held = ""
        self._mode = "begin"

    def feed(self, text: str) -> list[Piece]:
        """What can be shown now."""
        self._held += text
        if self._mode == "begin":
            start = self._held.lstrip()
            if self._OPEN.startswith(start[: len(self._OPEN)]) and len(start) < len(self._OPEN):
                return []
            self._mode = "thought" if start.startswith(self._OPEN) else "answer"
            self._held = start.removeprefix(self._OPEN) if self._mode == "thought" else self._held
        if self._mode == "answer":
            shown, self._held = self._held, ""
            return [Piece(shown)] if shown else []
        thought, mark, answer = self._held.partition(self._CLOSE)
        if mark:
            self._mode, self._held = "answer", ""
            return [piece for piece in (Piece(thought, thought=True), Piece(answer.lstrip())) if piece.text]
        keep = next((n for n in range(len(self._CLOSE) - 1, 0, -1) if thought.endswith(self._CLOSE[:n])), 0)
        shown, self._held = thought[: len(thought) - keep], thought[len(thought) - keep :]
        return [Piece(shown, thought=True)] if shown else []


def payloads(event: Event) -> list[str]:
    """The JSON texts of an event: its data, or each of its lines where only those are JSON by themselves.

    Some servers leave out the empty line between two events.
    """
    if "\n" not in event.data:
        return [event.data] if event.data.strip() else []
    try:
        json.loads(event.data)
    except (ValueError, RecursionError):
        return [line for line in event.data.split("\n") if line.strip()]
    return [event.data]


def parsed(payload: str) -> dict[str, Any]:
    """One payload as a JSON object. Raises ``BadEvent``."""
    try:
        chunk = json.loads(payload)
    except (ValueError, RecursionError):
        raise BadEvent(f"an event that is no JSON: {payload[:80]!r}") from None
    if not isinstance(chunk, dict):
        raise BadEvent(f"an event that is no object: {payload[:80]!r}")
    return chunk


def _said(part: object) -> str:
    if not isinstance(part, dict):
        return ""
    value = part.get(str(part.get("type")))
    if isinstance(value, list):
        return "".join([_said(inner) for inner in value])
    return value if isinstance(value, str) else ""
