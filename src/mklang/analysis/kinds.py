"""What kind of value stands at a key of the blackboard, and what a machine returns, as far as the documents tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TypeAlias

from mklang.analysis.facts import Facts
from mklang.lang.models import Call, Parse, State, Tool
from mklang.lang.values import Frozen


class Kind(Enum):
    """The shape of a value; ``UNKNOWN`` may be any of them."""

    TEXT = "text"
    LIST = "a list"
    MAP = "a map"
    OTHER = "a number or a boolean"
    UNKNOWN = "unknown"


Kinds: TypeAlias = frozenset[Kind]
Returns: TypeAlias = Callable[[str], Kinds]
"""What calling a machine gives, by its name."""

UNKNOWN: Kinds = frozenset((Kind.UNKNOWN,))


def kinds_at(key: str, facts: Facts, returns: Returns) -> Kinds:
    """Every kind of value that can stand at a top-level key; empty when nothing provides it."""
    data = facts.data
    kinds: set[Kind] = set()
    for number in data.writers.get(key, ()):
        state = data.states[number]
        kinds |= frozenset((Kind.LIST,)) if state.accumulate else kinds_made(state, returns)
    if key in facts.machine.context:
        kinds.add(_of_literal(facts.machine.context[key]))
    if key in data.reply_roots:
        kinds.add(Kind.UNKNOWN)
    return frozenset(kinds)


def kinds_made(state: State, returns: Returns) -> Kinds:
    """What one execution of a state results in (L41, L47, L51, L55)."""
    if state.fan_out is not None:
        return frozenset((Kind.LIST,))
    if isinstance(state, Call):
        return returns(state.machine)
    if isinstance(state, Tool) or state.parse is None:
        return frozenset((Kind.TEXT,))
    return frozenset((Kind.LIST,)) if state.parse is Parse.LIST else UNKNOWN


def kinds_returned(facts: Facts, returns: Returns) -> Kinds:
    """What a run of the machine results in when it is done (L41)."""
    result = facts.machine.result
    if result is not None:
        return kinds_at(result, facts, returns) or UNKNOWN
    made = [kinds_made(facts.graph.states[number], returns) for number in facts.graph.ending]
    return frozenset().union(*made) or UNKNOWN


def _of_literal(value: Frozen) -> Kind:
    """What an author's value is; null and empty text are places to be filled by an input."""
    if value is None or value == "":
        return Kind.UNKNOWN
    if isinstance(value, str):
        return Kind.TEXT
    if isinstance(value, Mapping):
        return Kind.MAP
    return Kind.LIST if isinstance(value, tuple) else Kind.OTHER
