"""What ``mklang graph`` draws: a machine with what it calls, and the way of a run that was kept or written down."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mklang.charts.building import build_chart
from mklang.charts.chart import Chart
from mklang.diagnostics import Diagnostic
from mklang.engine.outcome import to_wire
from mklang.engine.route import Visit, route
from mklang.errors import DocumentError, UsageError
from mklang.host.library import Shelf, callees_of, library_around, locate
from mklang.host.replaying import find_recording, replay
from mklang.host.session import Loaded
from mklang.lang.models import Machine
from mklang.lang.values import Json


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture, and what a person should know about it."""

    chart: Chart
    warnings: tuple[Diagnostic, ...] = ()


def draw_machine(path: str, *, depth: int, run: str | None, folder: Path) -> Drawn:
    """The picture of the machine in a file; with ``run``, a kept run's name or a file, its way is drawn on it.

    Raises ``DocumentError`` for a file that holds no machine, ``UsageError`` for a run that does not exist. A machine
    that could not run is drawn all the same: that is when a picture helps.
    """
    shelf, path = Shelf(), locate(path)
    reading = shelf.read(shelf.name(path)).reading
    machine = reading.machine
    if machine is None:
        raise DocumentError(reading.diagnostics)
    library = callees_of(machine, library_around(path, machine, shelf=shelf)).machines
    if run is None:
        return Drawn(build_chart(machine, library, depth=depth))
    trace, warnings = _trace(run, machine, library, folder)
    visits: list[Visit] = list(route(trace, machine, library))
    return Drawn(build_chart(machine, library, depth=depth, route=visits), warnings)


def _trace(
    run: str, machine: Machine, library: Mapping[str, Machine], folder: Path
) -> tuple[list[Json], tuple[Diagnostic, ...]]:
    """A run's trace: from its output, or from a recording of it, which is played again without asking anybody."""
    written = _output_in(run)
    if written is not None:
        return written, ()
    journal = find_recording(run, folder)
    session = replay(Loaded(machine=machine, library=library, warnings=()), journal)
    trace: list[Json] = to_wire(asyncio.run(session.run()))["trace"]  # type: ignore[assignment]  # the untyped wire form
    return trace, session.warnings


def _output_in(name: str) -> list[Json] | None:
    """The trace in a file that holds a run's output; None when it is no such file."""
    path = Path(name)
    if not path.is_file():
        return None
    try:
        output = json.loads(path.read_text("utf-8"))
    except (ValueError, OSError):
        return None
    trace = output.get("trace") if isinstance(output, dict) else None
    if isinstance(trace, list):
        return trace
    if isinstance(output, dict) and output.get("type") == "begin":
        return None
    raise UsageError(f"{name}: this is neither a run's output nor its journal")
