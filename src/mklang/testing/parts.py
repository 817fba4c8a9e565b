"""The grammar that scenario files and cases are read by: known keys, maps in maps, texts in lists (W56, W58)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeVar

from mklang.engine.options import OnUncertain, Reaction
from mklang.engine.requests import NO_USAGE, Usage
from mklang.lang.fields import Fields
from mklang.lang.findings import Findings, below, shorten
from mklang.lang.free_values import read_value
from mklang.lang.nodes import describe, plain_value
from mklang.lang.values import thaw
from mklang.lang.vocabulary import Key, Shape, closest
from mklang.lang.yaml_tree import Node, Position
from mklang.oracles.pinned import FailureKind, Unsettled
from mklang.oracles.scripted import ScriptedVerdict, Word
from mklang.testing.vocabulary import KEYS, STATUSES, Part, home_of

T = TypeVar("T")


def _rule(name: str, shape: Shape, *, least: int = 0, words: tuple[str, ...] = ()) -> Key:
    since = dict.fromkeys(words, "")
    return Key(name=name, places=frozenset(), shape=shape, description="", least=least, words=since)


_TEXTS = (
    *("name", "case", "description", "error", "error_prefix", "at", "ask", "reply_to"),
    *("failed", "text", "reasoning", "finish_reason"),
)
_REACTIONS = tuple(reaction.value for reaction in Reaction)
_FAILURES = tuple(kind.value for kind in FailureKind)
RULES: Mapping[str, Key] = {name: _rule(name, Shape.TEXT) for name in _TEXTS} | {
    "status": _rule("status", Shape.CHOICE, words=STATUSES),
    "on_truncate": _rule("on_truncate", Shape.CHOICE, words=_REACTIONS),
    "on_untrusted_flow": _rule("on_untrusted_flow", Shape.CHOICE, words=_REACTIONS),
    "on_tainted_arguments": _rule("on_tainted_arguments", Shape.CHOICE, words=_REACTIONS),
    "on_uncertain": _rule("on_uncertain", Shape.CHOICE, words=tuple(reaction.value for reaction in OnUncertain)),
    "kind": _rule("kind", Shape.CHOICE, words=_FAILURES),
    "outcome": _rule("outcome", Shape.CHOICE, words=(Unsettled.OUTCOME_UNKNOWN.value,)),
    "cost_budget": _rule("cost_budget", Shape.INTEGER),
    "prompt_value_chars": _rule("prompt_value_chars", Shape.INTEGER),
    "max_workers": _rule("max_workers", Shape.INTEGER, least=1),
    "max_steps": _rule("max_steps", Shape.INTEGER, least=1),
    "max_fanout": _rule("max_fanout", Shape.INTEGER, least=1),
    "max_failed_branches": _rule("max_failed_branches", Shape.INTEGER),
    "max_depth": _rule("max_depth", Shape.INTEGER),
}
"""What the keys with one simple value take."""


def report_unknown(fields: Fields, part: Part) -> set[str]:
    """Report every key that the part does not know (W56); the keys that were probably meant are returned."""
    known, meant = KEYS[part], set()
    for name in fields.entries.keys() - known.keys():
        home = home_of(name)
        guess = None if home else closest(name, known)
        if guess and guess not in fields:
            meant.add(guess)
        if home:
            hint = f"it belongs to {home.value}"
        elif guess:
            hint = f"did you mean '{guess}'?"
        else:
            hint = "known here: " + ", ".join(known)
        fields.key_problem("unknown-key", name, f"'{shorten(name)}' is not a key of {part.value}", hint)
    return meant


def inside(fields: Fields, name: str, part: Part | None) -> Fields | None:
    """The map under a key, its own keys checked; with ``part`` None it may have any."""
    entries = fields.mapping(name)
    if entries is None:
        return None
    inner = Fields(
        entries, fields.findings, RULES, where=below(fields.where, name), at=Position(fields.entries[name][1])
    )
    if part is not None:
        report_unknown(inner, part)
    return inner


def each(fields: Fields, name: str, read: Callable[[Fields, str], T]) -> list[tuple[str, T]]:
    """The entries of the map under a key, each read by ``read``."""
    entries = fields.mapping(name)
    if entries is None:
        return []
    inner = Fields(entries, fields.findings, RULES, where=below(fields.where, name), at=fields.position(name))
    return [(key, read(inner, key)) for key in entries]


def one_text(node: Node, findings: Findings, where: str, *, any_value: bool = False) -> str | None:
    """The text at a node. With ``any_value`` another value stands for its JSON text, as with a real tool (L55)."""
    value = read_value(node, findings, where)
    if isinstance(value, str):
        return value
    if any_value and value is not None:
        return json.dumps(thaw(value), ensure_ascii=False)
    findings.add("wrong-type", f"a text is needed here, not {describe(node)}", Position(node), where, hint="quote it")
    return None


def read_verdict(node: Node, findings: Findings, where: str) -> ScriptedVerdict | None:
    """A verdict: the position of a condition, or a word."""
    value = plain_value(node)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in {verdict.value for verdict in Word}:
        return Word(word)
    message = f"a verdict is a position from 0, 'none' or 'unparseable', not {describe(node)}"
    findings.add("bad-verdict", message, Position(node), where)
    return None


def read_tokens(fields: Fields) -> Usage:
    """The ``tokens`` of a map: in and out."""
    if "tokens" not in fields:
        return NO_USAGE
    items = fields.items("tokens")
    if items is None:
        return NO_USAGE
    counts = [value for value in map(plain_value, items) if isinstance(value, int) and not isinstance(value, bool)]
    if len(items) != 2 or len(counts) != 2 or min(counts) < 0:
        fields.problem("bad-value", "tokens", "'tokens' takes two whole numbers, tokens in and tokens out")
        return NO_USAGE
    return Usage(counts[0], counts[1])
