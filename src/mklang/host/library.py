"""The machines that call states may name: in the files around a machine, the user's, the system's, the bundled ones.

A name is looked up in all of these, what is nearer to the machine winning (L20), and a file is read only when needed.
The first call costs a look at each file's ``machine:`` line; a file is parsed when the machine in it is called, or when
that line cannot be told without parsing. Reading is as strict as for the machine itself (W11). A ``Shelf`` remembers
what has been read, for a command that looks at many documents.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mklang.diagnostics import Diagnostic, Severity, in_order
from mklang.host.layers import BUNDLED, PROJECT_FOLDER, bundled_names, files_outside, find_named, machine_files_in
from mklang.lang.files import read_source
from mklang.lang.models import Call, Machine
from mklang.lang.reader import Reading, read_machine
from mklang.source import Source

# A root-level 'machine:' line with a simple value that does not go on below.
_NAME = re.compile(
    r"""^machine[ \t]*:[ \t]+(?:"([^"\\\n]+)"|'([^'\n]+)'|([^\s"'#&*!|>%@`{\[][^\n]*?))[ \t\r]*(?:[ \t]\#.*)?$"""
    r"(?!\n[ \t]+[^\s#])",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Callees:
    """Every machine that calls can reach, by name, and what is wrong with them or with the calls."""

    machines: Mapping[str, Machine]
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A file that has been read: its text, None when it could not be opened, and what reading it gave."""

    source: Source | None
    reading: Reading


class Shelf:
    """The files of one invocation, each read once however many others refer to it.

    A file is known by the name a person called it by, else by its path as a person here would write it.
    """

    def __init__(self, plugins: tuple[Path, ...] | None = None) -> None:
        """An empty shelf. ``plugins`` are the folders of plug-ins, None for those that are allowed here."""
        self._plugins = plugins
        self._documents: dict[Path, Document] = {}
        self._names: dict[Path, str | None] = {}
        self._called: dict[Path, str] = {}
        self._folders: dict[tuple[Path, ...], tuple[Path, ...]] = {}

    def name(self, path: str | os.PathLike[str]) -> Path:
        """The file a person means; from now on it is called what they called it."""
        full = _full(path)
        self._called.setdefault(full, os.fspath(path))
        return full

    def read(self, path: Path) -> Document:
        """The document in a file, by its full path."""
        document = self._documents.get(path)
        if document is None:
            source, problems = read_source(self._shown(path))
            reading = Reading(None, problems) if source is None else read_machine(source)
            document = self._documents[path] = Document(source, reading)
        return document

    def files_around(self, target: Path) -> tuple[Path, ...]:
        """The machine files that a document at ``target`` can name, itself included, later ones winning."""
        folders = _folders(target.parent)
        if folders not in self._folders:
            near = dict.fromkeys(file for folder in folders for file in machine_files_in(folder))
            far = dict.fromkeys(file for _, file in files_outside(self._plugins) if file not in near)
            self._folders[folders] = (*far, *near)
        return self._folders[folders]

    def named(self, name: str) -> Path | None:
        """The file of the machine called ``name`` that no project brings (L21); None where there is none."""
        return find_named(name, self.machine_in, self._plugins)

    def machine_in(self, path: Path) -> str | None:
        """The name of the machine in a file, parsed only when a look at the text does not tell."""
        if path not in self._names:
            self._names[path] = path.stem if path.parent == BUNDLED else self._look(path)
        return self._names[path]

    def _look(self, path: Path) -> str | None:
        if path not in self._documents:
            source, problems = read_source(self._shown(path))
            if source is None:
                self._documents[path] = Document(None, Reading(None, problems))
                return None
            found = _NAME.search(source.text)
            if found:
                return next(group for group in found.groups() if group is not None)
        machine = self.read(path).reading.machine
        return None if machine is None else machine.name

    def _shown(self, path: Path) -> str:
        called = self._called.get(path)
        return called if called is not None else str(_shown(path))


class Library(Mapping[str, Machine]):
    """Machines by name, from files; of two with the same name the later file's counts, and ``own`` before all."""

    def __init__(self, target: Path, shelf: Shelf, own: Machine | None = None) -> None:
        """The machines that a document at ``target``, a full path, can name, read through ``shelf``."""
        self._target = target
        self._own = own
        self._shelf = shelf
        self._names: dict[str, Path] | None = None
        self._replaced: dict[str, list[Path]] = {}

    def __getitem__(self, name: str) -> Machine:
        reading = self.reading(name)
        if reading is None or reading.machine is None:
            raise KeyError(name)
        return reading.machine

    def __iter__(self) -> Iterator[str]:
        own = () if self._own is None else (self._own.name,)
        return iter(dict.fromkeys((*own, *self._index())))

    def __len__(self) -> int:
        return len(list(iter(self)))

    @property
    def hides(self) -> bool:
        """Whether the machine whose library this is takes a name from another file."""
        return self._own is not None and self._own.name in self._index()

    def hiding(self) -> Iterator[Diagnostic]:
        """A warning where the machine whose library this is takes the name of a bundled one (L15)."""
        own = self._own
        if own is not None and own.name in bundled_names() and self._target.parent != BUNDLED:
            yield _hiding(own.name, own.source_name)

    def reading(self, name: str) -> Reading | None:
        """What reading the machine of that name gave, its problems included; None when no file has it."""
        if self._own is not None and name == self._own.name:
            return Reading(self._own)
        path = self._index().get(name)
        if path is None:
            return None
        reading, doubles = self._shelf.read(path).reading, self._replaced.get(name, ())
        if reading.machine is not None and reading.machine.name != name:
            return None
        if not doubles:
            return reading
        used = reading.machine.source_name if reading.machine else str(_shown(path))
        return Reading(reading.machine, (*reading.diagnostics, *(_double(name, used, other) for other in doubles)))

    def nameless(self) -> list[Diagnostic]:
        """Why the files in which no machine's name could be made out cannot be read."""
        named = set(self._index().values())
        unnamed = (path for path in self._files() if path not in named and self._shelf.machine_in(path) is None)
        return [found for path in unnamed for found in self._shelf.read(path).reading.diagnostics]

    def _files(self) -> list[Path]:
        try:
            return [file for file in self._shelf.files_around(self._target) if file != self._target]
        except OSError:
            return []

    def _index(self) -> dict[str, Path]:
        if self._names is None:
            self._names = {}
            for path in self._files():
                name = self._shelf.machine_in(path)
                if name is None:
                    continue
                if name in self._names:
                    self._replaced.setdefault(name, []).append(self._names[name])
                self._names[name] = path
        return self._names


