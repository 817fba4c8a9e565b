"""What kind of value stands at a key of the blackboard, as far as a document tells."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from mklang.analysis.dataflow import Dataflow
from mklang.lang.models import Call, Machine, Parse, State, Tool
from mklang.lang.values import Frozen


class Kind(Enum):
    """The shape of a value; ``UNKNOWN`` may be any of them."""

    TEXT = "text"
    LIST = "a list"
    MAP = "a map"
    OTHER = "a number or a boolean"
    UNKNOWN = "unknown"


def kind_of_output(state: State) -> Kind:
    """What a state deposits (L39, L47, L51, L55)."""
    if state.accumulate or state.fan_out is not None:
        return Kind.LIST
    if isinstance(state, Call):
        return Kind.UNKNOWN
    if isinstance(state, Tool) or state.parse is None:
        return Kind.TEXT
    return Kind.LIST if state.parse is Parse.LIST else Kind.UNKNOWN


def kind_of_literal(value: Frozen) -> Kind:
    """What an author's value is; null and empty text are places to be filled by an input."""
    if value is None or value == "":
        return Kind.UNKNOWN
    if isinstance(value, str):
        return Kind.TEXT
    if isinstance(value, Mapping):
        return Kind.MAP
    return Kind.LIST if isinstance(value, tuple) else Kind.OTHER


def kinds_at(key: str, machine: Machine, data: Dataflow) -> frozenset[Kind]:
    """Every kind of value that can stand at a top-level key; empty when nothing provides it."""
    kinds = {kind_of_output(data.states[number]) for number in data.writers.get(key, ())}
    if key in machine.context:
        kinds.add(kind_of_literal(machine.context[key]))
    if key in data.reply_roots:
        kinds.add(Kind.UNKNOWN)
    return frozenset(kinds)
