"""What is known about providers beforehand, as data: addresses, usual names of keys, what their endpoints take (L102).

Whatever is not written here is learned from an endpoint's refusals (``mklang.llm.dialect``). A provider under another
name needs no entry: it says how it is spoken to and where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from mklang.llm.base import Params
from mklang.llm.dialect import Dialect, Form


class Api(Enum):
    """Which API an endpoint speaks."""

    CHAT = "openai_compat"
    MESSAGES = "anthropic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One provider.

    ``base_url`` and ``api_key_env`` are None where a host has to say them. ``prices`` is the provider's name in the
    price table (``mklang.llm.pricing``); ``free`` says that its models cost nothing.
    """

    base_url: str | None = None
    api_key_env: str | None = None
    api: Api = Api.CHAT
    dialect: Dialect = Dialect()  # noqa: RUF009 - frozen
    prices: str | None = None
    free: bool = False


def _shows(**thinking: object) -> Dialect:
    """An endpoint whose models show their thinking when asked like this."""
    params: Params = MappingProxyType(dict(thinking))  # type: ignore[arg-type] # JSON, written below
    return Dialect(thinking=params)


_OPENAI = Dialect(limit="max_completion_tokens")

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "anthropic": Profile(
            base_url="https://api.anthropic.com",
            api_key_env="ANTHROPIC_API_KEY",
            api=Api.MESSAGES,
            prices="anthropic",
        ),
        "azure": Profile(api_key_env="AZURE_OPENAI_API_KEY", dialect=_OPENAI, prices="azure"),
        "deepseek": Profile(
            base_url="https://api.deepseek.com/v1",
            api_key_env="DEEPSEEK_API_KEY",
            dialect=_shows(thinking={"type": "enabled"}),
            prices="deepseek",
        ),
        "google": Profile(
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            api_key_env="GEMINI_API_KEY",
            prices="google",
        ),
        "hetzner": Profile(api_key_env="HETZNER_API_KEY", dialect=Dialect(form=Form.FREE)),
        "local": Profile(free=True),
        "mistral": Profile(base_url="https://api.mistral.ai/v1", api_key_env="MISTRAL_API_KEY", prices="mistral"),
        "openai": Profile(
            base_url="https://api.openai.com/v1", api_key_env="OPENAI_API_KEY", dialect=_OPENAI, prices="openai"
        ),
        "openrouter": Profile(
            base_url="https://openrouter.ai/api/v1",
            api_key_env="OPENROUTER_API_KEY",
            dialect=_shows(reasoning={"enabled": True}),
            prices="openrouter",
        ),
        "xai": Profile(base_url="https://api.x.ai/v1", api_key_env="XAI_API_KEY", prices="x-ai"),
    }
)
