"""What each command would use here, and why (L115): the same resolver as a run's, asked and told instead of used.

No finding ever holds a key. Nothing is started and nobody is asked, unless a probe is wanted.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit

from mklang import __version__
from mklang.charts.svg import layout_program
from mklang.diagnostics import Diagnostic, Severity
from mklang.errors import ConfigError, DocumentError, HostError, MissingExtra
from mklang.host.config import Layer, Protocol, ProviderConfig
from mklang.host.configuration import Configuration, resolve
from mklang.host.keys import KeyPlaces, find_key
from mklang.host.knobs import McpEntry
from mklang.host.layers import files_outside, layers
from mklang.host.models import Models, choose_models
from mklang.host.parts import parts_of
from mklang.host.paths import state_folder
from mklang.host.plugins import offers
from mklang.host.reach import knobs_of
from mklang.host.session import Loaded, load, missing_parts
from mklang.host.trust import Trust
from mklang.lang.models import HookCondition, Machine, Tier, Tool
from mklang.llm.probing import Probed
from mklang.llm.profiles import PROFILES

EXTRAS: Mapping[str, str] = {
    "local": "xllamacpp",
    "openai": "openai",
    "anthropic": "anthropic",
    "jev": "httpx2",
    "graph": "",
    "measure": "matplotlib",
    "mcp": "mcp",
}
"""Each optional part, and the module that tells whether it is installed; none for a program."""


class Grade(Enum):
    """How a finding is meant. Only an error makes ``doctor`` fail."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the report: what was looked at, what was found, and what to do where something is wrong.

    ``probed`` has what a live look found, for programs.
    """

    name: str
    text: str
    grade: Grade = Grade.OK
    hint: str = ""
    probed: Probed | None = None

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        wire: dict[str, object] = {"name": self.name, "status": self.grade.value, "text": self.text}
        wire |= {"hint": self.hint} if self.hint else {}
        return wire if self.probed is None else wire | {"probe": self.probed.to_wire()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """Everything that was found. ``configuration`` and ``models`` are None where they could not be made."""

    findings: tuple[Finding, ...]
    configuration: Configuration | None = None
    models: Models | None = None

    @property
    def ok(self) -> bool:
        """Whether runs can be expected to start."""
        return all(found.grade is not Grade.ERROR for found in self.findings)


def examine(
    machine: str | None = None, *, config: str | None = None, environ: Mapping[str, str] | None = None
) -> Examined:
    """Look at everything a run would use here; with ``machine``, at what that machine needs of it."""
    environ = os.environ if environ is None else environ
    findings = [_program()]
    try:
        settled = resolve(config=config, environ=environ)
    except (HostError, DocumentError) as error:
        findings += _troubles("config", error)
        return Examined(findings=(*findings, *_rest()))
    findings += _configuration(settled)
    models, found = _models(settled, environ)
    findings += [*found, *_keys(settled), *_tools(settled), *_plugins(settled), *_rest()]
    if machine is not None:
        findings += _machine(machine, settled, models)
    return Examined(findings=tuple(findings), configuration=settled, models=models)


def _program() -> Finding:
    python = ".".join(map(str, sys.version_info[:3]))
    return Finding(name="mklang", text=f"{__version__} in {Path(__file__).parents[1]}, Python {python}")


def _troubles(name: str, error: Exception) -> Iterator[Finding]:
    """An error as findings, one for each problem of a document."""
    if isinstance(error, DocumentError):
        yield from (_told(name, one) for one in error.diagnostics)
    else:
        yield Finding(name=name, text=str(error), grade=Grade.ERROR)


def _told(name: str, one: Diagnostic, grade: Grade | None = None) -> Finding:
    known = Grade.ERROR if one.severity is Severity.ERROR else Grade.WARNING
    return Finding(name=name, text=replace(one, hint="").render(), grade=grade or known, hint=one.hint)


def _configuration(settled: Configuration) -> Iterator[Finding]:
    needless = "" if settled.refused or settled.trust is Trust.TRUSTED else ", and nothing in it needs trust"
    yield Finding(name="project", text=f"{settled.project} ({settled.trust.value}{needless})")
    for place in settled.places:
        state = "counts" if place.counts else "is there and does not count here" if place.there else "not there"
        yield Finding(
            name=f"config {place.layer.value}",
            text=f"{place.path}: {state}",
            grade=Grade.OK if place.counts else Grade.NOTE,
        )
    for path in (settled.project / ".env", settled.store.path.parent / ".env"):
        yield Finding(
            name=".env", text=f"{path}: {'counts' if path.is_file() else 'not there'}", grade=_if(path.is_file())
        )
    yield from (_told("refused", one, Grade.WARNING) for one in settled.refused)
    yield from (_told("config", one) for one in settled.warnings)


def _if(there: bool) -> Grade:
    return Grade.OK if there else Grade.NOTE


def _models(settled: Configuration, environ: Mapping[str, str]) -> tuple[Models | None, list[Finding]]:
    """Who answers, made as a run makes it."""
    try:
        models = choose_models(config=settled, environ=environ)
    except (HostError, DocumentError) as error:
        return None, list(_troubles("models", error))
    because = _because(settled)
    found = [Finding(name="models", text=f"{models.notice.removeprefix('using ')}{because}")]
    for tier in Tier:
        judge = models.judged_by.get(tier, "")
        kind = " by probabilities" if tier in models.whole_decisions else ""
        found.append(Finding(name=f"tier {tier.value}", text=f"{models.tiers[tier].model}, judged by {judge}{kind}"))
    return models, found


def _because(settled: Configuration) -> str:
    if settled.models is None:
        return "; no configuration names another"
    words = {
        Layer.EXPLICIT: "--config",
        Layer.ENV: "MKLANG_CONFIG",
        Layer.PROJECT: "the project's configuration",
        Layer.USER: "your configuration",
        Layer.SYSTEM: "the system's configuration",
    }
    return f"; '{settled.models.active}' is active in {settled.models.path} ({words[settled.models.layer]})"


def _keys(settled: Configuration) -> Iterator[Finding]:
    """A line for each provider that could need a key: where it is found, never what it is."""
    runtime = settled.models
    for provider in runtime.providers.values() if runtime is not None else ():
        if provider.protocol is Protocol.EMBEDDED:
            continue
        if provider.guarded and runtime is not None and not runtime.trusted:
            yield Finding(
                name=f"key {provider.name}", text="not looked up: this folder is not trusted", grade=Grade.NOTE
            )
            continue
        active = runtime is not None and provider.name == runtime.active
        yield _key(provider, settled, active=active)


def _key(provider: ProviderConfig, settled: Configuration, *, active: bool) -> Finding:
    name = f"key {provider.name}"
    profile = PROFILES.get(provider.name)
    own = profile is not None and (profile.base_url is None or provider.base_url is None)
    variable = provider.api_key_env or (profile.api_key_env if profile is not None and own else None)
    if variable is None and provider.api_key_file is None:
        return Finding(name=name, text="none is named, so none is sent")
    found = settled.variables.find(variable) if variable else None
    if found is not None:
        return Finding(name=name, text=f"{variable} is set in {found.source}")
    folder = settled.models.folder if settled.models is not None else Path()
    try:
        find_key(KeyPlaces(owner=name, folder=folder, file=provider.api_key_file), {})
    except ConfigError as error:
        return Finding(name=name, text=str(error), grade=Grade.ERROR if active else Grade.WARNING)
    if provider.api_key_file is not None:
        return Finding(name=name, text=f"in the file {provider.api_key_file}")
    grade = Grade.ERROR if active else Grade.NOTE
    return Finding(
        name=name, text=f"{variable} is set nowhere", grade=grade, hint=f"set {variable}, or write it into .env"
    )


def _tools(settled: Configuration) -> Iterator[Finding]:
    try:
        knobs = knobs_of(settled)
    except ConfigError as error:
        yield Finding(name="tools", text=str(error), grade=Grade.ERROR)
        return
    for name, knob in knobs.items():
        text = ", ".join(map(str, knob.value)) if isinstance(knob.value, tuple) else str(knob.value)
        if knob.value not in (None, ()):
            yield Finding(name=f"tool {name}", text=f"{text} ({knob.source})")
    for server, entry in settled.servers().items():
        yield Finding(name=f"mcp {server}", text=_server(entry))


def _plugins(settled: Configuration) -> Iterator[Finding]:
    """What installed distributions offer, and whether it counts. Nothing of theirs is imported."""
    for offer in offers(settled):
        what = f"{offer.group.value.removeprefix('mklang.')} '{offer.name}'"
        yield Finding(
            name=f"plug-in {offer.distribution}",
            text=f"{what} of version {offer.version}: {offer.refused or 'counts'}",
            grade=Grade.NOTE if offer.refused else Grade.OK,
        )


def _server(entry: McpEntry) -> str:
    """A server without what could hold a secret: its arguments, and all of its address but the host."""
    if entry.url is not None:
        address = urlsplit(entry.url)
        return f"at {address.scheme}://{address.hostname or ''}"
    more = len(entry.command) - 1
    return f"started by {entry.command[0]}" + (f" with {more} argument{'' if more == 1 else 's'}" if more else "")


def _rest() -> Iterator[Finding]:
    files = [path.parent for _, path in files_outside()]
    for layer in layers():
        number = files.count(layer.folder)
        text = f"{number} in {layer.folder}" if layer.folder.is_dir() else f"{layer.folder}: not there"
        yield Finding(name=f"machines {layer.origin.value}", text=text, grade=_if(bool(number)))
    yield _state()
    missing = [name for name, module in EXTRAS.items() if not _installed(module)]
    there = [name for name in EXTRAS if name not in missing]
    text = f"installed {', '.join(there) or 'none'}" + (f"; not {', '.join(missing)}" if missing else "")
    yield Finding(name="extras", text=text)


def _installed(module: str) -> bool:
    return bool(importlib.util.find_spec(module) if module else layout_program())


def _state() -> Finding:
    """Where runs are kept, and whether something can be written there."""
    folder = state_folder()
    known = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if known.is_dir() and os.access(known, os.W_OK):
        return Finding(name="runs", text=f"kept in {folder / 'runs'}")
    return Finding(
        name="runs",
        text=f"{folder} cannot be written to, so no run can be gone on with",
        grade=Grade.WARNING,
        hint="set MKLANG_STATE_DIR to a folder of yours",
    )


def _machine(name: str, settled: Configuration, models: Models | None) -> Iterator[Finding]:
    """What one machine needs, and whether it is here."""
    try:
        loaded = load(name)
    except DocumentError as error:
        yield from _troubles(f"machine {name}", error)
        return
    machines = (loaded.machine, *loaded.library.values())
    yield Finding(name="machine", text=f"{loaded.machine.name} in {loaded.machine.source_name}")
    for callee in loaded.library.values():
        yield Finding(name=f"calls {callee.name}", text=callee.source_name)
    states = [(machine, state) for machine in machines for state in machine.states.values()]
    for tier in sorted({(state.tier or machine.default_tier).value for machine, state in states}):
        if models is not None:
            yield Finding(name=f"needs {tier}", text=models.tiers[Tier(tier)].model)
    yield from _parts(loaded, machines, settled)
    yield from (_told("machine", one, Grade.WARNING) for one in loaded.warnings)


def _parts(loaded: Loaded, machines: tuple[Machine, ...], settled: Configuration) -> Iterator[Finding]:
    try:
        parts = parts_of(settled, machines, loaded.guards)
    except (ConfigError, MissingExtra) as error:
        yield Finding(name="tools", text=str(error), grade=Grade.WARNING)
        return
    parts.servers.close()  # what they offer is known now
    missing = missing_parts(loaded, parts.tools, parts.hooks)
    states = [state for machine in machines for state in machine.states.values()]
    tools = sorted({state.tool for state in states if isinstance(state, Tool)} & set(parts.tools))
    hooks = sorted(
        {
            gate.condition.name
            for state in states
            for gate in state.gates
            if isinstance(gate.condition, HookCondition) and gate.condition.name in parts.hooks
        }
    )
    if tools:
        yield Finding(name="needs tools", text=f"{', '.join(tools)}: here")
    if hooks:
        yield Finding(name="needs hooks", text=f"{', '.join(hooks)}: here")
    for place, guard in loaded.guards.table.items():
        yield Finding(name="guard", text=f"{guard} at {place}")
    yield from (_told("machine", one, Grade.WARNING) for one in missing)
