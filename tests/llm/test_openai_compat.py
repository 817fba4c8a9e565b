"""Whatever an endpoint sends, the answer is a text, or a failure that says what came and what to do (P-01 to P-26)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from mklang.engine.requests import Produced, Usage, Verdict
from mklang.errors import AnswerFailed, ConfigError, MissingExtra, ProviderFailed, Refused
from mklang.lang.models import Tier
from mklang.lang.values import Json
from mklang.llm.choice import ChoiceJudge, JudgeModel
from mklang.llm.openai_compat import OpenAICompat
from mklang.llm.retry import RETRIED
from tests.llm.asking import Slept, decide, endpoint, write
from tests.llm.stub_server import Asked, Scripted, StubServer, completion

SECRET = "sk-sekret-4711"


def ask(
    *replies: Scripted, params: Mapping[str, Json] | None = None, key: str | None = None, timeout: float = 20.0
) -> tuple[Produced | AnswerFailed, list[Asked], list[float]]:
    """The answer or the failure, the requests the server saw, and the pauses between them."""

    async def scenario() -> tuple[Produced | AnswerFailed, list[Asked], list[float]]:
        slept = Slept()
        async with StubServer(*replies) as server:
            model = endpoint(server.base_url, slept, key=key, timeout=timeout)
            try:
                answer: Produced | AnswerFailed = await model.produce(write(), model="m", params=params or {})
            except AnswerFailed as failed:
                answer = failed
            finally:
                await model.aclose()
        return answer, server.asked, slept.pauses

    return asyncio.run(scenario())


def text_of(*replies: Scripted, **options: Any) -> Produced:
    answer = ask(*replies, **options)[0]
    assert isinstance(answer, Produced), answer
    return answer


def failure_of(*replies: Scripted, requests: int = 1, **options: Any) -> str:
    """The message of a failure after exactly so many requests."""
    answer, asked, _ = ask(*replies, **options)
    assert type(answer) is ProviderFailed, answer
    assert len(asked) == requests
    return str(answer)


def test_a_reply_carries_text_tokens_model_and_finish_reason() -> None:
    assert text_of(Scripted(completion("Hello."))) == Produced(
        text="Hello.", usage=Usage(7, 3), model="m", finish_reason="stop"
    )


def test_what_is_asked_is_what_the_request_says() -> None:
    _, (asked,), _ = ask(Scripted(completion()))
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Write."}],
        "temperature": 0.4,
        "max_tokens": 4096,
    }


def test_the_tiers_parameters_are_sent_and_a_null_leaves_one_out() -> None:
    params: Mapping[str, Json] = {
        "reasoning_effort": "high",
        "top_k": 3,
        "temperature": None,
        "max_tokens": 9,
        "model": "x",
    }
    _, (asked,), _ = ask(Scripted(completion()), params=params)
    sent = {name: asked.body.get(name) for name in (*params, "stream")}
    assert sent == {
        "reasoning_effort": "high", "top_k": 3, "temperature": None, "max_tokens": 9, "model": "m", "stream": None
    }  # fmt: skip


def test_a_limit_is_sent_under_the_name_the_host_gave_it() -> None:
    _, (asked,), _ = ask(Scripted(completion()), params={"max_completion_tokens": 9, "stream": True, "n": 3})
    assert asked.body["max_completion_tokens"] == 9
    assert not {"max_tokens", "stream", "n"} & asked.body.keys()


def test_a_seed_differs_from_branch_to_branch_and_not_from_run_to_run() -> None:
    async def scenario() -> list[int]:
        async with StubServer(*[Scripted(completion())] * 3) as server:
            model = endpoint(server.base_url)
            for key in ("4:s[0]/produce", "4:s[1]/produce", "4:s[0]/produce"):
                await model.produce(write(key=key), model="m", params={"seed": 7})
            await model.aclose()
            return [asked.body["seed"] for asked in server.asked]

    first, second, again = asyncio.run(scenario())
    assert first == again != second


@pytest.mark.parametrize("key", [None, SECRET])
def test_nothing_from_the_environment_is_sent_along(monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "leak")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: leak\nAuthorization: Bearer leak")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    _, (asked,), _ = ask(Scripted(completion()), key=key)
    assert "leak" not in json.dumps(asked.headers)
    assert asked.headers.get("authorization") == (f"Bearer {key}" if key else None)
    assert not [name for name in asked.headers if name.startswith("x-")]


def test_half_a_surrogate_pair_does_not_stop_a_request_or_a_reply() -> None:
    async def scenario() -> tuple[Produced, Asked]:
        async with StubServer(Scripted('{"choices": [{"message": {"content": "a\\ud800b"}}]}')) as server:
            model = endpoint(server.base_url)
            produced = await model.produce(write("x\ud800y"), model="m")
            await model.aclose()
            return produced, server.asked[0]

    produced, asked = asyncio.run(scenario())
    assert produced.text == "a\ufffdb"
    assert asked.body["messages"][1]["content"] == "x\ufffdy"


# Replies that are none


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"id": "r1", "object": "chat.completion", "model": "m", "choices": None, "usage": None},
            "body keys: id, object",
        ),
        ({"id": "r1", "choices": []}, "no message (body keys: id, choices"),
        ({"choices": ["text"]}, "no message"),
        ({"choices": [{"message": None}]}, "no message"),
        ({}, "body keys: none"),
        ([], "not a chat completion"),
        ("<html>\n  It works!</html>", "body begins: <html> It works!"),
        (b"\xff\xfe", "not a chat completion"),
        ("", "not a chat completion"),
        ("[" * 100_000, "not a chat completion"),
    ],
)
def test_a_success_without_a_reply_says_what_came_instead(body: object, words: str) -> None:
    message = failure_of(Scripted(body))
    assert "answered HTTP 200" in message
    assert words in message


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, "<html>It works!</html>"),
        (200, "Ollama is running"),
        (200, {"status": "ok"}),
        (200, []),
        (404, "404 page not found"),
        (404, {"detail": "Not Found"}),
        (405, {"detail": "Method Not Allowed"}),
        (307, ""),
    ],
)
def test_who_named_another_address_than_the_apis_is_told_where_requests_go(status: int, body: object) -> None:
    message = failure_of(Scripted(body, status=status))
    assert re.search(r"requests go to http://127\.0\.0\.1:\d+/v1/chat/completions: is base_url right\?", message)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"error": {"message": "The model 'm' does not exist"}}),
        (200, {"choices": []}),
        (400, {"error": {"message": "no"}}),
    ],
)
def test_an_answer_that_the_api_does_give_says_nothing_about_the_address(status: int, body: object) -> None:
    assert "base_url" not in failure_of(Scripted(body, status=status))


def test_a_message_shows_no_more_than_the_beginning_of_a_body() -> None:
    message = failure_of(Scripted("é" * 5000))
    assert "é" * 100 in message
    assert "é" * 101 not in message


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "upstream unavailable", "code": 502}},
        {"id": "r4", "choices": [], "error": {"code": 503, "message": "upstream unavailable"}},
        {
            "choices": [{"message": {"content": "par"}, "finish_reason": "error"}],
            "error": {"code": 504, "message": "upstream unavailable"},
        },
        {"choices": [{"message": {"content": "par"}, "error": {"code": "502", "message": "upstream unavailable"}}]},
    ],
)
def test_an_error_inside_a_success_is_an_error_and_passes_like_its_status(body: object) -> None:
    assert text_of(Scripted(body), Scripted(completion("ok"))).text == "ok"
    assert "upstream unavailable" in failure_of(*[Scripted(body)] * 9, requests=4)


def test_an_error_inside_a_success_without_a_passing_code_is_final() -> None:
    assert "no such model" in failure_of(Scripted({"error": {"message": "no such model", "code": 404}}))
    assert "no such model" in failure_of(Scripted({"error": "no such model"}))


def test_a_stop_that_was_a_network_error_is_a_failure() -> None:
    choice = {"message": {"content": ""}, "finish_reason": "stop", "native_finish_reason": "network_error"}
    reply = Scripted({"choices": [choice]})
    assert "network_error" in failure_of(*[reply] * 9, requests=4)
    assert text_of(reply, Scripted(completion("ok"))).text == "ok"


@pytest.mark.parametrize("content", [None, "", "  \n", [], 5, {"a": 1}])
def test_an_empty_text_is_a_failure(content: object) -> None:
    assert "wrote no text" in failure_of(Scripted(completion(content)))


def test_a_text_that_was_cut_off_says_so() -> None:
    produced = text_of(Scripted(completion('{"items": ["x"', finish="length")))
    assert (produced.truncated, produced.finish_reason) == (True, "length")


@pytest.mark.parametrize("finish", [None, "stop"])
def test_a_text_as_long_as_the_limit_counts_as_cut_off_even_if_a_proxy_hides_it(finish: str | None) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 16, "total_tokens": 25}
    reply = Scripted(completion('{"items": ["x"', finish=finish, usage=usage))
    assert text_of(reply, params={"max_tokens": 16}).truncated
    assert not text_of(reply, params={"max_tokens": 17}).truncated


@pytest.mark.parametrize("finish", ["length", "stop"])
def test_a_budget_spent_on_thinking_is_one_request_and_says_what_to_raise(finish: str) -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 64, "total_tokens": 76}
    reply = Scripted(completion(None, finish=finish, usage=usage, reasoning_content="step one ..."))
    message = failure_of(reply, params={"max_tokens": 64})
    assert "whole output limit (64 tokens) on thinking; raise the tier's max_tokens" in message


@pytest.mark.parametrize(
    "message",
    [
        {"content": "four", "reasoning_content": "two and two"},
        {"content": "four", "reasoning": "two and two"},
        {"content": "<think>two and two</think>\n\nfour"},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "two and two"}]},
                {"type": "text", "text": "four"},
            ]
        },
    ],
)
def test_thinking_is_kept_apart_from_the_text(message: dict[str, object]) -> None:
    produced = text_of(Scripted({"choices": [{"message": message, "finish_reason": "stop"}]}))
    assert (produced.text, produced.reasoning) == ("four", "two and two")


def test_thinking_that_never_ended_leaves_no_text() -> None:
    assert "on thinking" in failure_of(Scripted(completion("<think>two and", finish="length")))


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3}, Usage(7, 3)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "cost": 0}, Usage(0, 0)),
        ({"prompt_tokens": 6, "completion_tokens": 0, "total_tokens": 22}, Usage(6, 16)),
        ({"input_tokens": 7, "output_tokens": 3}, Usage(7, 3)),
        (
            {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}},
            Usage(7, 3, cached_tokens=5),
        ),
        ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_cache_hit_tokens": 9}, Usage(7, 3, cached_tokens=7)),
    ],
)
@pytest.mark.rule("W33")
def test_tokens_are_counted_as_reported(usage: object, counted: Usage) -> None:
    assert text_of(Scripted(completion(usage=usage))).usage == counted


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": None, "completion_tokens": "3"},
        {"prompt_tokens": True, "completion_tokens": -5},
        {"cost": 0},
        {},
        "many",
    ],
)
def test_tokens_that_nobody_counted_are_estimated_and_say_so(usage: object) -> None:
    assert text_of(Scripted(completion("12345", usage=usage))).usage == Usage(4, 2, estimated_tokens=6)
    body = {"choices": [{"message": {"content": "12345"}, "finish_reason": "stop"}], "usage": None}
    assert text_of(Scripted(body)).usage == Usage(4, 2, estimated_tokens=6)


# Refusals and filters


@pytest.mark.parametrize(
    "body",
    [completion(None, refusal="cannot help"), completion("cannot help", finish="refusal")],
)
def test_a_refusal_is_a_refusal(body: object) -> None:
    answer, asked, _ = ask(Scripted(body))
    assert type(answer) is Refused
    assert len(asked) == 1


def test_a_filtered_reply_is_a_failure_whatever_its_status() -> None:
    error = {"message": "blocked", "type": None, "param": "prompt", "code": "content_filter", "status": 400}
    assert "filtered by the provider" in failure_of(Scripted(completion(None, finish="content_filter")))
    assert "filtered by the provider: blocked" in failure_of(Scripted({"error": error}, status=400))


# Statuses


@pytest.mark.parametrize("status", sorted(RETRIED))
def test_statuses_that_pass_are_tried_again(status: int) -> None:
    busy = Scripted({"error": {"message": "busy"}}, status=status)
    answer, asked, pauses = ask(busy, busy, Scripted(completion("ok")))
    assert isinstance(answer, Produced)
    assert len(asked) == 3
    assert pauses == [0.5, 1.0]
    assert f"answered HTTP {status}: busy (body keys: error); tried 4 times" in failure_of(*[busy] * 9, requests=4)


@pytest.mark.parametrize("status", [300, 307, 400, 401, 402, 403, 404, 413, 422, 451, 501, 505])
def test_other_statuses_are_final(status: int) -> None:
    reply = Scripted({"error": {"message": "no"}}, status=status, headers={"Location": "http://127.0.0.1:9/"})
    assert f"answered HTTP {status}: no" in failure_of(reply)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (500, {"error": {"code": 500, "message": "template: raise_exception at row 1"}}, "raise_exception"),
        (
            400,
            {
                "error": {
                    "type": "exceed_context_size_error",
                    "message": "too long",
                    "n_prompt_tokens": 9000,
                    "n_ctx": 8192,
                }
            },
            "the prompt has 9000 tokens and the model's window 8192",
        ),
        (500, {"detail": '{"error": {"code": 400, "type": "exceed_context_size_error"}}'}, "exceed_context_size_error"),
        (429, {"error": {"message": "no money", "code": "insufficient_quota"}}, "no money"),
        (400, {"error": {"message": "model m does not support tools"}}, "does not support tools"),
        (400, {"error": "model m does not support tools"}, "does not support tools"),
        (400, {"object": "error", "message": "bad value"}, "bad value"),
        (404, "<html>nothing here</html>", "body begins: <html>nothing here</html>"),
    ],
)
def test_a_permanent_error_is_one_request_and_shows_the_endpoints_words(status: int, body: object, words: str) -> None:
    assert words in failure_of(Scripted(body, status=status))


def test_a_gateways_error_page_passes_and_is_shown() -> None:
    page = Scripted("<html>Bad Gateway</html>", status=502)
    assert "body begins: <html>Bad Gateway</html>" in failure_of(*[page] * 4, requests=4)


@pytest.mark.parametrize(
    ("headers", "body", "pause"),
    [
        ({"Retry-After": "2"}, None, 2.0),
        ({"Retry-After": "Mon, 30 Nov 2026 12:00:09 GMT"}, None, 9.0),
        ({}, {"error": {"message": "no capacity, try again in 60 seconds", "type": "None", "code": "429"}}, 60.0),
        ({}, None, 0.5),
        ({"Retry-After": "0.1"}, None, 0.5),
    ],
)
def test_the_pause_is_the_one_asked_for(headers: dict[str, str], body: object, pause: float) -> None:
    _, asked, pauses = ask(Scripted(body, status=429, headers=headers), Scripted(completion()))
    assert len(asked) == 2
    assert pauses == [pause]


def test_a_day_is_not_waited_for() -> None:
    assert "pause of 86400 s" in failure_of(Scripted(None, status=429, headers={"Retry-After": "86400"}))


def test_a_dropped_connection_is_tried_again() -> None:
    assert text_of(Scripted(drop=True), Scripted(completion("ok"))).text == "ok"
    assert "no connection" in failure_of(*[Scripted(drop=True)] * 4, requests=4)


def test_nobody_listening_is_said_plainly() -> None:
    async def scenario() -> str:
        async with StubServer() as server:
            address = server.base_url
        model = endpoint(address)
        try:
            await model.produce(write(), model="m")
        except ProviderFailed as failed:
            return str(failed)
        finally:
            await model.aclose()
        return ""

    assert "no connection" in asyncio.run(scenario())


def test_a_request_that_is_not_answered_in_time_is_not_sent_again() -> None:
    answer, asked, pauses = ask(*[Scripted(hold=asyncio.Event())] * 2, timeout=0.2)
    assert "no complete answer within 0.2 s" in str(answer)
    assert (len(asked) <= 1, pauses) == (True, [])


def test_cancelling_closes_the_connection() -> None:
    async def scenario() -> bool:
        async with StubServer(Scripted(hold=asyncio.Event())) as server:
            model = endpoint(server.base_url)
            task = asyncio.create_task(model.produce(write(), model="m"))
            await server.arrived()
            task.cancel()
            await asyncio.wait([task])
            await asyncio.wait_for(server.closed_early.wait(), 5)
            await model.aclose()
            return task.cancelled()

    assert asyncio.run(scenario())


def test_several_requests_are_in_flight_at_once() -> None:
    async def scenario() -> list[str]:
        gate = asyncio.Event()
        async with StubServer(*[Scripted(completion(), hold=gate)] * 5) as server:
            model = endpoint(server.base_url)
            tasks = [asyncio.create_task(model.produce(write(), model="m")) for _ in range(5)]
            await server.arrived(5)
            gate.set()
            texts = [(await task).text for task in tasks]
            await model.aclose()
            return texts

    assert asyncio.run(scenario()) == ["ok"] * 5


def test_one_endpoint_serves_one_event_loop_after_the_other() -> None:
    models: list[OpenAICompat] = []

    async def scenario() -> str:
        port = int(models[0].base_url.split(":")[2].split("/")[0]) if models else 0
        async with StubServer(Scripted(completion()), port=port) as server:
            if not models:
                models.append(endpoint(server.base_url))
            text = (await models[0].produce(write(), model="m")).text
            await models[0].aclose()
            await models[0].aclose()
            return text

    assert [asyncio.run(scenario()), asyncio.run(scenario())] == ["ok", "ok"]


# What an endpoint takes


def judge_all(*replies: Scripted, times: int = 1) -> tuple[list[Verdict], list[dict[str, Any]]]:
    async def scenario() -> tuple[list[Verdict], list[dict[str, Any]]]:
        async with StubServer(*replies) as server:
            model = endpoint(server.base_url)
            judge = ChoiceJudge({Tier.FAST: JudgeModel(model, "m")})
            verdicts = [await judge.judge(decide()) for _ in range(times)]
            await judge.aclose()
            return verdicts, [asked.body for asked in server.asked]

    return asyncio.run(scenario())


VERDICT = Scripted(completion('{"choice": 2}'))


def test_a_judge_is_held_to_the_legal_numbers() -> None:
    (verdict,), (body,) = judge_all(VERDICT)
    assert verdict.index == 1
    schema = body["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["properties"]["choice"] == {"type": "integer", "enum": [1, 2, 3]}
    assert body["temperature"] == 0.0


@pytest.mark.parametrize("status", [400, 422])
def test_an_endpoint_that_takes_no_schema_is_asked_for_less_and_only_once(status: int) -> None:
    no_schema = Scripted({"error": {"message": "response_format json_schema is not supported"}}, status=status)
    no_json = Scripted({"error": {"message": "response_format is not supported"}}, status=status)
    verdicts, bodies = judge_all(no_schema, no_json, VERDICT, VERDICT, times=2)
    assert [verdict.index for verdict in verdicts] == [1, 1]
    forms = [body.get("response_format", {}).get("type") for body in bodies]
    assert forms == ["json_schema", "json_object", None, None]


def test_what_one_endpoint_refuses_is_not_held_against_another() -> None:
    refusal = Scripted({"error": {"message": "unknown field response_format"}}, status=400)
    assert "response_format" not in judge_all(refusal, refusal, VERDICT)[1][2]
    assert "response_format" in judge_all(VERDICT)[1][0]


def test_an_endpoint_that_names_the_limit_otherwise_gets_that_name() -> None:
    refusal = {
        "error": {"message": "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}
    }
    _, asked, _ = ask(Scripted(refusal, status=400), Scripted(completion()), params={"max_tokens": 50})
    assert [asked[1].body.get(name) for name in ("max_tokens", "max_completion_tokens")] == [None, 50]


def test_a_limit_of_ours_that_is_larger_than_the_window_is_left_out() -> None:
    error = "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 2048."
    refusal = Scripted({"error": {"message": error}}, status=400)
    _, asked, _ = ask(refusal, Scripted(completion()))
    assert not {"max_tokens", "max_completion_tokens"} & asked[1].body.keys()
    assert "is too large" in failure_of(refusal, params={"max_tokens": 4096})


def test_a_temperature_of_ours_is_left_out_when_refused_but_never_the_hosts() -> None:
    refusal = Scripted({"error": {"message": "Unsupported value: 'temperature'", "param": "temperature"}}, status=400)
    _, asked, _ = ask(refusal, Scripted(completion()))
    assert "temperature" not in asked[1].body
    assert "temperature" in failure_of(refusal, params={"temperature": 0.1})
    assert "top_k" in failure_of(Scripted({"error": "unknown parameter top_k"}, status=400), params={"top_k": 1})


# Keys and addresses


def test_a_key_appears_in_no_message_and_no_repr() -> None:
    echo = Scripted({"error": {"message": f"invalid key {SECRET}"}}, status=401)
    message = failure_of(echo, key=SECRET)
    assert "invalid key [key]" in message
    assert SECRET not in failure_of(Scripted(f"<p>{SECRET}</p>", status=403), key=SECRET)
    assert SECRET not in repr(endpoint("http://127.0.0.1:9/v1", key=SECRET))


@pytest.mark.parametrize("key", ["two words", "line\nend", "schlüssel"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint("http://127.0.0.1:9/v1", key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/v1",
        "http://localhost:8080/v1/",
        "http://127.0.0.2/v1",
        "http://[::1]:8080/v1",
        "http://10.1.2.3:8000/v1",
        "http://192.168.0.9/v1",
        "http://[fd00::1]/v1",
        "http://gpu-box:8000/v1",
        "http://gpu.local/v1",
    ],
)
def test_addresses_that_may_be_used(url: str) -> None:
    assert endpoint(url).base_url == url.rstrip("/")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://api.example.com/v1", "use https"),
        ("http://8.8.8.8/v1", "use https"),
        ("http://169.254.169.254/v1", "use https"),
        ("http://0.0.0.0/v1", "use https"),
        ("http://localhost.example.com/v1", "use https"),
        ("ftp://localhost/v1", "must begin with https://"),
        ("localhost:8080", "must begin with https://"),
        ("https://", "must begin with https://"),
        ("", "must begin with https://"),
        ("http://localhost:port/v1", "is not an address"),
        ("http://[::1/v1", "is not an address"),
        ("https://api.example.com/v1?key=x", "'?'"),
    ],
)
def test_addresses_that_may_not(url: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint(url)
    assert words in str(caught.value)


def test_a_password_in_an_address_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint(f"https://me:{SECRET}@api.example.com/v1")
    assert SECRET not in str(caught.value)


def test_without_the_extra_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'mklang\[openai\]'"):
        endpoint("http://127.0.0.1:9/v1")
