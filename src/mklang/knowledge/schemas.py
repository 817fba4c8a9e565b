"""The guards of the cycle, and the forms of the public reference they hold its files against.

The list of forbidden texts is the operator's and empty without one (I9, S46).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mklang.guards import DEFAULT_FORBIDDEN_SUBSTRINGS, Bounds, Forbidden, Format, Guard, Where
from mklang.knowledge.patterns import CATEGORIES

RECORD_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["ts", "type", "data"],
    "additionalProperties": False,
    "properties": {
        "ts": {"type": "string", "format": "date-time"},
        "type": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": r"^[a-z][a-z0-9_\-]*$"},
        "data": {"type": "object"},
    },
}

_TIME = {"type": "string", "format": "date-time"}
KNOWLEDGE_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["pattern", "distilled", "importance"],
        "additionalProperties": False,
        "properties": {
            "pattern": {"type": "string", "minLength": 1},
            "distilled": {"anyOf": [_TIME, {"const": "unknown"}]},
            "importance": {"type": "number", "minimum": 0, "maximum": 1},
            "category": {"type": "string", "minLength": 1, "maxLength": 64},
            "source": {"type": "string"},
            "last_accessed": _TIME,
        },
    },
}

FOUND_SCHEMA: dict[str, Any] = {
    "type": "array",
    "maxItems": 200,
    "items": {
        "type": "object",
        "required": ["pattern", "importance", "category"],
        "additionalProperties": False,
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": r"\S"},
            "importance": {"type": "number", "minimum": 0, "maximum": 1},
            "category": {"enum": list(CATEGORIES)},
        },
    },
}


def _on_read(schema: dict[str, Any]) -> dict[str, Any]:
    """Times as anybody wrote them: the reference's own have no seconds, which its schema does not take."""
    properties = {**schema["items"]["properties"], "distilled": {"type": "string"}, "last_accessed": {"type": "string"}}
    return {**schema, "items": {**schema["items"], "properties": properties, "required": ["pattern"]}}


ForbiddenTexts = Iterable[Forbidden | str]


def prose_guard(forbid: ForbiddenTexts = DEFAULT_FORBIDDEN_SUBSTRINGS) -> Guard:
    """What the first stage may give: a text of sane size."""
    return Guard(name="reflection", parse=Format.TEXT, forbidden=tuple(forbid), bounds=Bounds(bytes=65_536))


def found_guard(forbid: ForbiddenTexts = DEFAULT_FORBIDDEN_SUBSTRINGS, *, per_item: bool = False) -> Guard:
    """What the second stage may give: a list of patterns, importances and categories, and nothing else."""
    bounds = Bounds(bytes=262_144, depth=4, items=200)
    return Guard(
        name="found-patterns",
        schema=FOUND_SCHEMA,
        forbidden=_in_values(forbid),
        bounds=bounds,
        fold_whitespace=True,
        per_item=per_item,
    )


def knowledge_guard(forbid: ForbiddenTexts = DEFAULT_FORBIDDEN_SUBSTRINGS, *, strict: bool = True) -> Guard:
    """What ``knowledge.json`` may hold; not ``strict`` for one that somebody else wrote."""
    bounds = Bounds(bytes=64 * 1024 * 1024, depth=4, items=100_000)
    schema = KNOWLEDGE_SCHEMA if strict else _on_read(KNOWLEDGE_SCHEMA)
    return Guard(name="knowledge", schema=schema, forbidden=_in_values(forbid), bounds=bounds, fold_whitespace=True)


def rule_guard(forbid: ForbiddenTexts = DEFAULT_FORBIDDEN_SUBSTRINGS) -> Guard:
    """What a file of layer 3 may hold: a text of sane size."""
    bounds = Bounds(bytes=1024 * 1024)
    return Guard(name="rule-file", parse=Format.TEXT, forbidden=tuple(forbid), bounds=bounds, fold_whitespace=True)


def _in_values(forbid: ForbiddenTexts) -> tuple[Forbidden | str, ...]:
    """Entries looked for in values alone: the keys are the form's own."""
    return tuple(Forbidden(one, Where.VALUES) if isinstance(one, str) else one for one in forbid)
