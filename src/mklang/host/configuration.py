"""The configuration of one host: files, variables and what the caller says, settled once, each value with its source.

Every command and the API resolve it here (L99, W64, W65), and it is a value: two hosts in one process have one each.

Files, those that count more first: ``--config`` or ``MKLANG_CONFIG`` alone; else the project's
``config/runtime.yaml``, the user's, the system's. Providers come from the first file that has any; a project may name
models for a provider whose address and key the user wrote. A knob of a tool comes from what the caller says, its
variable, the first file that has it, the default. A project's files and ``.env`` say nothing about addresses, keys,
grants, code and hosts until the person trusts the folder; what they say is named in ``refused``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import file_digest
from pathlib import Path
from typing import Any

from mklang.diagnostics import Diagnostic
from mklang.errors import ConfigError, DocumentError
from mklang.host.config import FileConfig, Layer, ProviderConfig, RuntimeConfig, read_file_config
from mklang.host.config_guarded import untrusted
from mklang.host.keys import beside
from mklang.host.knobs import McpEntry, Said
from mklang.host.paths import FILE, SYSTEM, config_folder, project_file, project_folder
from mklang.host.trust import Trust, TrustStore, pin_of
from mklang.host.variables import ENVIRONMENT, FOLDERS, GUARDED, Variables, dotenv
from mklang.llm.local import EMBEDDED_NAME


@dataclass(frozen=True, slots=True)
class Setting:
    """What a knob is set to, and who says so, in words."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file that could have a say: whether it is there, and whether it counts."""

    layer: Layer
    path: Path
    there: bool
    counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What one host goes by.

    ``project`` is the folder a person works in, ``trust`` how it stands and ``pin`` what trusting it would be bound to.
    ``models`` None means that no file has providers. ``places`` are the files that could have a say, ``files`` those
    that have one. ``refused`` names what the project says that takes no effect, ``warnings`` what else is odd.
    """

    project: Path
    trust: Trust
    pin: str
    store: TrustStore
    variables: Variables
    places: tuple[Place, ...]
    files: tuple[FileConfig, ...]
    models: RuntimeConfig | None
    refused: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()

    def knob(self, name: str, variable: str | None = None, default: Any = None) -> Setting:
        """A knob by its dotted name: its variable's text, else what the first file says, else the default."""
        found = self.variables.find(variable) if variable else None
        if found is not None:
            return Setting(found.text, f"{variable} in {found.source}")
        for file in self.files:
            if name in file.knobs:
                return Setting(file.knobs[name].value, f"{file.layer.value}: {file.path}")
        return Setting(default, "default")

    def folder_of(self, knob: str) -> Path:
        """The folder that a path in a knob's file is relative to; the project's own file means the project."""
        for file in self.files:
            if knob in file.knobs:
                return self.project if file.layer is Layer.PROJECT else Path(file.path).parent
        return self.project

    def servers(self) -> dict[str, McpEntry]:
        """The MCP servers by name; of two files with the same name the first counts."""
        found: dict[str, McpEntry] = {}
        for file in self.files:
            for knob, said in file.knobs.items():
                if knob.startswith("mcp."):
                    found.setdefault(knob.removeprefix("mcp."), said.value)
        return found


