"""Where model output gets to: from the calls that make it through functions, fields and globals, on demand.

A function is looked at once for what arises in it (its *root* entry) and once for each parameter that a tainted value
was seen to enter through. What is known of a value is a mark: ``TAINTED``, ``WEAK`` (only a weak check saw it),
``ASKS`` (a callable that gives model output when it is called) or ``HOLDS`` (an object that was made with some; what it
has is known by the names of its attributes; each family of classes has such a mark of its own, from ``HOLDS`` upwards).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from mklang.audit.findings import Point
from mklang.audit.python.ir import RECEIVER, Call, Function
from mklang.audit.python.ir import WEAK as WEAK_EDGE
from mklang.audit.python.linking import Project, Target

TAINTED, WEAK, ASKS, HOLDS = 1, 2, 4, 8
ROOT = -1
RETURNED, OBJECT, TRUE_OBJECT, FALSE_OBJECT = "returned", 2, 1, 0
Key: TypeAlias = tuple[int, int]
Output: TypeAlias = tuple[str, int, int, int]
_STRONG = frozenset({"clean", "raises", "predicate", "faults"})


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
        for number, (node, _, _, _) in enumerate(function.verdicts):
            self.verdicts[node].append(number)

    def point(self, node: int, note: str = "") -> Point:
        """The place of a node."""
        return Point(self.path, self.function.lines[node], self.function.columns[node], note)


class Solver:
    """The marks of a whole project."""

    def __init__(
        self, project: Project, *, guards: frozenset[str] = frozenset(), sources: frozenset[str] = frozenset()
    ) -> None:
        self.project = project
        self.guards = guards
        self.named_sources = sources
        self.entries: dict[tuple[str, int, int], Entry] = {}
        self.of_function: dict[str, list[Entry]] = defaultdict(list)
        self.unresolved: set[tuple[str, int]] = set()
        self.guarded: set[Point] = set()
        self.asking: dict[str, Back] = {}
        self.called_sinks: dict[tuple[str, int], Entry] = {}
        self._views: dict[str, View] = {}
        self._waiting: deque[tuple[Entry, Key]] = deque()
        self._values: dict[tuple[str, int], tuple[Target, ...]] = {}
        self._read_by: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self._families: list[str] = []
        self._kept: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._pending: dict[tuple[str, str], list[tuple[Entry, int, Key]]] = defaultdict(list)
        self._called_by: dict[str, list[tuple[str, int]]] = {}
        self._index()
        self._seed()
        self._run()

    # -- what is where ------------------------------------------------------------------------------------------------

    def _index(self) -> None:
        self._callers: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self._readers: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
        self._globals: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self._references: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
        self._bindings: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for name, function in self.project.functions.items():
            for number, call in enumerate(function.calls):
                self._callers[call.ref.rpartition(":")[2].rpartition(".")[2]].append((name, number))
                if call.functions:
                    self._bindings["*"].append((name, number))
            for owner, attribute, node, _ in function.reads:
                self._readers[attribute].append((name, owner, node))
            for dotted, node in function.global_reads:
                self._globals[dotted.rpartition(".")[2]].append((name, node))
            for dotted, node in function.references:
                self._references[dotted.rpartition(".")[2]].append((dotted, name, node))
        self._aliases: dict[str, set[str]] = defaultdict(set)
        for one in self.project.modules.values():
            for alias, full in one.imports.items():
                last = full.rpartition(".")[2]
                if alias != last and alias[:1] != "<":
                    self._aliases[last].add(alias)
        self._bind_arguments()

    def _bind_arguments(self) -> None:
        """Functions that are given to parameters: what a call of the parameter may reach."""
        self._given: dict[tuple[str, int], list[Target]] = defaultdict(list)
        for name, number in self._bindings.get("*", ()):
            call = self.project.functions[name].calls[number]
            for target in self.project.targets(name, number, call):
                for key, reference in call.functions:
                    for position in self.positions(target, key):
                        self._given[target.function, position] += self.project.reached(reference)

    def view(self, name: str) -> View:
        """A function, ready to walk along."""
        if name not in self._views:
            self._views[name] = View(self.project.functions[name], self.project.file_of[name].path)
        return self._views[name]

    def entry(self, name: str, slot: int, mark: int = 0) -> Entry:
        """One way of looking at a function."""
        key = (name, slot, mark)
        if key not in self.entries:
            self.entries[key] = Entry(self.view(name), slot, mark)
            self.of_function[name].append(self.entries[key])
        return self.entries[key]

    def is_guard(self, name: str) -> bool:
        """Whether somebody said that a function checks what it is given."""
        function = self.project.functions.get(name)
        if function is None:
            return False
        return name in self.guards or any(
            mark.rpartition(".")[2].partition(":")[0] == "guard" for mark in function.marks
        )

    # -- the walk -----------------------------------------------------------------------------------------------------

    def _seed(self) -> None:
        for name, function in self.project.functions.items():
            for call in function.calls:
                if call.kind == "source" and call.result >= 0:
                    self.mark(
                        self.entry(name, ROOT), (call.result, TAINTED), Back(note=f"a model answers ({_said(call)})")
                    )
            for position in (*function.model_params, *function.asking):
                self.mark(self.entry(name, ROOT), (position, ASKS), Back(note="a callable that asks a model"))
            told = name in self.named_sources or any(one.rpartition(".")[2] == "model_call" for one in function.marks)
            if told:
                back = Back(note="declared to ask a model")
                self._asks(name, back)

    def mark(self, entry: Entry, key: Key, back: Back) -> None:
        """A node gets a mark, once."""
        if key[0] >= 0 and key not in entry.reach:
            entry.reach[key] = back
            self._waiting.append((entry, key))

    def _run(self) -> None:
        while self._waiting:
            entry, key = self._waiting.popleft()
            self._step(entry, key)

    def _step(self, entry: Entry, key: Key) -> None:
        view, (node, mark) = entry.view, key
        back = Back(key)
        for target, kind in view.next.get(node, ()):
            weaker = WEAK if kind == WEAK_EDGE and mark == TAINTED else mark
            self.mark(entry, (target, weaker), back)
        for number, name in view.inputs.get(node, ()):
            self._enter(Arrival(entry, key, number, name))
        for number in view.called.get(node, ()):
            if mark == ASKS:
                self._result(entry, view.function.calls[number], TAINTED, Back(key, note="and answers"))
        if node == view.function.result:
            self._output(entry, ("r", 0, 0, mark), key)
        for item in view.items.get(node, ()):
            self._output(entry, ("i", item, 0, mark), key)
        for position, kind in view.leaves.get(node, ()):
            self._output(entry, ("x", position, kind, mark), key)
        self._spread(entry, key)

    def _spread(self, entry: Entry, key: Key) -> None:
        """Fields, globals and inner functions: whoever reads them, reads the mark."""
        view, (node, mark) = entry.view, key
        for owner, attribute in view.writes.get(node, ()):
            self._keep(owner, attribute, mark)
            for name, target in self.readers(owner, attribute):
                self.mark(self.entry(name, ROOT), (target, mark), Back(key, entry, f"kept in '{attribute}'"))
        for dotted in view.stores.get(node, ()):
            full = self.project.full(dotted)
            for name, target in self._globals.get(dotted.rpartition(".")[2], ()):
                if full in self._global_names(name, target):
                    self.mark(self.entry(name, ROOT), (target, mark), Back(key, entry, f"kept in '{dotted}'"))
        for owner, attribute, target in view.bases.get(node, ()):
            known = self.project.type_named(owner)
            if known not in self.project.classes or not self._is_field(known, attribute):
                self._attribute(entry, key, attribute, target)
        for name in view.cells.get(node, ()):
            self._cell(entry, key, name)

    def _attribute(self, entry: Entry, key: Key, attribute: str, target: int) -> None:
        """An attribute of something whose class does not say that it has one."""
        mark = key[1]
        if mark < HOLDS:
            self.mark(entry, (target, mark), Back(key))
            return
        field = (self._families[mark - HOLDS], attribute)
        self._pending[field].append((entry, target, key))
        for kept in list(self._kept.get(field, ())):
            self.mark(entry, (target, kept), Back(key))

    def holds(self, owner: str) -> int:
        """The mark of an object of this class that was made with model output."""
        family = self.project.family_of(owner)
        if family not in self._families:
            self._families.append(family)
        return HOLDS + self._families.index(family)

    def _keep(self, owner: str, attribute: str, mark: int) -> None:
        """An object has a mark in this attribute: so may those that were made with model output, where they are used
        without their type being known."""
        field = (self.project.family_of(owner), attribute)
        if mark in self._kept[field]:
            return
        self._kept[field].add(mark)
        for entry, target, key in list(self._pending.get(field, ())):
            self.mark(entry, (target, mark), Back(key))

    def readers(self, owner: str, attribute: str) -> list[tuple[str, int]]:
        """Who reads an attribute of a class: function and node."""
        family = self.project.family_of(owner)
        if not family:
            return []
        key = (family, attribute)
        if key not in self._read_by:
            self._read_by[key] = [
                (name, node)
                for name, other, node in self._readers.get(attribute, ())
                if self.project.family_of(other) == family
            ]
        return self._read_by[key]

    def _global_names(self, name: str, target: int) -> list[str]:
        function = self.project.functions[name]
        return [self.project.full(dotted) for dotted, node in function.global_reads if node == target]

    def _is_field(self, owner: str, attribute: str) -> bool:
        if self.project.has_field(owner, attribute) or self.project.method(owner, attribute):
            return True
        family = self.project.family(owner)
        if not hasattr(self, "_written"):
            self._written = {
                (self.project.family_of(one), attribute)
                for function in self.project.functions.values()
                for one, attribute, _ in function.writes
            }
        return (family, attribute) in self._written

    def _cell(self, entry: Entry, key: Key, name: str) -> None:
        """A name that is shared with functions inside, or with the one around (``^name``)."""
        here = entry.view.function.name
        if name[0] == "^":
            outer = here.rpartition(".<locals>.")[0]
            function = self.project.functions.get(outer)
            for cell, target in function.cells if function else ():
                if cell == name[1:]:
                    self.mark(self.entry(outer, ROOT), (target, key[1]), Back(key, entry))
            return
        for inner in self._inner(here):
            for free, target in self.project.functions[inner].free:
                if free == name:
                    self.mark(self.entry(inner, ROOT), (target, key[1]), Back(key, entry))

    def _inner(self, name: str) -> list[str]:
        if not hasattr(self, "_insides"):
            self._insides: dict[str, list[str]] = defaultdict(list)
            for one in self.project.functions:
                outer = one.rpartition(".<locals>.")[0]
                if outer:
                    self._insides[outer].append(one)
        return self._insides.get(name, [])

    # -- calls --------------------------------------------------------------------------------------------------------

    def targets(self, view: View, number: int) -> tuple[Target, ...]:
        """What a call may reach, values that are called included."""
        call = view.function.calls[number]
        name = view.function.name
        if call.ref != "V":
            return self.project.targets(name, number, call)
        if (name, number) not in self._values:
            self._values[name, number] = tuple(dict.fromkeys(self._of_value(view, call.value, given=True)))
        return self._values[name, number]

    def _of_value(self, view: View, node: int, *, given: bool) -> Iterator[Target]:
        seen, waiting = {node}, [node]
        references = {one: dotted for dotted, one in view.function.references}
        while waiting:
            one = waiting.pop()
            if one in references:
                full = self.project.full(references[one])
                yield from self.project.reached(full)
            if given and one < len(view.function.params):
                yield from self._given.get((view.function.name, one), ())
            for before in view.back.get(one, ()):
                if before not in seen:
                    seen.add(before)
                    waiting.append(before)
            for call in view.function.calls:
                if call.result == one and call.ref.rpartition(".")[2] == "partial":
                    waiting += [number for key, number in call.args if key == "0" and number not in seen]

    def positions(self, target: Target, key: str) -> list[int]:
        """The parameters an argument goes to."""
        function = self.project.functions.get(target.function)
        if function is None:
            return []
        shift = 1 if target.bound else 0
        if key == RECEIVER:
            return [0] if target.bound and function.params else []
        count = len(function.params)
        if key == "**":
            return list(range(shift, count))
        if key[0] == "*":
            return list(range(min(int(key[1:]) + shift, count), count))
        if key.isdigit():
            position = int(key) + shift
            last = function.star if function.star >= 0 else count
            return [position] if position < last else [function.star] if function.star >= 0 else []
        if key in function.params:
            return [function.params.index(key)]
        return [function.double] if function.double >= 0 else []

    def _enter(self, at: Arrival) -> None:
        """A marked value is an argument."""
        call = at.call
        if call.kind == "source":
            return
        if call.kind in _STRONG or call.kind == "cut-predicate":
            self._check(at)
            return
        targets = self.targets(at.entry.view, at.number) if call.kind in {"", "sink", "plain"} else ()
        for target in targets:
            self._enter_function(at, target)
        if not targets:
            self._pass_by(at)

    def _check(self, at: Arrival) -> None:
        """A check: nothing, or a weaker mark, comes out on the good side."""
        entry, key, call = at.entry, at.key, at.call
        values = next((told for one, told in call.hints if one == "<values>"), ["0"])
        looked = at.name in values
        if looked and not call.weak and key[1] in {TAINTED, WEAK}:
            self.see_guard(entry, key)
        weaker = WEAK if key[1] == TAINTED else key[1]
        if call.kind == "clean" and call.weak:
            self.mark(entry, (call.result, weaker), Back(key, note="a weak check"))
        if call.kind == "raises" and not looked:
            self.mark(entry, (call.result, key[1]), Back(key))
        good = 0 if call.kind == "faults" else 1
        after = [(post, True) for name, node, post in call.posts if (name, node) == (at.name, key[0])]
        after += [
            (known, truth == good) for name, truth, node, known in call.truths if (name, node) == (at.name, key[0])
        ]
        for node, passed in after:
            if not (looked and passed):
                self.mark(entry, (node, key[1]), Back(key))
            elif call.weak:
                self.mark(entry, (node, weaker), Back(key, note="a weak check"))

    def _pass_by(self, at: Arrival) -> None:
        """A call of something that is not ours: what goes in may come out."""
        entry, key, call = at.entry, at.key, at.call
        looks_up = at.name == "0" and call.kind == "plain" and call.ref in {"?:get", "?:pop"}
        if call.kind not in {"cut", "sink"} and not looks_up:
            hands_on = key[1] == ASKS and at.name != RECEIVER and not call.ref.endswith("partial")
            short = call.ref.rpartition(":")[2].rpartition(".")[2]
            if (
                key[1] >= HOLDS
                and short not in self.project.models.words["keepers"] | self.project.models.words["serialisers"]
            ):
                return
            written_out = key[1] >= HOLDS and short in self.project.models.words["serialisers"]
            self._result(entry, call, TAINTED if hands_on or written_out else key[1], Back(key))
            unknown = call.kind == "" and (call.ref[:2] in {"?:", "T:"} or call.ref == "V")
            if unknown and key[1] in {TAINTED, WEAK} and short not in self.project.models.words["plain"]:
                self.unresolved.add((entry.view.function.name, at.number))
        after = [post for name, node, post in call.posts if (name, node) == (at.name, key[0])]
        after += [known for name, _, node, known in call.truths if (name, node) == (at.name, key[0])]
        for node in after:
            self.mark(entry, (node, key[1]), Back(key))

    def _enter_function(self, at: Arrival, target: Target) -> None:
        entry, key = at.entry, at.key
        if target.made:
            if self.project.is_enum(target.made):
                return
            if self.project.is_schema(target.made):
                self.see_guard(entry, key)
                return
            self.mark(entry, (at.call.result, key[1] if key[1] == ASKS else self.holds(target.made)), Back(key))
            self._construct(at, target)
        if self.is_guard(target.function):
            self.see_guard(entry, key)
        elif target.function and (
            key[1] < HOLDS or at.name != RECEIVER
        ):  # in its own methods an object's fields are known
            self._demand(at, target)

    def _demand(self, at: Arrival, target: Target) -> None:
        """Look at a function with this value as its argument; what is known already arrives at once."""
        entry, key = at.entry, at.key
        for position in self.positions(target, at.name):
            inner = self.entry(target.function, position, key[1])
            place = (id(entry), at.number, key[0], key[1])
            inner.demanded = inner.demanded or (entry, at.number, key)
            if place not in inner.callers:
                inner.callers[place] = (entry, at.number, key, target)
                for output in list(inner.outputs):
                    self._apply(inner, output, inner.callers[place])
            self.mark(inner, (position, key[1]), Back())
            self._sink_mark(at, target)

    def _sink_mark(self, at: Arrival, target: Target) -> None:
        function = self.project.functions[target.function]
        if any(mark.rpartition(".")[2].partition(":")[0] == "sink" for mark in function.marks):
            self.called_sinks.setdefault((at.entry.view.function.name, at.number), at.entry)

    def _construct(self, at: Arrival, target: Target) -> None:
        """The fields of a class that has no ``__init__`` of its own: a dataclass."""
        name = at.name
        if target.function.endswith("__init__"):
            return
        fields = [
            one
            for cls in reversed(self.project.mro(target.made))
            if cls in self.project.classes
            for one in self.project.classes[cls].fields
        ]
        if name.isdigit():
            names = fields[int(name) : int(name) + 1]
        else:
            names = [name] if name in fields else fields if name[:1] == "*" else []
        for one in names:
            self._keep(target.made, one, at.key[1])
            for reader, node in self.readers(target.made, one):
                self.mark(self.entry(reader, ROOT), (node, at.key[1]), Back(at.key, at.entry, f"kept in '{one}'"))

    def _output(self, entry: Entry, output: Output, key: Key) -> None:
        """Something marked leaves a function."""
        if output in entry.outputs:
            return
        entry.outputs[output] = key
        if entry.slot == ROOT:
            self._leave_root(entry, output, key)
        for caller in list(entry.callers.values()):
            self._apply(entry, output, caller)

    def _apply(self, inner: Entry, output: Output, caller: tuple[Entry, int, Key, Target]) -> None:
        """What leaves a function arrives at a call."""
        outer, number, key, target = caller
        call = outer.view.function.calls[number]
        kind, position, _, mark = output
        back = Back(key, note=f"through {inner.view.function.name.rpartition('.')[2]}()")
        if kind == "r":
            if not target.made:
                self._result(outer, call, mark, back, callee=inner.view.function.name)
        elif kind == "i":
            for item, node in call.items:
                if item == position:
                    self.mark(outer, (node, mark), back)
        else:
            for node in self._objects(call, target, output):
                self.mark(outer, (node, mark), back)

    def _objects(self, call: Call, target: Target, output: Output) -> list[int]:
        """What an argument is after the call, where the callee leaves its parameter marked."""
        _, position, truth, _ = output
        if truth == OBJECT:
            return [post for name, _, post in call.posts if position in self.positions(target, name)]
        return [
            known for name, said, _, known in call.truths if said == truth and position in self.positions(target, name)
        ]

    def _result(self, entry: Entry, call: Call, mark: int, back: Back, *, callee: str = "") -> None:
        """The result of a call is marked; its parts too, unless the callee tells them apart."""
        self.mark(entry, (call.result, mark), back)
        function = self.project.functions.get(callee)
        if call.items and (function is None or function.whole or not function.items):
            for _, node in call.items:
                self.mark(entry, (node, mark), back)

    def _leave_root(self, entry: Entry, output: Output, key: Key) -> None:
        name = entry.view.function.name
        kind, position, truth, mark = output
        if self.is_guard(name):
            return
        if kind == "r":
            self._asks(name, Back(key, entry), mark)
            return
        for caller, number in self.callers_of(name):
            call = self.project.functions[caller].calls[number]
            if kind == "i":
                nodes = [node for item, node in call.items if item == position]
            elif truth == OBJECT:
                targets = [one for one in self.targets(self.view(caller), number) if one.function == name]
                nodes = [node for target in targets for node in self._objects(call, target, output)]
            else:
                nodes = []
            for node in nodes:
                self.mark(self.entry(caller, ROOT), (node, mark), Back(key, entry, f"from {name.rpartition('.')[2]}()"))

    def _asks(self, name: str, back: Back, mark: int = TAINTED) -> None:
        """A function gives model output: so do its calls, and it asks a model itself wherever it is handed on."""
        self.asking.setdefault(name, back)
        short = name.rpartition(".")[2]
        start = Back(back.key, back.entry, f"from {short}()" if back.key is not None else f"{short}() asks a model")
        for caller, number in self.callers_of(name):
            call = self.project.functions[caller].calls[number]
            if self._calls_by_itself(caller, number, name):
                self._result(self.entry(caller, ROOT), call, mark, start, callee=name)
        for alias in (short, *self._aliases.get(short, ())) if mark == TAINTED else ():
            for dotted, holder, node in self._references.get(alias, ()):
                if self.project.full(dotted) == name:
                    self.mark(self.entry(holder, ROOT), (node, ASKS), start)
        self._asks_as_attribute(name, short, mark, start)

    def _calls_by_itself(self, caller: str, number: int, name: str) -> bool:
        """Whether a call names the function; to one that was given as an argument the mark ASKS finds its way."""
        call = self.project.functions[caller].calls[number]
        view = self.view(caller)
        reached = self._of_value(view, call.value, given=False) if call.ref == "V" else self.targets(view, number)
        return any(one.function == name and not one.made for one in reached)

    def _asks_as_attribute(self, name: str, short: str, mark: int, start: Back) -> None:
        """A method that is not called but read: a property, or one that is handed on."""
        function = self.project.functions[name]
        for reader, owner, node in self._readers.get(short, ()) if function.owner else ():
            known = self.project.type_named(owner)
            if known in self.project.classes and self.project.method(known, short) == name:
                kind = mark if any("property" in one for one in function.marks) else ASKS
                self.mark(self.entry(reader, ROOT), (node, kind), start)

    def callers_of(self, name: str) -> list[tuple[str, int]]:
        """The calls that may reach a function."""
        if name not in self._called_by:
            self._called_by[name] = self._find_callers(name)
        return self._called_by[name]

    def _find_callers(self, name: str) -> list[tuple[str, int]]:
        short = name.rpartition(".")[2]
        names = {short, *self._aliases.get(short, ())}
        if short in {"__init__", "__post_init__"}:
            names.add(name.split(".")[-2])
        found = [one for alias in (*names, "V") for one in self._callers.get(alias, ())]
        return [
            (caller, number)
            for caller, number in found
            if any(one.function == name for one in self.targets(self.view(caller), number))
        ]

    # -- the way ------------------------------------------------------------------------------------------------------

    def trace(self, entry: Entry, key: Key, via: tuple[Entry, int, Key] | None = None) -> list[Point]:
        """The stations of a mark, from where it was made."""
        points: list[Point] = []
        seen: set[tuple[int, Key]] = set()
        at: Key | None = key
        current = entry
        while at is not None and (id(current), at) not in seen:
            seen.add((id(current), at))
            back = current.reach[at]
            points.append(current.view.point(at[0], back.note))
            if back.key is not None:
                at, current = back.key, back.entry or current
            elif current.slot != ROOT:
                demanded = via if via is not None and current is entry else current.demanded
                via = None
                at = demanded[2] if demanded else None
                current = demanded[0] if demanded else current
            else:
                at = None
        points.reverse()
        return points

    def see_guard(self, entry: Entry, key: Key) -> None:
        """A guard looks at this value: remember where it came into the function, and into its callers."""
        current: Entry | None = entry
        at = key
        for _ in range(8):
            if current is None:
                break
            back = current.reach[at]
            while back.key is not None and back.entry is None:
                at, back = back.key, current.reach[back.key]
            if current.slot == ROOT or current.demanded is None:
                self.guarded.add(current.view.point(at[0]))
                break
            current, _, at = current.demanded


def _said(call: Call) -> str:
    return call.ref.replace("?:", ".").rpartition(":")[2]


__all__ = ["ASKS", "ROOT", "TAINTED", "WEAK", "Entry", "Solver", "View"]
