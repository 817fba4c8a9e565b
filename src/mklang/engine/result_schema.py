"""The JSON Schema of a run's output (L73), derived from the table of its keys and from the records inside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from mklang.engine.guarding import Check
from mklang.engine.outcome import PendingAsk
from mklang.engine.provenance import Provenance
from mklang.engine.requests import Attempt
from mklang.engine.trace import BranchFailure, Judgement
from mklang.engine.wire_keys import HASH, RESERVED, RESULT_KEYS, STEP_KEYS, Schema, WireKey

RECORDS = (Attempt, BranchFailure, Check, Judgement, PendingAsk, Provenance)
"""The structs that stand in an output as they are."""

_COUNT: Schema = {"type": "integer", "minimum": 0}
_COUNT_OR_NULL: Schema = {"type": ["integer", "null"], "minimum": 0}
_AMOUNT: Schema = {"type": "number", "minimum": 0}


def result_schema(*, closed: bool = False) -> Schema:
    """The schema as plain JSON values (draft-07). A ``closed`` one knows no keys but ours: for tests."""
    definitions = _records() | _parts() | {"step": _map(STEP_KEYS)}
    found: Schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "mklang run result",
        "description": "How a run of a machine ended, what it gave, what it cost, and how it got there.",
        **_map(RESULT_KEYS, RESERVED),
        "allOf": [
            {"if": _status("done"), "then": {"properties": {"error": {"type": "null"}}}},
            {"if": _status("halt", "suspended"), "then": {"properties": {"error": {"type": "string", "minLength": 1}}}},
        ],
        "definitions": dict(sorted(definitions.items())),
    }
    if closed:
        _close(found)
    return found


def _close(part: object) -> None:
    """Forbid keys that are not listed, everywhere inside."""
    if isinstance(part, list):
        for item in part:
            _close(item)
    elif isinstance(part, dict):
        if part.get("type") == "object" and "properties" in part:
            part["additionalProperties"] = False
        for item in part.values():
            _close(item)


def result_schema_text() -> str:
    """The schema as the text of the committed file."""
    return json.dumps(result_schema(), indent=2, ensure_ascii=False) + "\n"


def _map(keys: Mapping[str, WireKey], more: Mapping[str, Schema] | None = None) -> Schema:
    properties: Schema = {key.name: {"description": key.meaning, **key.schema} for key in keys.values()}
    return {
        "type": "object",
        "required": [key.name for key in keys.values() if key.always],
        "properties": properties | dict(more or {}),
    }


def _status(*words: str) -> Schema:
    return {"properties": {"status": {"enum": list(words)}}}


def _records() -> dict[str, Any]:
    """The schemas of the structs, each under its name; usage has one form for all of them."""
    _, components = msgspec.json.schema_components(RECORDS, ref_template="#/definitions/{name}")
    del components["Usage"]
    text = json.dumps(components).replace("#/definitions/Usage", "#/definitions/spent")
    found: dict[str, Any] = json.loads(text)
    found["Provenance"]["properties"]["inputs_hash"] |= HASH
    return found


def _parts() -> dict[str, Any]:
    """What is written by hand: meters, and usage as the output shows it and as a record holds it."""
    tokens = dict.fromkeys(("input_tokens", "output_tokens", "estimated_tokens", "cached_tokens"), _COUNT)
    meter = {"used": _COUNT, "limit": _COUNT_OR_NULL, "remaining": _COUNT_OR_NULL}
    money = dict.fromkeys(meter, _AMOUNT)
    visits: dict[str, Schema] = {"most_visited_state": {"type": "string"}, "visits": {"type": "integer", "minimum": 2}}
    return {
        "usage": _required({**tokens, "usd": _AMOUNT}, "input_tokens", "output_tokens"),
        "spent": {"type": "object", "properties": {**tokens, "nano_usd": _COUNT}},
        "diagnosis": _required(visits, *visits),
        "limits": _required(
            {
                "steps": _required(meter, *meter),
                "tokens": _required({**meter, "input": _COUNT, "output": _COUNT}, *meter, "input", "output"),
                "usd": _required(money, *money),
            },
            "steps",
            "tokens",
        ),
    }


def _required(properties: Mapping[str, Schema], *names: str) -> Schema:
    return {"type": "object", "required": list(names), "properties": dict(properties)}
