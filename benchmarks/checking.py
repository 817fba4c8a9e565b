"""check and lint over many files, beside the reference where it is installed (benchmarks/README.md).

    python benchmarks/checking.py [REFERENCE]     REFERENCE: the path of another implementation's ``mklang``

Wall times are medians of rounds in which both take turns; CPU times do not suffer from what else the machine does.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from mklang.analysis.runner import Analyser
from mklang.lang.models import Machine
from mklang.lang.reader import machine_from_text, read_machine
from mklang.source import Source

OURS = str(Path(sys.executable).parent / "mklang")
ROUNDS = 5


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


def beside(name: str, arguments: list[str], folder: Path, reference: str | None) -> None:
    """One line: what it costs us, and the reference in the same rounds."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(timed([OURS, *arguments], folder))
        if reference:
            theirs.append(timed([reference, *arguments], folder))
    wall, cpu = (statistics.median(column) for column in zip(*ours, strict=True))
    line = f"{name}: {wall:.2f} s, {cpu:.2f} s CPU"
    if theirs:
        other = statistics.median(wall for wall, _ in theirs)
        line += f"; reference {other:.2f} s, ratio {wall / other:.3f}"
    print(line)


def files(reference: str | None) -> None:
    """400 files in a folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(400):
            call = f"m{number + 1:03}" if number % 2 and number < 399 else None
            (folder / f"m{number:03}.mkl").write_text(document(f"m{number:03}", call=call))
        beside("check one file that calls nothing, beside 400", ["check", "m000.mkl"], folder, reference)
        beside("check one file that calls, beside 400", ["check", "m001.mkl"], folder, reference)
        forty = [f"m{number:03}.mkl" for number in range(1, 400, 10)]
        beside("check 40 of 400", ["check", *forty], folder, None)
        beside("lint 40 of 400", ["lint", *forty], folder, None)


def large() -> None:
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
    for _ in range(ROUNDS):
        begun = time.process_time()
        reading = read_machine(source)
        read = time.process_time()
        assert reading.machine is not None
        Analyser({}).lint(reading.machine, source, known=reading.diagnostics)
        print(f"1,000 states: read {read - begun:.3f} s, lint {time.process_time() - read:.3f} s CPU")


def diamond() -> None:
    """24 levels of two machines, each of which calls both of the next level."""
    library: dict[str, Machine] = {}
    for level in range(24):
        for side in "ab":
            below = [f"{other}{level + 1}" for other in "ab"] if level < 23 else []
            library[f"{side}{level}"] = _caller(f"{side}{level}", below)
    for _ in range(ROUNDS):
        _analyse(library)


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


def _analyse(library: Mapping[str, Machine]) -> None:
    begun = time.process_time()
    Analyser(library).check_all(library["a0"])
    checked = time.process_time()
    Analyser(library).lint(library["a0"])
    print(f"diamond: check {1000 * (checked - begun):.1f} ms, lint {1000 * (time.process_time() - checked):.1f} ms CPU")


if __name__ == "__main__":
    files(sys.argv[1] if len(sys.argv) > 1 else None)
    large()
    diamond()
