"""Who calls whom and who reads what, over a whole project, answered when asked."""

from __future__ import annotations

from collections.abc import Iterator

from mklang.audit.python.entries import HOLDS, View
from mklang.audit.python.index import Uses
from mklang.audit.python.ir import RECEIVER, Call, said_name
from mklang.audit.python.linking import Project, Target


class Reach:
    """The questions a walk asks of a project."""

    def __init__(self, project: Project, guards: frozenset[str]) -> None:
        self.project = project
        self.guards = frozenset(project.full(name) for name in guards)
        self._views: dict[str, View] = {}
        self._values: dict[tuple[str, int], tuple[Target, ...]] = {}
        self._read_by: dict[tuple[str, str], Uses] = {}
        self._written: dict[tuple[str, str], bool] = {}
        self._families: list[str] = []
        self._given: dict[tuple[str, int], tuple[Target, ...]] = {}
        self._called_by: dict[str, Uses] = {}
        self._insides: dict[str, list[str]] = {}

    def view(self, name: str) -> View:
        """A function, ready to walk along."""
        if name not in self._views:
            self._views[name] = View(self.project.functions[name], self.project.file_of[name].path)
        return self._views[name]

    def is_guard(self, name: str) -> bool:
        """Whether somebody said that a function checks what it is given."""
        function = self.project.functions.get(name)
        if function is None:
            return False
        return said_name(name) in self.guards or any(
            mark.rpartition(".")[2].partition(":")[0] == "guard" for mark in function.marks
        )

    def holds(self, owner: str) -> int:
        """The mark of an object of this class that was made with model output."""
        family = self.project.family_of(owner)
        if family not in self._families:
            self._families.append(family)
        return HOLDS + self._families.index(family)

    def readers(self, owner: str, attribute: str) -> Uses:
        """Who reads an attribute of a class: function and node."""
        family = self.project.family_of(owner)
        if not family:
            return []
        key = (family, attribute)
        if key not in self._read_by:
            self._read_by[key] = [
                (name, node)
                for name, other, node in self.project.index.reads(attribute)
                if self.project.family_of(other) == family
            ]
        return self._read_by[key]

    def is_field(self, owner: str, attribute: str) -> bool:
        """Whether objects of a class have an attribute, as the class says or as somebody writes it."""
        if self.project.has_field(owner, attribute) or self.project.method(owner, attribute):
            return True
        key = (self.project.family(owner), attribute)
        if key not in self._written:
            self._written[key] = any(
                self.project.family_of(one) == key[0] for one in self.project.index.writes(attribute)
            )
        return self._written[key]

    def inner(self, name: str) -> list[str]:
        """The functions made in a function."""
        if name not in self._insides:
            known = self.project.file_of[name].functions
            self._insides[name] = [one.name for one in known if one.name.rpartition(".<locals>.")[0] == name]
        return self._insides[name]

    # -- calls --------------------------------------------------------------------------------------------------------

    def targets(self, view: View, number: int) -> tuple[Target, ...]:
        """What a call may reach, values that are called included."""
        call = view.function.calls[number]
        name = view.function.name
        if call.ref != "V":
            return self.project.targets(name, number, call)
        if (name, number) not in self._values:
            self._values[name, number] = tuple(dict.fromkeys(self.of_value(view, call.value, given=True)))
        return self._values[name, number]

    def of_value(self, view: View, node: int, *, given: bool) -> Iterator[Target]:
        """The functions that a value may be; ``given`` says whether parameters are looked up at the callers."""
        seen, waiting = {node}, [node]
        while waiting:
            one = waiting.pop()
            for reference in view.references.get(one, ()):
                yield from self.project.reached(self.project.full(reference))
            if given and one < len(view.function.params):
                yield from self.given(view.function.name, one)
            for before in (*view.back.get(one, ()), *view.partials.get(one, ())):
                if before not in seen:
                    seen.add(before)
                    waiting.append(before)

    def given(self, name: str, position: int) -> tuple[Target, ...]:
        """The functions that callers give to a parameter."""
        key = (name, position)
        if key not in self._given:
            self._given[key] = ()  # a function that is given to itself
            found: dict[Target, None] = {}
            for caller, number in self.project.index.calls(self._names(name)):
                call = self.project.functions[caller].calls[number]
                for target in self.project.targets(caller, number, call) if call.functions else ():
                    for argument, reference in call.functions if target.function == name else ():
                        if position in self.positions(target, argument):
                            found.update(dict.fromkeys(self.project.reached(reference)))
            self._given[key] = tuple(found)
        return self._given[key]

    def _names(self, name: str) -> list[str]:
        """The last names by which a function is called."""
        short = said_name(name).rpartition(".")[2]
        made = [name.split(".")[-2]] if short in {"__init__", "__post_init__"} else []
        return [*self.project.index.named(short), *made]

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

    def callers_of(self, name: str) -> Uses:
        """The calls that may reach a function."""
        if name not in self._called_by:
            self._called_by[name] = self._find_callers(name)
        return self._called_by[name]

    def _find_callers(self, name: str) -> Uses:
        found = dict.fromkeys((*self.project.index.calls(self._names(name)), *self._calls_of_values(name)))
        return [
            (caller, number)
            for caller, number in found
            if any(one.function == name for one in self.targets(self.view(caller), number))
        ]

    def _calls_of_values(self, name: str) -> Iterator[tuple[str, int]]:
        """The calls of values in functions that mention a function, or that are given it."""
        index = self.project.index
        said = said_name(name)
        names = index.named(said.rpartition(".")[2])
        around = [
            function for dotted, function, _ in index.references(names) if self.project.full(dotted) in {said, name}
        ]
        for caller, number in index.handed(names):
            call = self.project.functions[caller].calls[number]
            if any(target.function == name for _, one in call.functions for target in self.project.reached(one)):
                around += [one.function for one in self.project.targets(caller, number, call) if one.function]
        for one in dict.fromkeys(around):
            yield from ((one, number) for number, call in enumerate(self.project.functions[one].calls) if _value(call))


def _value(call: Call) -> bool:
    return call.ref == "V"
