"""One cheap look at a model where it runs: what it takes and what it tells. For ``mklang doctor --probe``.

A chat endpoint is sent one short streamed request with everything that could be wanted; a parameter that it refuses by
name is left out of the next attempt, so nothing is assumed. Redirects are not followed: a key goes to one address.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mklang.errors import AnswerFailed, MissingExtra
from mklang.lang.values import Json
from mklang.llm.addresses import check_url
from mklang.llm.failures import error_message, parse_body
from mklang.llm.local import CONTEXT, LocalModel
from mklang.llm.withholding import Secret

if TYPE_CHECKING:
    import httpx2

TIMEOUT = 30.0
"""Seconds for the whole look at one model."""
ATTEMPTS = 6
_QUESTION = 'Reply with exactly this JSON object and nothing else: {"ok": true}'
_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
_SCHEMA_FORM: dict[str, Json] = {
    "type": "json_schema",
    "json_schema": {"name": "probe", "strict": True, "schema": _SCHEMA},
}
_WINDOWS = ("context_length", "max_model_len", "context_window", "max_context_length", "n_ctx", "inputTokenLimit")
"""What servers call the size of a model's window."""
_THINKING = ("reasoning_content", "reasoning", "thinking")
_OPTIONAL = ("response_format", "logprobs", "top_logprobs", "stream_options")


@dataclass(slots=True, kw_only=True)
class Probed:
    """What one look found. ``problem`` is why there is no answer; the rest is then as far as it got.

    ``seconds`` is for whoever measures. ``window`` is in tokens, None where the endpoint does not say. ``json`` is
    ``schema``, ``object`` or ``no``. ``refused`` names the parameters it does not take.
    """

    problem: str = ""
    window: int | None = None
    json: str = "no"
    logprobs: bool = False
    thinking: str = ""
    stream: bool = False
    usage_in_stream: bool = False
    refused: list[str] = field(default_factory=list)
    seconds: float = 0.0
    tokens: int = 0

    def to_wire(self) -> dict[str, Json]:
        """The JSON form."""
        return {
            "problem": self.problem or None,
            "window": self.window,
            "json": self.json,
            "logprobs": self.logprobs,
            "thinking": self.thinking or None,
            "stream": self.stream,
            "usage_in_stream": self.usage_in_stream,
            "refused": list(self.refused),
            "seconds": round(self.seconds, 2),
            "tokens": self.tokens,
        }


async def probe_local(model: LocalModel) -> Probed:
    """A model in this process: loaded, and nothing generated. It takes every form and gives log-probabilities."""
    found = Probed(window=CONTEXT, json="schema", logprobs=True, stream=True, usage_in_stream=True)
    try:
        await model.endpoint()
    except AnswerFailed as error:
        found.problem = str(error)
    return found


async def probe_chat(base_url: str, model: str, key: str | None) -> Probed:
    """A model behind a chat completions API."""
    found, secret = Probed(), Secret(key)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    wish: dict[str, Json] = {
        "model": model,
        "messages": [{"role": "user", "content": _QUESTION}],
        "max_tokens": 64,
        "stream": True,
        "stream_options": {"include_usage": True},
        "response_format": _SCHEMA_FORM,
        "logprobs": True,
        "top_logprobs": 2,
    }
    async with _client(base_url, headers) as client:
        await _within(found, secret, _chat(client, wish, found, secret))
        if not found.problem:
            await _within(Probed(), secret, _find_window(client, model, found))
    return found


