"""From paths to Python files: what they are called in findings, and which module they are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SKIPPED = frozenset({"venv", "env", "node_modules", "__pycache__", "build", "dist", "site-packages"})


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file: where it is, what it is called in findings, and its module."""

    path: str
    shown: str
    module: str


def python_files(paths: Sequence[str], exclude: Iterable[str] = ()) -> list[SourceFile]:
    """The Python files of these files and folders, each once, named relative to where the command runs."""
    patterns = list(exclude)
    found: dict[str, SourceFile] = {}
    here = os.curdir
    for given in paths:
        shown = given if Path(given).is_absolute() else os.path.relpath(given, here)
        for path, real in _walk(shown, os.path.realpath(shown)) if Path(given).is_dir() else _alone(shown):
            if not any(Path(path).match(pattern) for pattern in patterns):
                found.setdefault(real, SourceFile(path, path, _module(real)))
    return list(found.values())


def _alone(path: str) -> Iterator[tuple[str, str]]:
    if path.endswith((".py", ".pyi")) and Path(path).is_file():
        yield path, os.path.realpath(path)


def _walk(folder: str, real: str) -> Iterator[tuple[str, str]]:
    """Paths below a folder, as they are shown and without links."""
    entries = sorted(os.scandir(folder), key=lambda one: one.name)
    if any(one.name == "pyvenv.cfg" for one in entries):
        return
    for entry in entries:
        name = entry.name
        path = name if folder == os.curdir else f"{folder}/{name}"
        if entry.is_dir(follow_symlinks=False):
            if name[0] != "." and name not in _SKIPPED and not name.endswith(".egg-info"):
                yield from _walk(path, f"{real}/{name}")
        elif name.endswith(".py") and entry.is_file():  # a pipe would be waited for
            yield path, os.path.realpath(path) if entry.is_symlink() else f"{real}/{name}"


@cache
def _package(folder: str) -> str:
    """The full name of the package a folder is; empty if it is none."""
    above, name = os.path.split(folder)
    if not name or not Path(folder, "__init__.py").exists():
        return ""
    outer = _package(above)
    return f"{outer}.{name}" if outer else name


def _module(path: str) -> str:
    """The full name: up to the folder that is no package. Folders without ``__init__`` inside a package tree end it."""
    folder, name = os.path.split(path)
    package = _package(folder)
    if name == "__init__.py":
        return package or "__init__"
    own = name.rpartition(".")[0]
    return f"{package}.{own}" if package else own
