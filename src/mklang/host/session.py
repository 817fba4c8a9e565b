"""A run put together from its parts: machine and library, models, tools and hooks, options, clocks. Prints nothing.

``prepare`` does everything that can fail before a token is spent; ``Session.run`` spends them. Surfaces show what they
are told: warnings and a notice on the session, an outcome at the end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from mklang.analysis.runner import Analyser
from mklang.diagnostics import Diagnostic, Severity, has_errors, in_order, near_miss
from mklang.engine.events import Observer
from mklang.engine.options import DEFAULT_OPTIONS, OnUncertain, RunOptions
from mklang.engine.oracle import Oracle
from mklang.engine.outcome import Outcome
from mklang.engine.run import arun
from mklang.errors import ConfigError, DocumentError
from mklang.hooks.registry import HookRegistry
from mklang.host.configuration import Configuration, resolve
from mklang.host.guards import EFFECTS, NO_GUARDS, RunGuards, guards_of, unguarded
from mklang.host.inputs import nothing_given, undeclared
from mklang.host.judge_config import Manner
from mklang.host.layers import SUFFIXES, bundled_names
from mklang.host.library import Shelf, callees_of, library_around, locate
from mklang.host.models import Models, choose_models
from mklang.host.parts import Parts, parts_of
from mklang.host.plugins import Plugins, plugins_here, plugins_of
from mklang.host.reach import Told
from mklang.host.relay import Relay
from mklang.host.seam import REAL, Seam
from mklang.lang.models import HookCondition, Machine, Tool
from mklang.lang.reader import read_file
from mklang.lang.values import Json
from mklang.oracles.judge_log import LoggedOracle
from mklang.oracles.live import LiveOracle
from mklang.oracles.timed import TimedOracle
from mklang.tools.registry import ToolRegistry

CLOCKS = ("today", "now")
"""Context keys that the host fills when a machine declares them and nobody gave them a value (L64)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What somebody wants to be run. ``inputs`` are context paths with values; ``strict`` refuses unknown versions.

    ``guards`` is a further file of bindings; ``strict_effects`` refuses machines that act on what no guard looks at.
    ``judge`` says how decisions are judged, over what is configured. ``run_seconds`` bounds the run,
    ``request_seconds`` one request; None means no bound. ``workspace`` is the folder of the file tools and
    ``allow_write`` whether they may write there, over what is configured.
    """

    path: str
    inputs: Mapping[str, Json] = field(default_factory=dict)
    options: RunOptions = DEFAULT_OPTIONS
    config: str | None = None
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    judge: Manner | None = None
    strict: bool = False
    guards: str | None = None
    strict_effects: bool = False
    run_seconds: float | None = None
    request_seconds: float | None = None
    workspace: str | None = None
    allow_write: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A machine that passed every check, with what it can call, the guards around it and the warnings about it."""

    machine: Machine
    library: Mapping[str, Machine]
    warnings: tuple[Diagnostic, ...]
    guards: RunGuards = NO_GUARDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelIds:
    """Which model answers for each tier, and which one judges its states, by the ids the host gave them.

    ``unpriced`` names those of a tier whose price nobody knows.
    """

    tiers: Mapping[str, str]
    judges: Mapping[str, str]
    unpriced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A run that is ready to start.

    ``notice`` is one line about who answers, for a person; ``models`` None means that no model does. ``relay`` is told
    what models say while they write. ``close`` lets go of whoever answers. ``repeatable`` names acting tools that may
    be called again after a crash. ``replayed`` names the recorded run whose answers are used.
    """

    machine: Machine
    library: Mapping[str, Machine]
    inputs: Mapping[str, Json]
    options: RunOptions
    oracle: Oracle
    notice: str
    close: Callable[[], Awaitable[None]]
    models: ModelIds | None = None
    relay: Relay | None = None
    repeatable: frozenset[str] = frozenset()
    warnings: tuple[Diagnostic, ...] = ()
    guards: RunGuards = NO_GUARDS
    replayed: str = ""

    async def run(self, observer: Observer | None = None) -> Outcome:
        """Run to the end and let go of whoever answers, however it ends. An observer also hears models write."""
        relay = self.relay or Relay(REAL.elapsed)
        try:
            with relay.to(observer) as heard:
                return await arun(
                    self.machine,
                    self.inputs,
                    oracle=self.oracle,
                    library=self.library,
                    options=self.options,
                    observer=heard,
                    guards=self.guards.bindings or None,
                )
        finally:
            await self.close()


def prepare(
    order: Order, *, tools: ToolRegistry | None = None, hooks: HookRegistry | None = None, seam: Seam = REAL
) -> Session:
    """Put a run together. Raises ``DocumentError`` with everything that is wrong with the machine or what it calls,
    ``ConfigError`` or ``MissingExtra`` when there is no model to answer."""
    settled = resolve(config=order.config)
    loaded = load(order.path, strict=order.strict, guards=order.guards, plugins=plugins_of(settled))
    return assemble(order, loaded, tools=tools, hooks=hooks, configuration=settled, seam=seam)


def assemble(
    order: Order,
    loaded: Loaded,
    *,
    tools: ToolRegistry | None = None,
    hooks: HookRegistry | None = None,
    configuration: Configuration | None = None,
    oracle: Oracle | None = None,
    seam: Seam = REAL,
) -> Session:
    """Put a run of machines together that are loaded already; ``configuration`` is one that is settled.

    An ``oracle`` answers in place of models, tools and hooks.

    Raises ``ConfigError`` or ``MissingExtra``, ``DocumentError`` where ``order.strict_effects`` refuses them (L123).
    """
    settled = configuration or resolve(config=order.config)
    parts = parts_of(
        settled,
        (loaded.machine, *loaded.library.values()),
        loaded.guards,
        told=Told(workspace=order.workspace, allow_write=order.allow_write),
        tools=tools,
        hooks=hooks,
    )
    try:
        if oracle is not None:
            return _answered(order, loaded, parts, oracle, seam=seam)
        return _assembled(order, loaded, settled, parts, seam=seam)
    except BaseException:
        parts.servers.close()
        raise


def _answered(order: Order, loaded: Loaded, parts: Parts, oracle: Oracle, *, seam: Seam) -> Session:
    """A run that no model answers."""
    inputs, trusted = fill_clocks(loaded.machine, order.inputs, seam)
    options = _with_parts(order.options, loaded, parts)
    if order.strict_effects:
        check_effects(loaded, options)
    return Session(
        machine=loaded.machine,
        library=loaded.library,
        inputs=inputs,
        options=msgspec.structs.replace(
            options, trusted=order.options.trusted | trusted, guards=_guarded(order, loaded)
        ),
        guards=loaded.guards,
        oracle=oracle,
        notice="an oracle of the host's answers",
        close=parts.servers.aclose,
        repeatable=parts.tools.repeatable,
        warnings=(*loaded.warnings, *undeclared(loaded.machine, order.inputs)),
    )


def _guarded(order: Order, loaded: Loaded) -> dict[str, str]:
    """The record of the run's guards."""
    return loaded.guards.table | ({EFFECTS: "strict"} if order.strict_effects else {})


