"""Which language versions are understood, and what a document uses that its version does not know yet (L3, L14).

The version never changes how a run goes; it only drives warnings. What brought which key is the vocabulary's to know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mklang.lang.findings import below
from mklang.lang.models import Escalate, Generative, Machine, State
from mklang.lang.vocabulary import KEYS
from mklang.lang.yaml_tree import Position

UNDERSTOOD = ("0.2", "0.3", "0.4")
"""The versions understood, oldest first. Each may be written with a patch number of zero: ``0.4.0`` is 0.4 (W52)."""

LATEST = UNDERSTOOD[-1]

_KEY_SINCE = {key.name: key.since for key in KEYS}
_WORD_SINCE = {(key.name, word): since for key in KEYS for word, since in key.words.items()}


@dataclass(frozen=True, slots=True)
class Feature:
    """Something a machine uses: a key, or a word such as ``parse: json``; where it is used first, and since when."""

    name: str
    since: str
    where: str
    at: Position


def understood(version: str) -> str | None:
    """The version in its short form (``0.4`` for ``0.4.0``), or None when it is not understood."""
    short = version.removesuffix(".0") if version.count(".") == 2 else version
    return short if short in UNDERSTOOD else None


def features(machine: Machine) -> tuple[Feature, ...]:
    """What the machine uses that the first version did not have, each once, in document order."""
    first: dict[str, Feature] = {}
    for state in machine.states.values():
        for feature in _features_of(state):
            if feature.since != UNDERSTOOD[0]:
                first.setdefault(feature.name, feature)
    return tuple(first.values())


def too_new(machine: Machine) -> tuple[Feature, ...]:
    """What the machine uses that its own version does not have. Nothing when it names no version we understand."""
    version = understood(machine.version or "")
    if version is None:
        return ()
    known = UNDERSTOOD[: UNDERSTOOD.index(version) + 1]
    return tuple(feature for feature in features(machine) if feature.since not in known)


def _features_of(state: State) -> Iterator[Feature]:
    where = below("states", state.id)
    if isinstance(state, Generative) and state.parse:
        word = state.parse.value
        yield Feature(f"parse: {word}", _WORD_SINCE["parse", word], f"{where}.parse", state.at.child("parse"))
    if state.max_visits is not None:
        yield Feature("max_visits", _KEY_SINCE["max_visits"], f"{where}.max_visits", state.at.child("max_visits"))
    for gate in state.gates:
        if isinstance(gate.policy, Escalate):
            for name, value in (("ask", gate.policy.ask), ("reply_to", gate.policy.reply_to)):
                if value is not None:
                    place = f"{where}.gates[{gate.index}].{name}"
                    yield Feature(name, _KEY_SINCE[name], place, gate.at.child(name))
