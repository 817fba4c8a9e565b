"""The predicates that every host has (L59). Pure, and never raising: what they cannot make sense of is not true."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from mklang.lang.values import Json

HookFunction: TypeAlias = Callable[[Mapping[str, Json], Json], object]
"""What a hook is: called with the blackboard, read-only, and the state's raw result; its truth value decides (L58)."""

AMOUNT_LIMIT = 100


def always_true(_context: Mapping[str, Json], _output: Json) -> bool:
    """Always true."""
    return True


def always_false(_context: Mapping[str, Json], _output: Json) -> bool:
    """Never true."""
    return False


def amount_le_100(context: Mapping[str, Json], _output: Json) -> bool:
    """Whether ``amount`` is a number, or the text of one, of 100 or less; a boolean is no amount."""
    amount = context.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, int | float | str):
        return False
    try:
        number = float(amount)
    except (ValueError, OverflowError):
        return False
    return math.isfinite(number) and number <= AMOUNT_LIMIT


def has_receipt(context: Mapping[str, Json], _output: Json) -> bool:
    """Whether ``has_receipt`` is truthy."""
    return bool(context.get("has_receipt"))


def auto_approve_ok(context: Mapping[str, Json], output: Json) -> bool:
    """Whether the amount is small and there is a receipt."""
    return amount_le_100(context, output) and has_receipt(context, output)


def write_failed(_context: Mapping[str, Json], output: Json) -> bool:
    """Whether the output, a map or the JSON text of one, has an ``error`` that is not null, or ``written: false``."""
    report = _parsed(output) if isinstance(output, str) else output
    return isinstance(report, dict) and (report.get("error") is not None or report.get("written") is False)


BUILTIN: Mapping[str, HookFunction] = MappingProxyType(
    {
        hook.__name__: hook
        for hook in (always_true, always_false, amount_le_100, has_receipt, auto_approve_ok, write_failed)
    }
)
"""The built-in hooks by name. ``console_workspace_ready`` belongs to the console and comes with it."""


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
