"""One look at an endpoint finds out what it can do, assumes nothing, and sends the key nowhere else (L115)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from mklang.llm.probing import Probed, probe_chat, probe_messages
from tests.llm.stub_server import Asked, Scripted, StubServer

pytestmark = pytest.mark.rule("L115")
KEY = "sk-secret-secret-secret"


def event(**fields: Any) -> bytes:
    return f"data: {json.dumps(fields)}\n\n".encode()


def chunk(text: str, **delta: Any) -> bytes:
    logprobs = {"content": [{"token": "x", "logprob": -0.1}]}
    return event(choices=[{"delta": {"content": text, **delta}, "logprobs": logprobs}])


FULL = (chunk('{"ok":', reasoning_content="hm"), chunk(" true}"), event(choices=[], usage={"total_tokens": 12}))


def look(answer: Callable[[Asked], Scripted], *, messages: bool = False) -> tuple[Probed, list[Asked]]:
    async def run() -> tuple[Probed, list[Asked]]:
        async with StubServer(answer=answer) as server:
            address = server.base_url.removesuffix("/v1") if messages else server.base_url
            ask = probe_messages if messages else probe_chat
            return await ask(address, "m-1", KEY), server.asked

    return asyncio.run(run())


def test_a_full_endpoint_has_everything() -> None:
    def answer(asked: Asked) -> Scripted:
        if asked.path == "/v1/models/m-1":
            return Scripted({"id": "m-1", "max_model_len": 32768})
        return Scripted(pieces=(*FULL, b"data: [DONE]\n\n"))

    found, asked = look(answer)
    assert (found.problem, found.window, found.json, found.tokens) == ("", 32768, "schema", 12)
    assert (found.logprobs, found.thinking, found.usage_in_stream, found.refused) == (
        True,
        "reasoning_content",
        True,
        [],
    )
    assert len([one for one in asked if one.path.endswith("completions")]) == 1
    assert asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_what_is_refused_by_name_is_left_out_and_told() -> None:
    refusals = {
        "max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "logprobs": "this model has no logprobs",
        "stream_options": "unknown field stream_options",
    }

    def answer(asked: Asked) -> Scripted:
        if "completions" not in asked.path:
            return Scripted({"data": [{"id": "other", "n_ctx": 1}, {"id": "m-1", "meta": {"n_ctx": 4096}}]})
        for name, message in refusals.items():
            if name in asked.body:
                return Scripted({"error": {"message": message}}, status=400)
        if asked.body.get("response_format", {}).get("type") == "json_schema":
            return Scripted({"error": {"message": "json_schema is not supported"}}, status=400)
        return Scripted({"choices": [{"message": {"content": '{"ok": true}'}}]})

    found, _ = look(answer)
    assert (found.problem, found.json, found.window) == ("", "object", 4096)
    assert found.refused == ["max_tokens", "logprobs", "top_logprobs", "stream_options"]
    assert (found.logprobs, found.usage_in_stream) == (False, False)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Scripted({"error": {"message": f"no such key {KEY}"}}, status=401), "status 401: no such key [key]"),
        (Scripted({}, status=302, headers={"Location": "http://127.0.0.1:1/"}), "does not follow"),
        (Scripted("<html>", status=200), "JSONDecodeError"),
        (Scripted([1, 2], status=200), "AttributeError"),
        (Scripted(drop=True), "RemoteProtocolError"),
        (Scripted(pieces=(chunk("x"),), broken=True), "RemoteProtocolError"),
    ],
)
def test_an_endpoint_that_does_not_answer_is_told_without_the_key(reply: Scripted, told: str) -> None:
    found, asked = look(lambda _: reply)
    assert told in found.problem
    assert KEY not in found.problem
    assert len(asked) == 1


def test_an_endpoint_that_refuses_for_ever_is_asked_a_few_times_only() -> None:
    found, asked = look(lambda _: Scripted({"error": {"message": "max_completion_tokens logprobs"}}, status=400))
    assert found.problem
    assert len(asked) <= 6


def test_the_messages_api_tells_its_usage_in_the_stream() -> None:
    start = event(type="message_start", message={"usage": {"input_tokens": 5, "output_tokens": 1}})
    found, asked = look(
        lambda _: Scripted(pieces=(start, event(type="message_delta", usage={"output_tokens": 7}))), messages=True
    )
    assert (found.problem, found.stream, found.usage_in_stream, found.tokens) == ("", True, True, 8)
    assert (asked[0].path, asked[0].headers["x-api-key"]) == ("/v1/messages", KEY)