def library_around(path: str | os.PathLike[str], own: Machine | None = None, *, shelf: Shelf | None = None) -> Library:
    """The library of the machine ``own`` in the file ``path``. Touches no file before something is looked up."""
    return Library(_full(path), shelf or Shelf(), own)


def locate(called: str, plugins: tuple[Path, ...] | None = None) -> str:
    """The file a person means: the one at this path, else that of the machine of this name that no project brings.

    ``plugins`` are the folders of plug-ins, None for those that are allowed here. What is neither stays as it is, and
    fails when it is read (L21).
    """
    if os.path.lexists(called) or Path(called).name != called:
        return called
    found = Shelf(plugins).named(called)
    return called if found is None else str(_shown(found))


def callees_of(machine: Machine, library: Library) -> Callees:
    """Everything a machine's calls can reach, each read once (W11, W18), with every problem found on the way.

    A name that no file has is left to the analysis; the files that might have it and cannot be read are reported.
    """
    machines: dict[str, Machine] = {}
    diagnostics: list[Diagnostic] = list(library.hiding())
    seen: set[str] = set()
    waiting = [machine]
    while waiting:
        for name in _called(waiting.pop()):
            if name in seen:
                continue
            seen.add(name)
            reading = library.reading(name)
            diagnostics += library.nameless() if reading is None else reading.diagnostics
            if reading is not None and reading.machine is not None:
                machines[name] = reading.machine
                waiting.append(reading.machine)
    return Callees(machines, in_order(set(diagnostics)))


def _full(path: str | os.PathLike[str]) -> Path:
    """The path with its links followed; one that leads round in a circle stays, and fails when it is read."""
    return Path(os.path.realpath(path))


def _called(machine: Machine) -> Iterator[str]:
    return (state.machine for state in machine.states.values() if isinstance(state, Call))


def _folders(directory: Path) -> tuple[Path, ...]:
    """Where to look, later folders winning (L20)."""
    if directory.name == PROJECT_FOLDER:
        return directory.parent, directory
    inner = directory / PROJECT_FOLDER
    return (directory, inner) if inner.is_dir() else (directory,)


def _shown(path: Path) -> Path:
    """A path as a person in this directory would write it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _double(name: str, used: str, other: Path) -> Diagnostic:
    if other.parent == BUNDLED:
        return _hiding(name, used)
    return Diagnostic(
        code="machine-twice",
        message=f"the machine '{name}' is also in {_shown(other)}; this one is used",
        path=used,
        severity=Severity.WARNING,
        hint="give each machine its own name",
    )


def _hiding(name: str, used: str) -> Diagnostic:
    return Diagnostic(
        code="machine-hides-bundled",
        message=f"mklang brings a machine '{name}', too; this one is used",
        path=used,
        severity=Severity.WARNING,
        hint="give it a name of its own, unless it is to take the other's place",
    )
