"""Limits, prices and other models in a runtime configuration: read with places, nothing guessed."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from mklang.errors import DocumentError
from mklang.host.config import ProviderConfig, read_config
from mklang.host.model_config import Fallback
from mklang.lang.models import Tier
from mklang.llm.fallback import OUTAGES
from mklang.llm.pricing import OwnPrice
from mklang.llm.retry import Limits

HEAD = "active: work\nproviders:\n  work:\n"


def read(tmp_path: Path, *lines: str, tiers: str = "{ fast: s, balanced: m, reasoning: l }") -> ProviderConfig:
    path = tmp_path / "runtime.yaml"
    path.write_text(HEAD + "".join(f"    {line}\n" for line in (f"tiers: {tiers}", *lines)))
    return read_config(str(path)).provider()


def problems(tmp_path: Path, *lines: str, **options: str) -> list[tuple[str, str]]:
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, *lines, **options)
    return [(found.code, found.where.removeprefix("providers.work.")) for found in caught.value.diagnostics]


@pytest.mark.rule("L96")
def test_limits_are_for_the_whole_endpoint(tmp_path: Path) -> None:
    assert read(tmp_path).limits == Limits(concurrency=8, rpm=None, tpm=None)
    found = read(tmp_path, "limits: { concurrency: 2, rpm: 60, tpm: 90000 }").limits
    assert found == Limits(concurrency=2, rpm=60, tpm=90000)


def test_prices_are_dollars_for_a_million_tokens(tmp_path: Path) -> None:
    prices = read(tmp_path, "prices: { s: { input: 0.15, output: 0.6, cached: 0.075 }, free: { input: 0, output: 0 } }")
    assert dict(prices.prices) == {
        "s": OwnPrice(input=Decimal("0.15"), output=Decimal("0.6"), cached=Decimal("0.075")),
        "free": OwnPrice(input=Decimal(0), output=Decimal(0)),
    }


def test_a_tier_may_list_models_and_say_when_another_is_asked(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "fallback: { balanced: [{ model: b, on: [429, 5xx, timeout] }, { model: c, provider: o, on: [filtered] }] }",
        tiers="{ fast: [s, t, u], balanced: m, reasoning: l }",
    )
    assert dict(found.tiers) == {Tier.FAST: "s", Tier.BALANCED: "m", Tier.REASONING: "l"}
    assert dict(found.fallbacks) == {
        Tier.FAST: (Fallback(model="t", on=OUTAGES), Fallback(model="u", on=OUTAGES)),
        Tier.BALANCED: (
            Fallback(model="b", on=frozenset({"429", "5xx", "timeout"})),
            Fallback(model="c", provider="o", on=frozenset({"filtered"})),
        ),
    }


@pytest.mark.rule("L97")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("limits: 5", ("wrong-type", "limits")),
        ("limits: { rpm: 0 }", ("bad-value", "limits.rpm")),
        ("limits: { rpm: many }", ("wrong-type", "limits.rpm")),
        ("limits: { rps: 3 }", ("unknown-key", "limits.rps")),
        ("prices: { s: 3 }", ("wrong-type", "prices.s")),
        ("prices: { s: { input: 1 } }", ("missing-key", "prices.s")),
        ("prices: { s: { input: cheap, output: 1 } }", ("bad-value", "prices.s.input")),
        ("prices: { s: { input: -1, output: 1 } }", ("bad-value", "prices.s.input")),
        ('prices: { s: { input: "1", output: 1 } }', ("bad-value", "prices.s.input")),
        ("prices: { s: { input: 1e3, output: 1 } }", ("bad-value", "prices.s.input")),
        ("prices: { s: { in: 1, input: 1, output: 1 } }", ("unknown-key", "prices.s.in")),
        ("fallback: { fast: b }", ("wrong-type", "fallback.fast")),
        ("fallback: { quick: [] }", ("unknown-key", "fallback.quick")),
        ("fallback: { fast: [b] }", ("wrong-type", "fallback.fast[0]")),
        ("fallback: { fast: [{ on: [429] }] }", ("missing-key", "fallback.fast[0]")),
        ("fallback: { fast: [{ model: b, on: [slow] }] }", ("bad-value", "fallback.fast[0].on")),
        ("fallback: { fast: [{ model: b, on: 429 }] }", ("wrong-type", "fallback.fast[0].on")),
        ("fallback: { fast: [{ model: b, when: [429] }] }", ("unknown-key", "fallback.fast[0].when")),
    ],
)
def test_what_cannot_be_meant_is_an_error_with_its_place(tmp_path: Path, line: str, found: tuple[str, str]) -> None:
    assert found in problems(tmp_path, line)


@pytest.mark.parametrize(
    ("tiers", "found"),
    [
        ("{ fast: [], balanced: m, reasoning: l }", ("bad-value", "tiers.fast")),
        ("{ fast: [s, [t]], balanced: m, reasoning: l }", ("wrong-type", "tiers.fast")),
        ("{ fast: [s, jev-latest], balanced: m, reasoning: l }", ("judge-as-tier", "tiers.fast")),
    ],
)
def test_a_list_of_models_holds_names_of_models(tmp_path: Path, tiers: str, found: tuple[str, str]) -> None:
    assert found in problems(tmp_path, tiers=tiers)
