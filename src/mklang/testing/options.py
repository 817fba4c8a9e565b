"""The keys of a scenario's ``run`` and the run options they stand for: one table, read and written by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mklang.engine.options import DEFAULT_OPTIONS, Effect, OnUncertain, Reaction, RunOptions
from mklang.lang.fields import Fields
from mklang.lang.findings import below
from mklang.lang.models import Tier
from mklang.lang.nodes import describe, plain_value
from mklang.lang.values import Json
from mklang.testing.parts import each, inside, one_text
from mklang.testing.vocabulary import Part

NUMBERS: Mapping[str, str] = {
    "cost_budget": "max_tokens",
    "max_steps": "max_steps",
    "max_fanout": "max_fanout",
    "max_failed_branches": "max_failed_branches",
    "max_depth": "max_depth",
    "max_workers": "concurrency",
    "prompt_value_chars": "value_chars",
}
"""Keys that take a whole number, with the fields of :class:`RunOptions`."""

SWITCHES: Mapping[str, str] = {
    "delimit": "delimit",
    "repair_feedback": "repair_feedback",
    "flow_tainted": "flow_tainted",
    "suspendable": "suspend_on_limit",
    "escalate_suspend": "humans",
}
REACTIONS: Mapping[str, str] = {
    "on_truncate": "on_truncate",
    "on_untrusted_flow": "on_untrusted_flow",
    "on_tainted_arguments": "on_tainted_arguments",
}
WORDS: Mapping[str, str] = {"on_uncertain": "on_uncertain"}
OTHERS: Mapping[str, str] = {
    "max_usd": "max_nano_usd",
    "budgets": "budgets",
    "tool_effects": "tool_effects",
    "trusted_keys": "trusted",
    "structured_tools": "structured_tools",
    "whole_decisions": "whole_decisions",
}
NANO = 1_000_000_000


def read_options(fields: Fields) -> RunOptions:
    """The options under ``run``; what is not said stays as it is by default."""
    run = inside(fields, "run", Part.RUN)
    if run is None:
        return DEFAULT_OPTIONS
    said: dict[str, Any] = {field: run.integer(key) for key, field in NUMBERS.items()}
    said |= {field: run.boolean(key) for key, field in SWITCHES.items()}
    said |= {field: Reaction(word) for key, field in REACTIONS.items() if (word := run.choice(key))}
    said |= {field: OnUncertain(word) for key, field in WORDS.items() if (word := run.choice(key))}
    said["max_nano_usd"] = read_nano_usd(run, "max_usd")
    said["budgets"] = {name: steps for name, steps in each(run, "budgets", _steps) if steps}
    said["tool_effects"] = {name: effect for name, effect in each(run, "tool_effects", _effect) if effect}
    said["trusted"] = frozenset(_texts(run, "trusted_keys"))
    said["structured_tools"] = frozenset(_texts(run, "structured_tools"))
    said["whole_decisions"] = _tiers(run, "whole_decisions")
    return RunOptions(**{field: value for field, value in said.items() if value is not None})


def written_options(options: RunOptions) -> dict[str, Json]:
    """The ``run`` of a scenario that has these options: what differs from the default, in the table's order."""
    plain = msgspec.to_builtins(options)
    default = msgspec.to_builtins(DEFAULT_OPTIONS)
    keys = {**NUMBERS, **SWITCHES, **REACTIONS, **WORDS, **OTHERS}
    differing = {key: plain[field] for key, field in keys.items() if plain[field] != default[field]}
    if "max_usd" in differing:
        differing["max_usd"] = differing["max_usd"] / NANO
    return {key: sorted(value) if isinstance(value, list) else value for key, value in differing.items()}


def read_nano_usd(fields: Fields, name: str) -> int | None:
    """An amount of US dollars in billionths."""
    if name not in fields:
        return None
    value = plain_value(fields.entries[name][1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < NANO:
        fields.wrong_type(name, "an amount in US dollars, such as 0.05")
        return None
    return round(value * NANO)


def _steps(budgets: Fields, name: str) -> int | None:
    value = plain_value(budgets.entries[name][1])
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    found = describe(budgets.entries[name][1])
    budgets.problem("bad-value", name, f"a machine's budget is a whole number of 1 or more, not {found}")
    return None


def _effect(effects: Fields, name: str) -> Effect | None:
    value = plain_value(effects.entries[name][1])
    if value in {effect.value for effect in Effect}:
        return Effect(value)
    found = describe(effects.entries[name][1])
    effects.problem("bad-value", name, f"a tool's effect is 'read', 'egress' or 'effect', not {found}")
    return None


def _texts(run: Fields, name: str) -> list[str]:
    where = below(run.where, name)
    items = (run.items(name) if name in run else None) or []
    read = (one_text(item, run.findings, below(where, index)) for index, item in enumerate(items))
    return [text for text in read if text is not None]


def _tiers(run: Fields, name: str) -> frozenset[Tier]:
    known = {tier.value for tier in Tier}
    texts = _texts(run, name)
    for text in texts:
        if text not in known:
            run.problem("bad-value", name, f"'{text}' is no tier; the tiers are {', '.join(known)}")
    return frozenset(Tier(text) for text in texts if text in known)
