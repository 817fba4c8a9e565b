"""The results part of README.md: each program replaces what stands between its own marks."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from measuring import HERE

_FILE = HERE / "README.md"


def put(program: str, lines: Sequence[str]) -> None:
    """Replace the results of ``program``."""
    begin, end = (f"<!-- results of {program}: {word} -->" for word in ("begin", "end"))
    before, rest = _FILE.read_text(encoding="utf-8").split(begin, 1)
    after = rest.split(end, 1)[1]
    _FILE.write_text("\n".join([f"{before}{begin}", "", *lines, "", f"{end}{after}"]), encoding="utf-8")


def version() -> str:
    """Which state of the project is measured: the commit, and whether files differ from it."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--", "src")
    except (OSError, subprocess.CalledProcessError):
        return "no commit"
    return f"commit {commit}{' and uncommitted changes' if changed else ''}"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=HERE.parent, capture_output=True, text=True, check=True)
    return done.stdout.strip()
