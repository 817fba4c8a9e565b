"""The form in which tools that reach the world report: JSON text with the same seven keys, whatever happened (L105).

``tool``, ``stub`` (nothing real was asked), ``error`` (null when fine), ``status``, ``retryable``, ``untrusted``, then
what the tool has to say. Such a tool never raises: a fault is a report a machine can decide on.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, TypeAlias

import msgspec

from mklang.engine.options import Effect
from mklang.lang.values import Json
from mklang.tools.tool import HostTool, tool

Payload: TypeAlias = Mapping[str, Json]
Work: TypeAlias = Callable[..., Payload | Awaitable[Payload]]

CUT = "…[truncated]"


class ToolProblem(Exception):
    """A tool could not do it: the message for the report, and what else the report says."""

    def __init__(self, message: str, **payload: Json) -> None:
        self.payload = payload
        super().__init__(message)


def report(name: str, payload: Payload, *, stub: bool = False, error: str | None = None) -> str:
    """One report as JSON text; characters outside ASCII stay."""
    head: dict[str, Json] = {
        "tool": name,
        "stub": stub,
        "error": error,
        "status": "ok" if error is None else "error",
        "retryable": False,
        "untrusted": True,
    }
    text = json.dumps(head | dict(payload), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "replace").decode()  # half a surrogate pair, from a path perhaps, is no text


def reporting(
    work: Work,
    *,
    name: str,
    description: str,
    effect: Effect,
    stub: bool = False,
    idempotent: bool = False,
    timeout: float | None = 60.0,
) -> HostTool:
    """A tool that does ``work``, a function with typed parameters that returns what there is to say, and reports.

    What does not fit its parameters, ``ToolProblem`` and every other exception become reports with an ``error``.
    """
    typed = tool(name=name, description=description)(work)

    def begin(arguments: Mapping[str, Json]) -> Payload | Awaitable[Payload]:
        read = msgspec.convert(dict(arguments), typed.parameters or msgspec.Struct, strict=False)
        given = msgspec.structs.asdict(read)
        return work(**{key: value for key, value in given.items() if value is not msgspec.UNSET})

    def failed(error: Exception) -> str:
        payload = error.payload if isinstance(error, ToolProblem) else {}
        return report(name, payload, stub=stub, error=_told(error))

    def call(arguments: Mapping[str, Json]) -> str | Awaitable[str]:
        try:
            result = begin(arguments)
        except Exception as error:  # noqa: BLE001 - the tool's top level: whatever happened is its report
            return failed(error)
        return finish(result) if isawaitable(result) else report(name, _plain(result), stub=stub)

    async def finish(waited: Awaitable[Payload]) -> str:
        try:
            return report(name, await waited, stub=stub)
        except Exception as error:  # noqa: BLE001 - as above
            return failed(error)

    return HostTool(
        name=name,
        function=call,
        description=description,
        schema=typed.schema,
        effect=effect,
        idempotent=idempotent,
        timeout=timeout,
    )


def clipped(text: str, limit: int) -> str:
    """Text of at most ``limit`` characters; what was cut ends in a visible mark."""
    return text if len(text) <= limit else text[: limit - len(CUT)] + CUT


def _plain(result: Payload | Awaitable[Payload]) -> Payload:
    if isinstance(result, Mapping):
        return result
    raise ToolProblem(f"the tool returned {type(result).__name__} instead of a map")


def _told(error: Exception) -> str:
    match error:
        case ToolProblem():
            return str(error)
        case msgspec.ValidationError():
            return f"the input does not fit: {error}"
        case OSError(strerror=str(reason)):
            return reason
        case _:
            told: Any = str(error)
            return f"{type(error).__name__}: {told}" if told else type(error).__name__
