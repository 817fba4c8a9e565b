"""Where guards are, and whether a machine has any: cheap to ask, so that most documents load nothing for it (L122)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mklang.lang.effects import GUARD
from mklang.lang.models import Gate, HookCondition, Machine, Tool

FILE = "guards.yaml"
"""The file of bindings."""
TOOL = "guard"


def places_near(folder: Path) -> tuple[Path, ...]:
    """A machine's folder and its project's machine folder (L20), where binding files are looked for."""
    return (folder, folder.parent) if folder.name == "machines" else (folder, folder / "machines")


def has_guards(path: str, machines: Iterable[Machine]) -> bool:
    """Whether a binding file stands around the machine in a file, or some machine names a guard."""
    folder = Path(path).resolve().parent
    return any((near / FILE).is_file() for near in places_near(folder)) or any(map(_names_one, machines))


def _names_one(machine: Machine) -> bool:
    return any(
        (isinstance(state, Tool) and state.tool == TOOL) or any(map(_asks_one, state.gates))
        for state in machine.states.values()
    )


def _asks_one(gate: Gate) -> bool:
    return isinstance(gate.condition, HookCondition) and gate.condition.name.startswith(GUARD)
