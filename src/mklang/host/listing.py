"""The machines a person can run from here, with who brought each and what it is for. Prints nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mklang.diagnostics import Diagnostic
from mklang.errors import UsageError
from mklang.host.layers import Origin, files_outside
from mklang.host.library import Shelf
from mklang.lang.models import Call, Generative, Machine, State
from mklang.lang.values import Json, thaw

_SENTENCE = re.compile(r"(.*?[.!?])(?:\s|$)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One machine in a file. ``about`` is the comment at the top of the document, as one text.

    ``hidden`` says that another one of the same name is nearer. ``machine`` is None where the file has errors.
    """

    name: str
    origin: Origin
    path: Path
    machine: Machine | None
    about: str = ""
    hidden: bool = False
    problems: tuple[Diagnostic, ...] = ()

    @property
    def purpose(self) -> str:
        """The first sentence of ``about``."""
        found = _SENTENCE.match(self.about)
        return found[1] if found else self.about

    @property
    def inputs(self) -> dict[str, Json]:
        """What can be set from outside, with the author's values."""
        return {} if self.machine is None else {key: thaw(value) for key, value in self.machine.context.items()}

    def to_wire(self) -> dict[str, object]:
        """The JSON form (L109)."""
        wire: dict[str, object] = {"name": self.name, "source": self.origin.value, "path": str(self.path)}
        machine = self.machine
        if machine is None:
            return wire | {"problems": [found.to_wire() for found in self.problems]}
        return wire | {
            "purpose": self.purpose,
            "hidden": self.hidden,
            "entry": machine.entry,
            "budget": machine.budget,
            "default_tier": machine.default_tier.value,
            "result": machine.result,
            "context": self.inputs,
            "states": [_state(state) for state in machine.states.values()],
        }


def _state(state: State) -> dict[str, object]:
    kind = "generative" if isinstance(state, Generative) else "call" if isinstance(state, Call) else "tool"
    tier = {} if state.tier is None else {"tier": state.tier.value}
    return {"id": state.id, "kind": kind, **tier, "output": state.output, "gates": len(state.gates)}


def list_machines(folder: str | None = None) -> list[Listed]:
    """Every machine by name: those that come with mklang, the system's, the user's, and those of a project's folder.

    Without ``folder`` the project is the working directory. Raises ``UsageError`` for a folder that is none.
    """
    here = Path(os.path.realpath(folder or "."))
    if not here.is_dir():
        raise UsageError(f"--dir {folder}: there is no such folder")
    shelf = Shelf()
    listed = [found for origin, path in _files(here, shelf) if (found := _listed(origin, path, shelf)) is not None]
    nearest = {one.name: one.path for one in listed}
    marked = [one if nearest[one.name] == one.path else replace(one, hidden=True) for one in listed]
    return sorted(marked, key=lambda one: (one.name, one.hidden))


def _files(here: Path, shelf: Shelf) -> Iterator[tuple[Origin, Path]]:
    """Every file with its origin, later ones winning; one that lies in several places counts where it comes first."""
    outside = {path: origin for origin, path in files_outside()}
    try:
        around = shelf.files_around(here / "any")
    except OSError:
        around = tuple(outside)
    yield from ((outside.get(path, Origin.PROJECT), path) for path in around)


def _listed(origin: Origin, path: Path, shelf: Shelf) -> Listed | None:
    document = shelf.read(path)
    machine = document.reading.machine
    name = path.stem if machine is None else machine.name
    about = about_of(document.source.text) if document.source else ""
    problems = () if machine else document.reading.diagnostics
    return Listed(name=name, origin=origin, path=path, machine=machine, about=about, problems=problems)


def about_of(text: str) -> str:
    """The comment at the top of a document, up to its first blank line or example, as one text."""
    lines = []
    for line in text.splitlines():
        said = line.removeprefix("#").strip()
        if not line.startswith("#") or not said:
            break
        if not said.startswith("yaml-language-server"):
            lines.append(said)
    return " ".join(lines)
