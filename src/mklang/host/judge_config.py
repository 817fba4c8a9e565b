"""The ``judge:`` of a provider: who judges its states, how, and from which probability on a condition holds (L104).

Three forms: a model's id; a map that says how; a map from tiers to either. What nobody says stays open here and is
settled where the judge is made (``mklang.host.judging``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from yaml.nodes import MappingNode, SequenceNode

from mklang.engine.options import OnUncertain
from mklang.host.config_maps import address, by_name, fields_of, key_of, share
from mklang.lang.fields import Fields, below
from mklang.lang.models import Tier
from mklang.lang.vocabulary import Shape
from mklang.lang.yaml_tree import Node
from mklang.llm.addresses import check_closed_url
from mklang.llm.jev import is_reserved


class Manner(Enum):
    """How a judge answers: the number of the first true condition, or one yes/no probability for each."""

    CHOICE = "choice"
    NOUL = "noul"


class NoulProvider(Enum):
    """Who answers yes/no questions with probabilities."""

    JEV = "jev"
    DECISIONS = "openai-decisions"
    LOGPROBS = "logprobs"
    LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeConfig:
    """One judge as configured; None is what nobody said.

    ``band`` is the distance from the threshold within which a decision is in doubt, ``ask_none`` whether the judge is
    asked if none of the conditions holds, ``calibrate`` whether a local judge's leaning is taken out.
    """

    manner: Manner = Manner.CHOICE
    provider: NoulProvider | None = None
    model: str | None = None
    threshold: float | None = None
    band: float = 0.0
    on_uncertain: OnUncertain = OnUncertain.FLAG
    ask_none: bool = True
    calibrate: bool | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    api_key_file: str | None = None


Judges = Mapping[Tier, JudgeConfig]
"""A tier that is not in it is judged by its own model, by choice."""
NO_JUDGES: Judges = MappingProxyType({})

_JUDGE = by_name(
    key_of("mapping", Shape.CHOICE, words=tuple(manner.value for manner in Manner)),
    key_of("provider", Shape.CHOICE, words=tuple(provider.value for provider in NoulProvider)),
    key_of("model"),
    key_of("threshold", Shape.VALUES),
    key_of("band", Shape.VALUES),
    key_of("on_uncertain", Shape.CHOICE, words=tuple(what.value for what in OnUncertain)),
    key_of("none", Shape.CHOICE, words=("ask", "default")),
    key_of("calibrate", Shape.BOOLEAN),
    key_of("base_url"),
    key_of("api_key_env"),
    key_of("api_key_file"),
)
_PER_TIER = by_name(*[key_of(tier.value) for tier in Tier])
_FOR_CHOICE = frozenset({"mapping", "model"})
_ELSEWHERE = frozenset({"base_url", "api_key_env", "api_key_file"})
_OF_PROVIDER: Mapping[NoulProvider | None, frozenset[str]] = {
    NoulProvider.JEV: _ELSEWHERE,
    NoulProvider.DECISIONS: _ELSEWHERE,
    NoulProvider.LOGPROBS: _ELSEWHERE,
    NoulProvider.LOCAL: frozenset({"calibrate"}),
    None: frozenset({"calibrate"}),
}
"""The keys that only some providers take; None is wherever the provider's own models run."""


def read_judges(provider: Fields) -> Judges:
    """The judges of a provider's map. Problems are noted in its findings."""
    if "judge" not in provider:
        return NO_JUDGES
    node = provider.entries["judge"][1]
    if not isinstance(node, MappingNode):
        return MappingProxyType(dict.fromkeys(Tier, judge)) if (judge := _by_id(provider, "judge")) else NO_JUDGES
    where = below(provider.where, "judge")
    if not _names_a_tier(node):
        judge = _read_map(node, provider, where)
        return MappingProxyType(dict.fromkeys(Tier, judge)) if judge else NO_JUDGES
    return _read_tiers(node, provider, where)


