from pathlib import Path

from . import left


def go(depth: int) -> str:
    return left.go(depth)


def save() -> None:
    Path("notes.md").write_text(go(3))  # find AK102
