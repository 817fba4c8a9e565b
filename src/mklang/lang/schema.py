"""The JSON Schema of a document, for editors and other tools, derived from the vocabulary.

It says what a schema can say: every error the reader finds in the plain values of a document, and none of its warnings.
Duplicate keys, ambiguous scalars and the like are gone once a document has been loaded; only the reader sees them.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from mklang.lang.models import END
from mklang.lang.vocabulary import GATES, KEYS_AT, MAX_INTEGER, POLICIES, STATES, Key, Place, Shape

_Schema: TypeAlias = dict[str, object]

_LINE = r"\{\{\s*[\p{L}\p{N}_.]+\s*\}\}"
_ONE_PLACEHOLDER = rf"^(?![\s\S]*{_LINE}[\s\S]*{_LINE})[\s\S]*{_LINE}"


def schema() -> _Schema:
    """The schema as plain JSON values (draft 2020-12)."""
    definitions: _Schema = {"state": _by_marker({"tool": Place.TOOL, "call": Place.CALL}, _ref(Place.GENERATIVE))}
    definitions["gate"] = _by_marker(dict(POLICIES), {"anyOf": [{"required": [mark]} for mark in POLICIES]})
    for place in (*sorted(STATES | GATES, key=list(Place).index), Place.DECLARATION):
        definitions[_name(place)] = _map_of(place)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mklang machine",
        "description": "A state machine in which language models work and judges, hooks and code decide.",
        **_map_of(Place.DOCUMENT),
        "$defs": definitions,
    }


def schema_text() -> str:
    """The schema as the text of the committed file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _name(place: Place) -> str:
    return place.value.removeprefix("an ").removeprefix("a ").replace(" ", "-")


def _ref(place: Place) -> _Schema:
    return {"$ref": f"#/$defs/{_name(place)}"}


def _by_marker(markers: dict[str, Place], otherwise: _Schema) -> _Schema:
    """A choice by marker key, so that a mistake is reported against the one kind that was meant."""
    chosen = otherwise
    for mark, place in reversed(markers.items()):
        chosen = {"if": {"required": [mark]}, "then": _ref(place), "else": chosen}
    return {"type": "object", **chosen}


def _map_of(place: Place) -> _Schema:
    keys = KEYS_AT[place]
    found: _Schema = {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, key in keys.items() if key.required],
        "properties": {name: _value(key) for name, key in keys.items()},
    }
    if "sample" in keys:
        found["not"] = {"required": ["sample", "over"]}
    return found


def _value(key: Key) -> _Schema:
    since = "" if key.since == "0.2" else f" (since {key.since})"
    found: _Schema = {"description": key.description + since, **_type(key)}
    if key.default is not None:
        found["default"] = key.default
    return found


def _type(key: Key) -> _Schema:
    match key.shape:
        case Shape.TEXT:
            return _text(key)
        case Shape.INTEGER:
            return {"type": "integer", "minimum": key.least, "maximum": MAX_INTEGER}
        case Shape.BOOLEAN:
            return {"type": "boolean"}
        case Shape.TRUE:
            return {"const": True}
        case Shape.CHOICE:
            return {"enum": list(key.words)}
        case Shape.VALUES:
            return {"type": "object"}
        case Shape.DECLARATIONS:
            return {"type": "array", "items": _ref(Place.DECLARATION)}
        case Shape.STATES:
            names: _Schema = {"pattern": r"\S", "not": {"const": END}}
            return {
                "type": "object",
                "minProperties": 1,
                "propertyNames": names,
                "additionalProperties": {"$ref": "#/$defs/state"},
            }
        case Shape.GATES:
            return {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/gate"}}


def _text(key: Key) -> _Schema:
    if key.name == "over":
        return {"type": "string", "pattern": _ONE_PLACEHOLDER}
    if key.holds:
        return {"type": "string", "pattern": key.holds.pattern.pattern}
    return {"type": "string"}
