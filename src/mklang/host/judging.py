"""Who judges a run: from the configured judges of a provider, one judge that knows whom to ask for each tier.

A judge with probabilities has an address and a key of its own. What the configuration says about them stands; what it
leaves open for System One, the variables ``MKLANG_JEV_NOUL_THRESHOLD`` and ``MKLANG_JEV_BASE_URL`` may fill in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from mklang.engine.options import OnUncertain
from mklang.errors import ConfigError
from mklang.host.judge_config import JudgeConfig, Judges, Manner, NoulProvider
from mklang.host.keys import KeyPlaces, find_key
from mklang.host.plugins import MakeJudge, ModelPlace
from mklang.lang.models import Tier
from mklang.llm import decisions, jev, logprob
from mklang.llm.addresses import is_loopback
from mklang.llm.base import Backend, Judge
from mklang.llm.choice import ChoiceJudge, JudgeModel
from mklang.llm.local import EMBEDDED_NAME, LocalModel
from mklang.llm.local_noul import LocalNoul
from mklang.llm.noul import DEFAULT_THRESHOLD, NoulBackend, NoulJudge, NoulSettings
from mklang.llm.retry import Traffic
from mklang.llm.routing import RoutedJudge

PLUGIN = "plugin:"
"""How the id of a judge begins that a plug-in brings."""
THRESHOLD_VARIABLE = "MKLANG_JEV_NOUL_THRESHOLD"
BASE_URL_VARIABLE = "MKLANG_JEV_BASE_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writers:
    """The models that write, as far as judges need to know them.

    ``provider`` is the host's name for where they run; ``base_url``, ``api_key`` and ``traffic`` are None in here.
    ``backend`` makes or finds the back-end of a model id, ``local`` the model in this process.
    """

    provider: str
    ids: Mapping[Tier, str]
    backend: Callable[[str], Backend]
    local: Callable[[str | None], LocalModel]
    base_url: str | None = None
    api_key: str | None = None
    traffic: Traffic | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a judge is made from besides its configuration. ``config`` and ``folder`` say where that came from.

    ``traffic`` makes the traffic to an address nobody else asks; ``judges`` are those of plug-ins.
    """

    environ: Mapping[str, str]
    traffic: Callable[[], Traffic]
    judges: Mapping[str, MakeJudge] = field(default_factory=lambda: MappingProxyType({}))
    config: str = ""
    folder: Path = Path()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """The judge of a run. ``judged_by`` names the model for each tier.

    ``whole_decisions`` are the tiers judged by probabilities, ``on_uncertain`` what a doubtful one leads to.
    """

    judge: Judge
    judged_by: Mapping[Tier, str]
    whole_decisions: frozenset[Tier] = frozenset()
    on_uncertain: OnUncertain = OnUncertain.FLAG
    thresholds: Mapping[Tier, float] = field(default_factory=lambda: MappingProxyType({}))


def make_judging(judges: Judges, writers: Writers, around: Around) -> Judging:
    """The judge for every tier. Raises ``ConfigError`` for what cannot be used, ``MissingExtra``."""
    configs = {tier: judges.get(tier, JudgeConfig()) for tier in Tier}
    routes: dict[Tier, Judge] = {}
    names: dict[Tier, str] = {}
    thresholds: dict[Tier, float] = {}
    made: dict[tuple[JudgeConfig, str], tuple[Judge, str, float]] = {}
    for tier, config in configs.items():
        own = config.model or writers.ids[tier]
        if own.startswith(PLUGIN):
            names[tier], routes[tier] = own, _brought(own.removeprefix(PLUGIN), tier, writers, around)
            continue
        if config.manner is Manner.CHOICE:
            names[tier] = own
            routes[tier] = ChoiceJudge({tier: JudgeModel(writers.backend(own), own, writers.provider)})
            continue
        if (config, own) not in made:
            made[config, own] = _noul(config, own, writers, around)
        routes[tier], names[tier], thresholds[tier] = made[config, own]
    asking = [configs[tier].on_uncertain for tier in thresholds]
    return Judging(
        judge=RoutedJudge(routes),
        judged_by=names,
        whole_decisions=frozenset(thresholds),
        on_uncertain=OnUncertain.ASK if OnUncertain.ASK in asking else OnUncertain.FLAG,
        thresholds=thresholds,
    )


def _brought(name: str, tier: Tier, writers: Writers, around: Around) -> Judge:
    """A plug-in's judge, which may ask where the models of the tier are."""
    make = around.judges.get(name)
    if make is None:
        known = ", ".join(sorted(around.judges)) or "none"
        raise ConfigError(f"{around.config}: no allowed plug-in has a judge '{name}'; there is {known}")
    return make(ModelPlace(name=name, base_url=writers.base_url, api_key=writers.api_key, model=writers.ids[tier]))