def _assembled(order: Order, loaded: Loaded, settled: Configuration, parts: Parts, *, seam: Seam) -> Session:
    chosen = _with_parts(order.options, loaded, parts)
    if order.strict_effects:
        check_effects(loaded, chosen)
    inputs, trusted = fill_clocks(loaded.machine, order.inputs, seam)
    models = choose_models(
        config=settled,
        provider=order.provider,
        model=order.model,
        base_url=order.base_url,
        judge=order.judge,
        seam=seam,
    )
    live = LiveOracle(models=models.tiers, judge=models.judge, tools=parts.tools, hooks=parts.hooks, nonce=seam.nonce)
    models.clock.allow(run_seconds=order.run_seconds, request_seconds=order.request_seconds)
    timed = TimedOracle(live, elapsed=seam.elapsed, clock=models.clock)

    async def close() -> None:
        try:
            await models.aclose()
        finally:
            await parts.servers.aclose()

    session = Session(
        machine=loaded.machine,
        library=loaded.library,
        inputs=inputs,
        options=msgspec.structs.replace(
            judged(chosen, models),
            trusted=order.options.trusted | trusted,
            guards=_guarded(order, loaded),
        ),
        guards=loaded.guards,
        oracle=LoggedOracle(timed),
        notice=models.notice,
        close=close,
        models=_ids(models),
        relay=models.relay,
        repeatable=parts.tools.repeatable,
        warnings=(
            *loaded.warnings,
            *models.warnings,
            *undeclared(loaded.machine, order.inputs),
            *nothing_given(loaded.machine, order.inputs),
            *missing_parts(loaded, parts.tools, parts.hooks),
        ),
    )
    check_prices(session)
    return session


def _with_parts(options: RunOptions, loaded: Loaded, parts: Parts) -> RunOptions:
    """The options with what the tools the machines name say they do, under what was said about them (L77)."""
    machines = (loaded.machine, *loaded.library.values())
    used = {state.tool for machine in machines for state in machine.states.values() if isinstance(state, Tool)}
    told = {name: effect for name, effect in parts.tools.effects.items() if name in used}
    return msgspec.structs.replace(
        options,
        tool_effects=told | dict(options.tool_effects),
        structured_tools=options.structured_tools | (parts.structured & used),
    )


def check_prices(session: Session) -> None:
    """Refuse a limit on money that cannot be kept: a model whose price nobody knows. Raises ``ConfigError``."""
    if session.options.max_nano_usd is None or session.models is None:
        return
    machines = (session.machine, *session.library.values())
    used = {(state.tier or machine.default_tier).value for machine in machines for state in machine.states.values()}
    unknown = [model for tier in sorted(used) for model in session.models.unpriced.get(tier, ())]
    if unknown:
        named = ", ".join(dict.fromkeys(unknown))
        raise ConfigError(
            f"--max-cost cannot be kept: nobody knows the price of {named}; say it in the provider's 'prices' "
            "(US dollars for a million tokens: {input: 0.15, output: 0.60}, or 0 and 0 for what costs nothing)"
        )


