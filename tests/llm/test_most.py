"""What a request can cost at most, known before it is made: the prompt's tokens and as many as a reply may have."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from mklang.engine.requests import Usage
from mklang.lang.models import Tier
from mklang.llm.anthropic import AnthropicMessages
from mklang.llm.base import Backend, Exchange, TierModel
from mklang.llm.choice import ChoiceJudge, JudgeModel
from mklang.llm.decisions import DecisionsNoul
from mklang.llm.dialect import JUDGE_TOKENS, PRODUCE_TOKENS
from mklang.llm.fallback import OUTAGES, Alternative, FallbackBackend
from mklang.llm.jev import SystemOne
from mklang.llm.logprob import LogprobNoul
from mklang.llm.noul import NoulJudge
from mklang.llm.pricing import OwnPrice, PricedBackend, PricedJudge
from mklang.llm.retry import Traffic
from mklang.llm.routing import RoutedJudge
from tests.llm.asking import Slept, decide, endpoint, write
from tests.llm.stub_server import Scripted, StubServer, completion

URL = "http://127.0.0.1:9/v1"
TEXT = "x" * 400
TRAFFIC = Traffic(pace=Slept().pace)


def exchange(**more: Any) -> Exchange:
    return Exchange(key="1:s/produce", model="m", system=TEXT, user=TEXT, temperature=0.0, **more)


@pytest.mark.parametrize(
    ("more", "most"),
    [
        ({}, Usage(200, PRODUCE_TOKENS)),
        ({"params": {"max_tokens": 50}}, Usage(200, 50)),
        ({"params": {"max_completion_tokens": 70}}, Usage(200, 70)),
        ({"params": {"max_tokens": None}}, Usage(200, PRODUCE_TOKENS)),
        ({"choices": 3}, Usage(200, JUDGE_TOKENS)),
        ({"params": {"max_tokens": 50}, "reason": True}, Usage(450, 100)),
        ({"params": {"max_tokens": 50}, "turns": (TEXT,)}, Usage(300, 50)),
    ],
)
def test_it_is_the_prompt_and_the_limit_that_is_sent(more: dict[str, Any], most: Usage) -> None:
    assert endpoint(URL).most(exchange(**more)) == most


def test_the_messages_api_has_its_own_limits() -> None:
    model = AnthropicMessages(URL, traffic=TRAFFIC)
    assert model.most(exchange()) == Usage(200, PRODUCE_TOKENS)
    assert model.most(exchange(choices=3)) == Usage(200, 256)


def test_a_limit_that_an_endpoint_takes_under_another_name_counts() -> None:
    async def scenario() -> Usage:
        refusal = {"error": {"message": "max_tokens is not supported, use max_completion_tokens"}}
        async with StubServer(Scripted(refusal, status=400), Scripted(completion())) as server:
            model = endpoint(server.base_url, Slept())
            await model.reply(exchange())
            await model.aclose()
            return model.most(exchange(params={"max_tokens": 50}))

    assert asyncio.run(scenario()) == Usage(200, 50)


DEAR = OwnPrice(input=Decimal(10), output=Decimal(100))


def test_with_a_price_it_is_money_too() -> None:
    priced = PricedBackend(endpoint(URL), lambda model: DEAR if model == "m" else None)
    assert priced.most(exchange(params={"max_tokens": 50})) == Usage(200, 50, nano_usd=7_000_000)
    assert priced.most(replace(exchange(params={"max_tokens": 50}), model="other")) == Usage(200, 50)


@pytest.mark.parametrize(("on", "most"), [(OUTAGES, Usage(200, 80)), (frozenset({"truncated"}), Usage(400, 130))])
def test_other_models_count_and_all_of_them_where_one_follows_a_reply_that_was_paid(
    on: frozenset[str], most: Usage
) -> None:
    other = Alternative(backend=endpoint(URL), model="other", on=on, params={"max_tokens": 80})
    chain = FallbackBackend(endpoint(URL), "m", [other])
    assert chain.most(exchange(params={"max_tokens": 50})) == most
    assert chain.most(replace(exchange(params={"max_tokens": 50}), model="third")) == Usage(200, 50)
    assert chain.most(exchange(choices=2)).output_tokens in {JUDGE_TOKENS, 2 * JUDGE_TOKENS}


def test_a_tiers_model_counts_its_parameters_and_its_notes() -> None:
    backend: Backend = endpoint(URL)
    tier = TierModel(backend=backend, model="m", params={"max_tokens": 50})
    plain = tier.most(write(TEXT))
    assert plain.output_tokens == 50
    assert tier.most(msgspec.structs.replace(write(TEXT), reason=True)) == Usage(2 * plain.input_tokens + 50, 100)


def test_a_choice_is_one_reply_and_its_prompt_holds_the_evidence() -> None:
    judge = RoutedJudge(dict.fromkeys(Tier, ChoiceJudge(dict.fromkeys(Tier, JudgeModel(endpoint(URL), "m")))))
    short, long = (judge.most(decide("it is short", output=text)) for text in ("", TEXT))
    assert long.input_tokens - short.input_tokens == 100
    assert long.output_tokens == JUDGE_TOKENS


def test_probabilities_cost_the_evidence_once_or_with_each_question() -> None:
    at_once = [
        SystemOne(URL, traffic=TRAFFIC),
        DecisionsNoul(URL, traffic=TRAFFIC),
    ]
    apart = LogprobNoul(URL, model="m", traffic=TRAFFIC)
    request = decide("a", "b", "c", output=TEXT * 10)
    once, again = (NoulJudge(dict.fromkeys(Tier, backend)).most(request) for backend in at_once)
    assert once == again
    assert 1000 < once.input_tokens < 2000
    assert NoulJudge(dict.fromkeys(Tier, apart)).most(request).input_tokens > 4 * 1000
    priced = PricedJudge(NoulJudge(dict.fromkeys(Tier, apart)), lambda _: DEAR).most(request)
    assert priced.nano_usd == DEAR.nano_usd(priced)
