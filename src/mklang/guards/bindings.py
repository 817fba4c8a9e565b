"""Guards at places of machines: the checks a host binds, made by the kernel right before an effect (L121)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from mklang.engine.guarding import Check
from mklang.guards.checked import Checked
from mklang.guards.guard import Guard
from mklang.lang.models import State, Tool
from mklang.lang.values import Json

Bound: TypeAlias = tuple[Guard, ...]
_NOTHING: Bound = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bindings:
    """Which guards stand where: on a state's output, on one argument of a state, on all arguments of a tool.

    Several at one place must all pass. Nothing takes a binding away: files that bind add up.
    """

    outputs: Mapping[tuple[str, str], Bound] = field(default_factory=lambda: MappingProxyType({}))
    inputs: Mapping[tuple[str, str, str], Bound] = field(default_factory=lambda: MappingProxyType({}))
    tools: Mapping[str, Bound] = field(default_factory=lambda: MappingProxyType({}))

    def __bool__(self) -> bool:
        return bool(self.outputs or self.inputs or self.tools)

    def of_input(self, machine: str, state: Tool, arguments: Mapping[str, Json]) -> tuple[Check, ...]:
        """The checks of a tool's arguments, each on its own and all together."""
        checks = [check_of(guard, dict(arguments), "input") for guard in self.tools.get(state.tool, _NOTHING)]
        for name, value in arguments.items():
            bound = self.inputs.get((machine, state.id, name), _NOTHING)
            checks += [check_of(guard, value, f"input.{name}") for guard in bound]
        return tuple(checks)

    def of_output(self, machine: str, state: State, value: Json) -> tuple[Check, ...]:
        """The checks of what a state produces."""
        return tuple([check_of(guard, value, "output") for guard in self.outputs.get((machine, state.id), _NOTHING)])

    def covers(self, machine: str, state: Tool) -> Iterator[str]:
        """The arguments of a state that a guard with an opinion looks at; all of them where one is on the tool."""
        whole = any(not guard.vacuous for guard in self.tools.get(state.tool, _NOTHING))
        for argument in state.input:
            bound = self.inputs.get((machine, state.id, argument.name), _NOTHING)
            if whole or any(not guard.vacuous for guard in bound):
                yield argument.name


def check_of(guard: Guard, value: Json, place: str) -> Check:
    """One check, as the trace shows it."""
    found = guard.examine_any(value)
    if not isinstance(found, Checked):
        failures = tuple(str(failure) for failure in found) or ("refused",)
        return Check(place=place, guard=guard.name, version=guard.version, guard_sha=guard.sha, failures=failures)
    receipt = found.receipt
    if receipt.refused:  # items can be left out of what is written, not of what a tool is given already
        failures = tuple(str(failure) for failure in receipt.refused)
        return Check(place=place, guard=guard.name, version=guard.version, guard_sha=guard.sha, failures=failures)
    return Check(
        place=place,
        guard=guard.name,
        version=guard.version,
        guard_sha=guard.sha,
        in_sha=receipt.in_sha,
        out_sha=receipt.out_sha,
        bytes=receipt.bytes,
    )


# changed
# changed
# changed
# changed
# changed
# changed
# changed
# changed
# changed
