"""Which scripts test which machine, and playing them: what ``mklang test`` does. Prints nothing.

A script lies beside its machine, or in a folder ``tests`` beside it; ``triage.test.yaml`` and
``triage.refunds.test.yaml`` test ``triage.mkl``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from mklang.analysis.runner import Analyser
from mklang.diagnostics import Diagnostic, Severity, has_errors, in_order
from mklang.hooks.registry import HookRegistry
from mklang.host.guards import RunGuards, guards_of
from mklang.host.inspection import below
from mklang.host.layers import SUFFIXES
from mklang.host.library import Shelf, callees_of, library_around
from mklang.host.seam import REAL, Seam
from mklang.lang.models import Machine
from mklang.testing.choosing import Choice
from mklang.testing.coverage import Coverage, cover
from mklang.testing.mutation import Bounds, Mutation, mutate
from mklang.testing.playing import NOTHING_AROUND, Around, Played, play_all
from mklang.testing.reading import load_scenarios
from mklang.testing.scenario import Entry

SCRIPTS = (".test.yaml", ".test.yml")
"""How the name of a script ends."""
TESTS_FOLDER = "tests"


@dataclass(frozen=True, slots=True)
class Suite:
    """A script and the machine it tests."""

    machine: str
    script: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What came of one suite. ``unusable`` means that no scenario was played; the diagnostics say why.

    ``left_out`` counts the scenarios that were not chosen.
    """

    suite: Suite
    played: tuple[Played, ...] = ()
    entries: tuple[Entry, ...] = ()
    machine: Machine | None = None
    library: Mapping[str, Machine] = field(default_factory=lambda: MappingProxyType({}))
    around: Around = NOTHING_AROUND
    about_machine: tuple[Diagnostic, ...] = ()
    about_script: tuple[Diagnostic, ...] = ()
    unusable: bool = False
    left_out: int = 0
    seconds: float = 0.0

    @property
    def passed(self) -> int:
        """How many scenarios passed."""
        return sum(one.passed for one in self.played)

    @property
    def ok(self) -> bool:
        """Whether everything was played and passed."""
        return not self.unusable and self.passed == len(self.played)

    @property
    def errors(self) -> list[Diagnostic]:
        """Why nothing was played."""
        return [found for found in (*self.about_machine, *self.about_script) if found.severity is Severity.ERROR]


