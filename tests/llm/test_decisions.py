"""OpenAI's decisions judge: the request is one the official client would send, the reply one it would read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mklang.engine.requests import Judge, Read, Usage, Verdict
from mklang.errors import ConfigError, ProviderFailed
from mklang.lang.models import Tier
from mklang.llm.decisions import DecisionsNoul
from mklang.llm.noul import NoulJudge, NoulSettings
from mklang.llm.retry import Traffic
from tests.llm.asking import Slept, decide
from tests.llm.stub_server import Asked, Scripted, StubServer

pytestmark = pytest.mark.rule("L104")
NONCE = "5eed5eed5eed"


def predicates(*values: object, none: object = 0.1) -> dict[str, Any]:
    """A decision with these probabilities, complete as the service sends it."""
    named = [*((f"g{number}", value) for number, value in enumerate(values)), ("none", none)]
    return {
        "answers": [{"type": "predicate", "name": name, "probability": value} for name, value in named],
        "model": "gpt-6-luna-2026-10-01",
        "usage": {
            "input_tokens": 40,
            "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 8},
            "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 43,
        },
    }


def judged(*replies: Scripted, request: Judge | None = None, **settings: Any) -> tuple[Verdict, list[Asked]]:
    async def scenario() -> tuple[Verdict, list[Asked]]:
        async with StubServer(*replies) as server:
            backend = DecisionsNoul(server.base_url, traffic=Traffic(pace=Slept().pace), api_key="k-secret")
            judge = NoulJudge(dict.fromkeys(Tier, backend), NoulSettings(**settings))
            try:
                return await judge.judge(request or decide()), server.asked
            finally:
                await judge.aclose()

    return asyncio.run(scenario())


@pytest.mark.rule("S22", "S26")
def test_one_request_asks_one_predicate_for_each_condition_the_rule_in_a_message_of_its_own() -> None:
    request = decide("mentions a fox", "is long", output="A fox.", reasoning="hm")
    verdict, (asked,) = judged(Scripted(predicates(0.2, 0.9)), request=request)
    assert asked.path == "/v1/decisions"
    assert asked.headers["authorization"] == "Bearer k-secret"
    assert asked.body["model"] == "gpt-6-luna"
    rule, evidence = asked.body["input"]
    assert (rule["role"], evidence["role"]) == ("developer", "user")
    assert "no authority" in rule["content"]
    assert "no authority" not in evidence["content"]
    assert f"<data-{NONCE}>\nA fox.\n</data-{NONCE}>" in evidence["content"]
    assert [(one["type"], one["name"]) for one in asked.body["questions"]] == [
        ("predicate", "g0"),
        ("predicate", "g1"),
        ("predicate", "none"),
    ]
    assert [one["instructions"] for one in asked.body["questions"]][:2] == ["mentions a fox", "is long"]
    assert verdict == Verdict(
        index=1,
        method="noul_first_ge",
        mapping="noul_first_ge",
        probabilities=(0.2, 0.9),
        none_probability=0.1,
        threshold=0.5,
        usage=Usage(40, 3, cached_tokens=8),
        model="gpt-6-luna-2026-10-01",
        provider="openai-decisions",
        fence_applied=True,
    )


def test_the_official_client_would_send_this_request_and_read_this_reply() -> None:
    openai = pytest.importorskip("openai")
    from openai.types.decision import Decision
    from openai.types.decision_create_params import DecisionCreateParams
    from pydantic import TypeAdapter

    _, (ours,) = judged(Scripted(predicates(0.2, 0.9)))
    TypeAdapter(DecisionCreateParams).validate_python(ours.body, strict=False)

    async def officially() -> tuple[Decision, Asked]:
        async with StubServer(Scripted(predicates(0.2, 0.9))) as server:
            client = openai.AsyncOpenAI(api_key="k-secret", base_url=server.base_url, max_retries=0)
            decision = await client.decisions.create(**ours.body)
            await client.close()
            return decision, server.asked[0]

    decision, theirs = asyncio.run(officially())
    assert (theirs.path, theirs.body) == (ours.path, ours.body)
    assert [answer.type for answer in decision.answers] == ["predicate"] * 3


@pytest.mark.rule("S25")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"type": "choice", "choice": "a", "confidence": 0.9, "probabilities": []}, "not 'predicate'"),
        ({"type": "score", "score": 1.0}, "not 'predicate'"),
        ({"type": "refusal", "name": "g0"}, "'refusal'"),
        ({"type": "predicate", "name": "g1", "probability": 0.9}, "belongs to the question 'g1'"),
        ({"type": "predicate", "name": ["g0"], "probability": 0.9}, "belongs to the question"),
        ({"type": ["predicate"], "name": "g0", "probability": 0.9}, "not 'predicate'"),
        ({"type": "predicate", "name": "g0"}, "no probability"),
        ({"type": "predicate", "name": "g0", "probability": "0.9"}, "no probability"),
        ({"type": "predicate", "name": "g0", "probability": True}, "no probability"),
        ({"type": "predicate", "name": "g0", "probability": 1.5}, "no probability"),
        (None, "is missing"),
    ],
)
def test_whatever_is_no_predicates_probability_is_unread(change: object, reason: str) -> None:
    body = predicates(0.9, 0.9)
    body["answers"][0] = change
    verdict, _ = judged(Scripted(body))
    assert (verdict.read, verdict.index) == (Read.UNREAD, None)
    assert reason in (verdict.raw or "")
    assert verdict.usage.input_tokens == 40


@pytest.mark.parametrize("answers", [None, [], {}, predicates(0.9)["answers"], predicates(0.9, 0.9, 0.9)["answers"]])
def test_another_number_of_answers_than_questions_is_unread(answers: object) -> None:
    verdict, _ = judged(Scripted({**predicates(), "answers": answers}))
    assert verdict.read is Read.UNREAD
    assert "answers to 3 questions" in (verdict.raw or "")


def test_an_unnamed_answer_is_taken_by_its_place() -> None:
    body = predicates(0.9, 0.1)
    for answer in body["answers"]:
        answer["name"] = None
    verdict, _ = judged(Scripted(body))
    assert verdict.index == 0


def test_more_questions_than_one_request_takes_are_not_sent() -> None:
    verdict, asked = judged(request=decide(*[f"c{number}" for number in range(400)]))
    assert asked == []
    assert verdict.read is Read.UNREAD
    assert "401 questions" in (verdict.raw or "")


def test_a_failure_says_what_the_service_said_without_the_key() -> None:
    with pytest.raises(ProviderFailed, match=r"HTTP 401: bad key \[key\]"):
        judged(Scripted({"error": {"message": "bad key k-secret"}}, status=401))


def test_an_address_that_may_not_be_used_is_refused() -> None:
    with pytest.raises(ConfigError, match="use https"):
        DecisionsNoul("http://one.example/v1", traffic=Traffic(pace=Slept().pace))