async def probe_messages(base_url: str, model: str, key: str | None) -> Probed:
    """A model behind the messages API, which has neither a JSON form nor log-probabilities."""
    found, secret = Probed(), Secret(key)
    headers = {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
    wish: dict[str, Json] = {
        "model": model,
        "messages": [{"role": "user", "content": _QUESTION}],
        "max_tokens": 64,
        "stream": True,
    }

    async def ask() -> None:
        async with _client(base_url, headers) as client, client.stream("POST", "v1/messages", json=wish) as reply:
            if reply.status_code != 200:
                found.problem = await _refusal(reply, secret)
                return
            async for event in _events(reply):
                found.stream = True
                usage = event.get("usage") or event.get("message", {}).get("usage") or {}
                found.usage_in_stream = found.usage_in_stream or bool(usage)
                found.tokens += int(usage.get("output_tokens") or 0)

    await _within(found, secret, ask())
    return found


def _client(base_url: str, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    if importlib.util.find_spec("httpx2") is None:
        raise MissingExtra("asking an endpoint", "openai")
    import httpx2

    return httpx2.AsyncClient(base_url=check_url(base_url) + "/", headers=headers, timeout=TIMEOUT)


async def _within(found: Probed, secret: Secret, work: Any) -> None:
    """Do it within the time there is; a failure is noted, never raised."""
    import httpx2

    try:
        async with asyncio.timeout(TIMEOUT):
            await work
    except TimeoutError:
        found.problem = f"no answer within {TIMEOUT:g} s"
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError, AttributeError) as error:
        found.problem = secret.out_of(f"{type(error).__name__}: {error}")


async def _chat(client: httpx2.AsyncClient, wish: dict[str, Json], found: Probed, secret: Secret) -> None:
    """Ask until the endpoint takes what is asked, each time without what it refused."""
    for _ in range(ATTEMPTS):
        async with client.stream("POST", "chat/completions", json=wish) as reply:
            if reply.status_code == 200:
                await _read(reply, wish, found)
                return
            message = await _refusal(reply, secret)
            if reply.status_code not in {400, 404, 415, 422, 501} or not _without(wish, message, found):
                found.problem = message
                return
    found.problem = "it refuses one parameter after the other"


def _without(wish: dict[str, Json], message: str, found: Probed) -> bool:
    """Leave out, or say otherwise, the parameter that a refusal names; whether there was one."""
    if "max_completion_tokens" in message and "max_tokens" in wish:
        wish["max_completion_tokens"] = wish.pop("max_tokens")
        found.refused.append("max_tokens")
        return True
    if any(word in message for word in ("json_schema", "response_format")) and "response_format" in wish:
        if wish["response_format"] == _SCHEMA_FORM:
            wish["response_format"] = {"type": "json_object"}
        else:
            del wish["response_format"]
            found.refused.append("response_format")
        return True
    named = [name for name in _OPTIONAL if name in wish and name in message]
    if "logprobs" in named or "top_logprobs" in named:
        named = ["logprobs", "top_logprobs"]
    for name in named:
        wish.pop(name, None)
        found.refused.append(name)
    return bool(named)


async def _refusal(reply: httpx2.Response, secret: Secret) -> str:
    body = (await reply.aread())[:4000].decode("utf-8", "replace")
    if 300 <= reply.status_code < 400:
        return f"status {reply.status_code}: it sends requests elsewhere, and mklang does not follow"
    return secret.out_of(f"status {reply.status_code}: {error_message(parse_body(body)) or body[:200]}")


async def _read(reply: httpx2.Response, wish: Mapping[str, Json], found: Probed) -> None:
    text = ""
    async for event in _events(reply):
        found.stream = True
        if isinstance(event.get("usage"), dict):
            found.usage_in_stream = True
            found.tokens = int(event["usage"].get("total_tokens") or 0)
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or choice.get("message") or {}
            text += delta.get("content") or ""
            found.logprobs = found.logprobs or bool((choice.get("logprobs") or {}).get("content"))
            found.thinking = found.thinking or next((name for name in _THINKING if delta.get(name)), "")
    if "response_format" in wish and _is_json(text):
        found.json = "schema" if wish["response_format"] == _SCHEMA_FORM else "object"


async def _events(reply: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    """The events of a streamed answer; an answer in one piece is one."""
    if "text/event-stream" not in reply.headers.get("content-type", ""):
        yield json.loads(await reply.aread())
        return
    async for line in reply.aiter_lines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data != "[DONE]":
            event = json.loads(data)
            if isinstance(event, dict):
                yield event


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


async def _find_window(client: httpx2.AsyncClient, model: str, found: Probed) -> None:
    """The window, where a list of models or the server's properties say it."""
    for path in (f"models/{quote(model, safe='')}", "models", "../props"):
        reply = await client.get(path)
        body = json.loads(reply.text) if reply.status_code == 200 else None
        found.window = _window_in(body, model)
        if found.window is not None:
            return


def _window_in(body: object, model: str) -> int | None:
    if not isinstance(body, dict):
        return None
    listed = body.get("data")
    if isinstance(listed, list):
        mine = [one for one in listed if isinstance(one, dict) and one.get("id") == model]
        return next((window for one in mine if (window := _window_in(one, model)) is not None), None)
    places = (body, body.get("meta"), body.get("default_generation_settings"), body.get("top_provider"))
    for place in places:
        for name in _WINDOWS:
            value = place.get(name) if isinstance(place, dict) else None
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