def judged(options: RunOptions, models: Models) -> RunOptions:
    """The options with what the judge brings: which tiers it judges by probabilities, and what doubt leads to."""
    asks = OnUncertain.ASK in {options.on_uncertain, models.on_uncertain}
    return msgspec.structs.replace(
        options,
        whole_decisions=models.whole_decisions,
        on_uncertain=OnUncertain.ASK if asks else OnUncertain.FLAG,
    )


def _ids(models: Models) -> ModelIds:
    return ModelIds(
        tiers={tier.value: model.model for tier, model in models.tiers.items()},
        judges={tier.value: judge for tier, judge in models.judged_by.items()},
        unpriced={tier.value: named for tier, named in models.unpriced.items()},
    )


def check_effects(loaded: Loaded, options: RunOptions) -> None:
    """Refuse machines that act on what no guard looks at (``--effects strict``). Raises ``DocumentError``."""
    machines = (loaded.machine, *loaded.library.values())
    found = unguarded(machines, loaded.guards.bindings, options.tool_effects)
    if found:
        raise DocumentError(found)


def load(path: str, *, strict: bool = False, guards: str | None = None, plugins: Plugins | None = None) -> Loaded:
    """Read and check a machine, everything it can call, and the guards around them (L11, L15, L122, W11).

    ``path`` may be the name of a machine that no project brings (L21). ``guards`` is a further file of bindings,
    ``plugins`` what distributions bring (None: those that are allowed here). Raises ``DocumentError``.
    """
    brought = plugins or plugins_here()
    path = locate(path, brought.folders)
    reading = read_file(path)
    machine = reading.machine
    if machine is None:
        raise DocumentError(_with_hint(found, path) for found in reading.diagnostics)
    library = library_around(path, machine, shelf=Shelf(brought.folders))
    callees = callees_of(machine, library)
    checked = Analyser(library, strict=strict).check_all(machine)
    around = guards_of(path, (machine, *callees.machines.values()), explicit=guards, more=brought.guards)
    found = in_order({*reading.diagnostics, *callees.diagnostics, *checked, *around.diagnostics})
    if has_errors(found):
        raise DocumentError(found)
    return Loaded(machine=machine, library=callees.machines, warnings=found, guards=around)


def _with_hint(found: Diagnostic, path: str) -> Diagnostic:
    """What to do about a machine that is no file and has no name that is known."""
    if found.code != "file-missing" or found.path != path:
        return found
    folder = Path(path).parent
    try:
        files = [file.name for file in folder.iterdir() if file.suffix in SUFFIXES]
    except OSError:
        files = []
    near = near_miss(Path(path).name, [*files, *(sorted(bundled_names()) if Path(path).name == path else ())])
    other = "a machine is run by its file, such as ./triage.mkl, or by a name that 'mklang machines' lists"
    return replace(found, hint=near or other)


def fill_clocks(machine: Machine, inputs: Mapping[str, Json], seam: Seam) -> tuple[dict[str, Json], frozenset[str]]:
    """The inputs with the host's clock in them, and the paths the host vouches for (L64, W6).

    Only keys that the machine declares are filled, and only where neither it nor the inputs give them a value.
    """
    filled = dict(inputs)
    empty = [key for key in CLOCKS if key in machine.context and filled.get(key, machine.context[key]) in (None, "")]
    if empty:
        moment = seam.now()
        texts = {"today": moment.date().isoformat(), "now": moment.isoformat(timespec="seconds")}
        filled |= {key: texts[key] for key in empty}
    return filled, frozenset(empty)


def missing_parts(loaded: Loaded, tools: ToolRegistry, hooks: HookRegistry) -> tuple[Diagnostic, ...]:
    """A warning for each tool and hook of the machine and its callees that this host does not have (L15)."""
    machines = {loaded.machine.name: loaded.machine, **loaded.library}
    return in_order({found for machine in machines.values() for found in _missing_in(machine, tools, hooks)})


def _missing_in(machine: Machine, tools: ToolRegistry, hooks: HookRegistry) -> Iterator[Diagnostic]:
    for state in machine.states.values():
        if isinstance(state, Tool) and state.tool not in tools:
            yield Diagnostic(
                code="tool-missing",
                message=f"this host has no tool '{state.tool}'; a run that gets here halts",
                path=machine.source_name,
                span=state.at.value("tool"),
                where=f"states.{state.id}",
                severity=Severity.WARNING,
                hint=near_miss(state.tool, tools) or f"it has {', '.join(sorted(tools))}",
            )
        for gate in state.gates:
            if isinstance(gate.condition, HookCondition) and gate.condition.name not in hooks:
                yield Diagnostic(
                    code="hook-missing",
                    message=f"this host has no hook '{gate.condition.name}'; a run that asks it halts",
                    path=machine.source_name,
                    span=gate.at.value("hook"),
                    where=f"states.{state.id}.gates[{gate.index}]",
                    severity=Severity.WARNING,
                    hint=near_miss(gate.condition.name, hooks) or f"it has {', '.join(sorted(hooks))}",
                )