class Tester:
    """Plays suites and remembers the machines they share."""

    def __init__(self, *, seam: Seam = REAL) -> None:
        """``seam`` tells how long things take."""
        self._shelf = Shelf()
        self._seam = seam
        self._ready: dict[str, _Ready] = {}

    def play(self, suite: Suite, choice: Choice | None = None) -> Tested:
        """Check the machine and what it calls, then play every chosen scenario of the script (L93)."""
        ready = self._machine(suite.machine)
        machine, library, about = ready.machine, ready.library, ready.about
        script = load_scenarios(suite.script)
        if machine is None or has_errors(about) or not script.entries:
            return Tested(suite=suite, about_machine=about, about_script=script.diagnostics, unusable=True)
        chosen = [one for one in script.entries if choice is None or choice(f"{suite.script}::{one.name}")]
        begun = self._seam.elapsed()
        played = play_all(chosen, machine, library, around=ready.around)
        return Tested(
            suite=suite,
            played=played,
            entries=tuple(chosen),
            machine=machine,
            library=library,
            around=ready.around,
            about_machine=about,
            about_script=script.diagnostics,
            left_out=len(script.entries) - len(chosen),
            seconds=self._seam.elapsed() - begun,
        )

    def _machine(self, path: str) -> _Ready:
        if path not in self._ready:
            reading = self._shelf.read(self._shelf.name(path)).reading
            machine, about = reading.machine, reading.diagnostics
            self._ready[path] = _Ready(about=about) if machine is None else self._checked(path, machine, about)
        return self._ready[path]

    def _checked(self, path: str, machine: Machine, about: tuple[Diagnostic, ...]) -> _Ready:
        """A machine with what it can call and the guards around it, and everything that is wrong with them."""
        library = library_around(path, machine, shelf=self._shelf)
        callees = callees_of(machine, library)
        guards = guards_of(path, (machine, *callees.machines.values()))
        checked = Analyser(library).check_all(machine)
        return _Ready(
            machine=machine,
            library=callees.machines,
            around=surroundings(guards),
            about=in_order({*about, *callees.diagnostics, *checked, *guards.diagnostics}),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A machine and everything that was found out about it."""

    machine: Machine | None = None
    library: Mapping[str, Machine] = field(default_factory=lambda: MappingProxyType({}))
    around: Around = NOTHING_AROUND
    about: tuple[Diagnostic, ...]


def surroundings(guards: RunGuards) -> Around:
    """What a scripted run meets that is no script: the guards at its places, and as hooks (L121, L122)."""
    return Around(hooks=HookRegistry(guards.hooks).answer, guards=guards.bindings or None)


def coverages(tested: Iterable[Tested]) -> list[Coverage]:
    """What the scenarios took of each machine that has a script, callees among them included."""
    tested = list(tested)
    found = {id(one.machine): Coverage(one.machine) for one in tested if one.machine is not None}
    for one in tested:
        if one.machine is None:
            continue
        reached = {**one.library, one.machine.name: one.machine}
        named = {name: found[id(machine)] for name, machine in reached.items() if id(machine) in found}
        for played in one.played:
            if played.outcome is not None:
                cover(named, one.machine, reached, played.outcome)
    return list(found.values())


def mutations(tested: Iterable[Tested], bounds: Bounds, *, seam: Seam = REAL) -> Iterator[tuple[Machine, Mutation]]:
    """For each machine, what its passing scenarios notice of its mutants; bounds are for each machine."""
    grouped: dict[int, list[Tested]] = {}
    for one in tested:
        if one.machine is not None:
            grouped.setdefault(id(one.machine), []).append(one)
    for group in grouped.values():
        machine, library, around = group[0].machine, group[0].library, group[0].around
        entries = [
            entry for one in group for entry, played in zip(one.entries, one.played, strict=True) if played.passed
        ]
        if machine is not None and entries:
            yield machine, mutate(entries, machine, library, bounds=bounds, elapsed=seam.elapsed, around=around)


def find_suites(targets: Iterable[str], scripts: Iterable[str] = ()) -> Iterator[Suite | Diagnostic]:
    """The suites a person means by machines, scripts and directories; what has no counterpart is a problem.

    With ``scripts``, each target is a machine that all of them test.
    """
    scripts = list(scripts)
    seen: set[Suite] = set()
    for target in targets:
        named = [Suite(target, script) for script in scripts]
        for one in named or _suites(target):
            if isinstance(one, Diagnostic):
                yield one
            elif one not in seen:
                seen.add(one)
                yield one


def _suites(target: str) -> Iterator[Suite | Diagnostic]:
    path = Path(target)
    if target and path.is_dir():
        found = [str(file) for file in below(path, SCRIPTS)]
        yield from (_of_script(script) for script in found)
        if not found:
            yield _missing(target, "there is no script (*.test.yaml) in this directory", "no-scenarios")
    elif target.endswith(SCRIPTS):
        yield _of_script(target)
    elif not target or not path.exists():
        yield _missing(target, "there is no such file")
    else:
        found = [str(file) for file in _scripts_of(path)]
        yield from (Suite(target, script) for script in found)
        if not found:
            hint = f"write {path.stem}.test.yaml beside it, or name a file with --script"
            yield _missing(target, "no script tests this machine", "no-scenarios", hint)


def _of_script(script: str) -> Suite | Diagnostic:
    path = Path(script)
    if not path.exists():
        return _missing(script, "there is no such file")
    stem = next(path.name.removesuffix(end) for end in SCRIPTS if path.name.endswith(end))
    while stem:
        for folder in _homes(path.parent):
            for suffix in sorted(SUFFIXES, reverse=True):
                if (folder / f"{stem}{suffix}").is_file():
                    return Suite(str(folder / f"{stem}{suffix}"), script)
        stem = stem.rpartition(".")[0]
    return _missing(script, "there is no machine of this name beside this script", hint="name one with --script")


def _scripts_of(machine: Path) -> Iterator[Path]:
    for folder in (machine.parent, machine.parent / TESTS_FOLDER):
        for file in sorted(folder.glob(f"{_escaped(machine.stem)}.*")) if folder.is_dir() else ():
            suite = _of_script(str(file)) if file.name.endswith(SCRIPTS) else None
            if isinstance(suite, Suite) and Path(suite.machine) == machine:
                yield file


def _homes(folder: Path) -> tuple[Path, ...]:
    """Where the machine of a script in this folder may be."""
    return (folder, folder.parent) if folder.name == TESTS_FOLDER else (folder,)


def _escaped(stem: str) -> str:
    """A name as a pattern that matches only itself."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in stem)


def _missing(path: str, message: str, code: str = "file-missing", hint: str = "") -> Diagnostic:
    return Diagnostic(code=code, message=message, path=path, hint=hint)
