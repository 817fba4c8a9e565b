"""How fast the audit of Python is, and a guard: ``python benchmarks/auditing.py [FOLDER]``.

Without FOLDER a project is made of a thousand files of the installed packages, without and with the pipelines of the
corpus among them. Times are of a whole process with its children, each the least of some rounds.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mklang.guards import Bounds, Guard

COUNT, LARGEST, ROUNDS = 1000, 40_000, 3
CASES = Path(__file__).parents[1] / "tests/audit/python/cases"
PIPELINE = """\
from pathlib import Path

from openai import OpenAI


def main():
    text = OpenAI().responses.create(model="m", input="x").output_text
    Path("notes.md").write_text(text)
"""


def make_project(folder: Path, *, asking: bool) -> int:
    """A thousand real files; with ``asking``, a seventh of them are pipelines. Returns the number of lines."""
    own = sorted(CASES.rglob("*.py")) if asking else []
    installed = Path(sysconfig.get_path("purelib"))
    files = [file for file in sorted(installed.rglob("*.py")) if 0 < file.stat().st_size <= LARGEST]
    step = max(1, len(files) // (COUNT - len(own)))
    chosen = [(file, file.relative_to(installed)) for file in files[::step][: COUNT - len(own)]]
    chosen += [(file, Path("pipelines") / file.relative_to(CASES)) for file in own]
    lines = 0
    for source, name in chosen:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        lines += source.read_bytes().count(b"\n")
    return lines


def spent(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Processor time and wall time of a command and its children, in seconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - begun


def least(measure: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    rounds = [measure() for _ in range(ROUNDS)]
    return min(one[0] for one in rounds), min(one[1] for one in rounds)


def audit(folder: Path, cache: Path) -> list[tuple[str, tuple[float, float]]]:
    environment = os.environ | {"MKLANG_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "mklang.cli.main", "audit", str(folder)]
    by_size = sorted(folder.rglob("*.py"), key=lambda file: (file.stat().st_size, file))
    changed = by_size[len(by_size) // 2]

    def cold() -> tuple[float, float]:
        shutil.rmtree(cache, ignore_errors=True)
        return spent(command, environment)

    def one_changed() -> tuple[float, float]:
        changed.write_text(changed.read_text("utf-8") + "# changed\n", "utf-8")
        return spent(command, environment)

    spent(command, environment)
    return [
        ("first run", least(cold)),
        ("nothing changed", least(lambda: spent(command, environment))),
        ("one file changed", least(one_changed)),
    ]


def guard() -> tuple[int, float]:
    """Bytes of a JSON text, and microseconds a compiled guard takes to check it."""
    item = {"type": "object", "properties": {"name": {"type": "string"}, "score": {"type": "number"}}}
    schema = {"type": "object", "required": ["items"], "properties": {"items": {"type": "array", "items": item}}}
    compiled = Guard(name="items", schema=schema, bounds=Bounds(bytes=10_000), forbidden=["ignore previous"])
    text = json.dumps({"items": [{"name": f"pattern number {number}", "score": number / 7} for number in range(17)]})
    best = float("inf")
    for _ in range(20):
        begun = time.perf_counter()
        for _ in range(200):
            compiled.check(text)
        best = min(best, (time.perf_counter() - begun) / 200)
    return len(text), best * 1e6


def main() -> None:
    given = sys.argv[1:]
    print("| files | | processor time | wall time |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as made:
        for name, asking in (("no pipeline", False), ("with pipelines", True)) if not given else ((given[0], False),):
            folder = Path(given[0]) if given else Path(made) / name.replace(" ", "_")
            lines = 0 if given else make_project(folder, asking=asking)
            size = name if given else f"{COUNT:,}, {lines:,} lines, {name}"
            for step, (processor, wall) in audit(folder, Path(made) / "cache"):
                print(f"| {size} | {step} | {processor:.2f} s | {wall:.2f} s |", flush=True)
        alone = Path(made) / "alone"
        alone.mkdir()
        (alone / "main.py").write_text(PIPELINE, "utf-8")
        processor, wall = audit(alone, Path(made) / "cache")[0][1]
        print(f"| 1, first finding | first run | {processor:.2f} s | {wall:.2f} s |")
    size, took = guard()
    print(f"\nguard: {size} bytes of JSON with schema, bounds and one forbidden text: {took:.0f} us")


if __name__ == "__main__":
    main()
