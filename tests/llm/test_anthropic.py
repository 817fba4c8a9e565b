"""The messages API, in the shapes of its wire: texts, thinking, verdicts, refusals, errors, streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from mklang.engine.requests import Produce, Produced, Read, Usage, Verdict
from mklang.errors import AnswerFailed, MissingExtra, ProviderFailed, Refused
from mklang.lang.models import Tier
from mklang.lang.values import Json
from mklang.llm.anthropic import AnthropicMessages
from mklang.llm.choice import ChoiceJudge, JudgeModel
from mklang.llm.retry import Traffic
from tests.llm.asking import Slept, decide, write
from tests.llm.stub_server import Asked, Scripted, StubServer
from tests.llm.watching import Watcher

pytest.importorskip("anthropic", reason="needs the extra 'anthropic'")

SECRET = "sk-ant-sekret-4711"
USAGE = {"input_tokens": 12, "output_tokens": 5}


def message(*content: object, stop: str | None = "end_turn", usage: object = USAGE) -> dict[str, object]:
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1",
        "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def error(kind: str, text: str = "no") -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}


def make(url: str, slept: Slept | None = None, **options: Any) -> AnthropicMessages:
    return AnthropicMessages(url, traffic=Traffic(pace=(slept or Slept()).pace), timeout=20.0, **options)


def ask(
    *replies: Scripted,
    request: Produce | None = None,
    params: Mapping[str, Json] | None = None,
    watcher: Watcher | None = None,
    key: str | None = SECRET,
    times: int = 1,
) -> tuple[Produced | AnswerFailed, list[Asked], list[float]]:
    async def scenario() -> tuple[Produced | AnswerFailed, list[Asked], list[float]]:
        slept = Slept()
        async with StubServer(*replies) as server:
            model = make(server.base_url.removesuffix("/v1"), slept, api_key=key, watch=watcher)
            answer: Produced | AnswerFailed
            for _ in range(times):
                try:
                    answer = await model.produce(request or write(), model="m", params=params or {})
                except AnswerFailed as failed:
                    answer = failed
            await model.aclose()
        return answer, server.asked, slept.pauses

    return asyncio.run(scenario())


def text_of(*replies: Scripted, **options: Any) -> Produced:
    answer = ask(*replies, **options)[0]
    assert isinstance(answer, Produced), answer
    return answer


def failure_of(*replies: Scripted, requests: int = 1, **options: Any) -> AnswerFailed:
    answer, asked, _ = ask(*replies, **options)
    assert isinstance(answer, AnswerFailed), answer
    assert len(asked) == requests
    return answer


def test_what_is_asked_and_what_comes_back() -> None:
    answer, (asked,), _ = ask(Scripted(message("Hello.")))
    assert answer == Produced(text="Hello.", usage=Usage(12, 5), model="m", finish_reason="end_turn")
    assert asked.path == "/v1/messages"
    assert asked.body == {
        "model": "m", "max_tokens": 4096, "system": "Be brief.", "messages": [{"role": "user", "content": "Write."}]
    }  # fmt: skip
    assert asked.headers["x-api-key"] == SECRET
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in asked.headers


def test_an_address_that_ends_in_v1_is_the_same_address() -> None:
    async def scenario() -> str:
        async with StubServer(Scripted(message("ok"))) as server:
            model = make(server.base_url)
            await model.produce(write(), model="m")
            await model.aclose()
            return server.asked[0].path

    assert asyncio.run(scenario()) == "/v1/messages"


def test_nothing_from_the_environment_is_sent_along(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "leak")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: leak")
    _, (asked,), _ = ask(Scripted(message("ok")), key=None)
    assert "leak" not in json.dumps(asked.headers)
    assert "x-api-key" not in asked.headers


@pytest.mark.rule("W66")
def test_the_tiers_parameters_are_sent() -> None:
    params: Mapping[str, Json] = {
        "max_tokens": 50,
        "effort": "low",
        "top_p": 0.5,
        "stop_sequences": ["x"],
        "top_k": None,
    }
    _, (asked,), _ = ask(Scripted(message("ok")), params=params)
    assert {name: asked.body.get(name) for name in ("max_tokens", "output_config", "top_p", "stop_sequences")} == {
        "max_tokens": 50, "output_config": {"effort": "low"}, "top_p": 0.5, "stop_sequences": ["x"]
    }  # fmt: skip
    assert not {"effort", "top_k", "temperature"} & asked.body.keys()


# Thinking

REASON = Produce(key="1:s/produce", state="s", tier=Tier.FAST, system="Be brief.", user="Write.", reason=True)
THOUGHT: dict[str, object] = {"type": "thinking", "thinking": "two and two", "signature": "c2ln"}


@pytest.mark.rule("L45")
def test_a_state_that_reasons_shows_the_models_thinking_and_keeps_it_out_of_the_text() -> None:
    answer, (asked,), _ = ask(
        Scripted(message(THOUGHT, {"type": "redacted_thinking", "data": "x"}, "four")), request=REASON
    )
    assert isinstance(answer, Produced)
    assert (answer.text, answer.reasoning) == ("four", "two and two")
    assert asked.body["thinking"] == {"type": "adaptive", "display": "summarized"}


def test_a_model_with_older_thinking_gets_a_budget_and_one_with_none_writes_notes() -> None:
    refuse = Scripted(error("invalid_request_error", "adaptive thinking is not supported on this model"), status=400)
    answer, asked, _ = ask(refuse, Scripted(message(THOUGHT, "four")), request=REASON)
    assert isinstance(answer, Produced)
    assert asked[1].body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    answer, asked, _ = ask(refuse, refuse, Scripted(message("notes")), Scripted(message("four")), request=REASON)
    assert isinstance(answer, Produced)
    assert (answer.text, answer.reasoning, answer.usage) == ("four", "notes", Usage(24, 10))
    assert ["thinking" in one.body for one in asked] == [True, True, False, False]
    assert [one["role"] for one in asked[3].body["messages"]] == ["user", "assistant", "user"]


def test_thinking_that_the_host_turned_off_stays_off() -> None:
    answer, asked, _ = ask(
        Scripted(message("notes")), Scripted(message("four")), request=REASON, params={"thinking": {"type": "disabled"}}
    )
    assert isinstance(answer, Produced)
    assert answer.reasoning == "notes"
    assert {json.dumps(one.body["thinking"]) for one in asked} == {'{"type": "disabled"}'}


# Ends


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_a_text_that_was_cut_off_says_so(stop: str) -> None:
    assert text_of(Scripted(message("half a", stop=stop))).truncated


def test_a_budget_spent_on_thinking_is_a_failure_and_paid() -> None:
    failed = failure_of(Scripted(message(THOUGHT, stop="max_tokens")), request=REASON)
    assert isinstance(failed, ProviderFailed)
    assert (failed.cause, failed.input_tokens, failed.output_tokens) == ("thinking", 12, 5)


def test_a_refusal_is_one_and_paid() -> None:
    failed = failure_of(Scripted(message("I can", stop="refusal")))
    assert isinstance(failed, Refused)
    assert failed.output_tokens == 5


def test_an_empty_message_and_a_tool_call_are_no_text() -> None:
    assert getattr(failure_of(Scripted(message())), "cause", "") == "empty"
    called = {"type": "tool_use", "id": "t", "name": "search", "input": {}}
    assert getattr(failure_of(Scripted(message("let me see", called, stop="tool_use"))), "cause", "") == "malformed"


@pytest.mark.parametrize("body", [{}, [], "<html>", {"content": None}, {"type": "message"}])
def test_a_success_without_a_message_says_what_came_instead(body: object) -> None:
    failed = failure_of(Scripted(body))
    assert isinstance(failed, ProviderFailed)
    assert failed.cause == "malformed"
    assert ("/v1/messages: is base_url right?" in str(failed)) is (body != {"content": None})


def test_tokens_from_the_cache_and_into_it_are_tokens() -> None:
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 40, "output_tokens": 5}
    assert text_of(Scripted(message("ok", usage=usage))).usage == Usage(143, 5, cached_tokens=40)
    assert text_of(Scripted(message("1234", usage=None))).usage == Usage(4, 1, estimated_tokens=5)


# Errors


@pytest.mark.parametrize(
    ("status", "kind", "requests"),
    [
        (400, "invalid_request_error", 1),
        (401, "authentication_error", 1),
        (403, "permission_error", 1),
        (404, "not_found_error", 1),
        (413, "request_too_large", 1),
        (429, "rate_limit_error", 4),
        (500, "api_error", 4),
        (504, "timeout_error", 4),
        (529, "overloaded_error", 4),
        (200, "overloaded_error", 4),
        (200, "invalid_request_error", 1),
    ],
)
def test_errors_pass_or_not_by_their_status(status: int, kind: str, requests: int) -> None:
    failed = failure_of(*[Scripted(error(kind), status=status)] * 9, requests=requests)
    assert isinstance(failed, ProviderFailed)


def test_the_pause_is_the_one_asked_for_and_the_key_is_shown_to_nobody() -> None:
    busy = Scripted(error("rate_limit_error"), status=429, headers={"Retry-After": "7"})
    assert ask(busy, Scripted(message("ok")))[2] == [7.0]
    assert SECRET not in str(failure_of(Scripted(error("authentication_error", f"bad {SECRET}"), status=401)))


# Judging


def judged(*replies: Scripted) -> tuple[Verdict, list[dict[str, Any]]]:
    async def scenario() -> tuple[Verdict, list[dict[str, Any]]]:
        async with StubServer(*replies) as server:
            model = make(server.base_url)
            judge = ChoiceJudge({Tier.FAST: JudgeModel(model, "m")})
            verdict = await judge.judge(decide())
            await judge.aclose()
            return verdict, [asked.body for asked in server.asked]

    return asyncio.run(scenario())


def verdict(choice: object) -> dict[str, object]:
    return message({"type": "tool_use", "id": "t", "name": "verdict", "input": {"choice": choice}}, stop="tool_use")


def test_a_judge_has_to_call_a_tool_with_a_legal_number() -> None:
    found, (body,) = judged(Scripted(verdict(2)))
    assert (found.index, found.read, found.usage) == (1, Read.CLEAN, Usage(12, 5))
    assert body["tool_choice"] == {"type": "tool", "name": "verdict"}
    assert body["tools"][0]["input_schema"]["properties"]["choice"]["enum"] == [1, 2, 3]
    assert (body["max_tokens"], "thinking" in body) == (256, False)
    assert judged(Scripted(verdict(3)))[0].index is None


@pytest.mark.parametrize("choice", [0, 4, True, 1.5, "two", None, [1], {}])
def test_a_tool_call_that_is_not_legal_is_unread(choice: object) -> None:
    assert judged(Scripted(verdict(choice)))[0].read is Read.UNREAD


def test_a_model_that_cannot_be_made_to_call_a_tool_is_asked_for_the_text() -> None:
    refuse = Scripted(error("invalid_request_error", "tool_choice forces tool use is not supported"), status=400)
    found, bodies = judged(refuse, Scripted(message('{"choice": 1}')))
    assert found.index == 0
    assert "tools" not in bodies[1]


# Streams


def events(*payloads: dict[str, Any]) -> bytes:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in payloads).encode()


def delta(index: int, **found: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": found}


STREAM = events(
    {"type": "message_start", "message": message(stop=None, usage={"input_tokens": 12, "output_tokens": 1})},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "ping"},
    delta(0, type="thinking_delta", thinking="two "),
    delta(0, type="thinking_delta", thinking="and two"),
    delta(0, type="signature_delta", signature="c2ln"),
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    delta(1, type="text_delta", text="fo"),
    delta(1, type="text_delta", text="ur é"),
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
)


def streamed(stream: bytes, cut: int = 0) -> Scripted:
    return Scripted(pieces=[stream[:cut], stream[cut:]])


def test_a_streamed_message_is_the_message() -> None:
    plain = text_of(Scripted(message(THOUGHT, "four é")), request=REASON)
    for cut in range(0, len(STREAM), 97):
        watcher = Watcher()
        assert text_of(streamed(STREAM, cut), request=REASON, watcher=watcher) == plain
        assert watcher.shown == "four é"


def test_a_stream_that_breaks_off_or_ends_in_an_error_is_made_again() -> None:
    good = Scripted(message("ok"))
    half = STREAM[: STREAM.index(b"event: message_delta")]
    overloaded = half + events({**error("overloaded_error"), "type": "error"})
    for bad in (half, overloaded, half + b"data: {not json\n\n"):
        assert text_of(streamed(bad), good, watcher=Watcher()).text == "ok"
        assert failure_of(*[streamed(bad)] * 9, requests=4, watcher=Watcher())
    cut = failure_of(*[streamed(half)] * 9, requests=4, watcher=Watcher())
    assert (cut.input_tokens, cut.output_tokens) == (48, 4)


def test_a_streamed_refusal_is_a_refusal() -> None:
    refused = STREAM.replace(b'"end_turn"', b'"refusal"')
    assert isinstance(failure_of(streamed(refused), watcher=Watcher()), Refused)


def test_a_streamed_verdict_is_a_verdict() -> None:
    stream = events(
        {"type": "message_start", "message": message(stop=None)},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "name": "verdict", "input": {}},
        },
        delta(0, type="input_json_delta", partial_json='{"cho'),
        delta(0, type="input_json_delta", partial_json='ice": 2}'),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    )

    async def scenario() -> Verdict:
        async with StubServer(streamed(stream)) as server:
            judge = ChoiceJudge({Tier.FAST: JudgeModel(make(server.base_url, watch=Watcher()), "m")})
            found = await judge.judge(decide())
            await judge.aclose()
            return found

    assert asyncio.run(scenario()).index == 1


def test_without_the_extra_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'mklang\[anthropic\]'"):
        make("http://127.0.0.1:9")
