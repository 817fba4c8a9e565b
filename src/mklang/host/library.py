"""The machines that call states may name: those in the files around a machine, read only when something calls them.

A name is looked up in the machine's directory and in the ``machines`` folder of its project (L20, layers 5 and 6).
The first call costs a look at each file's ``machine:`` line; a file is parsed when the machine in it is called, or when
that line cannot be told without parsing. Reading is as strict as for the machine itself (W11).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mklang.diagnostics import Diagnostic, Severity, in_order
from mklang.lang.files import read_source
from mklang.lang.models import Call, Machine
from mklang.lang.reader import Reading, read_machine

SUFFIXES = frozenset({".mkl", ".mk"})
PROJECT_FOLDER = "machines"

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


class Library(Mapping[str, Machine]):
    """Machines by name, from files; of two with the same name the later file's counts, and ``own`` before all."""

    def __init__(self, files: tuple[Path, ...], own: Machine | None = None) -> None:
        self._files = files
        self._own = own
        self._names: dict[str, Path] | None = None
        self._replaced: dict[str, list[Path]] = {}
        self._readings: dict[Path, Reading] = {}

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

    def reading(self, name: str) -> Reading | None:
        """What reading the machine of that name gave, its problems included; None when no file has it."""
        if self._own is not None and name == self._own.name:
            return Reading(self._own)
        path = self._index().get(name)
        if path is None:
            return None
        reading, doubles = self._read(path), self._replaced.get(name, ())
        if reading.machine is not None and reading.machine.name != name:
            return None
        return Reading(reading.machine, (*reading.diagnostics, *(_double(name, path, other) for other in doubles)))

    def nameless(self) -> list[Diagnostic]:
        """Why the files in which no machine's name could be made out cannot be read."""
        named = set(self._index().values())
        return [found for path, reading in self._readings.items() if path not in named for found in reading.diagnostics]

    def _index(self) -> dict[str, Path]:
        if self._names is None:
            self._names = {}
            for path in self._files:
                name = self._name_in(path)
                if name is None:
                    continue
                if name in self._names:
                    self._replaced.setdefault(name, []).append(self._names[name])
                self._names[name] = path
        return self._names

    def _name_in(self, path: Path) -> str | None:
        source, problems = read_source(path)
        if source is None:
            self._readings[path] = Reading(None, problems)
            return None
        found = _NAME.search(source.text)
        if found:
            return next(group for group in found.groups() if group is not None)
        machine = self._read(path).machine
        return None if machine is None else machine.name

    def _read(self, path: Path) -> Reading:
        if path not in self._readings:
            source, problems = read_source(path)
            self._readings[path] = Reading(None, problems) if source is None else read_machine(source)
        return self._readings[path]


def library_around(path: str | os.PathLike[str], own: Machine | None = None) -> Library:
    """The library of the machine ``own`` in the file ``path``. Touches no file yet but the directory's listing."""
    try:
        target = Path(path).resolve()
        folders = _folders(target.parent)
        files = tuple(_shown(file) for folder in folders for file in _machine_files(folder) if file != target)
    except OSError:
        files = ()
    return Library(files, own)


def callees_of(machine: Machine, library: Library) -> Callees:
    """Everything a machine's calls can reach, each read once (W11, W18), with every problem found on the way.

    A name that no file has is left to the analysis; the files that might have it and cannot be read are reported.
    """
    machines: dict[str, Machine] = {}
    diagnostics: list[Diagnostic] = []
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


def _called(machine: Machine) -> Iterator[str]:
    return (state.machine for state in machine.states.values() if isinstance(state, Call))


def _folders(directory: Path) -> tuple[Path, ...]:
    """Where to look, later folders winning (L20)."""
    if directory.name == PROJECT_FOLDER:
        return directory.parent, directory
    inner = directory / PROJECT_FOLDER
    return (directory, inner) if inner.is_dir() else (directory,)


def _machine_files(folder: Path) -> list[Path]:
    """The machine files of a folder by name; a link that leads out of it does not count."""
    found = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    return [path for path in found if path.is_file() and path.resolve().parent == folder]


def _shown(path: Path) -> Path:
    """A path as a person in this directory would write it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _double(name: str, used: Path, other: Path) -> Diagnostic:
    return Diagnostic(
        code="machine-twice",
        message=f"the machine '{name}' is also in {other}; this one is used",
        path=str(used),
        severity=Severity.WARNING,
        hint="give each machine its own name",
    )
