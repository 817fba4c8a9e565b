"""Measure our engine beside its peers, in rounds, and say which targets are met.

Every measurement is a process of its own (see ``measuring``). All systems are measured once a round, one after the
other, so that whatever else the machine does meets all of them alike; then the next round begins, in opposite order.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import readme
from measuring import FLOOR, HERE, OURS, REFERENCE, SHARED, Cell, NoMeasurement, Sample, is_installed, measure
from plan import SECTIONS, Section
from table import Figures, details, summary


def main() -> int:
    options = _options()
    systems = {OURS, REFERENCE, FLOOR, *options.peers}
    if options.peers == ["all"]:
        systems |= {cell.system for section in SECTIONS for cell in section.cells}
    missing = [system for system in sorted(systems - {"all"}) if not is_installed(system)]
    if missing or not (SHARED / "bench.py").exists():
        print(f"missing: {', '.join(missing) or SHARED}; run {SHARED}/peers.sh install", file=sys.stderr)
        return 2
    sections = [section for section in SECTIONS if not options.only or section.key in options.only]
    load = os.getloadavg()[0]
    results = _rounds(sections, systems, options.rounds)
    report = _report(sections, Figures(results, loaded=options.loaded), options, load)
    print("\n".join(report))
    if options.json:
        _write_json(options.json, results)
    if options.readme:
        readme.put(Path(__file__).name, report)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", metavar="SECTION", help=f"one or more of {', '.join(_KEYS)}; else all")
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is measured (5)")
    parser.add_argument("--peers", nargs="*", default=[], help="systems beside the reference and the floor, or 'all'")
    parser.add_argument("--loaded", action="store_true", help="judge by CPU time and minima: other jobs are running")
    parser.add_argument("--json", type=Path, help="also write every sample to this file")
    parser.add_argument("--readme", action="store_true", help="also put the tables into benchmarks/README.md")
    options = parser.parse_args()
    if unknown := [key for key in options.only if key not in _KEYS]:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(_KEYS)}")
    return options


_KEYS = [section.key for section in SECTIONS]


def _rounds(sections: Sequence[Section], systems: set[str], rounds: int) -> dict[Cell, list[Sample] | str]:
    """Measure every cell once a round. A cell that cannot be measured is not tried again."""
    cells = list(dict.fromkeys(cell for section in sections for cell in section.cells if cell.system in systems))
    results: dict[Cell, list[Sample] | str] = {cell: [] for cell in cells}
    with tempfile.TemporaryDirectory(prefix="mklang_bench_") as name:
        folder = Path(name)
        shutil.copy(HERE / "small.mkl", folder)
        for number in range(rounds):
            for cell in cells if number % 2 else reversed(cells):
                _say(f"round {number + 1}/{rounds}: {cell.system} {cell.label}")
                samples = results[cell]
                if isinstance(samples, str):
                    continue
                try:
                    samples.append(measure(cell, folder))
                except NoMeasurement as reason:
                    results[cell] = str(reason)
    _say("")
    return results


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _report(sections: Sequence[Section], figures: Figures, options: argparse.Namespace, load: float) -> list[str]:
    clock = "CPU time (wall time where the work is waiting), marks by the minimum" if options.loaded else "wall time"
    machine = f"Python {platform.python_version()}, {os.cpu_count()} CPUs, {time.strftime('%d %b %Y %H:%M')}"
    loads = f"load average {load:.1f} at the start and {os.getloadavg()[0]:.1f} at the end"
    lines = [
        f"{readme.version()}, {machine}, {options.rounds} rounds, {loads}; {clock}.",
        "",
        *summary(sections, figures),
        "",
    ]
    for section in sections:
        lines += details(section, figures)
    return lines[:-1]


def _write_json(path: Path, results: dict[Cell, list[Sample] | str]) -> None:
    found = [
        {**asdict(cell), "samples": samples if isinstance(samples, str) else [asdict(sample) for sample in samples]}
        for cell, samples in results.items()
    ]
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
