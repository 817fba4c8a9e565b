"""Reading a model's text as JSON (L47): strict, bounded, and never completing what the model left open."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from mklang.engine.level import StateHalt
from mklang.engine.outcome import Reason
from mklang.lang.models import Parse
from mklang.lang.values import Json, type_name

MAX_DEPTH = 200


def parse_observation(text: str) -> Json:
    """What a tool returned, read as JSON (L55): the map or list whose text it is, else the text as it is."""
    try:
        value = _loads(text)
    except (ValueError, RecursionError, _Unacceptable):
        return text
    return value if isinstance(value, dict | list) and _depth(value) <= MAX_DEPTH else text


def _loads(text: str) -> Json:
    value: Json = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique)
    return value


def parse_output(text: str, mode: Parse) -> Json:
    """The value of a state with ``parse:``. Fails the state with ``parse-list: …`` or ``parse-json: …``."""
    label = f"parse-{mode.value}"
    body = strip_code_fence(text.strip())
    try:
        value = _loads(body)
    except json.JSONDecodeError as error:
        _refuse(label, f"output is not valid JSON ({error})")
    except RecursionError:
        _refuse(label, f"output nests deeper than {MAX_DEPTH} levels")
    except _Unacceptable as error:
        _refuse(label, f"output is not valid JSON ({error})")
    except ValueError:
        _refuse(label, "output holds a number with too many digits")
    if body.count("[") + body.count("{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        _refuse(label, f"output nests deeper than {MAX_DEPTH} levels")
    if mode is Parse.LIST and not isinstance(value, list):
        _refuse(label, f"output is JSON but not an array (got {type_name(value)})")
    return value


def strip_code_fence(text: str) -> str:
    """The text inside a Markdown code fence that opens it: backticks and the rest of the opening line go (L47)."""
    if not text.startswith("```"):
        return text
    inner = text.strip("`")
    return inner.split("\n", 1)[1].strip() if "\n" in inner else inner.strip()


class _Unacceptable(Exception):
    """JSON that Python reads and the standard does not allow, or that means two things."""


def _no_constant(name: str) -> NoReturn:
    raise _Unacceptable(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Unacceptable(f"{text} is larger than any number")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Unacceptable(f"the key {json.dumps(key)} appears twice")
            seen.add(key)
    return value


def _depth(value: Json) -> int:
    """Nesting depth, without recursion."""
    deepest, queue = 0, [(value, 1)]
    while queue:
        item, depth = queue.pop()
        deepest = max(deepest, depth)
        if isinstance(item, dict):
            queue.extend((inner, depth + 1) for inner in item.values())
        elif isinstance(item, list):
            queue.extend((inner, depth + 1) for inner in item)
    return deepest


def _refuse(label: str, what: str) -> NoReturn:
    raise StateHalt(Reason.STATE_ERROR, f"{label}: {what}")
