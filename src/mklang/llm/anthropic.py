"""Models behind an endpoint that speaks the messages API, through the official ``anthropic`` client.

The client sends and authenticates; everything else is ours (``mklang.llm.endpoint``, ``mklang.llm.transport``). A judge
is held to its legal numbers by a tool that it has to call.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from mklang.engine.requests import NO_USAGE, Produced, Usage
from mklang.errors import MissingExtra, ProviderFailed
from mklang.lang.values import Json
from mklang.llm.base import Exchange, Params, choice_schema, messages_of, sendable
from mklang.llm.conversing import prompt_bytes
from mklang.llm.dialect import PRODUCE_TOKENS
from mklang.llm.endings import Ending, ending_of
from mklang.llm.endpoint import Endpoint, NoThinking, Received
from mklang.llm.failures import Cause, failure_of
from mklang.llm.replies import check_ending, reaches, usage_or_estimate
from mklang.llm.retry import Traffic
from mklang.llm.signals import Watch
from mklang.llm.sse import Event
from mklang.llm.streams import Assembler, Piece, parsed
from mklang.llm.transport import STALL_TIMEOUT, TIMEOUT, Sdk, Transport, check_key

VERSION = "2023-06-01"
JUDGE_TOKENS = 256
"""A tool call with a number in it, and room for a sentence before it."""
TOOL = "verdict"
_THINKING_ROOM = 1024
"""The least number of tokens that the API takes as a budget for thinking."""


class AnthropicMessages(Endpoint):
    """One endpoint. What it learns about the endpoint it keeps per model, on itself and nowhere else."""

    def __init__(
        self,
        base_url: str,
        *,
        traffic: Traffic,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        stall: float = STALL_TIMEOUT,
        watch: Watch | None = None,
    ) -> None:
        """Connects to nothing yet. Raises ``ConfigError`` for an address that may not be used (see ``check_url``), and
        ``MissingExtra`` without the extra ``anthropic``. Times are in seconds; see ``OpenAICompat``.
        """
        if importlib.util.find_spec("anthropic") is None:
            raise MissingExtra("a model behind the messages API", "anthropic")
        key = check_key(api_key)
        headers = {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}
        transport = Transport(base_url, self._sdk, headers=headers, key=key, timeout=timeout, stall=stall)
        super().__init__(transport, MessagesSpeech(), traffic, watch)

    def _sdk(self) -> Sdk:
        import anthropic

        def client(http: object) -> object:
            return anthropic.AsyncAnthropic(
                api_key="none",
                base_url=self.base_url.removesuffix("/v1"),
                max_retries=0,
                http_client=http,  # type: ignore[arg-type] # made by the client's own class
            )

        return Sdk(anthropic, anthropic.AnthropicError, client)


class Thinking(IntEnum):
    """How a model is made to show its thinking, from the newest way on."""

    ADAPTIVE = 0
    BUDGET = 1
    NONE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What has been learned about a model. ``forced`` says that it can be made to call a tool."""

    thinking: Thinking = Thinking.ADAPTIVE
    forced: bool = True
    streams: bool = True