def resolve(
    *,
    config: str | None = None,
    environ: Mapping[str, str] | None = None,
    here: Path | None = None,
    system: Path | None = None,
) -> Configuration:
    """The configuration for a person who works in the folder ``here``, the working directory unless given.

    ``config`` is the file of ``--config``. Raises ``ConfigError`` for a file that was named and is not there, and for a
    file that cannot be read, ``DocumentError`` with every problem in one.
    """
    environ = os.environ if environ is None else environ
    project = project_folder(here or Path.cwd())
    user = config_folder(environ)
    own, users = dotenv(project / ".env"), dotenv(user / ".env")
    base = Variables((ENVIRONMENT, environ), (str(user / ".env"), users))
    named = Setting(config, "--config") if config else None
    at_project = project_file(project)
    used = named is None and "MKLANG_CONFIG" not in base
    file = _project(at_project, used=used)
    store = TrustStore.of(user)
    pin = _pin(project, file, own)
    trust = store.state(project, pin)
    trusted = trust is Trust.TRUSTED
    variables = Variables(
        (ENVIRONMENT, environ), (str(project / ".env"), _allowed(own, trusted)), (str(user / ".env"), users)
    )
    if named is None and (found := variables.find("MKLANG_CONFIG")):
        named = Setting(found.text, f"MKLANG_CONFIG in {found.source}")
    places = _places(named, project=at_project, user=user / FILE, system=system or SYSTEM)
    files = tuple(_files(places, file))
    refused = () if trusted else tuple(_refusals(project, file if used else None, own))
    return Configuration(
        project=project,
        trust=trust,
        pin=pin,
        store=store,
        variables=variables,
        places=places,
        files=tuple(one if one.layer is not Layer.PROJECT or trusted else _held_back(one, project) for one in files),
        models=_models(files, trust),
        refused=tuple(_worded(problem, trust) for problem in refused),
        warnings=tuple(problem for one in files for problem in one.warnings),
    )


def _places(named: Setting | None, *, project: Path, user: Path, system: Path) -> tuple[Place, ...]:
    if named is not None:
        path = Path(named.value).expanduser()
        if not path.exists():
            raise ConfigError(f"{named.source} names '{named.value}', and there is no such file")
        layer = Layer.EXPLICIT if named.source == "--config" else Layer.ENV
        rest = ((Layer.PROJECT, project), (Layer.USER, user), (Layer.SYSTEM, system))
        others = (Place(layer=one, path=where, there=where.exists(), counts=False) for one, where in rest)
        return (Place(layer=layer, path=path, there=True, counts=True), *others)
    rest = ((Layer.PROJECT, project), (Layer.USER, user), (Layer.SYSTEM, system))
    return tuple(Place(layer=one, path=path, there=path.exists(), counts=path.exists()) for one, path in rest)


def _files(places: tuple[Place, ...], project: FileConfig | None) -> Iterator[FileConfig]:
    for place in places:
        if place.counts:
            known = project if place.layer is Layer.PROJECT else None
            yield known or read_file_config(_shown(place.path), place.layer)


def _project(path: Path, *, used: bool) -> FileConfig | None:
    """The project's file. Where another one was named it is read for its pin only, whatever is wrong with it."""
    if not path.exists():
        return None
    shown = _shown(path)
    try:
        return read_file_config(shown, Layer.PROJECT)
    except DocumentError:
        if used:
            raise
        return FileConfig(path=shown, layer=Layer.PROJECT, runtime=None, knobs={}, warnings=(), text="")


def _shown(path: Path) -> str:
    """A path as a person in this directory would write it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _allowed(assignments: Mapping[str, str], trusted: bool) -> Mapping[str, str]:
    left_out = FOLDERS if trusted else FOLDERS | GUARDED
    return {name: text for name, text in assignments.items() if name not in left_out}


def _pin(project: Path, file: FileConfig | None, own: Mapping[str, str]) -> str:
    """A hash of what a project says: its file, the guarded part of its ``.env``, the files its commands name."""
    parts = [(f".env/{name}", own[name].encode("utf-8", "surrogateescape")) for name in sorted(GUARDED & own.keys())]
    if file is not None:
        parts.append(("config", file.text.encode("utf-8", "surrogateescape")))
        parts += _commands(project, file)
    return pin_of(parts)


def _commands(project: Path, file: FileConfig) -> Iterator[tuple[str, bytes]]:
    """The files inside the project that its servers' commands name."""
    for said in file.knobs.values():
        if not isinstance(said.value, McpEntry):
            continue
        for word in said.value.command:
            for folder in (project, project / (said.value.cwd or "")):
                path = folder / word
                try:
                    if path.is_file() and path.resolve().is_relative_to(project.resolve()):
                        with path.open("rb") as file_named:
                            yield f"file/{word}", file_digest(file_named, "sha256").digest()
                except (OSError, ValueError):
                    continue


