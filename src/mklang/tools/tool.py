"""What a tool is to a host: one frozen value that says how it is called and what it does to the world (L55, L77)."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias, overload

import msgspec

from mklang.engine.options import Effect
from mklang.errors import ConfigError
from mklang.lang.values import Json

ToolFunction: TypeAlias = Callable[..., object]
"""What does the work: called with one map, or with typed parameters where :func:`tool` made it. Synchronous or not."""

DEFAULT_TIMEOUT = 60.0
"""Seconds that one call may take when nobody says."""
NANO = 1_000_000_000
KEY_PARAMETER = "idempotency_key"
_ANY_INPUT: Mapping[str, Json] = MappingProxyType({"type": "object"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTool:
    """One tool of a host.

    ``name`` is what machines call it. ``schema`` is the JSON Schema of its input, a map. ``effect`` says what a call
    does: ``read`` looks at what is here, ``egress`` sends its arguments elsewhere and changes nothing, ``effect``
    changes something (L77). A call of an ``idempotent`` tool may be repeated after a crash. ``timeout`` is in seconds,
    None for no bound but the run's; ``nano_usd`` is what a call costs, in billionths of a US dollar. ``parameters``
    reads the input of a function with typed parameters; without it the function takes the map itself.
    """

    name: str
    function: ToolFunction
    description: str = ""
    schema: Mapping[str, Json] = field(default_factory=lambda: _ANY_INPUT)
    effect: Effect = Effect.EFFECT
    idempotent: bool = False
    timeout: float | None = DEFAULT_TIMEOUT
    nano_usd: int = 0
    parameters: type[msgspec.Struct] | None = None

    def __post_init__(self) -> None:
        """Raises ``ConfigError`` for a tool that could not be called by its name, or with a bound that is none."""
        if not self.name or self.name != self.name.strip():
            raise ConfigError(f"a tool's name is not empty and has no space around it, not {self.name!r}")
        if not callable(self.function):
            raise ConfigError(f"tool '{self.name}': {self.function!r} cannot be called")
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise ConfigError(f"tool '{self.name}': timeout is a number of seconds above 0, not {self.timeout!r}")
        if self.nano_usd < 0:
            raise ConfigError(f"tool '{self.name}': a call cannot cost less than nothing")

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function behind it, as its author would."""
        return self.function(*arguments, **named)

    @property
    def takes_key(self) -> bool:
        """Whether the function has a parameter ``idempotency_key``: the same again when a call is repeated (L84)."""
        return takes_key(self.function)

    @property
    def repeatable(self) -> bool:
        """Whether a call may be made again after a crash: it only looks, is idempotent, or recognises its key."""
        return self.idempotent or self.takes_key or self.effect is not Effect.EFFECT


def takes_key(function: ToolFunction) -> bool:
    """Whether a function has a parameter for the idempotency key."""
    try:
        return KEY_PARAMETER in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


@overload
def tool(function: ToolFunction, /) -> HostTool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect | str = Effect.EFFECT,
    idempotent: bool = False,
    timeout: float | None = DEFAULT_TIMEOUT,
    usd_per_call: Decimal | float | str = 0,
) -> Callable[[ToolFunction], HostTool]: ...
def tool(
    function: ToolFunction | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect | str = Effect.EFFECT,
    idempotent: bool = False,
    timeout: float | None = DEFAULT_TIMEOUT,
    usd_per_call: Decimal | float | str = 0,
) -> HostTool | Callable[[ToolFunction], HostTool]:
    """Make a tool of a function, bare or with what is to be said about it.

    The parameters are the keys of a tool state's ``input``; their type hints are checked, and text is read as a number
    or boolean where the hint says so. A function whose only parameter is hinted as a map gets the whole input. Name and
    description are the function's unless given; a tool is taken to change something unless ``effect`` says otherwise.
    Raises ``ConfigError`` for a signature that no map can fill.
    """

    def make(function: ToolFunction) -> HostTool:
        called = name or str(getattr(function, "__name__", ""))
        parameters = None if takes_whole_map(function) else _parameters_of(function, called)
        return HostTool(
            name=called,
            function=function,
            description=inspect.getdoc(function) or "" if description is None else description,
            schema=_ANY_INPUT if parameters is None else _schema_of(parameters),
            effect=_effect_of(effect, called),
            idempotent=idempotent,
            timeout=timeout,
            nano_usd=int(Decimal(str(usd_per_call)) * NANO),
            parameters=parameters,
        )

    return make if function is None else make(function)


def as_tool(name: str, given: HostTool | ToolFunction) -> HostTool:
    """A tool under a name: as it is, or made of a function that takes one map."""
    if isinstance(given, HostTool):
        return given if given.name == name else replace(given, name=name)
    return HostTool(name=name, function=given, description=inspect.getdoc(given) or "")


def _effect_of(effect: Effect | str, name: str) -> Effect:
    try:
        return Effect(effect)
    except ValueError:
        allowed = ", ".join(one.value for one in Effect)
        raise ConfigError(f"tool '{name}': effect is one of {allowed}, not {effect!r}") from None


def takes_whole_map(function: Callable[..., object]) -> bool:
    """Whether a function's only parameter, besides the idempotency key, is hinted as a map."""
    given = [one for one in _signature(function, "").parameters.values() if one.name != KEY_PARAMETER]
    if len(given) != 1:
        return False
    hint = _hints(function).get(given[0].name)
    return (typing.get_origin(hint) or hint) in {dict, Mapping, MutableMapping}


def _parameters_of(function: ToolFunction, name: str) -> type[msgspec.Struct]:
    """A struct with the function's parameters; one that has a default may stay unset."""
    hints = _hints(function)
    fields: list[tuple[str, Any, Any] | tuple[str, Any]] = []
    for parameter in _signature(function, name).parameters.values():
        if parameter.name == KEY_PARAMETER:
            continue
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise ConfigError(f"tool '{name}': the parameter '{parameter}' has no name that a map could have as a key")
        hint = hints.get(parameter.name, Any)
        if parameter.default is parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, typing.Union[hint, msgspec.UnsetType], msgspec.UNSET))  # noqa: UP007 - hint is a value
    try:
        made = msgspec.defstruct(name or "Input", fields, kw_only=True, forbid_unknown_fields=True)
        _schema_of(made)
    except (TypeError, RuntimeError) as error:
        raise ConfigError(f"tool '{name}': a type hint cannot be read from JSON: {error}") from None
    return made


def _signature(function: Callable[..., object], name: str) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"tool '{name}': its parameters cannot be made out: {error}") from None


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except NameError as error:
        raise ConfigError(f"a type hint of '{getattr(function, '__name__', function)}' is unknown: {error}") from None


def _schema_of(parameters: type[msgspec.Struct]) -> Mapping[str, Json]:
    """The JSON Schema of the struct, as one map."""
    whole = msgspec.json.schema(parameters)
    others: dict[str, Any] = whole.get("$defs", {})
    schema: dict[str, Any] = others.pop(str(whole["$ref"]).rpartition("/")[2]) if "$ref" in whole else whole
    schema.pop("title", None)
    if others:
        schema["$defs"] = others
    return MappingProxyType(schema)