class MessagesSpeech:
    """The messages API; see ``Speech``."""

    path = "/v1/messages"

    def __init__(self) -> None:
        self._models: dict[str, _Known] = {}

    def body(self, exchange: Exchange, *, streamed: bool) -> dict[str, Json]:
        """See ``Speech.body``. The API takes no temperature any more; the host's parameters stand over ours."""
        known = self._known(exchange.model)
        params = {name: value for name, value in exchange.params.items() if value is not None}
        body: dict[str, Json] = {"max_tokens": PRODUCE_TOKENS if exchange.choices is None else JUDGE_TOKENS}
        if "effort" in params:
            body["output_config"] = {"effort": params.pop("effort")}
        body |= params
        if exchange.reason and "thinking" not in params:
            body |= _thinking(known.thinking, body["max_tokens"])
        if exchange.choices is not None and known.forced:
            body["tools"] = [
                {"name": TOOL, "description": "The verdict.", "input_schema": choice_schema(exchange.choices)}
            ]
            body["tool_choice"] = {"type": "tool", "name": TOOL}
        if streamed and known.streams:
            body["stream"] = True
        body["model"] = exchange.model
        body["system"] = sendable(exchange.system)
        body["messages"] = messages_of(exchange)[1:]
        return body

    def limit_of(self, body: Params) -> int | None:
        """See ``Speech.limit_of``."""
        limit = body.get("max_tokens")
        return limit if isinstance(limit, int) else None

    def learn(self, exchange: Exchange, message: str, *, streamed: bool) -> bool:
        """See ``Speech.learn``."""
        known = self._known(exchange.model)
        if exchange.choices is not None and known.forced and ("tool_choice" in message or "tools" in message):
            self._models[exchange.model] = replace(known, forced=False)
            return True
        if exchange.reason and known.thinking is not Thinking.NONE and _is_about_thinking(message):
            thinking = Thinking(known.thinking + 1)
            self._models[exchange.model] = replace(known, thinking=thinking)
            if thinking is Thinking.NONE:
                raise NoThinking
            return True
        if streamed and known.streams and "stream" in message:
            self._models[exchange.model] = replace(known, streams=False)
            return True
        return False

    def shows_thinking(self, exchange: Exchange) -> bool:
        """See ``Speech.shows_thinking``. A host can turn a model's thinking off."""
        own = exchange.params.get("thinking")
        off = isinstance(own, Mapping) and own.get("type") == "disabled"
        return not off and self._known(exchange.model).thinking is not Thinking.NONE

    def saw(self, exchange: Exchange, produced: Produced) -> None:
        """See ``Speech.saw``."""

    def stream(self) -> Assembler:
        """See ``Speech.stream``."""
        return Message()

    def read(self, received: Received) -> Produced:
        """See ``Speech.read``."""
        return read_message(received)

    def _known(self, model: str) -> _Known:
        return self._models.get(model, _Known())


def read_message(received: Received) -> Produced:
    """The reply in a message. A judge's tool call becomes the JSON it holds."""
    body, origin, exchange = received.body, received.origin, received.exchange
    if not isinstance(body, dict):
        what = origin.no_api("the reply is not a message", body)
        raise ProviderFailed(what, cause=Cause.MALFORMED, status=origin.status)
    if body.get("error"):
        usage = _reported(body.get("usage"), exchange, "") if body.get("usage") else NO_USAGE
        raise failure_of(body, origin, error=body["error"], wait=received.wait, usage=usage)
    content = body.get("content")
    if not isinstance(content, list):
        what = (origin.failure if "content" in body else origin.no_api)("the reply holds no content", body)
        raise ProviderFailed(what, cause=Cause.MALFORMED, status=origin.status)
    blocks = [block for block in content if isinstance(block, dict)]
    text, reasoning = _joined(blocks, "text"), _joined(blocks, "thinking")
    usage = _reported(body.get("usage"), exchange, text + reasoning)
    stop = body.get("stop_reason")
    reason = stop if isinstance(stop, str) else None
    ending = ending_of(reason)
    called = next((block.get("input") for block in blocks if block.get("type") == "tool_use"), None)
    if exchange.choices is not None and called is not None and ending in {Ending.TOOL, Ending.WHOLE}:
        text, ending = json.dumps(called), Ending.WHOLE
    check_ending(ending, reason, origin, usage, refusal=None)
    return Produced(
        text=sendable(text),
        reasoning=sendable(reasoning) or None,
        usage=usage,
        model=exchange.model,
        finish_reason=reason,
        truncated=ending is Ending.CUT or reaches(received.limit, usage),
    )


