"""Taking measurements: each one is a process of its own, so that no system warms or burdens another.

Two kinds: a workload of the shared ``bench.py`` under one adapter, and a whole command from start to end.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("MKLANG_BENCH") or HERE.parent.parent / "shared" / "bench")
VENVS = Path(os.environ.get("BENCH_VENVS") or Path.home() / ".cache" / "mklang-bench")
OURS, REFERENCE, FLOOR = "mklang_sys", "mklang_ref", "floor"


class NoMeasurement(Exception):
    """A measurement could not be taken; the text says why."""


@dataclass(frozen=True)
class Workload:
    """One variant of one workload of the shared benchmark. ``reps`` runs are timed in each process."""

    system: str
    workload: str
    variant: str
    settings: tuple[tuple[str, float], ...] = ()
    reps: int = 5

    @property
    def label(self) -> str:
        return self.variant


@dataclass(frozen=True)
class Command:
    """A whole process: what a person waits for who types it. ``program`` lies beside the system's interpreter."""

    system: str
    program: str
    arguments: tuple[str, ...]
    reps: int = 3

    @property
    def label(self) -> str:
        return " ".join((self.program, *self.arguments))


Cell = Workload | Command


@dataclass(frozen=True)
class Sample:
    """What one process gave: seconds of wall and of CPU time for each repetition, and how many units each did."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]
    units: int = 1


def interpreter(system: str) -> Path:
    """The Python that has the system. Ours and the floor's is the one that runs this program."""
    return Path(sys.executable) if system in {OURS, FLOOR} else VENVS / system / "bin" / "python"


def is_installed(system: str) -> bool:
    return interpreter(system).exists()


def measure(cell: Cell, folder: Path) -> Sample:
    """Take one measurement. Raises ``NoMeasurement`` when the system cannot do the work."""
    return _workload(cell) if isinstance(cell, Workload) else _command(cell, folder)


def _workload(cell: Workload) -> Sample:
    command = [interpreter(cell.system), SHARED / "bench.py", cell.system, cell.workload]
    command += ["--variant", cell.variant, "--reps", str(cell.reps)]
    for name, value in cell.settings:
        command += ["--set", f"{name}={value}"]
    done = subprocess.run(command, env=_environment(cell.system), capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        raise NoMeasurement((done.stderr.strip().splitlines() or ["no output"])[-1])
    result = json.loads(lines[-1])
    if "wall_s" not in result:
        raise NoMeasurement(result.get("unsupported") or result.get("error") or "no result")
    units = round(result["median_s"] / result["per_unit_us"] * 1e6)
    return Sample(tuple(result["wall_s"]), tuple(result["cpu_all_s"]), units)


def _command(cell: Command, folder: Path) -> Sample:
    command = [interpreter(cell.system).parent / cell.program, *cell.arguments]
    wall, cpu = [], []
    for _ in range(cell.reps):
        before, start = _children_cpu(), time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, env=_environment(cell.system), capture_output=True, text=True, check=False
        )
        wall.append(time.perf_counter() - start)
        cpu.append(_children_cpu() - before)
        if done.returncode:
            raise NoMeasurement(f"exit {done.returncode}: {(done.stderr or done.stdout).strip()[-200:]}")
    return Sample(tuple(wall), tuple(cpu))


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment(system: str) -> dict[str, str]:
    """Compiled modules are kept, as on a user's machine; our adapter is found, and nothing of ours by the others."""
    dropped = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    if system == OURS:
        environment["PYTHONPATH"] = os.pathsep.join([str(HERE / "adapters"), str(HERE.parent / "src")])
    return environment
