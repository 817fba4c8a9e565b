"""The runtime configuration: which providers there are, and which model each tier of them stands for (L96, L97, L99).

Read like any other document: with places, every problem in one pass. It is looked for where the person or the machine's
administrator put it, never beside a machine: a document's folder tells mklang nothing about keys and addresses.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from mklang.diagnostics import Diagnostic, has_errors
from mklang.errors import ConfigError, DocumentError
from mklang.host.config_maps import by_name, fields_of, key_of
from mklang.host.judge_config import NO_JUDGES, Judges, read_judges
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
from mklang.llm.base import RESERVED_PARAMS, Params
from mklang.llm.jev import is_reserved, why_no_writer
from mklang.llm.pricing import OwnPrice
from mklang.llm.retry import Limits

FILE = "runtime.yaml"
SYSTEM = Path("/etc/mklang") / FILE


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
    USER = "user"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """One provider as configured. A tier without an entry in ``judges`` is judged by its own model (L60).

    ``tiers`` has each tier's first model, ``fallbacks`` those after it. ``timeout`` bounds one request, in seconds.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """A configuration that was read without errors. ``folder`` is what relative paths in it are relative to."""

    path: str
    layer: Layer
    active: str
    providers: Mapping[str, ProviderConfig]
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def folder(self) -> Path:
        """The directory the file is in."""
        return Path(self.path).parent

    def provider(self, name: str | None = None) -> ProviderConfig:
        """The provider of that name, or the active one. Raises ``ConfigError`` naming those there are."""
        wanted = name or self.active
        if wanted not in self.providers:
            meant = closest(wanted, self.providers)
            hint = f"; did you mean '{meant}'?" if meant else ""
            raise ConfigError(f"{self.path} has no provider '{wanted}', only {', '.join(self.providers)}{hint}")
        return self.providers[wanted]


def find_config(
    explicit: str | None, environ: Mapping[str, str], *, system: Path | None = None
) -> RuntimeConfig | None:
    """The first configuration there is: ``--config``, ``MKLANG_CONFIG``, the user's, the system's; None without any.

    Raises ``ConfigError`` when one that was named does not exist, ``DocumentError`` with every problem in the file.
    """
    named = ((explicit, Layer.EXPLICIT, "--config"), (environ.get("MKLANG_CONFIG"), Layer.ENV, "MKLANG_CONFIG"))
    for path, layer, origin in named:
        if path:
            if not Path(path).exists():
                raise ConfigError(f"{origin} names '{path}', and there is no such file")
            return read_config(path, layer)
    for place, layer in ((config_folder(environ) / FILE, Layer.USER), (system or SYSTEM, Layer.SYSTEM)):
        if place.exists():
            return read_config(os.fspath(place), layer)
    return None


def config_folder(environ: Mapping[str, str]) -> Path:
    """The user's configuration directory (L100); it may not exist."""
    own = environ.get("MKLANG_CONFIG_DIR")
    if own:
        return Path(own)
    base = environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "mklang"


def read_config(path: str, layer: Layer = Layer.EXPLICIT) -> RuntimeConfig:
    """Read a configuration file. Raises ``DocumentError`` with every problem found in it."""
    source, problems = read_source(path)
    if source is None:
        raise DocumentError(problems)
    root, problems = compose(source)
    findings = Findings(path)
    config = _read_root(root, findings, path, layer) if root is not None else None
    if root is None and not problems:
        problems = (Diagnostic(code="config-empty", message="this configuration is empty", path=path),)
    found = (*problems, *findings.everything())
    if config is None or has_errors(found):
        raise DocumentError(found)
    return RuntimeConfig(
        path=path, layer=layer, active=config.active, providers=config.providers, warnings=tuple(found)
    )


_ROOT = by_name(
    key_of("active", required=True),
    key_of("providers", Shape.VALUES, required=True),
    key_of("tools", Shape.VALUES),  # belongs to the tools; not read here
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


def _read_root(root: Node, findings: Findings, path: str, layer: Layer) -> RuntimeConfig | None:
    fields = fields_of(root, _ROOT, findings, "")
    if fields is None:
        return None
    active = fields.text("active")
    providers = {
        name: _read_provider(name, value, findings) for name, (_, value) in (fields.mapping("providers") or {}).items()
    }
    if "providers" in fields and active is not None and active not in providers:
        meant = closest(active, providers)
        hint = f"did you mean '{meant}'?" if meant else ""
        fields.problem("unknown-provider", "active", f"there is no provider '{active}'", hint=hint)
    return RuntimeConfig(path=path, layer=layer, active=active or "", providers=MappingProxyType(providers))


def _read_provider(name: str, node: Node, findings: Findings) -> ProviderConfig:
    where = below("providers", name)
    fields = fields_of(node, _PROVIDER, findings, where)
    if fields is None:
        return ProviderConfig(name=name, tiers={})
    models = _read_tiers(fields)
    return ProviderConfig(
        name=name,
        tiers=MappingProxyType({tier: listed[0] for tier, listed in models.items()}),
        protocol=Protocol(fields.choice("protocol") or "auto"),
        base_url=fields.text("base_url"),
        api_key_env=fields.text("api_key_env"),
        api_key_file=fields.text("api_key_file"),
        judges=read_judges(fields),
        params=_read_params(fields),
        fallbacks=read_fallbacks(fields, models),
        limits=read_limits(fields),
        timeout=read_timeout(fields),
        prices=read_prices(fields),
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
