"""Places to point at: a part of a machine, in the document's own terms and as a stretch of its text."""

from __future__ import annotations

from dataclasses import dataclass

from mklang.analysis.dataflow import Read
from mklang.analysis.texts import part_span, placeholder_span
from mklang.lang.findings import below
from mklang.lang.models import Declaration, Gate, Machine, State
from mklang.lang.yaml_tree import Position
from mklang.source import Source, Span


@dataclass(frozen=True, slots=True)
class Spot:
    """A part of a document: ``where`` in its own terms, ``span`` in its text (None for a machine without text)."""

    where: str
    span: Span | None


def in_machine(machine: Machine, *path: str | int) -> Spot:
    """The value of a top-level key."""
    return Spot(_join("", path), machine.at.value(*path))


def in_state(state: State, *path: str | int) -> Spot:
    """The value of a key of a state."""
    return Spot(_join(below("states", state.id), path), state.at.value(*path))


def key_of_state(state: State, key: str) -> Spot:
    """A key of a state, rather than its value."""
    return Spot(_join(below("states", state.id), (key,)), state.at.key(key))


def name_of(state: State) -> Spot:
    """A state's id where it is defined."""
    return Spot(below("states", state.id), state.at.name)


def in_gate(state: State, gate: Gate, *path: str | int) -> Spot:
    """The value of a key of a gate."""
    return Spot(_join(_gate(state, gate), path), gate.at.value(*path))


def key_of_gate(state: State, gate: Gate, key: str) -> Spot:
    """A key of a gate, rather than its value."""
    return Spot(_join(_gate(state, gate), (key,)), gate.at.key(key))


def key_of_context(machine: Machine, key: str) -> Spot:
    """A key of ``context``, rather than its value."""
    return Spot(below("context", key), machine.at.child("context").key(key))


def key_of_input(state: State, name: str) -> Spot:
    """A key of a state's ``input``, rather than its value."""
    return Spot(_join(below("states", state.id), ("input", name)), state.at.child("input").key(name))


def at_read(source: Source | None, state: State, read: Read) -> Spot:
    """A placeholder; the whole text it stands in when there is no ``source`` to look at."""
    where = _join(below("states", state.id), read.face)
    return Spot(where, placeholder_span(source, state.at, read.face, read.placeholder))


def at_part(source: Source | None, state: State, path: tuple[str, ...], pattern: str) -> Spot:
    """The first part of a state's text that matches ``pattern``; the whole text without a ``source``."""
    return Spot(_join(below("states", state.id), path), part_span(source, state.at, path, pattern))


def in_declaration(block: str, number: int, declaration: Declaration) -> Spot:
    """The name in an item of a ``tools`` or ``hooks`` block."""
    return Spot(f"{block}[{number}].name", declaration.at.value("name"))


def has_key(position: Position, key: str) -> bool:
    """Whether the document has this scalar key here, also where the model no longer tells."""
    return position.raw(key) is not None


def _gate(state: State, gate: Gate) -> str:
    return f"{below('states', state.id)}.gates[{gate.index}]"


def _join(where: str, path: tuple[str | int, ...]) -> str:
    for name in path:
        where = below(where, name)
    return where
