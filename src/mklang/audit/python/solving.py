"""Where model output gets to: from the calls that make it through functions, fields and globals, on demand."""

from __future__ import annotations

from collections import defaultdict, deque

from mklang.audit.findings import Point
from mklang.audit.python.entries import (
    ASKS,
    HOLDS,
    OBJECT,
    ROOT,
    TAINTED,
    WEAK,
    Arrival,
    Back,
    Entry,
    Key,
    Output,
)
from mklang.audit.python.graph import Effort, TooMuchError
from mklang.audit.python.ir import RECEIVER, Call, said_name
from mklang.audit.python.ir import WEAK as WEAK_EDGE
from mklang.audit.python.linking import Project, Target
from mklang.audit.python.reaching import Reach

_STRONG = frozenset({"clean", "raises", "predicate", "faults"})


class Solver(Reach):
    """The marks of a whole project."""

    def __init__(
        self,
        project: Project,
        *,
        guards: frozenset[str] = frozenset(),
        sources: frozenset[str] = frozenset(),
        effort: int = 1_000_000,
    ) -> None:
        super().__init__(project, guards)
        self.named_sources = frozenset(project.full(name) for name in sources)
        self.finished = True
        self._effort = Effort(effort)
        self.entries: dict[tuple[str, int, int], Entry] = {}
        self.of_function: dict[str, list[Entry]] = defaultdict(list)
        self.unresolved: set[tuple[str, int]] = set()
        self.guarded: set[Point] = set()
        self.asking: dict[str, Back] = {}
        self.called_sinks: dict[tuple[str, int], Entry] = {}
        self._waiting: deque[tuple[Entry, Key]] = deque()
        self._kept: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._pending: dict[tuple[str, str], list[tuple[Entry, int, Key]]] = defaultdict(list)
        try:
            self._seed()
            self._run()
        except TooMuchError:
            self.finished = False

    def entry(self, name: str, slot: int, mark: int = 0) -> Entry:
        """One way of looking at a function."""
        key = (name, slot, mark)
        if key not in self.entries:
            self.entries[key] = Entry(self.view(name), slot, mark)
            self.of_function[name].append(self.entries[key])
        return self.entries[key]

    # -- the walk -----------------------------------------------------------------------------------------------------

    def _seed(self) -> None:
        self.project.index.read_asking()
        for name, function in list(self.project.functions.items()):
            for call in function.calls:
                if call.kind == "source" and call.result >= 0:
                    self.mark(
                        self.entry(name, ROOT), (call.result, TAINTED), Back(note=f"a model answers ({_said(call)})")
                    )
            for position in (*function.model_params, *function.asking):
                self.mark(self.entry(name, ROOT), (position, ASKS), Back(note="a callable that asks a model"))
            told = said_name(name) in self.named_sources or any(
                one.rpartition(".")[2] == "model_call" for one in function.marks
            )
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
        self._effort.spend(1)
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
            for read, name, target in self.project.index.globals(dotted.rpartition(".")[2]):
                if self.project.full(read) == full:
                    self.mark(self.entry(name, ROOT), (target, mark), Back(key, entry, f"kept in '{dotted}'"))
        for owner, attribute, target in view.bases.get(node, ()):
            known = self.project.type_named(owner)
            if known not in self.project.classes or not self.is_field(known, attribute):
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

    def _keep(self, owner: str, attribute: str, mark: int) -> None:
        """An object has a mark in this attribute: so may those that were made with model output, where they are used
        without their type being known."""
        field = (self.project.family_of(owner), attribute)
        if mark in self._kept[field]:
            return
        self._kept[field].add(mark)
        for entry, target, key in list(self._pending.get(field, ())):
            self.mark(entry, (target, mark), Back(key))

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
        for inner in self.inner(here):
            for free, target in self.project.functions[inner].free:
                if free == name:
                    self.mark(self.entry(inner, ROOT), (target, key[1]), Back(key, entry))

    # -- calls --------------------------------------------------------------------------------------------------------

    def _enter(self, at: Arrival) -> None:
        """A marked value is an argument."""
        call = at.call
        if call.kind == "source":
            return
        if call.kind in _STRONG or call.kind == "cut-predicate":
            self._check(at)
            return
        targets = self.targets(at.entry.view, at.number) if call.kind in {"", "sink", "plain"} else ()
        self._effort.spend(len(targets))
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
        said = said_name(name)
        short = said.rpartition(".")[2]
        start = Back(back.key, back.entry, f"from {short}()" if back.key is not None else f"{short}() asks a model")
        for caller, number in self.callers_of(name):
            call = self.project.functions[caller].calls[number]
            if self._calls_by_itself(caller, number, name):
                self._result(self.entry(caller, ROOT), call, mark, start, callee=name)
        index = self.project.index
        for dotted, holder, node in index.references(index.named(short)) if mark == TAINTED else ():
            if self.project.full(dotted) == said:
                self.mark(self.entry(holder, ROOT), (node, ASKS), start)
        self._asks_as_attribute(name, short, mark, start)

    def _calls_by_itself(self, caller: str, number: int, name: str) -> bool:
        """Whether a call names the function; to one that was given as an argument the mark ASKS finds its way."""
        call = self.project.functions[caller].calls[number]
        view = self.view(caller)
        reached = self.of_value(view, call.value, given=False) if call.ref == "V" else self.targets(view, number)
        return any(one.function == name and not one.made for one in reached)

    def _asks_as_attribute(self, name: str, short: str, mark: int, start: Back) -> None:
        """A method that is not called but read: a property, or one that is handed on."""
        function = self.project.functions[name]
        for reader, owner, node in self.project.index.reads(short) if function.owner else ():
            known = self.project.type_named(owner)
            if known in self.project.classes and self.project.method(known, short) == said_name(name):
                kind = mark if any("property" in one for one in function.marks) else ASKS
                self.mark(self.entry(reader, ROOT), (node, kind), start)

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
