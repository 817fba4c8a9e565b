"""One engine for every command that looks at documents: read, check or lint, with what they call. Prints nothing.

An ``Inspector`` lives as long as one invocation. The files it meets are read once, whether they were named or called.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mklang.analysis.runner import Analyser, Memory
from mklang.analysis.selection import EVERYTHING, Selection
from mklang.diagnostics import Diagnostic, Severity, in_order
from mklang.host.guard_files import has_guards
from mklang.host.layers import SUFFIXES
from mklang.host.library import Shelf, callees_of, library_around
from mklang.lang.models import Machine
from mklang.lang.reader import Reading
from mklang.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """What is looked for: only what ``check`` reports, or all that ``lint`` does; which of it is wanted (L16, L18)."""

    lint: bool = False
    strict: bool = False
    selection: Selection = EVERYTHING


@dataclass(frozen=True, slots=True)
class Inspected:
    """One document's outcome. ``source`` and ``machine`` are None where it could not be read."""

    path: str
    diagnostics: tuple[Diagnostic, ...]
    source: Source | None = None
    machine: Machine | None = None

    @property
    def failed(self) -> bool:
        """Whether there is an error."""
        return any(found.severity is Severity.ERROR for found in self.diagnostics)


class Inspector:
    """Looks at documents one after the other and remembers what they share."""

    def __init__(self, looking: Looking | None = None) -> None:
        """``looking`` says what for; without it, for what ``check`` reports."""
        self.looking = looking or Looking()
        self._shelf = Shelf()
        self._memory = Memory()

    def inspect_all(self, paths: Iterable[str | os.PathLike[str]]) -> Iterator[Inspected]:
        """Every file once, in order. All are known before the first is read, so that each goes by the name given."""
        files: dict[Path, str] = {}
        for path in paths:
            files.setdefault(self._shelf.name(path), os.fspath(path))
        for file, path in files.items():
            document = self._shelf.read(file)
            yield self._inspect(path, document.source, document.reading)

    def inspect(self, path: str | os.PathLike[str]) -> Inspected:
        """The machine in a file, and the errors in the machines it calls."""
        return next(self.inspect_all([path]))

    def inspect_text(self, path: str, source: Source, reading: Reading) -> Inspected:
        """A text that would stand in the file ``path``; the files around it are looked at, the file itself is not."""
        return self._inspect(path, source, reading)

    def _inspect(self, path: str, source: Source | None, reading: Reading) -> Inspected:
        machine = reading.machine
        if machine is None:
            return Inspected(path, self.looking.selection.of(reading.diagnostics), source)
        library = library_around(path, machine, shelf=self._shelf)
        callees = callees_of(machine, library)
        guards = _guard_problems(path, (machine, *callees.machines.values()))
        memory = self._memory if not callees.machines or not library.hides else None
        analyser = Analyser(library, strict=self.looking.strict, memory=memory)
        look = analyser.lint if self.looking.lint else analyser.check
        found = set(look(machine, source, known=reading.diagnostics))
        found |= {
            one
            for one in (*callees.diagnostics, *analyser.check_callees(machine), *guards)
            if one.severity is Severity.ERROR or one.path == path
        }
        return Inspected(path, self.looking.selection.of(in_order(found)), source, machine)


def _guard_problems(path: str, machines: tuple[Machine, ...]) -> tuple[Diagnostic, ...]:
    """What is wrong with the guards around a machine."""
    if not has_guards(path, machines):
        return ()
    from mklang.host.guards import guards_of  # loads parts of a run, which most documents need not

    return guards_of(path, machines).diagnostics


def machine_files(targets: Iterable[str]) -> Iterator[str | Diagnostic]:
    """The files a person named; of a directory, every machine file in it and below. One that holds none is a problem.

    Directories that are hidden or hold other people's code are not looked into. An empty name is a missing file: a
    variable that a script forgot to set must not stand for the working directory.
    """
    for target in targets:
        if not target or not Path(target).is_dir():
            yield target
            continue
        found = [str(path) for path in below(Path(target), tuple(SUFFIXES))]
        if found:
            yield from found
        else:
            message = "there is no machine (*.mkl, *.mk) in this directory"
            yield Diagnostic(code="file-is-directory", message=message, path=target, hint="name a file in it")


def below(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """Every file in a folder and below whose name ends like this, without hidden folders and other people's code."""
    for directory, folders, files in os.walk(folder):
        here = Path(directory)
        folders[:] = sorted(name for name in folders if not _foreign(here / name))
        yield from (here / name for name in sorted(files) if name.endswith(endings))


def _foreign(folder: Path) -> bool:
    name = folder.name
    return name.startswith(".") or name in {"node_modules", "__pycache__"} or (folder / "pyvenv.cfg").exists()
