"""Where models run: the back-ends of a provider, each made once, with the traffic, the key and the prices they share.

Two providers at one address share its traffic: a limit is the endpoint's, whatever it is called in a configuration.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mklang.errors import ConfigError
from mklang.host.config import Protocol, ProviderConfig, RuntimeConfig
from mklang.host.keys import KeyPlaces, beside, find_key
from mklang.host.plugins import MakeBackend, MakeJudge, ModelPlace
from mklang.host.seam import Seam
from mklang.llm.addresses import check_url, is_loopback
from mklang.llm.anthropic import AnthropicMessages
from mklang.llm.base import Backend
from mklang.llm.local import EMBEDDED_NAME, LocalModel
from mklang.llm.openai_compat import OpenAICompat
from mklang.llm.pricing import FREE, Price, PricedBackend, find_price
from mklang.llm.profiles import PROFILES, Api, Profile
from mklang.llm.retry import Limits, Pace, Patience, Traffic
from mklang.llm.signals import Watch
from mklang.llm.transport import TIMEOUT

_UNKNOWN = Profile()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What back-ends need of the host: its variables, clock and dice, who watches, and how long there is to wait."""

    environ: Mapping[str, str]
    seam: Seam
    watch: Watch | None = None
    patience: Patience | None = None
    providers: Mapping[str, MakeBackend] = field(default_factory=dict)
    judges: Mapping[str, MakeJudge] = field(default_factory=dict)
    traffics: dict[str, Traffic] = field(default_factory=dict)

    def traffic_to(self, base_url: str, limits: Limits | None = None) -> Traffic:
        """The traffic to an address, one for all who ask there. The first to ask says its limits."""
        address = urlsplit(base_url).netloc
        if address not in self.traffics:
            self.traffics[address] = self.traffic(limits)
        return self.traffics[address]

    def traffic(self, limits: Limits | None = None) -> Traffic:
        """Traffic to an address that nobody else asks."""
        return Traffic(pace=pace_of(self.seam), limits=limits, patience=self.patience)


