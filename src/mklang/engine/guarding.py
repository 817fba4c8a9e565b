"""What stands between a value and an effect: checks that a host binds to places, made by the kernel itself (L121).

A check is a pure function of the value, so it is no request: it is made again whenever the run is, also when a journal
answers everything else. It stands immediately before the request of a tool, so that no order of oracles, no fan-out, no
callee and no resume leads around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from mklang.lang.models import State, Tool
from mklang.lang.values import Json


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One check and what came of it: the receipt in a step of the trace.

    ``place`` is what was checked: ``output``, ``input.KEY``, or ``input`` for all of a tool's arguments. The hashes are
    SHA-256 in hex: of the guard's meaning, of what came in, of the canonical value that passed (empty when it did not).
    ``failures`` says why it did not, without quoting it; ``branch`` is the fan-out branch, where there is one.
    """

    place: str
    guard: str
    version: int
    guard_sha: str
    in_sha: str = ""
    out_sha: str = ""
    bytes: int = 0
    failures: tuple[str, ...] = ()
    branch: int | None = None

    @property
    def passed(self) -> bool:
        """Whether the value may go on."""
        return not self.failures


class Guarding(Protocol):
    """The checks of a host."""

    def of_input(self, machine: str, state: Tool, arguments: Mapping[str, Json]) -> tuple[Check, ...]:
        """The checks bound to a tool and to the arguments of this state; empty where nothing is bound."""
        ...

    def of_output(self, machine: str, state: State, value: Json) -> tuple[Check, ...]:
        """The checks bound to what this state produces, each branch's result in a fan-out."""
        ...
