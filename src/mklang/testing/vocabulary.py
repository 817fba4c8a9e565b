"""Every key of scenario files and conformance cases, and what it is for (L90, L92, L94). The only list there is."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from mklang.engine.wire_keys import STEP_KEYS


class Part(Enum):
    """A kind of map in a scenario file or a case; the value names it in messages."""

    FILE = "a scenario file"
    CASE = "a conformance case"
    SCENARIO = "a scenario"
    LLM = "'llm'"
    RUN = "'run'"
    EXPECT = "'expect'"
    STEP = "an expected trace step"
    PINNED_TEXT = "a pinned text"
    PINNED_VERDICT = "a pinned verdict"
    PINNED_FAILURE = "a pinned failure"
    PINNED_OUTCOME = "a pinned outcome"


_SCENARIO = {
    "llm": "What the model and the judge answer.",
    "tools": "Tool name to results: a list in order, the last repeating, or a map from a part of the input's JSON.",
    "hooks": "Hook name to a list of booleans in order, the last repeating.",
    "input": "Inputs from outside; they win over 'context'.",
    "context": "Inputs from outside.",
    "run": "Options of the run.",
    "expect": "How the run must end.",
}

_ANSWERED = {
    "replies": "Reply path to what a person answers there: a value for every question, or a list in order.",
    "answers": "Request key to its exact answer; it comes before everything else.",
}

KEYS: Mapping[Part, Mapping[str, str]] = {
    Part.FILE: {"scenarios": "The list of scenarios."},
    Part.SCENARIO: {"name": "A label."} | _SCENARIO | _ANSWERED,
    Part.CASE: {
        "case": "The case's name, equal to the file's.",
        "description": "What the case pins.",
        "machine": "The machine's document.",
        "registry": "Name to document: the machines that call states may name.",
    }
    | _SCENARIO,
    Part.LLM: {
        "produce": "A list of texts in order, or a map from a part of the user message to a text, first match first.",
        "judge": "A list of verdicts, each a position in the batch asked about, from 0, or 'none'; or 'unparseable'.",
        "tokens": "Tokens in and out that every text costs.",
    },
    Part.RUN: {
        "cost_budget": "Tokens the run may use.",
        "max_workers": "Requests in flight at a time.",
        "max_usd": "What the run may cost, in US dollars.",
        "max_steps": "Steps the run may take, in place of the machine's budget.",
        "budgets": "Machine name to the steps it may take.",
        "max_fanout": "How wide a fan-out may be.",
        "max_failed_branches": "How many branches of a fan-out may fail; all but one without it.",
        "max_depth": "How deeply machines may call each other.",
        "on_truncate": "What happens when a text is cut off: 'report' or 'halt'.",
        "on_untrusted_flow": "What happens when a decision over outside data leads to an effect: 'report' or 'halt'.",
        "on_tainted_arguments": "What happens when a value not the author's reaches an effect: 'report' or 'halt'.",
        "whole_decisions": "The tiers whose judge gives a probability for every condition.",
        "on_uncertain": "What a doubtful probability leads to: 'flag' or 'ask'.",
        "tool_effects": "Tool name to 'read' or 'effect'.",
        "trusted_keys": "Context paths that the host vouches for.",
        "structured_tools": "Tools whose JSON observations later states read by path.",
        "flow_tainted": "Whether the decision that led to this run was made over outside data.",
        "prompt_value_chars": "Characters of one interpolated value, 0 for no limit.",
        "delimit": "Whether outside data is fenced in prompts.",
        "repair_feedback": "Whether a repairing state is told what was wrong.",
        "suspendable": "Whether a limit suspends the run instead of halting it.",
        "escalate_suspend": "Whether an escalate gate suspends the run to ask a person.",
    },
    Part.EXPECT: {
        "status": "'done', 'halt' or 'suspended'.",
        "error": "The whole error, or null.",
        "error_prefix": "How the error begins.",
        "result": "The run's result.",
        "at": "The state the run stopped at, or null.",
        "ask": "What a person is asked, or null.",
        "reply_to": "Where the reply is expected, or null.",
        "context": "Top-level context key to its value at the end; null for a key that is absent.",
        "trace": "One map for each step, each with the keys that matter.",
    },
    Part.PINNED_TEXT: {
        "text": "What the model wrote.",
        "reasoning": "What it thought.",
        "tokens": "Tokens in and out.",
        "usd": "What it cost, in US dollars.",
        "finish_reason": "Why the model stopped, as its provider says it.",
        "truncated": "Whether the text was cut off.",
    },
    Part.PINNED_VERDICT: {
        "verdict": "A position in the batch, 'none' or 'unparseable'.",
        "probabilities": "In place of a verdict: one probability for each condition asked about.",
        "threshold": "What a probability must reach; 0.5 without it.",
        "band": "How near the threshold a probability is doubtful.",
        "none_probability": "The probability that no condition holds.",
        "tokens": "Tokens in and out.",
        "usd": "What it cost, in US dollars.",
    },
    Part.PINNED_FAILURE: {
        "failed": "The message.",
        "kind": "Who failed.",
        "tokens": "Tokens in and out that it cost all the same.",
        "usd": "What it cost all the same, in US dollars.",
    },
    Part.PINNED_OUTCOME: {"outcome": "'unknown': the call's outcome was never recorded."},
    Part.STEP: {key.name: key.meaning for key in STEP_KEYS.values() if not key.asked_for},
}

STATUSES = ("done", "halt", "suspended")


_NO_HOMES = {Part.STEP, Part.PINNED_TEXT, Part.PINNED_VERDICT, Part.PINNED_FAILURE, Part.PINNED_OUTCOME}
"""Parts whose keys a misplaced key is not told to belong to."""


def home_of(name: str) -> Part | None:
    """The part that a key belongs to, when it is exactly one."""
    homes = [part for part in KEYS if name in KEYS[part] and part not in _NO_HOMES]
    return homes[0] if len(homes) == 1 else None
