"""Which tool a name stands for, and what happens when one is called."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from mklang.engine.requests import Observation, Tool
from mklang.errors import AnswerFailed, ToolFailed, UnknownTool
from mklang.lang.values import Json
from mklang.tools.calc import calc

ToolFunction: TypeAlias = Callable[..., object]
"""What a tool is: called with one map, synchronous or not; its result becomes the observation's text (L55).

A tool with a keyword parameter ``idempotency_key`` is given one.
"""

BUILTIN: Mapping[str, ToolFunction] = MappingProxyType({"calc": calc})


class ToolRegistry(Mapping[str, ToolFunction]):
    """The tools of one host, immutable; the host's own stand before the built-in ones (L55, L105)."""

    __slots__ = ("_named",)

    def __init__(self, tools: Mapping[str, ToolFunction] | None = None) -> None:
        self._named = MappingProxyType({**BUILTIN, **(tools or {})})

    def __getitem__(self, name: str) -> ToolFunction:
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
        """The tools that take an ``idempotency_key``: calling one again with the same key changes nothing more."""
        return frozenset(name for name, tool in self._named.items() if _takes_key(tool))

    async def answer(self, request: Tool) -> Observation:
        """Call the tool a request names, with a map of its own that it may change.

        A tool with a parameter ``idempotency_key`` gets the request's, the same again after a crash.

        A synchronous tool runs on a thread, an asynchronous one on the event loop. Text is the observation as it is,
        every other result its JSON text. Raises ``UnknownTool``, or ``ToolFailed`` with type and message when the tool
        raises, exits, or returns what JSON cannot hold.
        """
        tool = self[request.name]
        arguments: dict[str, Json] = {key: _copied(value) for key, value in request.input.items()}
        try:
            keyed = partial(tool, idempotency_key=request.idempotency_key) if _takes_key(tool) else tool
            return Observation(_text(await _call(keyed, arguments)))
        except AnswerFailed:
            raise
        except asyncio.CancelledError:
            if _being_cancelled():
                raise
            raise ToolFailed(f"tool '{request.name}': CancelledError") from None
        except (Exception, SystemExit) as error:  # calling a plug-in: any fault of its is the state's
            raise ToolFailed(f"tool '{request.name}': {_fault(error)}") from error


def _takes_key(tool: ToolFunction) -> bool:
    try:
        return "idempotency_key" in inspect.signature(tool).parameters
    except (TypeError, ValueError):
        return False


async def _call(tool: ToolFunction, arguments: dict[str, Json]) -> object:
    if _is_async(tool):
        result = tool(arguments)
    else:
        result, raised = await asyncio.to_thread(_caught, tool, arguments)
        if raised is not None:
            raise raised
    return await result if inspect.isawaitable(result) else result


def _caught(tool: ToolFunction, arguments: dict[str, Json]) -> tuple[object, BaseException | None]:
    """Result and exception as values: a future cannot carry every exception (StopIteration), and would never end."""
    try:
        return tool(arguments), None
    except BaseException as error:  # noqa: BLE001 - calling a plug-in on a thread: raised again by the caller
        return None, RuntimeError("the tool raised StopIteration") if isinstance(error, StopIteration) else error


def _is_async(tool: ToolFunction) -> bool:
    return inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(getattr(tool, "__call__", None))  # noqa: B004 - the method, not whether there is one


def _text(result: object) -> str:
    if isinstance(result, str):
        return result
    try:
        return json.dumps(result, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolFailed(f"the result of type {type(result).__name__} is neither text nor JSON ({error})") from error


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _being_cancelled() -> bool:
    """Whether the cancellation comes from outside, and is not just something the tool raised."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _fault(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
