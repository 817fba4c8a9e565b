"""check, lint and fmt over many files and large ones, beside the reference if there is one (benchmarks/README.md).

    python benchmarks/checking.py [--loaded] [--readme] [REFERENCE]     REFERENCE: another implementation's ``mklang``

What is compared takes turns in rounds. With ``--loaded`` our own figures are CPU time and the mark goes by the minimum.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import readme

from mklang.analysis.runner import Analyser
from mklang.lang.format import format_source
from mklang.lang.models import Machine
from mklang.lang.reader import machine_from_text, read_machine
from mklang.lang.yaml_tree import garbage_collection_paused
from mklang.source import Source

OURS = str(Path(sys.executable).parent / "mklang")
REFERENCE = Path("~/.cache/mklang-bench/mklang_ref/bin/mklang").expanduser()
ROUNDS = 3


@dataclass(frozen=True)
class Row:
    """One figure: what it is, its limit (None for none), its samples, and what it stands beside."""

    name: str
    unit: str
    limit: float | None
    samples: list[float]
    remark: str = ""

    def line(self, *, loaded: bool) -> str:
        median, least = statistics.median(self.samples), min(self.samples)
        mark = "" if self.limit is None else "met" if (least if loaded else median) <= self.limit else "**missed**"
        limit = "" if self.limit is None else f"{self.limit:g} {self.unit}"
        return f"| {self.name} | {limit} | {median:.2f} {self.unit} | {least:.2f} | {mark} | {self.remark} |"


def document(name: str, states: int = 6, call: str | None = None) -> str:
    """A machine of several states, the first of which may call another."""
    lines = [f'mklang: "0.4"\nmachine: {name}\nentry: s0\nbudget: 40\ncontext: {{ topic: tea }}\nstates:']
    for number in range(states):
        to = f"s{number + 1}" if number + 1 < states else "END"
        body = f"call: {call}" if call and number == 0 else 'structure: One line.\n    prompt: "Write about {{topic}}."'
        lines.append(f"  s{number}:\n    {body}\n    output: o{number}\n    gates:")
        lines.append(f"      - {{ when: the text is too long, repair: 1, to: s{number} }}")
        lines.append(f"      - {{ when: otherwise, then: ok, to: {to} }}")
    return "\n".join(lines) + "\n"


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of one call."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def beside(name: str, arguments: list[str], folder: Path, reference: str) -> Row:
    """Our time through the reference's, in the same round."""
    pairs = [(timed([OURS, *arguments], folder)[0], timed([reference, *arguments], folder)[0]) for _ in range(ROUNDS)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = [mine / other for mine, other in pairs]
    return Row(name, "x", 0.25, ratios, f"{ours:.2f} s beside {theirs:.2f} s")


def alone(name: str, limit: float | None, command: list[str], folder: Path, *, loaded: bool) -> Row:
    """What one call of ours takes."""
    both = [timed([OURS, *command], folder) for _ in range(ROUNDS)]
    return Row(name, "s", limit, [cpu if loaded else wall for wall, cpu in both], "a whole process")


def files(reference: str | None, *, loaded: bool) -> Iterator[Row]:
    """400 files in a folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(400):
            call = f"m{number + 1:03}" if number % 2 and number < 399 else None
            (folder / f"m{number:03}.mkl").write_text(document(f"m{number:03}", call=call))
        if reference:
            yield beside("check one file beside 400 / reference", ["check", "m000.mkl"], folder, reference)
            yield beside("the same, one that calls another", ["check", "m001.mkl"], folder, reference)
        forty = [f"m{number:03}.mkl" for number in range(1, 400, 10)]
        yield alone("check 40 files of 400", 1, ["check", *forty], folder, loaded=loaded)
        yield alone("lint 40 files of 400", 1, ["lint", *forty], folder, loaded=loaded)
        for states in (5_000, 20_000):
            (folder / f"long{states}.mkl").write_text(document("long", states).replace("budget: 40", "budget: 30000"))
            for command in (["check"], ["lint"], ["fmt", "--check"]):
                words = f"{' '.join(command)}, {states:,} states in one file"
                yield alone(words, None, [*command, f"long{states}.mkl"], folder, loaded=loaded)


def large(*, loaded: bool) -> Iterator[Row]:
    """1,000 states with four gates each."""
    count = 1000
    lines = ["machine: big\nentry: s0\nbudget: 5000\ncontext: { topic: tea }\nstates:"]
    for number in range(count):
        to = f"s{number + 1}" if number + 1 < count else "END"
        lines.append(f'  s{number}:\n    structure: s\n    prompt: "{{{{topic}}}} {{{{o{max(0, number - 1)}}}}}"')
        lines.append(f"    output: o{number}\n    gates:")
        lines.append(f"      - {{ when: text {number} is too long, repair: 1, to: s{number} }}")
        lines.append(f'      - {{ when: it is rude, hook: "eq:topic:x", then: ok, to: s{number * 7 % count} }}')
        lines.append(f"      - {{ when: a person must see it, escalate: true, to: s{(number + 3) % count} }}")
        lines.append(f"      - {{ when: otherwise, then: ok, to: {to} }}")
    source = Source("big.mkl", "\n".join(lines) + "\n")
    reading = read_machine(source)
    assert reading.machine is not None
    machine, known = reading.machine, reading.diagnostics
    clock = time.process_time if loaded else time.perf_counter
    yield Row(
        "lint, 1,000 states of 4 gates",
        "s",
        0.4,
        rounds(lambda: Analyser({}).lint(machine, source, known=known), clock),
    )
    yield Row("reading them", "s", None, rounds(lambda: read_machine(source), clock))
    yield Row("formatting them", "s", None, rounds(lambda: format_source(source), clock), "nothing to change")


def rounds(work: Callable[[], object], clock: Callable[[], float]) -> list[float]:
    """Seconds of each round, as in the commands without garbage collection."""
    found = []
    for _ in range(ROUNDS):
        with garbage_collection_paused():
            begun = clock()
            work()
            found.append(clock() - begun)
    return found


def diamond(*, loaded: bool) -> Iterator[Row]:
    """24 levels of two machines, each of which calls both of the next level."""
    library: dict[str, Machine] = {}
    for level in range(24):
        for side in "ab":
            below = [f"{other}{level + 1}" for other in "ab"] if level < 23 else []
            library[f"{side}{level}"] = _caller(f"{side}{level}", below)
    clock = time.process_time if loaded else time.perf_counter
    yield Row("check a diamond of calls, 24 levels", "ms", 50, _milliseconds(library, clock, lint=False))
    yield Row("lint it", "ms", 50, _milliseconds(library, clock, lint=True))


def _milliseconds(library: Mapping[str, Machine], clock: Callable[[], float], *, lint: bool) -> list[float]:
    top = library["a0"]
    work = (lambda: Analyser(library).lint(top)) if lint else (lambda: Analyser(library).check_all(top))
    return [1000 * seconds for seconds in rounds(work, clock)]


def _caller(name: str, callees: list[str]) -> Machine:
    head = f"machine: {name}\nentry: s0\nbudget: 99\nstates:\n"
    if not callees:
        return machine_from_text(document(name, 1))
    states = [
        f"  s{number}:\n    call: {callee}\n    output: o{number}\n    gates: [{{ when: otherwise, then: ok, to: "
        f"{f's{number + 1}' if number + 1 < len(callees) else 'END'} }}]\n"
        for number, callee in enumerate(callees)
    ]
    return machine_from_text(head + "".join(states))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", nargs="?", default=str(REFERENCE) if REFERENCE.exists() else None)
    parser.add_argument("--loaded", action="store_true", help="CPU time and minima: other jobs are running")
    parser.add_argument("--readme", action="store_true", help="also put the table into benchmarks/README.md")
    options = parser.parse_args()
    by = "minimum, our own figures are CPU time" if options.loaded else "median"
    load = f"load average {os.getloadavg()[0]:.1f}"
    lines = [f"{readme.version()}, {load}, {ROUNDS} rounds; the mark goes by the {by}.", ""]
    lines += ["| figure | at most | median | minimum | | |", "|---|---|---|---|---|---|"]
    for part in (
        files(options.reference, loaded=options.loaded),
        large(loaded=options.loaded),
        diamond(loaded=options.loaded),
    ):
        lines += [row.line(loaded=options.loaded) for row in part]
    print("\n".join(lines))
    if options.readme:
        readme.put(Path(__file__).name, lines)


if __name__ == "__main__":
    main()