def _names_a_tier(node: MappingNode) -> bool:
    return any(key.value in _PER_TIER for key, _ in node.value)


def _read_tiers(node: Node, provider: Fields, where: str) -> Judges:
    tiers = fields_of(node, _PER_TIER, provider.findings, where, only="tier")
    if tiers is None:
        return NO_JUDGES
    found: dict[Tier, JudgeConfig] = {}
    for tier in Tier:
        if tier.value not in tiers:
            continue
        value = tiers.entries[tier.value][1]
        mapped = isinstance(value, MappingNode)
        judge = _read_map(value, provider, below(where, tier.value)) if mapped else _by_id(tiers, tier.value)
        if judge is not None:
            found[tier] = judge
    reactions = {judge.on_uncertain for judge in found.values() if judge.manner is Manner.NOUL}
    if len(reactions) > 1:
        message = "the tiers differ in 'on_uncertain', and a run has one"
        provider.problem("bad-value", "judge", message, hint="say the same for every tier")
    return MappingProxyType(found)


def _by_id(fields: Fields, name: str) -> JudgeConfig | None:
    """A judge given by its model's id; a reserved id is System One's (S32)."""
    if isinstance(fields.entries[name][1], SequenceNode):
        fields.wrong_type(name, "a model's id, or a map that says how")
        return None
    model = fields.text(name)
    if model is None:
        return None
    if is_reserved(model):
        return JudgeConfig(manner=Manner.NOUL, provider=NoulProvider.JEV, model=model)
    return JudgeConfig(model=model)


def _read_map(node: Node, provider: Fields, where: str) -> JudgeConfig | None:
    fields = fields_of(node, _JUDGE, provider.findings, where, only="key of a judge")
    if fields is None:
        return None
    model, said = fields.text("model"), fields.choice("provider")
    answers = NoulProvider(said) if said else None
    if answers is None and model is not None and is_reserved(model):
        answers = NoulProvider.JEV
    given = fields.choice("mapping")
    manner = Manner(given) if given else Manner.NOUL if answers else Manner.CHOICE
    if ("provider" in fields) is (said is not None) and ("mapping" in fields) is (given is not None):
        for name, message in _misplaced(fields, manner, answers, model):
            fields.problem("judge-key", name, message)
    return JudgeConfig(
        manner=manner,
        provider=answers,
        model=model,
        threshold=share(fields, "threshold"),
        band=share(fields, "band") or 0.0,
        on_uncertain=OnUncertain(fields.choice("on_uncertain") or OnUncertain.FLAG.value),
        ask_none=fields.choice("none") != "default",
        calibrate=fields.boolean("calibrate"),
        # Stricter than for models: what is judged, and a key, go there by https only, or to this machine.
        base_url=address(fields, "base_url", check_closed_url),
        api_key_env=fields.text("api_key_env"),
        api_key_file=fields.text("api_key_file"),
    )


def _misplaced(
    fields: Fields, manner: Manner, answers: NoulProvider | None, model: str | None
) -> Iterator[tuple[str, str]]:
    """Keys that mean nothing together, each with the reason; a choice from a judge of probabilities above all (S25)."""
    if manner is Manner.CHOICE and answers is not None:
        yield "mapping", f"'{answers.value}' gives probabilities; a choice of its is refused (mapping: noul)"
        return
    if manner is Manner.CHOICE:
        for name in sorted(fields.entries.keys() & _JUDGE.keys() - _FOR_CHOICE):
            yield name, f"'{name}' belongs to a judge with probabilities (mapping: noul)"
        return
    if model is not None and is_reserved(model) and answers is not NoulProvider.JEV:
        yield "model", f"'{model}' is System One's, and the provider here is another (provider: jev)"
    of_some = frozenset().union(*_OF_PROVIDER.values())
    for name in sorted(fields.entries.keys() & of_some - _OF_PROVIDER[answers]):
        where = answers.value if answers else "the provider's own models"
        yield name, f"'{name}' means nothing for {where}"