class Message:
    """A streamed message, put together into the body a plain call would have brought; see ``Assembler``."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._error: object = None
        self._ended = False

    @property
    def failed(self) -> bool:
        """See ``Assembler.failed``."""
        return self._error is not None

    @property
    def over(self) -> bool:
        """See ``Assembler.over``."""
        return self._ended or self.failed

    @property
    def complete(self) -> bool:
        """See ``Assembler.complete``."""
        return self.over or bool(self._message.get("stop_reason"))

    @property
    def written(self) -> str:
        """See ``Assembler.written``."""
        return "".join(
            str(block.get(name) or "") for block in self._blocks.values() for name in ("thinking", "text", "json")
        )

    def take(self, event: Event) -> list[Piece]:
        """See ``Assembler.take``. The kind of an event stands in its data; its name only repeats it."""
        if not event.data.strip():
            return []
        data = parsed(event.data)
        match data.get("type"):
            case "message_start":
                self._begin(data.get("message"))
            case "content_block_start":
                return self._open(data)
            case "content_block_delta":
                return self._add(data)
            case "message_delta":
                self._message |= _map(data.get("delta"))
                self._usage |= _map(data.get("usage"))
            case "message_stop":
                self._ended = True
            case _ if data.get("error"):
                self._error = data["error"]
        return []

    def body(self) -> dict[str, object]:
        """See ``Assembler.body``."""
        if self._error is not None:
            return {"type": "error", "error": self._error, "usage": self._usage}
        content = [self._whole(self._blocks[index]) for index in sorted(self._blocks)]
        return {**self._message, "content": content, "usage": self._usage}

    def _begin(self, message: object) -> None:
        if isinstance(message, dict):
            self._usage |= _map(message.get("usage"))
            self._message = {name: value for name, value in message.items() if name not in {"content", "usage"}}

    def _open(self, data: Mapping[str, Any]) -> list[Piece]:
        self._blocks[_index(data)] = found = dict(_map(data.get("content_block")))
        kind = found.get("type")
        said = found.get(kind) if kind in ("text", "thinking") else None
        return [Piece(said, thought=kind == "thinking")] if isinstance(said, str) and said else []

    def _add(self, data: Mapping[str, Any]) -> list[Piece]:
        delta = data.get("delta")
        block = self._blocks.setdefault(_index(data), {})
        pieces: list[Piece] = []
        for field, name in (("text", "text"), ("thinking", "thinking"), ("partial_json", "json")):
            said = delta.get(field) if isinstance(delta, dict) else None
            if isinstance(said, str) and said:
                block[name] = str(block.get(name) or "") + said
                block.setdefault("type", name)
                pieces += [Piece(said, thought=name == "thinking")] if name != "json" else []
        return pieces

    @staticmethod
    def _whole(block: dict[str, Any]) -> dict[str, Any]:
        """A block with the input of its tool, which comes as pieces of JSON text."""
        if "json" not in block:
            return block
        try:
            called = json.loads(block["json"])
        except (ValueError, RecursionError):
            called = block["json"]
        return {**{name: value for name, value in block.items() if name != "json"}, "input": called}


def _thinking(way: Thinking, limit: Json) -> dict[str, Json]:
    """The parameters that make a model show its thinking; none where its limit leaves no room for any."""
    if way is Thinking.ADAPTIVE:
        return {"thinking": {"type": "adaptive", "display": "summarized"}}
    room = limit if isinstance(limit, int) else PRODUCE_TOKENS
    if room <= _THINKING_ROOM:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": max(_THINKING_ROOM, room // 2)}}


def _is_about_thinking(message: str) -> bool:
    return "thinking" in message or "adaptive" in message or "budget_tokens" in message


def _reported(usage: object, exchange: Exchange, written: str) -> Usage:
    """Tokens as reported. What came from the cache or went into it was read too."""
    found = usage_or_estimate(usage, prompt=prompt_bytes(exchange), written=written)
    if not isinstance(usage, dict) or found.estimated_tokens:
        return found
    cached, stored = _count(usage.get("cache_read_input_tokens")), _count(usage.get("cache_creation_input_tokens"))
    return found + Usage(cached + stored, cached_tokens=cached)


def _joined(blocks: list[dict[str, Any]], kind: str) -> str:
    texts = [block.get(kind) for block in blocks if block.get("type") == kind]
    return "".join(text for text in texts if isinstance(text, str))


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _index(data: Mapping[str, Any]) -> int:
    index = data.get("index")
    return index if isinstance(index, int) else 0
