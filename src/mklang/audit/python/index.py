"""Which functions a name can matter in. A file's functions are read when a question leads to the file, not before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from mklang.audit.python.ir import ClassFacts, FileFacts, Function
from mklang.audit.python.scanning import Files

Uses = list[tuple[str, int]]
"""Functions with the number of a call or a node in each."""


class Index:
    """The functions and classes that were read so far, and how to get to the others."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._read: set[int] = set()
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, ClassFacts] = {}
        self.file_of: dict[str, FileFacts] = {}
        self.aliases: dict[str, set[str]] = defaultdict(set)
        self._modules: dict[str, FileFacts] = {}
        self._numbers: dict[str, list[int]] = defaultdict(list)
        self._words: dict[str, dict[str, list[int]]] = {}
        self._calls: dict[str, Uses] = defaultdict(list)
        self._reads: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
        self._writes: dict[str, list[str]] = defaultdict(list)
        self._globals: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
        self._references: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
        self._handed: dict[str, Uses] = defaultdict(list)
        self._methods: dict[str, list[str]] = defaultdict(list)
        self._bases: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for number, header in enumerate(files.headers):
            self._numbers[header.module].append(number)
            for last, alias in header.aliases:
                self.aliases[last].add(alias)

    # -- reading ------------------------------------------------------------------------------------------------------

    def read_asking(self) -> None:
        """Read the files in which a model may be asked."""
        self._need(number for number, header in enumerate(self._files.headers) if header.asks)

    def module(self, name: str) -> FileFacts | None:
        """A module, by its full name; None if it is not ours."""
        numbers = self._numbers.get(name)
        if numbers is None:
            return None
        self._need(numbers)
        return self._modules.get(name)

    def is_module(self, name: str) -> bool:
        """Whether there is such a module of ours."""
        return name in self._numbers

    def _need(self, numbers: Iterable[int]) -> None:
        missing = [number for number in numbers if number not in self._read]
        if missing:
            self._read.update(missing)
            for one in self._files.facts(missing):
                self._add(one)

    def _with(self, kind: str, words: Iterable[str]) -> None:
        """Read the files that mention one of these words in this way."""
        if kind not in self._words:
            table = self._words[kind] = defaultdict(list)
            for number, header in enumerate(self._files.headers):
                for word in getattr(header, kind):
                    table[word].append(number)
        known = self._words[kind]
        self._need(sorted({number for word in words for number in known.get(word, ())}))

    def _add(self, one: FileFacts) -> None:
        self._modules[one.module] = one
        for facts in one.classes:
            self.classes[facts.name] = facts
            for method in facts.methods:
                self._methods[method].append(f"{facts.name}.{method}")
            for base in facts.bases:
                self._bases[_last(base)].append((facts.name, base))
        for function in one.functions:
            self.functions[function.name] = function
            self.file_of[function.name] = one
        for function in one.functions:
            self._add_function(function)

    def _add_function(self, function: Function) -> None:
        name = function.name
        for number, call in enumerate(function.calls):
            self._calls[_last(call.ref)].append((name, number))
            for _, reference in call.functions:
                self._handed[_last(reference)].append((name, number))
        for owner, attribute, node, _ in function.reads:
            self._reads[attribute].append((name, owner, node))
        for owner, attribute, _ in function.writes:
            self._writes[attribute].append(owner)
        for dotted, node in function.global_reads:
            self._globals[_last(dotted)].append((dotted, name, node))
        for dotted, node in function.references:
            self._references[_last(dotted)].append((dotted, name, node))

    # -- questions ----------------------------------------------------------------------------------------------------

    def named(self, short: str) -> tuple[str, ...]:
        """A last name, and what it is imported as."""
        return (short, *sorted(self.aliases.get(short, ())))

    def calls(self, names: Iterable[str]) -> Uses:
        """The calls of something with one of these last names."""
        told = list(names)
        self._with("called", told)
        return [one for name in told for one in self._calls.get(name, ())]

    def handed(self, names: Iterable[str]) -> Uses:
        """The calls that are given a function with one of these last names."""
        told = list(names)
        self._with("names", told)
        self._with("attributes", told)
        return [one for name in told for one in self._handed.get(name, ())]

    def references(self, names: Iterable[str]) -> list[tuple[str, str, int]]:
        """Where a function with one of these last names is mentioned: full name, function, node."""
        told = list(names)
        self._with("names", told)
        return [one for name in told for one in self._references.get(name, ())]

    def globals(self, name: str) -> list[tuple[str, str, int]]:
        """Where a name of a module is read, by its last name: full name, function, node."""
        self._with("names", (name,))
        return list(self._globals.get(name, ()))

    def reads(self, attribute: str) -> list[tuple[str, str, int]]:
        """Where an attribute is read: function, type of the owner, node."""
        self._with("attributes", (attribute,))
        return list(self._reads.get(attribute, ()))

    def writes(self, attribute: str) -> list[str]:
        """The types of the owners of which this attribute is written."""
        self._with("attributes", (attribute,))
        return list(self._writes.get(attribute, ()))

    def methods(self, name: str) -> list[str]:
        """The methods with this name."""
        self._with("methods", (name,))
        return list(self._methods.get(name, ()))

    def with_base(self, name: str) -> list[tuple[str, str]]:
        """The classes with a base of this last name, and the base as they name it."""
        names = self.named(name)
        self._with("bases", names)
        return [one for last in names for one in self._bases.get(last, ())]


def _last(reference: str) -> str:
    return reference.rpartition(":")[2].rpartition(".")[2]
