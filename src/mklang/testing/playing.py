"""Playing scenarios: one run each on a scripted oracle, judged by what was expected (L90-L93)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mklang.diagnostics import Severity
from mklang.engine.guarding import Guarding
from mklang.engine.outcome import Outcome
from mklang.engine.run import arun
from mklang.errors import MklangError
from mklang.hooks.registry import HookRegistry
from mklang.lang.models import Machine
from mklang.oracles.scripted import Closing, HookAnswerer, Manner, ScriptedOracle
from mklang.testing.matching import Mismatch, NeverAsked, NotPlayed, Unanswered, differences, how_it_ended
from mklang.testing.scenario import Entry, Scenario, Unreadable

BUILT_IN_HOOKS: HookAnswerer = HookRegistry().answer
"""The hooks a script need not name: the built-in and the parametric ones (L90)."""


@dataclass(frozen=True, slots=True)
class Played:
    """One scenario's outcome. Without mismatches it passed; ``outcome`` is None when there was no run."""

    name: str
    mismatches: tuple[Mismatch, ...]
    outcome: Outcome | None = None

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.mismatches


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What answers beside a script: the hooks it does not name, and the guards at places of the machines (L121)."""

    hooks: HookAnswerer = BUILT_IN_HOOKS
    guards: Guarding | None = None


NOTHING_AROUND = Around()


def play_all(
    entries: Sequence[Entry], machine: Machine, library: Mapping[str, Machine], *, around: Around = NOTHING_AROUND
) -> tuple[Played, ...]:
    """Play the scenarios of a file strictly, one after the other; a bad one does not stop the rest (L93)."""
    return tuple(asyncio.run(_play_each(entries, machine, library, around)))


async def _play_each(
    entries: Sequence[Entry], machine: Machine, library: Mapping[str, Machine], around: Around
) -> list[Played]:
    return [await play_entry(entry, machine, library, around=around) for entry in entries]


async def play_entry(
    entry: Entry, machine: Machine, library: Mapping[str, Machine], *, around: Around = NOTHING_AROUND
) -> Played:
    """Play one entry of a scenario file; one that is not written properly fails with its problems."""
    if isinstance(entry, Unreadable):
        errors = (found for found in entry.diagnostics if found.severity is Severity.ERROR)
        return Played(entry.name, tuple(NotPlayed(found.render()) for found in errors))
    return await play(entry, machine, library, around=around)


async def play(
    scenario: Scenario,
    machine: Machine,
    library: Mapping[str, Machine],
    *,
    manner: Manner = Manner.STRICT,
    around: Around = NOTHING_AROUND,
) -> Played:
    """Play one scenario."""
    oracle = ScriptedOracle(scenario.script, manner=manner, hooks=around.hooks)
    options, guards = scenario.options, around.guards
    try:
        outcome = await arun(machine, scenario.inputs, oracle=oracle, library=library, options=options, guards=guards)
    except MklangError as error:
        return Played(scenario.name, (NotPlayed(f"{type(error).__name__}: {error}"),))
    found: list[Mismatch] = _held_against(oracle.closing()) if manner is Manner.STRICT else []
    told = [mismatch.text for mismatch in found if isinstance(mismatch, Unanswered)]
    found += differences(scenario.expect, outcome)
    if found:
        found.append(how_it_ended(outcome, told))
    return Played(scenario.name, tuple(found), outcome)


def _held_against(closing: Closing) -> list[Mismatch]:
    """What a strict test does not let pass, whatever the run made of it: in a fan-out a failure may stay unseen."""
    found: list[Mismatch] = [Unanswered(text) for text in closing.failures]
    unused = (("text", closing.unused_texts), ("judge verdict", closing.unused_verdicts))
    found += [NeverAsked(what, count) for what, count in unused if count]
    named = (("answer", closing.unused_answers), ("reply path", closing.unused_replies))
    return found + [NeverAsked(what, len(names), names) for what, names in named if names]
