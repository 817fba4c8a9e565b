"""The hooks whose name says everything (L59): values compared in code, so that no judge is asked what code can tell.

Pure, and never raising: what cannot be compared is not true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from mklang.engine.blackboard import format_value
from mklang.hooks.builtin import HookFunction
from mklang.lang.comparisons import (
    Comparison,
    PatternProblem,
    Relation,
    found_at,
    looked_into,
    read_comparison,
    validator_of,
)
from mklang.lang.values import Json


def comparison(name: str) -> HookFunction | None:
    """The hook that a name of the family stands for; None for another name, and for a pattern that cannot be used."""
    compared = read_comparison(name)
    if not isinstance(compared, Comparison):
        return None
    try:
        holds = _TESTS[compared.relation](compared)
    except PatternProblem:
        return None

    def ask(context: Mapping[str, Json], _output: Json) -> bool:
        return holds(*found_at(context, compared.path))

    return ask


_Test = Callable[[bool, Json], bool]


def _equal(compared: Comparison) -> _Test:
    """The trimmed text of the value, as prompts show it (L26) or as Python writes it; missing is empty text."""

    def holds(found: bool, value: Json) -> bool:
        return compared.argument in (_texts(value) if found else {""})

    return holds


def _unequal(compared: Comparison) -> _Test:
    equal = _equal(compared)
    return lambda found, value: not equal(found, value)


def _ordered(compared: Comparison) -> _Test:
    """A number, or the text of one, against a number. A boolean is no number."""
    limit = compared.number
    tests: Mapping[Relation, Callable[[float], bool]] = {
        Relation.LT: lambda number: number < limit,
        Relation.LE: lambda number: number <= limit,
        Relation.GT: lambda number: number > limit,
        Relation.GE: lambda number: number >= limit,
    }
    test = tests[compared.relation]

    def holds(_found: bool, value: Json) -> bool:
        number = _number(value)
        return number is not None and test(number)

    return holds


def _among(compared: Comparison) -> _Test:
    """The trimmed text of a value that is no list or map, among those listed."""
    allowed = {text.strip() for text in compared.argument.split(",")}
    return lambda found, value: found and not isinstance(value, list | dict) and bool(allowed & _texts(value))


def _contains(compared: Comparison) -> _Test:
    """An item of a list, a key of a map, a part of a text."""

    def holds(_found: bool, value: Json) -> bool:
        if isinstance(value, list):
            return any(compared.argument in _texts(item) for item in value)
        return isinstance(value, dict | str) and compared.argument in value

    return holds


def _sized(compared: Comparison) -> _Test:
    """The number of characters, items or keys."""
    least, most = compared.bounds

    def holds(_found: bool, value: Json) -> bool:
        return isinstance(value, str | list | dict) and least <= len(value) and (most is None or len(value) <= most)

    return holds


def _matching(compared: Comparison) -> _Test:
    """A regular expression somewhere in the text of a value that is no list or map."""
    fits = validator_of(compared.relation, compared.argument)
    return lambda found, value: found and not isinstance(value, list | dict) and fits(format_value(value))


def _valid(compared: Comparison) -> _Test:
    """A JSON Schema; the JSON text of a map or list is looked into."""
    fits = validator_of(compared.relation, compared.argument)
    return lambda found, value: found and (fits(value) or (isinstance(value, str) and fits(looked_into(value))))


def _texts(value: Json) -> set[str]:
    return {format_value(value).strip(), str(value).strip()}


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


_TESTS: Mapping[Relation, Callable[[Comparison], _Test]] = MappingProxyType(
    {
        Relation.EQ: _equal,
        Relation.NEQ: _unequal,
        Relation.LT: _ordered,
        Relation.LE: _ordered,
        Relation.GT: _ordered,
        Relation.GE: _ordered,
        Relation.IN: _among,
        Relation.HAS: _contains,
        Relation.LEN: _sized,
        Relation.MATCHES: _matching,
        Relation.SCHEMA: _valid,
        Relation.EXISTS: lambda _: lambda found, value: found and value is not None,
    }
)
