"""All files together: what a name, a type and a call of one file mean in the others. Nothing is imported or run."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from mklang.audit.python.index import Index
from mklang.audit.python.ir import Call, ClassFacts, FileFacts, Function
from mklang.audit.python.models import Models
from mklang.audit.python.scanning import Files

_DEPTH = 12


@cache
def standard_methods() -> frozenset[str]:
    """Method names of the standard library: they say nothing about whose method is called."""
    from datetime import datetime  # many modules, for the rare question whose method it is
    from io import BytesIO, TextIOWrapper
    from logging import Logger
    from pathlib import Path
    from queue import Queue
    from subprocess import Popen
    from threading import Event, Thread
    from xml.etree.ElementTree import Element

    containers = (str, bytes, list, dict, set, deque, Queue, re.Pattern, re.Match, Element)
    types = (*containers, Path, TextIOWrapper, BytesIO, Popen, Thread, Event, Logger, datetime)
    return frozenset(name for one in types for name in dir(one))


class Target(NamedTuple):
    """A function that a call may reach. ``bound`` says that the receiver is the first parameter, ``made`` names the
    class when the call constructs an object."""

    function: str
    bound: bool = False
    made: str = ""


class Project:
    """The files and what they define."""

    def __init__(self, files: Files, models: Models) -> None:
        self.models = models
        self.index = Index(files)
        self.functions: Mapping[str, Function] = self.index.functions
        self.classes: Mapping[str, ClassFacts] = self.index.classes
        self.file_of: Mapping[str, FileFacts] = self.index.file_of
        self._names: dict[str, str] = {}
        self._mro: dict[str, tuple[str, ...]] = {}
        self._below: dict[str, tuple[str, ...]] = {}
        self._targets: dict[tuple[str, int], tuple[Target, ...]] = {}
        self._families: dict[str, str] = {}

    # -- names --------------------------------------------------------------------------------------------------------

    def full(self, dotted: str, depth: int = 0) -> str:
        """The name under which something is defined, through imports and re-exports; the name itself if unknown."""
        if dotted in self.functions or dotted in self.classes or self.index.is_module(dotted):
            return dotted
        known = self._names.get(dotted)
        if known is None:
            self._names[dotted] = dotted  # a cycle of imports ends here
            known = self._names[dotted] = self._search(dotted, depth) if depth < _DEPTH else dotted
        return known

    def _search(self, dotted: str, depth: int) -> str:
        if self._is_read(dotted):
            return dotted
        head, _, rest = dotted.rpartition(".")
        while head:
            one = self.index.module(head)
            if one is not None:
                return self._in_module(one, rest, depth) or dotted
            if head in self.classes:
                return self.method(head, rest) or dotted
            head, _, word = head.rpartition(".")
            rest = f"{word}.{rest}"
        return dotted

    def _is_read(self, dotted: str) -> bool:
        """Whether a name is defined in the module that its beginning names."""
        head = dotted.rpartition(".")[0]
        while head and not self.index.is_module(head):
            head = head.rpartition(".")[0]
        return self.index.module(head) is not None and (dotted in self.functions or dotted in self.classes)

    def _in_module(self, one: FileFacts, rest: str, depth: int) -> str:
        first, _, more = rest.partition(".")
        tail = f".{more}" if more else ""
        if first in one.imports and one.imports[first] != f"{one.module}.{first}":
            return self.full(one.imports[first] + tail, depth + 1)
        typed = self.classes.get(f"{one.module}.<module>")
        if more and typed is not None and typed.types.get(first):
            owner = self.type_named(typed.types[first])
            return self.method(owner, more) if owner in self.classes else f"{owner}.{more}"
        if f"{one.module}.{first}" in self.classes and more:
            return self.method(f"{one.module}.{first}", more)
        for star in (star for star in one.stars if self.index.is_module(star)):
            found = self.full(f"{star}.{rest}", depth + 1)
            if found in self.functions or found in self.classes:
                return found
        return ""

    def class_named(self, dotted: str) -> str:
        """The full name of a class of ours; empty for others."""
        found = self.full(dotted)
        return found if found in self.classes else ""

    def type_named(self, reference: str, depth: int = 0) -> str:
        """The class a type reference means; a name from elsewhere stays as it is."""
        if depth > _DEPTH or not reference:
            return ""
        if reference.startswith("A:"):
            owner, _, attribute = reference[2:].rpartition(":")
            return self._attribute_type(self.type_named(owner, depth + 1), attribute, depth)
        if reference.startswith("R:"):
            made = self.full(reference[2:])
            if made in self.classes:
                return made
            function = self.functions.get(made)
            return self.type_named(function.returns, depth + 1) if function is not None else ""
        return self.full(reference)

    def _attribute_type(self, owner: str, attribute: str, depth: int) -> str:
        for name in self.mro(owner):
            facts = self.classes.get(name)
            if facts is not None and facts.types.get(attribute):
                return self.type_named(facts.types[attribute], depth + 1)
        return ""

    # -- classes ------------------------------------------------------------------------------------------------------

    def mro(self, name: str) -> tuple[str, ...]:
        """A class and what it inherits from, ours and others, nearest first."""
        if name not in self._mro:
            found: dict[str, None] = {}
            waiting = [name]
            while waiting:
                one = waiting.pop()
                if one not in found:
                    found[one] = None
                    facts = self.classes.get(one)
                    waiting += [self.full(base) for base in reversed(facts.bases)] if facts else []
            self._mro[name] = tuple(found)
        return self._mro[name]

    def family(self, name: str) -> str:
        """The topmost class of ours that a class inherits from; fields are kept for it."""
        return next((one for one in reversed(self.mro(name)) if one in self.classes), name)

    def family_of(self, reference: str) -> str:
        """The same for a type reference; empty when nobody knows the type."""
        if reference not in self._families:
            known = self.type_named(reference)
            self._families[reference] = self.family(known) if known else ""
        return self._families[reference]

    def method(self, owner: str, name: str) -> str:
        """The full name of a method as a class sees it; empty if it has none of ours."""
        for one in self.mro(owner):
            facts = self.classes.get(one)
            if facts is not None and name in facts.methods:
                return f"{one}.{name}"
        return ""

    def below(self, owner: str) -> tuple[str, ...]:
        """The classes that inherit from one."""
        if owner not in self._below:
            found: dict[str, None] = {}
            waiting = [owner]
            while waiting:
                above = waiting.pop()
                for name, base in self.index.with_base(above.rpartition(".")[2]):
                    if name not in found and self.class_named(base) == above:
                        found[name] = None
                        waiting.append(name)
            self._below[owner] = tuple(found)
        return self._below[owner]

    def is_schema(self, name: str) -> bool:
        """Whether making an object of this class checks what it is made of."""
        return any(one in self.models.schemas for one in self.mro(name)[1:])

    def is_enum(self, name: str) -> bool:
        """Whether a class has a closed set of values."""
        return any(one in self.models.enums for one in self.mro(name)[1:])

    def has_field(self, owner: str, attribute: str) -> bool:
        """Whether a class of ours says that it has an attribute."""
        for one in self.mro(owner):
            facts = self.classes.get(one)
            if facts is not None and (attribute in facts.fields or attribute in facts.types):
                return True
        return False

    # -- calls --------------------------------------------------------------------------------------------------------

    def targets(self, function: str, number: int, call: Call) -> tuple[Target, ...]:
        """The functions of ours that a call may reach; values that are called are left to the caller."""
        key = (function, number)
        if key not in self._targets:
            self._targets[key] = tuple(dict.fromkeys(self.reached(call.ref)))
        return self._targets[key]

    def reached(self, reference: str) -> list[Target]:
        """What a reference may mean."""
        if reference == "V" or not reference:
            return []
        if reference.startswith("T:"):
            owner, _, method = reference[2:].rpartition(":")
            return self._of_type(self.type_named(owner), method, known=bool(owner))
        if reference.startswith("S:"):
            owner, _, method = reference[2:].rpartition(":")
            found = next((one for base in self.mro(owner)[1:] if (one := self.method(base, method))), "")
            return [Target(one, bound=True) for one in self._versions(found)]
        if reference.startswith("?:"):
            return self._by_name(reference[2:])
        return self._named(self.full(reference))

    def _named(self, name: str) -> list[Target]:
        if name in self.functions:
            function = self.functions[name]
            bound = function.bound and "classmethod" in function.marks
            return [Target(one, bound=bound) for one in self._versions(name)]
        if name in self.classes:
            made = self.method(name, "__init__") or self.method(name, "__post_init__")
            return [Target(one, bound=True, made=name) for one in self._versions(made)] or [Target("", made=name)]
        return []

    def _of_type(self, owner: str, method: str, *, known: bool) -> list[Target]:
        if owner in self.classes:
            names = [self.method(owner, method)]
            names += [f"{one}.{method}" for one in self.below(owner) if method in self.classes[one].methods]
            return [Target(one, bound=self.functions[one].bound) for name in names for one in self._versions(name)]
        if known and owner:
            return []
        return self._by_name(method)

    def _by_name(self, method: str) -> list[Target]:
        """An object of unknown type: taken for ours when one class alone has such a method, and the name is telling."""
        if method in self.models.words["common"] or method in standard_methods() or method.startswith("__"):
            return []
        names = [name for name in self.index.methods(method) if name in self.functions]
        if len(names) != 1:
            return []
        return [Target(one, bound=self.functions[one].bound) for one in self._versions(names[0])]

    def _versions(self, name: str) -> Iterator[str]:
        """The functions that are defined under a name."""
        version = name
        while version in self.functions:
            yield version
            version = f"{name}~{int(version[len(name) + 1 :] or 1) + 1}"
