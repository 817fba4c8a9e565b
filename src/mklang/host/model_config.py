"""What a provider's map says about its models beyond their names: limits, prices, other models for an outage (L96).

``limits``, ``prices`` and ``fallback`` are read here, and tiers that list several models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from mklang.host.config_maps import by_name, fields_of, key_of
from mklang.lang.fields import Fields, below, describe
from mklang.lang.models import Tier
from mklang.lang.vocabulary import Shape
from mklang.lang.yaml_tree import Node, Position
from mklang.llm.fallback import OUTAGES, WORDS, is_rule
from mklang.llm.jev import is_reserved, why_no_writer
from mklang.llm.pricing import OwnPrice
from mklang.llm.retry import Limits

MAX_PRICE = Decimal(1_000_000)
"""US dollars for a million tokens: more is a slip of the pen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """Another model for a tier: of this provider, unless ``provider`` names another; asked for what is in ``on``."""

    model: str
    provider: str | None = None
    on: frozenset[str] = OUTAGES


Fallbacks = Mapping[Tier, tuple[Fallback, ...]]
NO_FALLBACKS: Fallbacks = MappingProxyType({})

_LIMITS = by_name(*[replace(key_of(name, Shape.INTEGER), least=1) for name in ("concurrency", "rpm", "tpm")])
_PRICE = by_name(*[key_of(name, Shape.VALUES) for name in ("input", "output", "cached")])
_TIERS = by_name(*[key_of(tier.value, Shape.VALUES) for tier in Tier])
_FALLBACK = by_name(key_of("model", required=True), key_of("provider"), key_of("on", Shape.VALUES))
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,12})?")


def read_limits(provider: Fields) -> Limits:
    """``limits``: requests at a time, requests and tokens a minute. Problems are noted in the findings."""
    if "limits" not in provider:
        return Limits()
    node, where = provider.entries["limits"][1], below(provider.where, "limits")
    fields = fields_of(node, _LIMITS, provider.findings, where, only="limit")
    if fields is None:
        return Limits()
    concurrency = fields.integer("concurrency") or Limits().concurrency
    return Limits(concurrency=concurrency, rpm=fields.integer("rpm"), tpm=fields.integer("tpm"))


def read_timeout(provider: Fields) -> float | None:
    """``timeout``: seconds one request may take, whole ones."""
    seconds = provider.integer("timeout")
    if seconds == 0:
        provider.problem("bad-value", "timeout", "'timeout' takes a number of seconds, 1 or more")
    return float(seconds) if seconds else None


def read_prices(provider: Fields) -> Mapping[str, OwnPrice]:
    """``prices``: for each model, US dollars for a million tokens in and out. A free model says 0 and 0."""
    found: dict[str, OwnPrice] = {}
    for model, (_, node) in (provider.mapping("prices") or {}).items():
        where = below(below(provider.where, "prices"), model)
        fields = fields_of(node, _PRICE, provider.findings, where, only="price")
        if fields is None:
            continue
        for name in ("input", "output"):
            if name not in fields:
                fields.missing(name, f"'{where}'", hint="a model that costs nothing says 0")
        read, written, cached = (_money(fields, name) for name in ("input", "output", "cached"))
        if read is not None and written is not None:
            found[model] = OwnPrice(input=read, output=written, cached=cached)
    return MappingProxyType(found)


def read_models(tiers: Fields, tier: Tier) -> list[str]:
    """A tier's model, or its models in the order in which they are asked."""
    entry = tiers.entries.get(tier.value)
    if entry is None or not isinstance(entry[1], SequenceNode):
        model = tiers.text(tier.value)
        return [] if model is None else [model]
    models = [_word(tiers, tier.value, node, "a model's name") for node in tiers.items(tier.value) or ()]
    if not models:
        tiers.problem("bad-value", tier.value, f"'{tier.value}' lists no model")
    return [model for model in models if model]


def read_fallbacks(provider: Fields, lists: Mapping[Tier, list[str]]) -> Fallbacks:
    """Other models for each tier: what its list has behind the first, then what ``fallback`` says."""
    found = {tier: [Fallback(model=model) for model in models[1:]] for tier, models in lists.items()}
    if "fallback" in provider:
        node, where = provider.entries["fallback"][1], below(provider.where, "fallback")
        tiers = fields_of(node, _TIERS, provider.findings, where, only="tier")
        for tier in Tier if tiers is not None else ():
            for place, item in enumerate((tiers.items(tier.value) if tiers else None) or ()):
                other = _fallback(item, tiers, f"{below(where, tier.value)}[{place}]") if tiers else None
                if other is not None:
                    found.setdefault(tier, []).append(other)
    return MappingProxyType({tier: tuple(others) for tier, others in found.items() if others})


def _fallback(node: Node, tiers: Fields, where: str) -> Fallback | None:
    if not isinstance(node, MappingNode):
        tiers.findings.add(
            "wrong-type", f"'{where}' takes a map with 'model', not {describe(node)}", Position(node), where
        )
        return None
    fields = fields_of(node, _FALLBACK, tiers.findings, where, only="key of a fallback")
    model = fields.text("model") if fields else None
    if fields is None or model is None:
        return None
    if is_reserved(model):
        fields.problem("judge-as-tier", "model", why_no_writer(model))
    words = [_word(fields, "on", item, "a rule") for item in fields.items("on") or ()] if "on" in fields else None
    for word in words or ():
        if word and not is_rule(word):
            known = f"statuses (429, 5xx) and {', '.join(sorted(WORDS))}"
            fields.problem("bad-value", "on", f"'{word}' is no rule", hint=f"rules are {known}")
    on = OUTAGES if words is None else frozenset(word for word in words if word)
    return Fallback(model=model, provider=fields.text("provider"), on=on)


def _word(fields: Fields, name: str, node: Node, what: str) -> str | None:
    """One item of a list, as it is written: 429 is the word 429."""
    if isinstance(node, ScalarNode) and node.value.strip() and not node.tag:
        return str(node.value)
    fields.problem("wrong-type", name, f"'{name}' lists {describe(node)}, and each item is {what}")
    return None


def _money(fields: Fields, name: str) -> Decimal | None:
    entry = fields.entries.get(name)
    if entry is None:
        return None
    node = entry[1]
    if isinstance(node, ScalarNode) and not node.style and _NUMBER.fullmatch(node.value):
        amount = Decimal(node.value)
        if amount <= MAX_PRICE:
            return amount
    message = f"'{name}' takes US dollars for a million tokens, such as 0.15, not {describe(node)}"
    fields.problem("bad-value", name, message)
    return None
