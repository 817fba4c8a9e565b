"""Reading ``answers`` and ``replies``: what is answered to one request by its key, and by people (L90, L91)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from yaml.nodes import MappingNode

from mklang.engine.noul import MAPPING, first_at_least
from mklang.engine.requests import NO_USAGE, HookValue, Observation, Produced, Read, Usage, Verdict
from mklang.lang.fields import Fields
from mklang.lang.findings import below
from mklang.lang.free_values import read_value
from mklang.lang.nodes import describe, plain_value
from mklang.lang.values import Json, thaw
from mklang.lang.yaml_tree import Node
from mklang.oracles.pinned import (
    FailureKind,
    Operation,
    PinnedAnswer,
    PinnedFailure,
    PinnedReply,
    Unsettled,
    operation_of,
)
from mklang.oracles.scripted import MODEL, EveryTime, Replies, Word
from mklang.testing.options import read_nano_usd
from mklang.testing.parts import each, inside, one_text, read_tokens, read_verdict
from mklang.testing.vocabulary import Part

RESERVED = frozenset({"confirms", "expired"})
"""Words in a pinned reply that are no paths."""

_OPERATIONS = "…/produce, …/judge[N], …/tool, …/hook[N] or …/ask, as in 'mklang runs show'"


def read_answers(fields: Fields) -> dict[str, PinnedAnswer]:
    """The answers pinned to keys."""
    return {key: answer for key, answer in each(fields, "answers", _answer) if answer is not None}


def read_replies(fields: Fields) -> dict[str, Replies]:
    """What a person answers at a path: the same every time, or a list in order."""
    return dict(each(fields, "replies", _replies))


def _replies(replies: Fields, path: str) -> Replies:
    value = thaw(read_value(replies.entries[path][1], replies.findings, below(replies.where, path)))
    return tuple(value) if isinstance(value, list) else EveryTime(value)


def _answer(answers: Fields, key: str) -> PinnedAnswer | None:
    operation = operation_of(key)
    if operation is None:
        answers.key_problem("bad-key", key, "this is not the key of a request", f"a key ends in {_OPERATIONS}")
        return None
    if operation in _USUAL and _has_key(answers.entries[key][1], "failed"):
        return _failure(answers, key, operation)
    return _READERS[operation](answers, key)


def _has_key(node: Node, name: str) -> bool:
    """Whether a node is a map with a key, without a word about anything else in it."""
    return isinstance(node, MappingNode) and any(key.value == name for key, _ in node.value)


def _failure(answers: Fields, key: str, operation: Operation) -> PinnedFailure | None:
    entry = inside(answers, key, Part.PINNED_FAILURE)
    if entry is None:
        return None
    message = entry.text("failed")
    kind = FailureKind(entry.choice("kind") or _USUAL[operation])
    return None if message is None else PinnedFailure(message, kind, _usage(entry))


# Who fails where nothing else is said. A question to a person has no failure: its reply may hold any key.
_USUAL: Mapping[Operation, str] = {
    Operation.PRODUCE: "provider",
    Operation.JUDGE: "provider",
    Operation.TOOL: "tool",
    Operation.HOOK: "hook",
}


def _text(answers: Fields, key: str) -> Produced | None:
    node = answers.entries[key][1]
    if not isinstance(node, MappingNode):
        text = one_text(node, answers.findings, below(answers.where, key))
        return None if text is None else Produced(text=text)
    entry = inside(answers, key, Part.PINNED_TEXT)
    if entry is None:
        return None
    if "text" not in entry:
        entry.missing("text", Part.PINNED_TEXT.value)
        return None
    return Produced(
        text=entry.text("text") or "",
        reasoning=entry.text("reasoning"),
        usage=_usage(entry),
        finish_reason=entry.text("finish_reason"),
        truncated=entry.boolean("truncated") is True,
    )


def _verdict(answers: Fields, key: str) -> Verdict | None:
    node = answers.entries[key][1]
    if not isinstance(node, MappingNode):
        return _chosen(node, answers, below(answers.where, key), NO_USAGE)
    entry = inside(answers, key, Part.PINNED_VERDICT)
    if entry is None:
        return None
    if "probabilities" in entry:
        return _chances(entry)
    if "verdict" not in entry:
        entry.missing("verdict", Part.PINNED_VERDICT.value)
        return None
    return _chosen(entry.entries["verdict"][1], entry, below(entry.where, "verdict"), _usage(entry))


def _chosen(node: Node, fields: Fields, where: str, usage: Usage) -> Verdict | None:
    """A verdict that names a condition, none, or cannot be read."""
    scripted = read_verdict(node, fields.findings, where)
    if scripted is None:
        return None
    if scripted is Word.UNPARSEABLE:
        return Verdict(index=None, read=Read.UNREAD, raw=Word.UNPARSEABLE.value, usage=usage, model=MODEL)
    return Verdict(index=None if scripted is Word.NONE else scripted, usage=usage, model=MODEL)


def _chances(entry: Fields) -> Verdict:
    """A probability judge's verdict (ADR 0037)."""
    items = entry.items("probabilities") or []
    chances = tuple(chance for item in items if (chance := _chance(plain_value(item))) is not None)
    if len(chances) != len(items):
        entry.problem("bad-value", "probabilities", "a probability is a number from 0 to 1")
    threshold = _number(entry, "threshold")
    threshold = 0.5 if threshold is None else threshold
    return Verdict(
        index=first_at_least(chances, threshold),
        method=MAPPING,
        mapping=MAPPING,
        model=MODEL,
        usage=_usage(entry),
        probabilities=chances,
        threshold=threshold,
        band=_number(entry, "band") or 0.0,
        none_probability=_number(entry, "none_probability"),
    )


