"""What tokens cost, exactly, and that an unknown price is never zero."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.engine.requests import Produced, Usage, Verdict
from mklang.errors import ProviderFailed
from mklang.lang.models import Tier
from mklang.llm.choice import ChoiceJudge, JudgeModel
from mklang.llm.pricing import FREE, OwnPrice, PricedBackend, PricedJudge, find_price, priced
from tests.llm.asking import decide, endpoint, write
from tests.llm.stub_server import Scripted, StubServer, completion

PRICE = OwnPrice(input=Decimal("0.15"), output=Decimal("0.60"), cached=Decimal("0.075"))


@pytest.mark.parametrize(
    ("usage", "nano"),
    [
        (Usage(1_000_000, 0), 150_000_000),
        (Usage(0, 1_000_000), 600_000_000),
        (Usage(7, 3), 7 * 150 + 3 * 600),
        (Usage(10, 0, cached_tokens=4), 6 * 150 + 4 * 75),
        (Usage(0, 0), 0),
        (Usage(5, 0, cached_tokens=50), 5 * 75),
    ],
)
def test_a_price_of_the_hosts_is_exact(usage: Usage, nano: int) -> None:
    assert PRICE.nano_usd(usage) == nano
    assert priced(usage, PRICE).nano_usd == nano
    assert FREE.nano_usd(usage) == 0


def test_without_a_price_for_the_cache_what_comes_from_it_costs_as_much() -> None:
    assert OwnPrice(input=Decimal(1), output=Decimal(2)).nano_usd(Usage(10, 0, cached_tokens=4)) == 10_000


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=20))
def test_the_sum_of_rounded_prices_is_never_below_the_price_of_the_sum(counts: list[tuple[int, int]]) -> None:
    price = OwnPrice(input=Decimal("0.0001"), output=Decimal("0.0000007"))
    parts = sum(price.nano_usd(Usage(*count)) for count in counts)
    whole = price.nano_usd(Usage(sum(read for read, _ in counts), sum(wrote for _, wrote in counts)))
    assert whole <= parts <= whole + len(counts)


def test_the_hosts_price_counts_more_than_the_tables_and_a_model_in_neither_has_none() -> None:
    pytest.importorskip("genai_prices")
    assert find_price("gpt-4o-mini", {"gpt-4o-mini": PRICE}, table="openai") is PRICE
    known = find_price("gpt-4o-mini", {}, table="openai")
    assert known is not None
    assert known.nano_usd(Usage(1000, 100)) == 1000 * 150 + 100 * 600
    assert known.nano_usd(Usage(1000, 0, cached_tokens=1000)) == 1000 * 75
    assert find_price("gpt-nobody-knows", {}, table="openai") is None
    assert find_price("gpt-4o-mini", {}, table="no-such-provider") is None
    assert find_price("gpt-4o-mini", {}, table=None) is None


def test_replies_and_failures_and_verdicts_carry_what_they_cost() -> None:
    spent = Scripted(completion(None, finish="length", reasoning_content="hm"))

    async def scenario() -> tuple[Produced, ProviderFailed, Verdict, Verdict]:
        async with StubServer(Scripted(completion()), spent, *[Scripted(completion('{"choice": 1}'))] * 2) as server:
            model = PricedBackend(endpoint(server.base_url), {"m": PRICE}.get)
            produced = await model.produce(write(), model="m")
            with pytest.raises(ProviderFailed) as caught:
                await model.produce(write(), model="m")
            own = await ChoiceJudge({Tier.FAST: JudgeModel(model, "m")}).judge(decide())
            bare = ChoiceJudge({Tier.FAST: JudgeModel(endpoint(server.base_url), "m")})
            wrapped = await PricedJudge(bare, {Tier.FAST: PRICE}.get).judge(decide())
            await model.aclose()
            await bare.aclose()
            return produced, caught.value, own, wrapped

    produced, failed, own, wrapped = asyncio.run(scenario())
    cost = 7 * 150 + 3 * 600
    assert produced.usage == own.usage == wrapped.usage == Usage(7, 3, cost)
    assert (failed.input_tokens, failed.output_tokens, failed.nano_usd) == (7, 3, cost)


def test_a_provider_that_says_a_reply_cost_nothing_is_not_believed() -> None:
    async def scenario() -> Produced:
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "cost": 0}
        async with StubServer(Scripted(completion(usage=usage))) as server:
            model = PricedBackend(endpoint(server.base_url), {"m": PRICE}.get)
            produced = await model.produce(write(), model="m")
            await model.aclose()
            return produced

    assert asyncio.run(scenario()).usage.nano_usd == 7 * 150 + 3 * 600
