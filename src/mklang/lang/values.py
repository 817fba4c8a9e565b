"""The values a blackboard can hold: JSON, nothing else. Author literals are frozen; a run works on a thawed copy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
    Frozen: TypeAlias = "bool | int | float | str | tuple[Frozen, ...] | Mapping[str, Frozen] | None"
else:
    Json = Frozen = Any  # msgspec decodes by these names and knows no recursive alias


def freeze(value: Json) -> Frozen:
    """The same value with every list a tuple and every map read-only."""
    if isinstance(value, dict):
        return MappingProxyType({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Frozen) -> Json:
    """A fresh mutable copy of a frozen value: nothing a run does can reach the author's literal."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    return value


def type_name(value: object) -> str:
    """The JSON name of a value's type, for messages: ``text``, ``number``, ``list``, ``map`` …"""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, Mapping):
        return "map"
    return "list" if isinstance(value, list | tuple) else type(value).__name__
