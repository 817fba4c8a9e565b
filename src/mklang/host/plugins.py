"""Plug-ins: what installed distributions offer under the entry-point groups ``mklang.*``, if the person allows them.

Nothing is imported from a distribution that is not on the list (``plugins:`` in a configuration that counts, or
``MKLANG_ALLOWED_PLUGINS``), each by its name or as ``name==version``. Nothing replaces what is built in, or what
another distribution offers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from mklang.diagnostics import Diagnostic, Severity
from mklang.errors import DocumentError, HostError, MklangError
from mklang.guards.guard import Guard
from mklang.hooks.builtin import BUILTIN as BUILTIN_HOOKS
from mklang.hooks.hook import HostHook, as_hook
from mklang.host.configuration import Configuration, resolve
from mklang.lang.comparisons import is_comparison
from mklang.llm.base import Backend, Judge
from mklang.llm.profiles import PROFILES
from mklang.tools.tool import HostTool, as_tool

VARIABLE = "MKLANG_ALLOWED_PLUGINS"
MACHINES = "machines"
"""The folder of a plug-in's package that holds its machines."""
_T = TypeVar("_T")


class Group(Enum):
    """What can be offered, by entry-point group."""

    TOOLS = "mklang.tools"
    HOOKS = "mklang.hooks"
    MACHINES = "mklang.machines"
    PROVIDERS = "mklang.providers"
    JUDGES = "mklang.judges"
    GUARDS = "mklang.guards"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPlace:
    """What the configuration says to a provider or judge of a plug-in: where, with which key and model."""

    name: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    timeout: float | None = None


MakeBackend = Callable[[ModelPlace], Backend]
MakeJudge = Callable[[ModelPlace], Judge]


@dataclass(frozen=True, slots=True)
class Offer:
    """One entry point of an installed distribution, and why it does not count; empty when it does."""

    group: Group
    name: str
    distribution: str
    version: str
    refused: str
    point: EntryPoint = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugins:
    """What the allowed distributions offer, imported. ``problems`` names what does not count, and why.

    ``folders`` hold machines; they are read, and nothing is imported for them.
    """

    tools: Mapping[str, HostTool] = field(default_factory=lambda: MappingProxyType({}))
    hooks: Mapping[str, HostHook] = field(default_factory=lambda: MappingProxyType({}))
    guards: Mapping[str, Guard] = field(default_factory=lambda: MappingProxyType({}))
    providers: Mapping[str, MakeBackend] = field(default_factory=lambda: MappingProxyType({}))
    judges: Mapping[str, MakeJudge] = field(default_factory=lambda: MappingProxyType({}))
    folders: tuple[Path, ...] = ()
    problems: tuple[Diagnostic, ...] = ()


def offers(configuration: Configuration, points: Iterable[EntryPoint] | None = None) -> list[Offer]:
    """Everything that installed distributions offer, allowed or not. Imports nothing."""
    allowed = dict(_allowed(configuration))
    found = [point for group in Group for point in entry_points(group=group.value)] if points is None else list(points)
    result = []
    for point in sorted(found, key=lambda one: (one.group, one.name, one.value)):
        distribution = point.dist.name if point.dist else "?"
        version = point.dist.version if point.dist else ""
        why = _not_allowed(distribution, version, allowed) or _taken(Group(point.group), point.name)
        result.append(Offer(Group(point.group), point.name, distribution, version, why, point))
    return [_alone(offer, result) for offer in result]


def _alone(offer: Offer, known: list[Offer]) -> Offer:
    """Of two allowed distributions that offer the same, neither counts: which one is meant is the person's to say."""
    others = [
        one.distribution
        for one in known
        if one is not offer and (one.group, one.name) == (offer.group, offer.name) and not one.refused
    ]
    if offer.refused or not others:
        return offer
    return replace(offer, refused=f"'{others[0]}' offers it too; allow only one of them")


def plugins_of(configuration: Configuration, points: Iterable[EntryPoint] | None = None) -> Plugins:
    """Import what the allowed distributions offer. What fails to load is named and left out."""
    wanted = dict(_allowed(configuration))
    if not wanted:
        return Plugins()
    known = offers(configuration, points)
    problems = [_problem(offer, offer.refused) for offer in known if offer.refused and offer.refused != NOT_ALLOWED]
    problems += _absent(wanted, known)
    usable = [offer for offer in known if not offer.refused]

    def of(group: Group, make: Callable[[str, object], _T]) -> Mapping[str, _T]:
        return MappingProxyType(dict(_loaded((one for one in usable if one.group is group), make, problems)))

    return Plugins(
        tools=of(Group.TOOLS, _tool),
        hooks=of(Group.HOOKS, _hook),
        guards=of(Group.GUARDS, _guard),
        providers=of(Group.PROVIDERS, _factory),
        judges=of(Group.JUDGES, _factory),
        folders=tuple(_folders((one for one in usable if one.group is Group.MACHINES), problems)),
        problems=tuple(problems),
    )


