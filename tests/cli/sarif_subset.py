"""The part of SARIF 2.1.0 that we write, as a JSON Schema of our own: the standard's names and rules, nothing beyond.

The standard's own schema is not ours to ship. Whoever has it names its file in ``MKLANG_SARIF_SCHEMA``: then every log
that the tests write is held against it too.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema_rs

_TEXT = {"type": "string", "minLength": 1}
_POSITIVE = {"type": "integer", "minimum": 1}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """A map with these keys and no others."""
    return {
        "type": "object",
        "required": list(required),
        "properties": required | optional,
        "additionalProperties": False,
    }


def _list(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


_MESSAGE = _object({"text": _TEXT})
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_REGION = _object({"startLine": _POSITIVE}, startColumn=_POSITIVE, endLine=_POSITIVE, endColumn=_POSITIVE)
_ARTIFACT = _object({"uri": {"type": "string", "format": "uri-reference"}})
_LOCATION = _object(
    {"physicalLocation": _object({"artifactLocation": _ARTIFACT}, region=_REGION)},
    logicalLocations=_list(_object({"fullyQualifiedName": _TEXT}), 1),
)
_REPLACEMENT = _object({"deletedRegion": _REGION}, insertedContent=_object({"text": {"type": "string"}}))
_CHANGE = _object({"artifactLocation": _ARTIFACT, "replacements": _list(_REPLACEMENT, 1)})
_RULE = _object(
    {"id": _TEXT},
    shortDescription=_MESSAGE,
    fullDescription=_MESSAGE,
    help=_MESSAGE,
    defaultConfiguration=_object({"level": _LEVEL}),
    properties=_object({"tags": _list(_TEXT)}),
)
_DRIVER = _object({"name": _TEXT}, version=_TEXT, semanticVersion=_TEXT, rules=_list(_RULE))
_RESULT = _object(
    {"message": _MESSAGE, "ruleId": _TEXT},
    ruleIndex={"type": "integer", "minimum": 0},
    level=_LEVEL,
    locations=_list(_LOCATION),
    fixes=_list(_object({"artifactChanges": _list(_CHANGE, 1)}, description=_MESSAGE)),
)
_RUN = _object(
    {"tool": _object({"driver": _DRIVER})},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=_list(_object({"executionSuccessful": {"type": "boolean"}})),
    results=_list(_RESULT),
)
SARIF: dict[str, Any] = _object(
    {"version": {"const": "2.1.0"}, "runs": _list(_RUN)}, **{"$schema": {"type": "string", "format": "uri"}}
)


def problems_of(log: object) -> list[str]:
    """What is wrong with a log."""
    return [str(error) for validator in _VALIDATORS for error in validator.iter_errors(log)]


def _schemas() -> list[Any]:
    published = os.environ.get("MKLANG_SARIF_SCHEMA")
    if not published:
        return [SARIF]
    text = Path(published).read_text("utf-8")
    return [SARIF, json.loads(text.replace("{2}]?$", "{2}$"))]  # one of its patterns has a stray bracket


_VALIDATORS = [jsonschema_rs.validator_for(one, validate_formats=True) for one in _schemas()]
