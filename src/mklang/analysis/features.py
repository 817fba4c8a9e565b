"""Language versions, and which features of later ones a machine uses (L3, L14). The vocabulary says what came when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mklang.analysis.spots import Spot, in_state, key_of_gate, key_of_state
from mklang.lang.models import Escalate, Generative, Machine, Parse
from mklang.lang.vocabulary import KEYS_AT, Place

UNDERSTOOD = ("0.2", "0.3", "0.4")

_SINCE = {
    "parse": KEYS_AT[Place.GENERATIVE]["parse"].since,
    "parse: json": KEYS_AT[Place.GENERATIVE]["parse"].words[Parse.JSON.value],
    "max_visits": KEYS_AT[Place.GENERATIVE]["max_visits"].since,
    "ask": KEYS_AT[Place.ESCALATE]["ask"].since,
    "reply_to": KEYS_AT[Place.ESCALATE]["reply_to"].since,
}


@dataclass(frozen=True, slots=True)
class Use:
    """The first use of a feature. ``version`` brought it; ``since`` is the same for comparing."""

    name: str
    spot: Spot

    @property
    def version(self) -> str:
        """The version that brought the feature."""
        return _SINCE[self.name]

    @property
    def since(self) -> tuple[int, ...]:
        """The version that brought the feature, as numbers."""
        return _numbers(self.version)


def parse_version(text: str) -> tuple[int, ...] | None:
    """A version as numbers, or None when it is not understood; a trailing ``.0`` makes no difference."""
    plain = text.removesuffix(".0") if text.count(".") == 2 else text
    return _numbers(plain) if plain in UNDERSTOOD else None


def used_features(machine: Machine) -> Iterator[Use]:
    """Every feature that came after the first version, once, where it is used first."""
    seen: set[str] = set()
    for use in _uses(machine):
        if use.name not in seen:
            seen.add(use.name)
            yield use


def _uses(machine: Machine) -> Iterator[Use]:
    for state in machine.states.values():
        if isinstance(state, Generative) and state.parse is not None:
            yield Use("parse", key_of_state(state, "parse"))
            if state.parse is Parse.JSON:
                yield Use("parse: json", in_state(state, "parse"))
        if state.max_visits is not None:
            yield Use("max_visits", key_of_state(state, "max_visits"))
        for gate in state.gates:
            if isinstance(gate.policy, Escalate):
                if gate.policy.ask is not None:
                    yield Use("ask", key_of_gate(state, gate, "ask"))
                if gate.policy.reply_to is not None:
                    yield Use("reply_to", key_of_gate(state, gate, "reply_to"))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