def _number(entry: Fields, name: str) -> float | None:
    if name not in entry:
        return None
    chance = _chance(plain_value(entry.entries[name][1]))
    if chance is None:
        entry.wrong_type(name, "a number from 0 to 1")
    return chance


def _chance(value: object) -> float | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if fits and isinstance(value, int | float) else None


def _usage(entry: Fields) -> Usage:
    return msgspec.structs.replace(read_tokens(entry), nano_usd=read_nano_usd(entry, "usd") or 0)


def _observation(answers: Fields, key: str) -> Observation | Unsettled | None:
    node = answers.entries[key][1]
    if isinstance(node, MappingNode):
        entry = inside(answers, key, Part.PINNED_OUTCOME)
        return None if entry is None or entry.choice("outcome") is None else Unsettled.OUTCOME_UNKNOWN
    text = one_text(node, answers.findings, below(answers.where, key))
    return None if text is None else Observation(text)


def _holds(answers: Fields, key: str) -> HookValue | None:
    value = plain_value(answers.entries[key][1])
    if isinstance(value, bool):
        return HookValue(value)
    answers.problem("wrong-type", key, f"a hook is true or false, not {describe(answers.entries[key][1])}")
    return None


def _person(answers: Fields, key: str) -> PinnedReply | None:
    if not isinstance(answers.entries[key][1], MappingNode):
        answers.wrong_type(key, "a map of context paths to values", "write the path of the reply: { human.reply: yes }")
        return None
    entry = inside(answers, key, None)
    if entry is None:
        return None
    values: dict[str, Json] = {
        path: thaw(read_value(value, entry.findings, below(entry.where, path)))
        for path, (_, value) in entry.entries.items()
        if path not in RESERVED
    }
    return PinnedReply(values, confirms=entry.boolean("confirms"), expired=entry.boolean("expired") is True)


_READERS: Mapping[Operation, Callable[[Fields, str], PinnedAnswer | None]] = {
    Operation.PRODUCE: _text,
    Operation.JUDGE: _verdict,
    Operation.TOOL: _observation,
    Operation.HOOK: _holds,
    Operation.ASK: _person,
}
