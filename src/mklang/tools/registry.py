"""Which tool a name stands for, and what happens when one is called."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

import msgspec

from mklang.engine.options import Effect
from mklang.engine.requests import Observation, Tool, Usage
from mklang.engine.taint import effect_of
from mklang.errors import AnswerFailed, ConfigError, ToolFailed, UnknownTool
from mklang.lang.values import Json
from mklang.tools.calc import CALC
from mklang.tools.threads import on_thread
from mklang.tools.tool import KEY_PARAMETER, HostTool, ToolFunction, as_tool

BUILTIN: Mapping[str, HostTool] = MappingProxyType({CALC.name: CALC})
"""The tools that need nothing of a host."""


class ToolRegistry(Mapping[str, HostTool]):
    """The tools of one host, immutable; the host's own stand before the built-in ones (L55, L105)."""

    __slots__ = ("_named", "given")

    def __init__(self, tools: Mapping[str, HostTool | ToolFunction] | Iterable[HostTool] | None = None) -> None:
        """``tools`` are tools, or functions that take one map, by name. Raises ``ConfigError`` for a name twice."""
        self.given: Mapping[str, HostTool] = MappingProxyType(named_tools(tools or {}))
        self._named = MappingProxyType({**BUILTIN, **self.given})

    def __getitem__(self, name: str) -> HostTool:
        """The tool of that name. Raises ``UnknownTool`` naming what exists."""
        found = self._named.get(name)
        if found is None:
            raise UnknownTool(name, self._named)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._named

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    @property
    def repeatable(self) -> frozenset[str]:
        """The tools that may be called again after a crash, with the same ``idempotency_key`` where they take one."""
        return frozenset(name for name, tool in self._named.items() if tool.repeatable)

    @property
    def effects(self) -> dict[str, Effect]:
        """What each tool does to the world, for those whose name alone does not tell (L77)."""
        return {name: tool.effect for name, tool in self._named.items() if tool.effect is not effect_of(name, {})}

    async def answer(self, request: Tool) -> Observation:
        """Call the tool a request names, with a map of its own that it may change.

        A synchronous tool runs on a thread, an asynchronous one on the event loop. Text is the observation as it is,
        every other result its JSON text. Raises ``UnknownTool``, or ``ToolFailed`` with type and message when the input
        does not fit, the tool raises, exits, takes longer than it may, or returns what JSON cannot hold.
        """
        tool = self[request.name]
        call, bound = _prepared(tool, request), asyncio.timeout(tool.timeout)
        try:
            async with bound:
                result = await _result(tool, call)
            text = _text(result)
        except AnswerFailed:
            raise
        except asyncio.CancelledError:
            if _being_cancelled():
                raise
            raise ToolFailed(f"tool '{request.name}': CancelledError") from None
        except (Exception, SystemExit) as error:  # calling a plug-in: any fault of its is the state's
            if isinstance(error, TimeoutError) and bound.expired():
                raise ToolFailed(f"tool '{request.name}': {_late(tool)}") from None
            raise ToolFailed(f"tool '{request.name}': {fault(error)}") from error
        return Observation(text, usage=Usage(nano_usd=tool.nano_usd)) if tool.nano_usd else Observation(text)


def named_tools(tools: Mapping[str, HostTool | ToolFunction] | Iterable[HostTool]) -> dict[str, HostTool]:
    """Tools by name. Raises ``ConfigError`` for two of one name."""
    if isinstance(tools, Mapping):
        return {name: as_tool(name, given) for name, given in tools.items()}
    found: dict[str, HostTool] = {}
    for tool in tools:
        if not isinstance(tool, HostTool):
            raise ConfigError(f"{tool!r} is no tool; put @mklang.tool before the function, or give it a name in a map")
        if tool.name in found:
            raise ConfigError(f"there are two tools called '{tool.name}'")
        found[tool.name] = tool
    return found


def _prepared(tool: HostTool, request: Tool) -> partial[object]:
    """The call with its arguments: the map itself, or what the parameters make of it."""
    arguments: dict[str, Json] = {key: _copied(value) for key, value in request.input.items()}
    key = {KEY_PARAMETER: request.idempotency_key} if tool.takes_key else {}
    if tool.parameters is None:
        return partial(tool.function, arguments, **key)
    try:
        read = msgspec.convert(arguments, tool.parameters, strict=False)
    except msgspec.ValidationError as error:
        raise ToolFailed(f"tool '{tool.name}': its input does not fit: {error}") from None
    given = ((name, getattr(read, name)) for name in tool.parameters.__struct_fields__)
    return partial(tool.function, **{name: value for name, value in given if value is not msgspec.UNSET}, **key)


async def _result(tool: HostTool, call: partial[object]) -> object:
    result = call() if _is_async(tool.function) else await on_thread(call)
    return await result if inspect.isawaitable(result) else result


def _is_async(tool: ToolFunction) -> bool:
    return inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(getattr(tool, "__call__", None))  # noqa: B004 - the method, not whether there is one


def _late(tool: HostTool) -> str:
    told = f"no answer within {tool.timeout:g} s"
    return f"{told}; what it does may still have happened" if tool.effect is Effect.EFFECT else told


def _text(result: object) -> str:
    if isinstance(result, str):
        if not result.isascii():
            _check_text(result)
        return result
    try:
        text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolFailed(f"the result of type {type(result).__name__} is neither text nor JSON ({error})") from error
    _check_text(text)
    return text


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolFailed("the result has half a surrogate pair in it, which is no text") from None


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _being_cancelled() -> bool:
    """Whether the cancellation comes from outside, and is not just something the tool raised."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def fault(error: BaseException) -> str:
    """An exception in words: its type, and its message where it has one."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