def pace_of(seam: Seam) -> Pace:
    """Waiting for real, by the seam's clock and dice."""
    return Pace(
        sleep=asyncio.sleep,
        now=seam.now,
        jitter=lambda: int(seam.nonce()[:8], 16) / 2**32,
        elapsed=seam.elapsed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Somewhere that models run. ``address`` is None in this process; ``price`` gives None for a model without one."""

    name: str
    make: Callable[[str], Backend]
    local: Callable[[str | None], LocalModel]
    price: Callable[[str], Price | None]
    address: str | None = None
    key: str | None = None
    traffic: Traffic | None = None

    def backend(self, model: str) -> Backend:
        """The back-end of a model; its replies carry what they cost."""
        inner = self.make(model)
        return inner if isinstance(inner, LocalModel) else PricedBackend(inner, self.price)

    @property
    def where(self) -> str:
        """The place in words."""
        return f"at {self.address}" if self.address else "in this process"


class Places:
    """The providers of a configuration, each as a place, made when it is asked for."""

    def __init__(self, config: RuntimeConfig, around: Surroundings) -> None:
        self._config = config
        self._around = around
        self._made: dict[str, Place] = {}
        self._local = _LocalShelf(config, around)

    def of(self, provider: ProviderConfig) -> Place:
        """A provider's place. Raises ``ConfigError`` for one that cannot be used."""
        if provider.name not in self._made:
            self._made[provider.name] = self._make(provider)
        return self._made[provider.name]

    def _make(self, provider: ProviderConfig) -> Place:
        if provider.protocol is Protocol.EMBEDDED:
            return self._in_process(provider)
        if provider.protocol is Protocol.AUTO and provider.name in self._around.providers:
            return self._brought(provider, self._around.providers[provider.name])
        return self._remote(provider)

    def _brought(self, provider: ProviderConfig, make: MakeBackend) -> Place:
        """A plug-in's provider. Its key is the one that the configuration names for it, and no other."""
        places = KeyPlaces(
            owner=f"provider '{provider.name}'",
            config=self._config.path,
            folder=self._config.folder,
            variable=provider.api_key_env,
            file=provider.api_key_file,
        )
        key = find_key(places, self._around.environ)
        backend = make(
            ModelPlace(name=provider.name, base_url=provider.base_url, api_key=key, timeout=provider.timeout)
        )
        price = _Prices(provider.prices, table=None, free=False)
        return Place(
            name=provider.name,
            make=lambda _: backend,
            local=self._local,
            price=price,
            address=provider.base_url,
            key=key,
        )

    def _in_process(self, provider: ProviderConfig) -> Place:
        return Place(name=provider.name, make=self._local, local=self._local, price=lambda _: FREE)

    def _remote(self, provider: ProviderConfig) -> Place:
        profile = self._profile(provider)
        base_url = provider.base_url or profile.base_url
        if base_url is None:
            raise ConfigError(f"{self._config.path}: provider '{provider.name}' needs a base_url")
        try:
            base_url = check_url(base_url)
        except ConfigError as error:
            raise ConfigError(f"{self._config.path}: provider '{provider.name}': {error}") from None
        key = find_key(self._key_places(provider, profile), self._around.environ)
        traffic = self._around.traffic_to(base_url, provider.limits)
        timeout, watch = provider.timeout or TIMEOUT, self._around.watch
        endpoint: OpenAICompat | AnthropicMessages
        if _api(provider, profile) is Api.MESSAGES:
            endpoint = AnthropicMessages(base_url, traffic=traffic, api_key=key, timeout=timeout, watch=watch)
        else:
            endpoint = OpenAICompat(
                base_url, traffic=traffic, api_key=key, timeout=timeout, dialect=profile.dialect, watch=watch
            )
        price = _Prices(provider.prices, table=profile.prices, free=profile.free)
        return Place(
            name=provider.name,
            make=lambda _: endpoint,
            local=self._local,
            price=price,
            address=endpoint.base_url,
            key=key,
            traffic=traffic,
        )

    def _profile(self, provider: ProviderConfig) -> Profile:
        known = PROFILES.get(provider.name)
        if known is None and provider.protocol is Protocol.AUTO:
            raise ConfigError(
                f"{self._config.path}: provider '{provider.name}' is none that mklang knows; give it "
                f"'protocol: openai_compat' and a base_url (known are {', '.join(PROFILES)})"
            )
        return known or _UNKNOWN

    def _key_places(self, provider: ProviderConfig, profile: Profile) -> KeyPlaces:
        # The usual variable's key goes to the service it belongs to, not to another address under the service's name.
        own = profile.base_url is None or provider.base_url is None
        return KeyPlaces(
            owner=f"provider '{provider.name}'",
            config=self._config.path,
            folder=self._config.folder,
            variable=provider.api_key_env or (profile.api_key_env if own else None),
            file=provider.api_key_file,
        )


def _api(provider: ProviderConfig, profile: Profile) -> Api:
    match provider.protocol:
        case Protocol.ANTHROPIC:
            return Api.MESSAGES
        case Protocol.OPENAI_COMPAT:
            return Api.CHAT
        case _:
            return profile.api


def at_address(base_url: str, key: str | None, around: Surroundings) -> Place:
    """A place from the command line. A server on this machine costs nothing; a known address has its provider's
    prices. Raises ``ConfigError`` for an address that may not be used."""
    base_url = check_url(base_url)
    traffic = around.traffic_to(base_url)
    known = next((profile for profile in PROFILES.values() if profile.base_url == base_url), _UNKNOWN)
    endpoint = OpenAICompat(base_url, traffic=traffic, api_key=key, dialect=known.dialect, watch=around.watch)
    return Place(
        name="endpoint",
        make=lambda _: endpoint,
        local=lambda _: LocalModel.embedded(watch=around.watch, patience=around.patience),
        price=_Prices({}, table=known.prices, free=is_loopback(endpoint.base_url)),
        address=endpoint.base_url,
        key=key,
        traffic=traffic,
    )


def in_process(model: LocalModel) -> Place:
    """One model in this process."""
    return Place(name="embedded", make=lambda _: model, local=lambda _: model, price=lambda _: FREE)


class _Prices:
    """The prices of a place, each looked up once."""

    def __init__(self, own: Mapping[str, Price], *, table: str | None, free: bool) -> None:
        self._own = own
        self._table = table
        self._free = free
        self._found: dict[str, Price | None] = {}

    def __call__(self, model: str) -> Price | None:
        if model not in self._found:
            known = find_price(model, self._own, table=self._table)
            self._found[model] = FREE if known is None and self._free else known
        return self._found[model]


class _LocalShelf:
    """The models in this process, each made once: the built-in one by its name, others by their files."""

    def __init__(self, config: RuntimeConfig, around: Surroundings) -> None:
        self._config = config
        self._around = around
        self._made: dict[str, LocalModel] = {}

    def __call__(self, name: str | None) -> LocalModel:
        name = EMBEDDED_NAME if name is None or name.casefold() == EMBEDDED_NAME.casefold() else name
        if name not in self._made:
            watch, patience = self._around.watch, self._around.patience
            self._made[name] = (
                LocalModel.embedded(watch=watch, patience=patience)
                if name == EMBEDDED_NAME
                else LocalModel(beside(self._config.folder, name), watch=watch, patience=patience)
            )
        return self._made[name]
