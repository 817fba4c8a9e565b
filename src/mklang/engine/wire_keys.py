"""Every key of a run's output and of a trace step, what it holds and when it is there: the only list (L70, L72, L73).

Beside the functions that write them (``outcome.to_wire``, ``TraceStep.to_wire``). The published schema and the keys
that a scenario may expect of a step are derived from it; records that stand inside are described by their own structs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

Schema: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireKey:
    """One key. ``always`` keys are required; ``asked_for`` ones are there only when a host wants them (L71)."""

    name: str
    schema: Schema
    meaning: str
    always: bool = False
    asked_for: bool = False


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_TRUE: Schema = {"const": True}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_ABOVE_ZERO: Schema = {"type": "integer", "minimum": 1}
_AMOUNT: Schema = {"type": "number", "minimum": 0}
_CHANCE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
HASH: Schema = {"type": "string", "pattern": "^[0-9a-f]{16}$"}
_STEPS: Schema = _list(_ref("step"))


def _keys(*keys: WireKey) -> Mapping[str, WireKey]:
    return MappingProxyType({key.name: key for key in keys})


def _key(name: str, schema: Schema, meaning: str, *, always: bool = False, asked_for: bool = False) -> WireKey:
    return WireKey(name=name, schema=schema, meaning=meaning, always=always, asked_for=asked_for)


RESULT_KEYS = _keys(
    _key("status", {"enum": ["done", "halt", "suspended", "error"]}, "How the run ended.", always=True),
    _key("error", _TEXT_OR_NULL, "Why it did not reach END: a reason with its detail (L67).", always=True),
    _key("result", {}, "The run's result; null unless it is done.", always=True),
    _key("usage", {"anyOf": [_ref("usage"), {"type": "null"}]}, "What all levels used.", always=True),
    _key("limits", _ref("limits"), "How much of each limit is used."),
    _key("trace", _STEPS, "One step for each executed state, in order; a callee's inside its caller's.", always=True),
    _key("at", _TEXT, "The state it stopped at, or is to go on with."),
    _key("message", _TEXT, "More about the error, for a person."),
    _key("diagnosis", _ref("diagnosis"), "The state entered most often, when a limit halted the run (L69)."),
    _key("ask", _TEXT, "The author's question to a person (L82)."),
    _key("reply_to", _TEXT, "The context path where the reply is read (L82)."),
    _key("asks", _list(_ref("PendingAsk")), "Every question that waits (L82)."),
    _key("stack", _list(_TEXT), "The open calls of a suspended run, root first (L82)."),
    _key("seconds", _AMOUNT, "How long it took, here and now.", asked_for=True),
    _key("run", _TEXT, "The name the run is kept under.", asked_for=True),
    _key("checkpoint", _TEXT, "The journal of a suspended run.", asked_for=True),
    _key("provenance", _ref("Provenance"), "What was run, on what, with which models, and when.", asked_for=True),
)
"""The keys of the output in their order (L72)."""

RESERVED: Mapping[str, Schema] = MappingProxyType(
    {
        "schema_version": _TEXT,
        "checkpoint_file": _TEXT,
        "warnings": _list(_TEXT),
        "truncated": {"type": "boolean"},
        "result_truncated": {"type": "boolean"},
    }
)
"""Keys of the published schema that this implementation does not write; whoever does keeps to these types (L73)."""

STEP_KEYS = _keys(
    _key("state", _TEXT, "The state's id.", always=True),
    _key("tier", {"enum": ["fast", "balanced", "reasoning"]}, "The tier it ran and was judged at.", always=True),
    _key("output", _TEXT, "What a single execution gave, as text."),
    _key("output_hash", HASH, "The beginning of the SHA-256 of the output's UTF-8.", asked_for=True),
    _key("branches", _list(_TEXT), "One text for each branch of a fan-out."),
    _key("reasoning", _TEXT, "What the model thought (L45)."),
    _key("reasonings", _list(_TEXT_OR_NULL), "The same for each branch (L51)."),
    _key("model", _TEXT, "The model that wrote."),
    _key("truncated", _TRUE, "The text was cut off (L48)."),
    _key("finish_reason", _TEXT, "Why the model stopped, where it was cut off (L48)."),
    _key(
        "sub_trace",
        _list({"anyOf": [_ref("step"), _STEPS, {"type": "null"}]}),
        "The callee's steps; for a fan-out of calls one list for each branch.",
    ),
    _key("branch_errors", _list(_ref("BranchFailure")), "The branches that failed (L50)."),
    _key("attempts", _list(_ref("Attempt")), "Models that were asked before the one whose answer counts."),
    _key("cost", _ref("usage"), "Tokens of writing, judging and callees."),
    _key("usd", _AMOUNT, "What that cost in US dollars, where the host knows."),
    _key("seconds", _AMOUNT, "How long the answers took, where the host knows."),
    _key("gate_via", {"enum": ["hook", "llm", "otherwise", "human"]}, "What decided, when a gate fired."),
    _key("hook", _TEXT, "The hook that fired."),
    _key("judge_model", _TEXT, "The model that judged."),
    _key("judge_none", _ABOVE_ZERO, "How often the judge found no condition true (L62)."),
    _key("judge_fallback", _TRUE, "The judge's reply could not be read (L62)."),
    _key("judge_raw", _TEXT, "How that reply began (L62)."),
    _key("judge_parse", _TEXT, "How the reply was read, where not in its clean form (L62)."),
    _key("judge_forced_choice", _TRUE, "The judge could not say none (L62)."),
    _key("judge_mapping", _TEXT, "How a probability judge's answers became a decision."),
    _key("noul_probs", _list(_CHANCE), "One probability for each condition asked about, in gate order."),
    _key("jev_threshold", _CHANCE, "What a probability must reach."),
    _key("fence_applied", {"type": "boolean"}, "Whether the fences were checked and found whole."),
    _key("judgements", _list(_ref("Judgement")), "Each question to the judge and what came of it."),
    _key("decision_tainted", _TRUE, "The judge could see external data (L76)."),
    _key("untrusted_control_flow", _TRUE, "Such a decision led to this tool (L78)."),
    _key("hook_unconfirmed", _TRUE, "The hook confirms nothing (L76)."),
    _key("tainted_arguments", _list(_TEXT), "Arguments of an acting tool that are not the author's (L78)."),
    _key("reply", {"enum": ["given", "confirmed", "expired"]}, "What came of the question to a person (L89)."),
    _key("guards", _list(_ref("Check")), "What guards looked at (L121)."),
    _key("step", _COUNT, "The run's step count after this step was charged.", always=True),
    _key("gate", _TEXT_OR_NULL, "The condition of the gate that fired.", always=True),
    _key("policy", _TEXT, "The gate's policy, or the reason of a halt.", always=True),
    _key("to", _TEXT_OR_NULL, "Where it led.", always=True),
    _key("error", _TEXT, "The full error of a step that records a halt."),
)
"""The keys of a step in their order (L70, L71)."""
