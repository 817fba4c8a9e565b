"""The guards of a run: found beside its machines, bound to places by ``guards.yaml`` (L121-L123).

A document's folder may bind guards, because a binding only ever adds a check; no file takes one away. ``NAME`` is
``NAME.guard.yaml`` beside the machine, in ``guards/`` there, or in those places of the project's machine folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from mklang.diagnostics import Diagnostic, in_order, near_miss
from mklang.engine.options import Effect
from mklang.engine.taint import effect_of
from mklang.errors import DocumentError, GuardRefused, UsageError
from mklang.guards.bindings import Bindings, Bound
from mklang.guards.checked import Checked
from mklang.guards.guard import Guard
from mklang.guards.reading import SUFFIX, read_guard
from mklang.hooks.builtin import HookFunction
from mklang.host.guard_files import FILE, TOOL, places_near
from mklang.host.layers import BUNDLED
from mklang.lang.effects import GUARD
from mklang.lang.fields import Findings, below, read_map
from mklang.lang.files import read_source
from mklang.lang.models import Argument, HookCondition, Machine, Tool
from mklang.lang.nodes import describe, plain_value
from mklang.lang.template import Template
from mklang.lang.values import Json
from mklang.lang.yaml_tree import Entry, Position, compose
from mklang.source import Span
from mklang.tools.tool import HostTool

EFFECTS = "effects"
"""In the record of a run's guards: the host insisted that every effect be guarded. No place has this name."""
_NAME = re.compile(r"[\w][\w.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGuards:
    """The guards of one run: bound to places, as hooks ``guard:NAME``, as the tool ``guard``.

    ``table`` names what is bound where, with each guard's hash, for the journal; ``named`` are the guards that the
    documents name.
    """

    bindings: Bindings = field(default_factory=Bindings)
    hooks: Mapping[str, HookFunction] = field(default_factory=lambda: MappingProxyType({}))
    tools: Mapping[str, HostTool] = field(default_factory=lambda: MappingProxyType({}))
    table: dict[str, str] = field(default_factory=dict)
    named: Mapping[str, Guard] = field(default_factory=lambda: MappingProxyType({}))
    diagnostics: tuple[Diagnostic, ...] = ()


NO_GUARDS = RunGuards()


def guards_of(
    path: str,
    machines: Iterable[Machine],
    *,
    explicit: str | None = None,
    more: Mapping[str, Guard] = MappingProxyType({}),
) -> RunGuards:
    """The guards for the machine in a file and those it can call; ``more`` are guards that no file beside it has.

    Problems are in the value, never raised.
    """
    machines = tuple(machines)
    shelf = _Shelf(Path(path).resolve().parent, more)
    hooks = dict(_hooks(machines, shelf))
    tools = {TOOL: _guard_tool(shelf)} if any(_uses_tool(machine, shelf) for machine in machines) else {}
    binder = _Binder(machines, shelf)
    for file in (*shelf.files(), *((Path(explicit),) if explicit else ())):
        binder.read(file, required=explicit is not None and file == Path(explicit))
    return RunGuards(
        bindings=binder.bindings(),
        hooks=hooks,
        tools=tools,
        table=binder.table,
        named=shelf.found,
        diagnostics=in_order({*shelf.problems, *binder.problems}),
    )


def unguarded(
    machines: Iterable[Machine], bindings: Bindings, effects: Mapping[str, Effect] | None = None
) -> tuple[Diagnostic, ...]:
    """An error for each effectful tool that could be given a value no guard has looked at (``--effects strict``).

    What the author wrote out needs no guard; a guard without an opinion is none.
    """
    found = []
    for machine in machines:
        for state in machine.states.values():
            if not isinstance(state, Tool) or effect_of(state.tool, effects or {}) is Effect.READ:
                continue
            covered = set(bindings.covers(machine.name, state))
            open_ = [one.name for one in state.input if _is_filled(one) and one.name not in covered]
            if open_:
                found.append(_unguarded(machine, state, open_))
    return in_order(found)


def _unguarded(machine: Machine, state: Tool, names: list[str]) -> Diagnostic:
    key = f"{machine.name}.{state.id}.input.{names[0]}"
    return Diagnostic(
        code="effect-unguarded",
        message=f"'{state.tool}' acts on what no guard looks at: {', '.join(names)}",
        path=machine.source_name,
        span=state.at.value("input", names[0]),
        where=f"states.{state.id}.input",
        hint=f"bind a guard with a schema or bounds in {FILE}: '{key}' or 'tool:{state.tool}'",
    )


def _is_filled(argument: Argument) -> bool:
    return isinstance(argument.value, Template) and any(True for _ in argument.value.placeholders)


class _Shelf:
    """The guard files around a machine, each read once."""

    def __init__(self, folder: Path, more: Mapping[str, Guard]) -> None:
        self._more = more
        self._near = near = places_near(folder)
        self._folders = tuple(place for one in near for place in (one, one / "guards"))
        self._guards: dict[Path, Guard | None] = {}
        self.problems: list[Diagnostic] = []
        self.found: dict[str, Guard] = {}

    def files(self) -> Iterator[Path]:
        """The binding files that are there."""
        return (_shown(folder / FILE) for folder in self._near if (folder / FILE).is_file())

    def named(self, name: str, place: Callable[[str, str], Diagnostic]) -> Guard | None:
        """The guard called ``name``; ``place`` makes the problem when there is none, or more than one."""
        if not _NAME.fullmatch(name):
            self.problems.append(place("guard-missing", f"'{name}' is no name of a guard"))
            return None
        found = _files_in(self._folders, name) or _files_in((BUNDLED,), name)
        if len(found) == 1 and name not in self._more:
            guard = self.at(found[0])
            if guard is not None:
                self.found[name] = guard
            return guard
        if found:
            self.problems.append(place("guard-twice", f"there are two guards '{name}': {self._two(found, name)}"))
        elif name in self._more:
            self.found[name] = self._more[name]
            return self._more[name]
        else:
            hint = near_miss(name, self._names())
            message = f"there is no guard '{name}'{'; ' + hint if hint else ''}"
            self.problems.append(place("guard-missing", message))
        return None

    def _two(self, found: list[Path], name: str) -> str:
        return _listed(found) + (", and a plug-in's" if name in self._more else "")

    def at(self, file: Path) -> Guard | None:
        """The guard in a file."""
        file = _shown(file)
        if file not in self._guards:
            reading = read_guard(file)
            self.problems += reading.diagnostics
            self._guards[file] = reading.guard
        return self._guards[file]

    def _names(self) -> list[str]:
        beside = [
            file.name.removesuffix(SUFFIX)
            for folder in self._folders
            if folder.is_dir()
            for file in folder.glob(f"*{SUFFIX}")
        ]
        return [*beside, *self._more]


def _shown(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _files_in(folders: Iterable[Path], name: str) -> list[Path]:
    """The files of a guard of that name in these folders; a link that leads elsewhere does not count."""
    places = (folder / f"{name}{SUFFIX}" for folder in folders)
    return [file for file in places if file.is_file() and file.resolve().parent == file.parent]


def _listed(files: Iterable[Path]) -> str:
    return ", ".join(str(_shown(file)) for file in files)


def _problem(machine: Machine, span: Span | None, where: str) -> Callable[[str, str], Diagnostic]:
    def make(code: str, message: str) -> Diagnostic:
        hint = f"a guard is NAME{SUFFIX} beside the machine, in its guards folder or in the project's"
        return Diagnostic(code=code, message=message, path=machine.source_name, span=span, where=where, hint=hint)

    return make


def _hooks(machines: Iterable[Machine], shelf: _Shelf) -> Iterator[tuple[str, HookFunction]]:
    for machine in machines:
        for state in machine.states.values():
            for gate in state.gates:
                condition = gate.condition
                if not isinstance(condition, HookCondition) or not condition.name.startswith(GUARD):
                    continue
                where = f"states.{state.id}.gates[{gate.index}].hook"
                name = condition.name.removeprefix(GUARD)
                guard = shelf.named(name, _problem(machine, gate.at.value("hook"), where))
                if guard is not None:
                    yield condition.name, _as_hook(guard)


def _as_hook(guard: Guard) -> HookFunction:
    """True when the state's output passes; what cannot be read does not."""

    def passes(_context: Mapping[str, Json], output: Json) -> bool:
        found = guard.examine_any(output)
        return isinstance(found, Checked) and not found.receipt.refused

    return passes


def _uses_tool(machine: Machine, shelf: _Shelf) -> bool:
    """Whether a machine calls the tool ``guard``; every guard it names is looked for now."""
    uses = False
    for state in machine.states.values():
        if not isinstance(state, Tool) or state.tool != TOOL:
            continue
        uses = True
        place = _problem(machine, state.at.value("input", "guard"), f"states.{state.id}.input.guard")
        value = next((argument.value for argument in state.input if argument.name == "guard"), None)
        if not isinstance(value, Template) or any(True for _ in value.placeholders):
            message = "the tool 'guard' takes the name of a guard, written out: 'input: { guard: NAME, value: … }'"
            shelf.problems.append(place("guard-missing", message))
        else:
            shelf.named(value.text, place)
    return uses


def _guard_tool(shelf: _Shelf) -> HostTool:
    """The tool ``guard``: the canonical text of a value that passes; raises for one that does not."""

    def guard(arguments: Mapping[str, Json]) -> str:
        name = arguments.get("guard")
        found = shelf.named(name, lambda *_: _MISSING) if isinstance(name, str) else None
        if found is None:
            raise LookupError(f"no guard {name!r}")
        examined = found.examine_any(arguments.get("value"))
        if isinstance(examined, Checked):
            return examined.content().decode()
        raise GuardRefused(found.name, examined)

    return HostTool(name=TOOL, function=guard, description="A value that a guard has passed.", effect=Effect.READ)


_MISSING = Diagnostic(code="guard-missing", message="", path="")


class _Binder:
    """Reads binding files and resolves what they name."""

    def __init__(self, machines: tuple[Machine, ...], shelf: _Shelf) -> None:
        self._shelf = shelf
        states = list(_states(machines))
        self._outputs = {f"{machine.name}.{state}.output": (machine.name, state) for machine, state in states}
        self._inputs = {
            f"{machine.name}.{state}.input.{argument.name}": (machine.name, state, argument.name)
            for machine, state in states
            if isinstance(tool := machine.states[state], Tool)
            for argument in tool.input
        }
        self._machines = tuple(machine.name for machine in machines)
        self._found: dict[str, list[Guard]] = {}
        self.problems: list[Diagnostic] = []

    @property
    def table(self) -> dict[str, str]:
        """What is bound where: each guard's name and hash."""
        return {key: ", ".join(f"{one.name}@{one.sha}" for one in bound) for key, bound in sorted(self._found.items())}

    def bindings(self) -> Bindings:
        """What was bound."""
        found: dict[str, Bound] = {key: tuple(bound) for key, bound in self._found.items()}
        return Bindings(
            outputs={place: found[key] for key, place in self._outputs.items() if key in found},
            inputs={place: found[key] for key, place in self._inputs.items() if key in found},
            tools={key.removeprefix("tool:"): bound for key, bound in found.items() if key.startswith("tool:")},
        )

    def read(self, file: Path, *, required: bool) -> None:
        """Read one binding file."""
        source, problems = read_source(file)
        self.problems += problems
        root = None
        if source is not None:
            root, problems = compose(source)
            self.problems += problems
        if root is None:
            if required and not problems:
                self.problems.append(Diagnostic(code="guards-empty", message="this file binds nothing", path=str(file)))
            return
        findings = Findings(str(file))
        entries = read_map(root, findings, "", "a file of bindings is a map from places to guards")
        for key, entry in (entries or {}).items():
            self._bind(key, entry, file, findings)
        self.problems += findings.everything()

    def _bind(self, key: str, entry: Entry, file: Path, findings: Findings) -> None:
        if not self._is_place(key, entry, findings):
            return
        node, value = entry[1], plain_value(entry[1])
        where = below("", key)
        if not isinstance(value, str):
            findings.add(
                "wrong-type", f"a guard's file or name is needed here, not {describe(node)}", Position(node), where
            )
            return
        span = Position(node, entry[0]).span

        def place(code: str, message: str) -> Diagnostic:
            return Diagnostic(code=code, message=message, path=str(file), span=span, where=where)

        guard = self._shelf.at(file.parent / value) if value.endswith(".yaml") else self._shelf.named(value, place)
        if guard is not None:
            self._found.setdefault(key, []).append(guard)

    def _is_place(self, key: str, entry: Entry, findings: Findings) -> bool:
        """Whether a key is a place of these machines. A place of other machines is no problem; a slip is an error."""
        if key.startswith("tool:") and key != "tool:":
            return True
        if key in self._outputs or key in self._inputs:
            return True
        if any(key.startswith(f"{name}.") for name in self._machines) or "." not in key:
            hint = near_miss(key, [*self._outputs, *self._inputs])
            hint = hint or "write MACHINE.STATE.output, MACHINE.STATE.input.KEY or tool:NAME"
            at = Position(entry[0])
            findings.add("binding-unknown", f"'{key}' is no place of this machine", at, below("", key), hint=hint)
        return False


def _states(machines: Iterable[Machine]) -> Iterator[tuple[Machine, str]]:
    return ((machine, state) for machine in machines for state in machine.states)


def carried_on(before: Mapping[str, str], now: RunGuards, machines: Iterable[Machine]) -> Mapping[str, str]:
    """The record of guards for a run that goes on. Nothing that protected it is dropped (L123).

    Raises ``UsageError`` when a place that had a guard has none, ``DocumentError`` when the run began under strict
    effects and a tool that acts is unguarded now.
    """
    dropped = [place for place in before if place not in now.table and place != EFFECTS]
    if dropped:
        raise UsageError(f"the run began with a guard at {', '.join(dropped)}; a resumed run cannot go on without it")
    if EFFECTS not in before:
        return now.table
    found = unguarded(machines, now.bindings)
    if found:
        raise DocumentError(found)
    return {**now.table, EFFECTS: before[EFFECTS]}
