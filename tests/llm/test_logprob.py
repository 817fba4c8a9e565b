"""Log-probabilities become probabilities: what yes has against no, at the first token, in whatever spelling."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.engine.requests import Read, Usage, Verdict
from mklang.errors import ConfigError, ProviderFailed
from mklang.lang.models import Tier
from mklang.llm.local import LocalModel, embedded_available
from mklang.llm.logprob import LogprobNoul
from mklang.llm.noul import NoulJudge, NoulSettings
from mklang.llm.retry import Traffic
from tests.llm.asking import Slept, decide
from tests.llm.stub_server import Asked, Scripted, StubServer, completion

pytestmark = pytest.mark.rule("L104")
ALONE = NoulSettings(ask_none=False)


def told(*tokens: tuple[str, float], usage: object = None) -> Scripted:
    """A completion whose first token had these alternatives, with their probabilities."""
    body: Any = completion(tokens[0][0] if tokens else "", finish="length", usage=usage)
    alternatives = [
        {"token": token, "logprob": math.log(share) if share else -9999.0, "bytes": list(token.encode())}
        for token, share in tokens
    ]
    first = {"token": "x", "logprob": -0.1, "bytes": [], "top_logprobs": alternatives}
    body["choices"][0]["logprobs"] = {"content": [first], "refusal": None}
    return Scripted(body)


def judged(
    *replies: Scripted, conditions: tuple[str, ...] = ("it is short",), settings: NoulSettings = ALONE, **more: Any
) -> tuple[Verdict, list[Asked]]:
    async def scenario() -> tuple[Verdict, list[Asked]]:
        async with StubServer(*replies) as server:
            traffic = Traffic(pace=Slept().pace)
            backend = LogprobNoul(server.base_url, model="m", traffic=traffic, api_key="k-secret", **more)
            judge = NoulJudge(dict.fromkeys(Tier, backend), settings)
            try:
                return await judge.judge(decide(*conditions)), server.asked
            finally:
                await judge.aclose()

    return asyncio.run(scenario())


@pytest.mark.rule("S26")
def test_each_condition_is_one_short_question_about_fenced_evidence() -> None:
    verdict, asked = judged(
        told(("Yes", 0.9)), told(("No", 0.9)), told(("no", 0.8)), conditions=("a", "b"), settings=NoulSettings()
    )
    assert len(asked) == 3
    for one in asked:
        assert one.path == "/v1/chat/completions"
        assert one.headers["authorization"] == "Bearer k-secret"
        assert (one.body["model"], one.body["max_tokens"], one.body["temperature"]) == ("m", 1, 0.0)
        assert (one.body["logprobs"], one.body["top_logprobs"]) == (True, 20)
        assert "<data-5eed5eed5eed>\ntext\n</data-5eed5eed5eed>" in one.body["messages"][1]["content"]
    assert {one.body["messages"][1]["content"].rpartition('OUTPUT: "')[2] for one in asked} == {
        'a"? Answer yes or no.',
        'b"? Answer yes or no.',
        'Not one of these statements is true: (1) a; (2) b"? Answer yes or no.',
    }
    assert (verdict.provider, verdict.model, verdict.fence_applied) == ("logprobs", "m", True)
    assert verdict.usage == Usage(21, 9)


@pytest.mark.parametrize(
    ("tokens", "probability"),
    [
        ([("Yes", 0.6), ("No", 0.2)], 0.75),
        ([("Yes", 0.3), ("yes", 0.2), (" YES", 0.1), ("▁yes", 0.1), ("Yes.", 0.05), ("No", 0.25)], 0.75),
        ([("no", 0.4), (" No", 0.2)], 0.0),
        ([("Yes", 1.0)], 1.0),
        ([("Maybe", 0.8), ("Yes", 0.1), ("No", 0.1)], 0.5),
        ([("Yes", 0.5), ("No", 0.5), ("Yesterday", 0.4), ("None", 0.3), ("Not", 0.2)], 0.5),
    ],
)
def test_every_spelling_of_yes_and_no_counts_and_nothing_else(
    tokens: list[tuple[str, float]], probability: float
) -> None:
    verdict, _ = judged(told(*tokens))
    assert verdict.read is Read.CLEAN
    assert verdict.probabilities == pytest.approx((probability,))


@pytest.mark.parametrize("tokens", [[("The", 0.97), ("Yes", 0.02)], [("Maybe", 1.0)], [("<think>", 1.0)], []])
def test_a_model_that_would_say_something_else_is_unread(tokens: list[tuple[str, float]]) -> None:
    verdict, _ = judged(told(*tokens))
    assert verdict.read is Read.UNREAD
    assert "neither yes nor no to 'it is short'" in (verdict.raw or "")
    assert verdict.usage == Usage(7, 3)


@given(st.lists(st.tuples(st.sampled_from(["Yes", "no", " yes", "NO", "x"]), st.floats(0, 1)), max_size=6))
def test_whatever_is_told_the_probability_is_one(tokens: list[tuple[str, float]]) -> None:
    from mklang.llm.logprob import _chance

    value = _chance(told(*tokens).body, "u")  # type: ignore[arg-type]
    assert math.isnan(value) or 0.0 <= value <= 1.0


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        "none",
        {},
        {"content": None},
        {"content": []},
        {"content": [{}]},
        {"content": [{"top_logprobs": None}]},
        {"content": [{"top_logprobs": [{"token": "Yes"}]}]},
        {"content": [{"top_logprobs": [{"token": "Yes", "logprob": "x"}]}]},
    ],
)
def test_an_endpoint_that_tells_no_log_probabilities_is_said_to_and_what_to_do(logprobs: object) -> None:
    body: Any = completion("Yes")
    body["choices"][0]["logprobs"] = logprobs
    with pytest.raises(ProviderFailed, match=r"gives no log-probabilities, .* use 'mapping: choice'"):
        judged(Scripted(body))


def test_an_endpoint_that_refuses_them_is_said_to() -> None:
    refusal = Scripted({"error": {"message": "'logprobs' is not supported with this model"}}, status=400)
    with pytest.raises(ProviderFailed, match=r"gives no log-probabilities \(HTTP 400\)"):
        judged(refusal)


def test_an_endpoint_that_tells_fewer_is_asked_for_fewer_from_then_on() -> None:
    refusal = Scripted({"error": {"message": "top_logprobs must be at most 5"}}, status=422)
    verdict, asked = judged(refusal, told(("Yes", 0.9)))
    assert [one.body["top_logprobs"] for one in asked] == [20, 5]
    assert verdict.index == 0


def test_a_refused_parameter_is_left_out() -> None:
    wants = Scripted({"error": {"message": "Unsupported 'max_tokens': use 'max_completion_tokens'"}}, status=400)
    cold = Scripted({"error": {"message": "'temperature' does not support 0.0"}}, status=400)
    verdict, asked = judged(wants, cold, told(("No", 0.9)))
    assert asked[-1].body["max_completion_tokens"] == 1
    assert "temperature" not in asked[-1].body
    assert verdict.index is None


def test_what_was_spent_before_a_question_failed_is_on_the_failure() -> None:
    with pytest.raises(ProviderFailed) as failed:
        judged(told(("Yes", 0.9)), Scripted({"error": {"message": "no"}}, status=403), conditions=("a", "b"))
    assert (failed.value.input_tokens, failed.value.output_tokens) == (7, 3)


def test_a_passing_failure_is_tried_again() -> None:
    verdict, asked = judged(Scripted({}, status=503), told(("Yes", 0.9)))
    assert (verdict.index, len(asked)) == (0, 2)


def test_an_address_that_may_not_be_used_is_refused() -> None:
    with pytest.raises(ConfigError, match="use https"):
        LogprobNoul("http://one.example/v1", model="m", traffic=Traffic(pace=Slept().pace))


@pytest.mark.model
@pytest.mark.skipif(not embedded_available(), reason="needs the extra 'local'")
def test_a_real_server_of_the_chat_protocol_answers_with_probabilities() -> None:
    async def scenario() -> Verdict:
        model = LocalModel.embedded()
        address = await model.endpoint()
        traffic = Traffic(pace=Slept().pace)
        backend = LogprobNoul(address.base_url, model="any", traffic=traffic, api_key=address.api_key)
        verdict = await NoulJudge({Tier.FAST: backend}).judge(decide("it is about a fox", output="The fox is red."))
        await backend.aclose()
        await model.aclose()
        return verdict

    verdict = asyncio.run(scenario())
    assert verdict.provider == "logprobs"
    assert verdict.usage.input_tokens
    if verdict.read is Read.CLEAN:
        assert all(0.0 <= value <= 1.0 for value in verdict.probabilities or ())
    else:
        assert "neither yes nor no" in (verdict.raw or "")
