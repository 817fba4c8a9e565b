"""The JSON Schema of a run's output (L72, L73), for programs that read it. It allows further properties everywhere."""

from __future__ import annotations

import json
from typing import TypeAlias

_Schema: TypeAlias = dict[str, object]

_TEXT: _Schema = {"type": "string"}
_TEXT_OR_NULL: _Schema = {"type": ["string", "null"]}
_YES: _Schema = {"const": True}
_COUNT: _Schema = {"type": "integer", "minimum": 0}
_STEPS: _Schema = {"type": "array", "items": {"$ref": "#/$defs/step"}}


def result_schema() -> _Schema:
    """The schema as plain JSON values (draft 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mklang run output",
        "description": "How a run of a machine ended, what it gave, what it cost, and how it got there.",
        "type": "object",
        "required": ["status", "error", "result", "usage", "trace"],
        "properties": _RESULT,
        "allOf": [
            {"if": _status("done"), "then": {"properties": {"error": {"type": "null"}}}},
            {"if": _status("suspended"), "then": {"properties": {"error": {"type": "string", "minLength": 1}}}},
        ],
        "$defs": {
            "usage": _map({"input_tokens": _COUNT, "output_tokens": _COUNT}, *("input_tokens", "output_tokens")),
            "meter": _map(_METER, "used", "limit", "remaining"),
            "step": _map(_STEP, "state", "step", "gate", "policy", "to"),
        },
    }


def result_schema_text() -> str:
    """The schema as the text of the committed file."""
    return json.dumps(result_schema(), indent=2, ensure_ascii=False) + "\n"


def _map(properties: _Schema, *required: str) -> _Schema:
    return {"type": "object", "required": list(required), "properties": properties}


def _status(word: str) -> _Schema:
    return {"properties": {"status": {"const": word}}}


def _said(schema: _Schema, description: str) -> _Schema:
    return {"description": description, **schema}


_METER: _Schema = {
    "used": _COUNT,
    "limit": {"type": ["integer", "null"], "minimum": 0},
    "remaining": {"type": ["integer", "null"], "minimum": 0},
}

_RESULT: _Schema = {
    "schema_version": _TEXT,
    "status": {"enum": ["done", "halt", "suspended", "error"]},
    "error": _said(_TEXT_OR_NULL, "Why the run did not reach END: a reason of L67, with its detail; null when done."),
    "result": _said({}, "The run's result; null unless done."),
    "usage": _said({"anyOf": [{"$ref": "#/$defs/usage"}, {"type": "null"}]}, "Tokens of every level."),
    "limits": {
        "type": "object",
        "properties": {"steps": {"$ref": "#/$defs/meter"}, "tokens": {"$ref": "#/$defs/meter"}},
    },
    "trace": _said(_STEPS, "One step for each executed state, in order; a callee's inside its caller's."),
    "at": _said(_TEXT, "The state a run stopped at, or is about to go on with."),
    "message": _TEXT,
    "diagnosis": _map(
        {"most_visited_state": _TEXT, "visits": {"type": "integer", "minimum": 2}}, "most_visited_state", "visits"
    ),
    "ask": _said(_TEXT, "The author's question to a person."),
    "reply_to": _said(_TEXT, "The context path where the answer goes."),
    "asks": _said({"type": "array", "items": {"type": "object"}}, "Every question that waits."),
    "stack": _said({"type": "array", "items": _TEXT}, "The open calls of a suspended run, root first."),
    "checkpoint": _TEXT,
    "checkpoint_file": _TEXT,
    "warnings": {"type": "array", "items": _TEXT},
    "truncated": {"type": "boolean"},
    "result_truncated": {"type": "boolean"},
}

_STEP: _Schema = {
    "state": _TEXT,
    "tier": _TEXT,
    "step": _said(_COUNT, "The run's step counter after this step was charged."),
    "gate": _said(_TEXT_OR_NULL, "The condition of the gate that fired."),
    "policy": _TEXT,
    "to": _TEXT_OR_NULL,
    "output": _TEXT,
    "branches": _said({"type": "array", "items": _TEXT}, "One text for each branch of a fan-out."),
    "branch_errors": {"type": "array", "items": {"type": "object"}},
    "reasoning": _TEXT,
    "reasonings": {"type": "array", "items": _TEXT_OR_NULL},
    "sub_trace": _said(
        {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/step"}, _STEPS, {"type": "null"}]}},
        "The callee's steps, or one list for each branch.",
    ),
    "cost": {"$ref": "#/$defs/usage"},
    "usd": {"type": "number", "minimum": 0},
    "seconds": {"type": "number", "minimum": 0},
    "model": _TEXT,
    "truncated": _YES,
    "finish_reason": _TEXT,
    "gate_via": _said(_TEXT, "What decided: hook, llm, otherwise, or a person."),
    "hook": _TEXT,
    "judge_model": _TEXT,
    "judge_none": _COUNT,
    "judge_fallback": _YES,
    "judge_raw": _TEXT,
    "judge_parse": _TEXT,
    "judge_forced_choice": _YES,
    "judge_mapping": _TEXT,
    "noul_probs": {"type": "array", "items": {"type": "number"}},
    "judgements": {"type": "array", "items": {"type": "object"}},
    "decision_tainted": _YES,
    "untrusted_control_flow": _YES,
    "hook_unconfirmed": _YES,
    "tainted_arguments": {"type": "array", "items": _TEXT},
    "reply": _TEXT,
    "error": _TEXT,
}
