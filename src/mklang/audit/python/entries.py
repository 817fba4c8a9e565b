"""A mark on a value, and the ways of looking at a function that marks make necessary.

A function is looked at once for what arises in it (its *root* entry) and once for each parameter that a tainted value
was seen to enter through. What is known of a value is a mark: ``TAINTED``, ``WEAK`` (only a weak check saw it),
``ASKS`` (a callable that gives model output when it is called) or ``HOLDS`` (an object that was made with some; what it
has is known by the names of its attributes; each family of classes has such a mark of its own, from ``HOLDS`` upwards).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from mklang.audit.findings import Point
from mklang.audit.python.ir import RECEIVER, Call, Function
from mklang.audit.python.linking import Target

TAINTED, WEAK, ASKS, HOLDS = 1, 2, 4, 8
ROOT = -1
RETURNED, OBJECT, TRUE_OBJECT, FALSE_OBJECT = "returned", 2, 1, 0
Key: TypeAlias = tuple[int, int]
Output: TypeAlias = tuple[str, int, int, int]


@dataclass(slots=True)
class Back:
    """Where a mark came from: a node of the same entry, another entry, or nowhere (a source or a parameter)."""

    key: Key | None = None
    entry: Entry | None = None
    note: str = ""


@dataclass(slots=True, eq=False)
class Entry:
    """One way of looking at a function: from its own sources, or from one parameter with one mark."""

    view: View
    slot: int
    mark: int
    reach: dict[Key, Back] = field(default_factory=dict)
    outputs: dict[Output, Key] = field(default_factory=dict)
    callers: dict[tuple[int, int, int, int], tuple[Entry, int, Key, Target]] = field(default_factory=dict)
    demanded: tuple[Entry, int, Key] | None = None


class Arrival(NamedTuple):
    """A marked value (``key``) is the argument ``name`` of the call ``number``."""

    entry: Entry
    key: Key
    number: int
    name: str

    @property
    def call(self) -> Call:
        """The call."""
        return self.entry.view.function.calls[self.number]


class View:
    """A function with its graph turned so that one can walk along it."""

    def __init__(self, function: Function, path: str) -> None:
        self.function = function
        self.path = path
        self.next: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.inputs: dict[int, list[tuple[int, str]]] = defaultdict(list)
        self.called: dict[int, list[int]] = defaultdict(list)
        self.sinks: dict[int, list[int]] = defaultdict(list)
        self.writes: dict[int, list[tuple[str, str]]] = defaultdict(list)
        self.stores: dict[int, list[str]] = defaultdict(list)
        self.cells: dict[int, list[str]] = defaultdict(list)
        self.bases: dict[int, list[tuple[str, str, int]]] = defaultdict(list)
        self.leaves: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.verdicts: dict[int, list[int]] = defaultdict(list)
        self.items: dict[int, list[int]] = defaultdict(list)
        self.back: dict[int, list[int]] = defaultdict(list)
        self.references: dict[int, list[str]] = defaultdict(list)
        self.partials: dict[int, list[int]] = defaultdict(list)
        self._fill(function)

    def _fill(self, function: Function) -> None:
        for source, target, kind in function.edges:
            self.next[source].append((target, kind))
            self.back[target].append(source)
        for number, call in enumerate(function.calls):
            given = [(node, key) for key, node in call.args]
            given += [(call.receiver, RECEIVER)] + [(node, key) for key, node, _ in call.posts]
            given += [(node, key) for key, _, node, _ in call.truths]
            for node, key in dict.fromkeys(given):
                self.inputs[node].append((number, key))
            self.called[call.value].append(number)
            if call.ref.rpartition(".")[2] == "partial":
                self.partials[call.result] += [node for key, node in call.args if key == "0"]
        self._fill_ends(function)

    def _fill_ends(self, function: Function) -> None:
        for number, sink in enumerate(function.sinks):
            self.sinks[sink.node].append(number)
        for owner, attribute, node in function.writes:
            self.writes[node].append((owner, attribute))
        for name, node in function.global_writes:
            self.stores[node].append(name)
        for name, node in function.cells:
            self.cells[node].append(name)
        for owner, attribute, node, base in function.reads:
            self.bases[base].append((owner, attribute, node))
        for position, node in function.items:
            self.items[node].append(position)
        for position, kind, node in function.exits:
            self.leaves[node].append((position, kind))
        for dotted, node in function.references:
            self.references[node].append(dotted)
        for number, (node, _, _, _) in enumerate(function.verdicts):
            self.verdicts[node].append(number)

    def point(self, node: int, note: str = "") -> Point:
        """The place of a node."""
        return Point(self.path, self.function.lines[node], self.function.columns[node], note)