def _noul(config: JudgeConfig, model: str, writers: Writers, around: Around) -> tuple[Judge, str, float]:
    """A judge with probabilities, the name of its model, and its threshold."""
    provider = config.provider or (NoulProvider.LOGPROBS if writers.base_url else NoulProvider.LOCAL)
    threshold = config.threshold
    backend: NoulBackend
    match provider:
        case NoulProvider.JEV:
            backend, model = _system_one(config, around)
            threshold = _from_variable(around.environ) if threshold is None else threshold
        case NoulProvider.DECISIONS:
            backend, model = _decisions(config, writers, around)
        case NoulProvider.LOGPROBS:
            base_url, key, traffic = _address(config, writers, around, provider)
            backend = logprob.LogprobNoul(base_url, model=model, api_key=key, traffic=traffic)
        case NoulProvider.LOCAL:
            found = writers.local(model if writers.base_url is None else config.model)
            ships = found.name.casefold() == EMBEDDED_NAME.casefold()
            calibrate = not ships if config.calibrate is None else config.calibrate
            backend, model = LocalNoul(found, calibrate=calibrate), found.name
    settings = NoulSettings(
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold, band=config.band, ask_none=config.ask_none
    )
    return NoulJudge(dict.fromkeys(Tier, backend), settings), model, settings.threshold


def _system_one(config: JudgeConfig, around: Around) -> tuple[NoulBackend, str]:
    """System One. Its usual key goes to its own address, or to the one that the same environment names."""
    from_variable = "" if config.base_url else around.environ.get(BASE_URL_VARIABLE, "").strip()
    if from_variable and config.api_key_file:
        raise ConfigError(
            f"{around.config}: the judge's api_key_file is for the address in the configuration, and "
            f"{BASE_URL_VARIABLE} names another; write base_url beside it"
        )
    base_url = config.base_url or from_variable or jev.BASE_URL
    try:
        url = jev.systemone_url(base_url)
    except ConfigError as error:
        raise ConfigError(f"{BASE_URL_VARIABLE if from_variable else around.config}: {error}") from None
    needless = is_loopback(url) and not around.environ.get(jev.KEY_VARIABLE, "").strip()
    usual = None if config.base_url or needless else jev.KEY_VARIABLE
    key = find_key(_places(config, around, NoulProvider.JEV, usual), around.environ)
    backend = jev.SystemOne(url, traffic=around.traffic(), api_key=key, model=config.model or jev.MODEL)
    return backend, backend.model


def _decisions(config: JudgeConfig, writers: Writers, around: Around) -> tuple[NoulBackend, str]:
    """OpenAI's decisions: at the provider's address where that is theirs, else at theirs or the one that is named."""
    model = config.model or decisions.MODEL
    if config.base_url is None and writers.base_url != decisions.BASE_URL:
        places = _places(config, around, NoulProvider.DECISIONS, decisions.KEY_VARIABLE)
        base_url, key, traffic = decisions.BASE_URL, find_key(places, around.environ), around.traffic()
    else:
        base_url, key, traffic = _address(config, writers, around, NoulProvider.DECISIONS)
    return decisions.DecisionsNoul(base_url, model=model, api_key=key, traffic=traffic), model


def _address(
    config: JudgeConfig, writers: Writers, around: Around, provider: NoulProvider
) -> tuple[str, str | None, Traffic]:
    """Where a judge's questions go, with which key, in whose traffic: what the judge names, else the models' own."""
    base_url = config.base_url or writers.base_url
    if base_url is None:
        raise ConfigError(f"{around.config}: the judge '{provider.value}' needs a base_url: its models run in here")
    shared = writers.traffic if base_url == writers.base_url else None
    traffic = shared or around.traffic()
    if config.api_key_env or config.api_key_file or base_url != writers.base_url:
        return base_url, find_key(_places(config, around, provider, None), around.environ), traffic
    return base_url, writers.api_key, traffic


def _places(config: JudgeConfig, around: Around, provider: NoulProvider, usual: str | None) -> KeyPlaces:
    return KeyPlaces(
        owner=f"the judge '{provider.value}'",
        config=around.config,
        folder=around.folder,
        variable=config.api_key_env or usual,
        file=config.api_key_file,
    )


def _from_variable(environ: Mapping[str, str]) -> float | None:
    """The threshold in the environment; None when there is none."""
    text = environ.get(THRESHOLD_VARIABLE, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"{THRESHOLD_VARIABLE} is '{text[:40]}'; allowed is a number from 0 to 1")
    return value
