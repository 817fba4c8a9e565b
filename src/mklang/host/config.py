"""One file of the runtime configuration: providers with the models of their tiers, tools, plug-ins (L96, L97).

Read like any other document: with places, every problem in one pass. Which files count, and what of them, is settled in
:mod:`mklang.host.configuration`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from mklang.diagnostics import Diagnostic, Severity, has_errors
from mklang.errors import ConfigError, DocumentError
from mklang.host.config_guarded import guarded_in
from mklang.host.config_maps import address, by_name, fields_of, key_of
from mklang.host.judge_config import NO_JUDGES, Judges, read_judges
from mklang.host.knobs import Said, read_knobs
from mklang.host.model_config import (
    NO_FALLBACKS,
    Fallbacks,
    read_fallbacks,
    read_limits,
    read_models,
    read_prices,
    read_timeout,
)
from mklang.lang.fields import Fields, Findings, below
from mklang.lang.files import read_source
from mklang.lang.models import Tier
from mklang.lang.values import thaw
from mklang.lang.vocabulary import Shape, closest
from mklang.lang.yaml_tree import Node, compose
from mklang.llm.addresses import check_url
from mklang.llm.base import RESERVED_PARAMS, Params
from mklang.llm.jev import is_reserved, why_no_writer
from mklang.llm.pricing import OwnPrice
from mklang.llm.retry import Limits


class Protocol(Enum):
    """How a provider is spoken to. ``auto`` goes by its name; ``embedded`` runs GGUF files in this process."""

    AUTO = "auto"
    OPENAI_COMPAT = "openai_compat"
    ANTHROPIC = "anthropic"
    EMBEDDED = "embedded"


class Layer(Enum):
    """Where a configuration was found (L99)."""

    EXPLICIT = "explicit"
    ENV = "env"
    PROJECT = "project"
    USER = "user"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """One provider as configured. A tier without an entry in ``judges`` is judged by its own model (L60).

    ``tiers`` has each tier's first model, ``fallbacks`` those after it. ``timeout`` bounds one request, in seconds.
    ``guarded`` is what an untrusted folder may not say about a provider, each with its place.
    """

    name: str
    tiers: Mapping[Tier, str]
    protocol: Protocol = Protocol.AUTO
    base_url: str | None = None
    api_key_env: str | None = None
    api_key_file: str | None = None
    judges: Judges = field(default_factory=lambda: NO_JUDGES)
    params: Mapping[Tier, Params] = field(default_factory=lambda: MappingProxyType({}))
    fallbacks: Fallbacks = field(default_factory=lambda: NO_FALLBACKS)
    limits: Limits = field(default_factory=Limits)
    timeout: float | None = None
    prices: Mapping[str, OwnPrice] = field(default_factory=lambda: MappingProxyType({}))
    guarded: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """The providers of a configuration without errors. ``folder`` is what relative paths in it are relative to.

    Of one that is not ``trusted``, no provider can be used that says what only a trusted folder may say.
    """

    path: str
    layer: Layer
    active: str
    providers: Mapping[str, ProviderConfig]
    warnings: tuple[Diagnostic, ...] = ()
    trusted: bool = True

    @property
    def folder(self) -> Path:
        """The directory the file is in."""
        return Path(self.path).parent

    def provider(self, name: str | None = None) -> ProviderConfig:
        """The provider of that name, or the active one.

        Raises ``ConfigError`` naming those there are, ``DocumentError`` for what an untrusted folder says about it.
        """
        wanted = name or self.active
        if wanted not in self.providers:
            meant = closest(wanted, self.providers)
            hint = f"; did you mean '{meant}'?" if meant else ""
            raise ConfigError(f"{self.path} has no provider '{wanted}', only {', '.join(self.providers)}{hint}")
        found = self.providers[wanted]
        if found.guarded and not self.trusted:
            raise DocumentError(replace(problem, severity=Severity.ERROR) for problem in found.guarded)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class FileConfig:
    """What one file says: about providers, if anything, about tools and plug-ins by knob, and its text."""

    path: str
    layer: Layer
    runtime: RuntimeConfig | None
    knobs: Mapping[str, Said]
    warnings: tuple[Diagnostic, ...]
    text: str


def read_config(path: str, layer: Layer = Layer.EXPLICIT) -> RuntimeConfig:
    """Read a file that has providers. Raises ``DocumentError`` with every problem found in it."""
    runtime = read_file_config(path, layer).runtime
    if runtime is None:
        message = "a configuration needs 'active' and 'providers'"
        raise DocumentError([Diagnostic(code="missing-key", message=message, path=path)])
    return runtime


def read_file_config(path: str, layer: Layer = Layer.EXPLICIT) -> FileConfig:
    """Read a configuration file. Raises ``DocumentError`` with every problem found in it."""
    source, problems = read_source(path)
    if source is None:
        raise DocumentError(problems)
    root, problems = compose(source)
    findings = Findings(path)
    found = (
        _read_root(
            root, findings, FileConfig(path=path, layer=layer, runtime=None, knobs={}, warnings=(), text=source.text)
        )
        if root is not None
        else None
    )
    if root is None and not problems:
        problems = (Diagnostic(code="config-empty", message="this configuration is empty", path=path),)
    everything = (*problems, *findings.everything())
    if found is None or has_errors(everything):
        raise DocumentError(everything)
    runtime = replace(found.runtime, warnings=everything) if found.runtime else None
    return replace(found, runtime=runtime, warnings=everything)


_ROOT = by_name(
    key_of("active"),
    key_of("providers", Shape.VALUES),
    key_of("tools", Shape.VALUES),
    key_of("plugins", Shape.VALUES),
)
_PROVIDER = by_name(
    key_of("tiers", Shape.VALUES, required=True),
    key_of("protocol", Shape.CHOICE, words=tuple(protocol.value for protocol in Protocol)),
    key_of("base_url"),
    key_of("api_key_env"),
    key_of("api_key_file"),
    key_of("judge", Shape.TEXT),  # or a map: see judge_config
    key_of("params", Shape.VALUES),
    key_of("limits", Shape.VALUES),
    key_of("timeout", Shape.INTEGER),
    key_of("prices", Shape.VALUES),
    key_of("fallback", Shape.VALUES),
)
_TIERS = by_name(*[key_of(tier.value, required=True) for tier in Tier])
_PARAMS = by_name(*[key_of(tier.value, Shape.VALUES) for tier in Tier])


def _read_root(root: Node, findings: Findings, file: FileConfig) -> FileConfig | None:
    fields = fields_of(root, _ROOT, findings, "")
    if fields is None:
        return None
    knobs = read_knobs(fields)
    if not {"active", "providers"} & fields.entries.keys() and {"tools", "plugins"} & fields.entries.keys():
        return replace(file, knobs=knobs)
    active = fields.text("active")
    providers = {
        name: _read_provider(name, value, findings, file.path)
        for name, (_, value) in (fields.mapping("providers") or {}).items()
    }
    for name in ("active", "providers"):
        if name not in fields and (name == "active" or file.layer is not Layer.PROJECT):
            fields.missing(name, "a configuration")
    if "providers" in fields and active is not None and active not in providers and file.layer is not Layer.PROJECT:
        meant = closest(active, providers)
        hint = f"did you mean '{meant}'?" if meant else ""
        fields.problem("unknown-provider", "active", f"there is no provider '{active}'", hint=hint)
    runtime = RuntimeConfig(
        path=file.path, layer=file.layer, active=active or "", providers=MappingProxyType(providers)
    )
    return replace(file, runtime=runtime, knobs=knobs)


def _read_provider(name: str, node: Node, findings: Findings, path: str) -> ProviderConfig:
    where = below("providers", name)
    fields = fields_of(node, _PROVIDER, findings, where)
    if fields is None:
        return ProviderConfig(name=name, tiers={})
    models = _read_tiers(fields)
    return ProviderConfig(
        name=name,
        tiers=MappingProxyType({tier: listed[0] for tier, listed in models.items()}),
        protocol=Protocol(fields.choice("protocol") or "auto"),
        base_url=address(fields, "base_url", check_url),
        api_key_env=fields.text("api_key_env"),
        api_key_file=fields.text("api_key_file"),
        judges=read_judges(fields),
        params=_read_params(fields),
        fallbacks=read_fallbacks(fields, models),
        limits=read_limits(fields),
        timeout=read_timeout(fields),
        prices=read_prices(fields),
        guarded=tuple(guarded_in(fields, path)),
    )


def _read_tiers(provider: Fields) -> dict[Tier, list[str]]:
    """The models of each tier, in the order in which they are asked."""
    if "tiers" not in provider:
        return {}
    tiers = fields_of(
        provider.entries["tiers"][1], _TIERS, provider.findings, below(provider.where, "tiers"), only="tier"
    )
    if tiers is None:
        return {}
    models = {tier: listed for tier in Tier if (listed := read_models(tiers, tier))}
    for tier, listed in models.items():
        for model in filter(is_reserved, listed):
            tiers.problem("judge-as-tier", tier.value, why_no_writer(model))
    return models


def _read_params(provider: Fields) -> Mapping[Tier, Params]:
    if "params" not in provider:
        return MappingProxyType({})
    params = fields_of(
        provider.entries["params"][1], _PARAMS, provider.findings, below(provider.where, "params"), only="tier"
    )
    if params is None:
        return MappingProxyType({})
    found: dict[Tier, Params] = {}
    for tier in Tier:
        values = params.values(tier.value) or {}
        for name in sorted(RESERVED_PARAMS.intersection(values)):
            message = f"the parameter '{name}' is set by mklang"
            params.problem("reserved-param", tier.value, message, hint=f"delete '{name}'")
        found[tier] = MappingProxyType({name: thaw(value) for name, value in values.items()})
    return MappingProxyType(found)
