"""What a hook is to a host: a predicate under a name, with what it looks at (L58)."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, overload

import msgspec

from mklang.errors import ConfigError, HookFailed
from mklang.hooks.builtin import HookFunction
from mklang.lang.values import Json

OUTPUT = "output"
"""A parameter of this name is the state's raw result; the others are context keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostHook:
    """One hook of a host: ``function`` is called with the blackboard, read-only, and the state's raw result.

    ``keys`` are the context keys it looks at, None where nobody knows.
    """

    name: str
    function: HookFunction
    description: str = ""
    keys: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Raises ``ConfigError`` for a hook that is none, and for a judge: a hook is code, and decides alone (S25)."""
        if not self.name or self.name != self.name.strip():
            raise ConfigError(f"a hook's name is not empty and has no space around it, not {self.name!r}")
        _refuse_judge(self.name, self.function)
        if not callable(self.function):
            raise ConfigError(f"hook '{self.name}': {self.function!r} cannot be called")

    def __call__(self, context: Mapping[str, Json], output: Json) -> object:
        """Ask it."""
        return self.function(context, output)


@overload
def hook(function: Callable[..., object], /) -> HostHook: ...
@overload
def hook(*, name: str | None = None, description: str | None = None) -> Callable[[Callable[..., object]], HostHook]: ...
def hook(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
) -> HostHook | Callable[[Callable[..., object]], HostHook]:
    """Make a hook of a function, bare or with a name and description of its own.

    A function ``(context, output)`` gets the blackboard and the state's raw result. Of any other the parameters are
    context keys, read by their type hints, and ``output``; a key that is missing or null takes the parameter's default.
    Raises ``ConfigError`` for a signature that no blackboard can fill.
    """

    def make(function: Callable[..., object]) -> HostHook:
        called = name or str(getattr(function, "__name__", ""))
        _refuse_judge(called, function)
        told = inspect.getdoc(function) or "" if description is None else description
        parameters = list(inspect.signature(function).parameters.values())
        if parameters and parameters[0].name in {"context", "ctx", "_context"}:
            return HostHook(name=called, function=function, description=told)
        for parameter in parameters:
            if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
                raise ConfigError(f"hook '{called}': the parameter '{parameter}' names no context key")
        keys = tuple(parameter.name for parameter in parameters if parameter.name != OUTPUT)
        return HostHook(name=called, function=_typed(function, called, parameters), description=told, keys=keys)

    return make if function is None else make(function)


def _refuse_judge(name: str, function: object) -> None:
    owner = getattr(function, "__self__", function)
    if callable(getattr(owner, "judge", None)) or callable(getattr(owner, "chances", None)):
        told = "a hook is code that decides alone, a judge decides gates without a hook"
        raise ConfigError(f"hook '{name}' is a judge: {told}")


def as_hook(name: str, given: HostHook | HookFunction) -> HostHook:
    """A hook under a name: as it is, or made of a function ``(context, output)``."""
    if isinstance(given, HostHook):
        return given if given.name == name else replace(given, name=name)
    return HostHook(name=name, function=given)


def _typed(function: Callable[..., object], name: str, parameters: list[inspect.Parameter]) -> HookFunction:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigError(f"hook '{name}': a type hint is unknown: {error}") from None

    def ask(context: Mapping[str, Json], output: Json) -> object:
        given: dict[str, Any] = {}
        for parameter in parameters:
            value = output if parameter.name == OUTPUT else context.get(parameter.name)
            if value is None and parameter.default is not parameter.empty:
                continue
            try:
                given[parameter.name] = msgspec.convert(value, hints.get(parameter.name, Any), strict=False)
            except msgspec.ValidationError as error:
                raise HookFailed(f"hook '{name}': '{parameter.name}' does not fit: {error}") from None
        return function(**given)

    return ask