def plugins_here() -> Plugins:
    """The plug-ins that are allowed here; none where the configuration cannot be read."""
    try:
        return plugins_of(resolve())
    except (HostError, DocumentError):
        return Plugins()


def plugin_folders() -> tuple[Path, ...]:
    """The machine folders of the plug-ins that are allowed here; none where the configuration cannot be read."""
    try:
        configuration = resolve()
    except (HostError, DocumentError):
        return ()
    if not dict(_allowed(configuration)):
        return ()
    points = entry_points(group=Group.MACHINES.value)
    return tuple(_folders((offer for offer in offers(configuration, points) if not offer.refused), []))


NOT_ALLOWED = "it is not allowed"


def _allowed(configuration: Configuration) -> Iterator[tuple[str, str | None]]:
    """The distributions on the list with the version each is held to."""
    value = configuration.knob("plugins", VARIABLE, default=()).value
    for entry in value.split(",") if isinstance(value, str) else value:
        name, _, version = str(entry).partition("==")
        if name.strip():
            yield _canonical(name), version.strip() or None


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).casefold()


def _not_allowed(distribution: str, version: str, allowed: Mapping[str, str | None]) -> str:
    key = _canonical(distribution)
    if key not in allowed:
        return NOT_ALLOWED
    if allowed[key] not in {None, version}:
        return f"version {version} is installed, and {allowed[key]} is allowed"
    return ""


def _taken(group: Group, name: str) -> str:
    return "the built-in one is not replaced" if name in _BUILT_IN[group] or _is_language(group, name) else ""


def _is_language(group: Group, name: str) -> bool:
    return group is Group.HOOKS and (is_comparison(name) or name.startswith("guard:"))


_BUILT_IN: Mapping[Group, frozenset[str]] = {
    Group.TOOLS: frozenset(
        {"calc", "search", "search_kb", "send_reply", "list_files", "read_file", "write_file", "http", "guard"}
    ),
    Group.HOOKS: frozenset(BUILTIN_HOOKS),
    Group.MACHINES: frozenset(),
    Group.PROVIDERS: frozenset(PROFILES),
    Group.JUDGES: frozenset(),
    Group.GUARDS: frozenset(),
}


def _loaded(
    found: Iterable[Offer], make: Callable[[str, object], _T], problems: list[Diagnostic]
) -> Iterator[tuple[str, _T]]:
    for offer in found:
        try:
            yield offer.name, make(offer.name, offer.point.load())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - loading a plug-in
            told = str(error) if isinstance(error, MklangError) else f"{type(error).__name__}: {error}"
            problems.append(_problem(offer, f"it cannot be loaded: {told}"))


def _tool(name: str, loaded: object) -> HostTool:
    if isinstance(loaded, HostTool) or callable(loaded):
        return as_tool(name, loaded)
    raise TypeError(f"a tool is a function or made with @mklang.tool, not {type(loaded).__name__}")


def _hook(name: str, loaded: object) -> HostHook:
    if isinstance(loaded, HostHook) or callable(loaded):
        return as_hook(name, loaded)
    raise TypeError(f"a hook is a function or made with @mklang.hook, not {type(loaded).__name__}")


def _guard(_name: str, loaded: object) -> Guard:
    if isinstance(loaded, Guard):
        return loaded
    raise TypeError(f"a guard is a mklang.guards.Guard, not {type(loaded).__name__}")


def _factory(_name: str, loaded: object) -> Callable[[ModelPlace], _T]:
    if callable(loaded):
        return loaded
    raise TypeError(f"this group takes a function of a ModelPlace, not {type(loaded).__name__}")


def _folders(found: Iterable[Offer], problems: list[Diagnostic]) -> Iterator[Path]:
    """The machines folder of each package, found without importing it."""
    for offer in found:
        package = offer.point.module.partition(".")[0]
        spec = find_spec(package) if package == offer.point.value else None
        places = [Path(place) / MACHINES for place in (spec.submodule_search_locations or ())] if spec else []
        folder = next((place for place in places if place.is_dir()), None)
        if folder is None:
            problems.append(_problem(offer, f"'{offer.point.value}' is no package with a folder '{MACHINES}'"))
        else:
            yield folder.resolve()


def _absent(wanted: Mapping[str, str | None], known: list[Offer]) -> Iterator[Diagnostic]:
    there = {_canonical(offer.distribution) for offer in known}
    for name in sorted(wanted.keys() - there):
        message = f"the plug-in '{name}' is allowed, and nothing of this name is installed that offers anything"
        yield Diagnostic(code="plugin-absent", message=message, path="", severity=Severity.WARNING)


def _problem(offer: Offer, why: str) -> Diagnostic:
    what = offer.group.value.partition(".")[2].removesuffix("s")
    message = f"the {what} '{offer.name}' of '{offer.distribution}' is left out: {why}"
    return Diagnostic(code="plugin-refused", message=message, path="", severity=Severity.WARNING)
