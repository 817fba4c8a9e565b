"""What a scenario is: a script, inputs, options, and how the run must end (L90, L92). Frozen; reading is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from mklang.diagnostics import Diagnostic
from mklang.engine.options import DEFAULT_OPTIONS, RunOptions
from mklang.lang.values import Json
from mklang.oracles.scripted import Script
from mklang.source import Span


class Unset(Enum):
    """An expectation that is not written; null is one that is."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """How a run must end. ``context`` has flat keys, ``trace`` one map for each step; null stands for absent (L92)."""

    status: str | Unset = UNSET
    error: str | Unset | None = UNSET
    error_prefix: str | Unset = UNSET
    result: Json | Unset = UNSET
    at: str | Unset | None = UNSET
    ask: str | Unset | None = UNSET
    reply_to: str | Unset | None = UNSET
    context: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    trace: tuple[Mapping[str, Json], ...] | Unset = UNSET

    @property
    def holds_always(self) -> bool:
        """Whether nothing at all is expected."""
        return self == Expectation()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One run to be played. ``inputs`` are what comes from outside, ``span`` is where the scenario is written."""

    name: str
    expect: Expectation
    script: Script = field(default_factory=Script)
    inputs: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    options: RunOptions = DEFAULT_OPTIONS
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A scenario that is not written properly: it fails, and the others are played all the same (L93)."""

    name: str
    diagnostics: tuple[Diagnostic, ...]


Entry: TypeAlias = Scenario | Unreadable


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """What reading a scenario file gave. ``entries`` is empty when an error stands outside the scenarios (L93)."""

    entries: tuple[Entry, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