def _models(files: tuple[FileConfig, ...], trust: Trust) -> RuntimeConfig | None:
    """The providers of the first file that has any; a project's are completed from the file below."""
    having = [file.runtime for file in files if file.runtime is not None]
    if not having:
        return None
    first = having[0]
    if first.layer is not Layer.PROJECT:
        return first
    below = having[1] if len(having) > 1 else None
    others = {name: _at_home(provider, below.folder) for name, provider in below.providers.items()} if below else {}
    own = {
        name: replace(
            _completed(provider, others.get(name)), guarded=tuple(_worded(one, trust) for one in provider.guarded)
        )
        for name, provider in first.providers.items()
    }
    merged = replace(first, providers={**others, **own}, trusted=trust is Trust.TRUSTED)
    if not merged.providers:
        raise ConfigError(f"{first.path} names the provider '{first.active}', and no configuration has it")
    return merged


def _completed(provider: ProviderConfig, other: ProviderConfig | None) -> ProviderConfig:
    """A project's provider with the address and key that the user wrote for one of the same name."""
    if other is None or provider.guarded or provider.base_url is not None:
        return provider
    return replace(
        provider,
        protocol=other.protocol,
        base_url=other.base_url,
        api_key_env=other.api_key_env,
        api_key_file=other.api_key_file,
    )


def _at_home(provider: ProviderConfig, folder: Path) -> ProviderConfig:
    """A provider whose relative paths still mean its own file's folder. What its owner wrote needs no trust."""

    def file(name: str | None) -> str | None:
        return None if name is None else str(beside(folder, name))

    def model(name: str) -> str:
        inside = name.casefold() == EMBEDDED_NAME.casefold() or not name.lower().endswith(".gguf")
        return name if inside else str(beside(folder, name))

    judges = {
        tier: replace(judge, api_key_file=file(judge.api_key_file), model=judge.model and model(judge.model))
        for tier, judge in provider.judges.items()
    }
    return replace(
        provider,
        api_key_file=file(provider.api_key_file),
        tiers={tier: model(name) for tier, name in provider.tiers.items()},
        judges=judges,
        guarded=(),
    )


_FREE = frozenset({"search.backend", "kb.backend", "fs.backend", "structured"})
"""Knobs that a project may turn untrusted."""


def _harmless(knob: str, value: Any, project: Path) -> bool:
    if knob in {"kb.folder", "fs.workspace"}:
        root = project.resolve()
        try:
            return beside(root, str(value)).resolve().is_relative_to(root)
        except (OSError, RuntimeError, ValueError):
            return False
    return knob in _FREE or (knob == "mail.backend" and value != "smtp") or (knob == "fs.write" and value is False)


def _held_back(file: FileConfig, project: Path) -> FileConfig:
    """What an untrusted project's file may say about tools."""
    return replace(
        file, knobs={knob: said for knob, said in file.knobs.items() if _harmless(knob, said.value, project)}
    )


def _refusals(project: Path, file: FileConfig | None, own: Mapping[str, str]) -> Iterator[Diagnostic]:
    for provider in file.runtime.providers.values() if file is not None and file.runtime is not None else ():
        yield from provider.guarded
    for knob, said in file.knobs.items() if file is not None else ():
        if file is not None and not _harmless(knob, said.value, project):
            yield untrusted(_what(knob, said), file.path, said.span, said.where)
    env = _shown(project / ".env")
    for name in own:
        if name in GUARDED:
            yield untrusted(f"{name}={own[name]}", env, None, name)
        elif name in FOLDERS:
            found = untrusted(name, env, None, name)
            yield replace(found, message=f"{name} takes no effect in an .env file", hint="set it in the environment")


def _what(knob: str, said: Said) -> str:
    match said.value:
        case McpEntry(command=command) if command:
            return f"the command '{' '.join(command)}'"
        case McpEntry(url=url):
            return f"the server '{url}'"
        case tuple() as words:
            return f"'{knob}: {', '.join(map(str, words))}'"
        case bool() as value:
            return f"'{knob}: {str(value).lower()}'"
        case value:
            return f"'{knob}: {value}'"


def _worded(problem: Diagnostic, trust: Trust) -> Diagnostic:
    if trust is not Trust.CHANGED:
        return problem
    changed = problem.message.replace("this folder is not trusted", f"this folder has {Trust.CHANGED.value}")
    return replace(problem, message=changed)
