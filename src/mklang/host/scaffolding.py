"""New files for a person: a project or a user's folders (``init``), a machine from another (``new``). Prints nothing.

Nothing that is there is ever written to, and where one file cannot be written none of the new ones stays.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from mklang.errors import UsageError
from mklang.host.layers import PROJECT_FOLDER
from mklang.host.listing import Listed
from mklang.host.paths import config_folder, data_folder
from mklang.lang.reader import read_machine
from mklang.lang.schema import schema_text
from mklang.source import Source

PRIVATE = 0o600
PLAIN = 0o644
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_BESIDE = (".mkl", ".test.yaml", ".guard.yaml")
"""How the files of one machine end."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that shall be there."""

    path: Path
    text: str
    mode: int = PLAIN


@dataclass(frozen=True, slots=True)
class Made:
    """What became of it: ``created``, or there already and left alone."""

    path: Path
    created: bool


def project(folder: Path) -> list[NewFile]:
    """A project: configuration, a machine with scenarios and guard, a workflow for CI, what git shall not take."""
    return [
        *_configuration(folder / "config", folder / ".env"),
        *_machines(folder / PROJECT_FOLDER),
        NewFile(folder / ".github/workflows/mklang.yml", _starter("workflow.yml")),
        NewFile(folder / ".gitignore", _starter("gitignore")),
    ]


def user(environ: Mapping[str, str]) -> list[NewFile]:
    """A person's own folders: configuration and machines, for every project."""
    config = config_folder(environ)
    return [*_configuration(config, config / ".env"), *_machines(data_folder() / PROJECT_FOLDER)]


def _configuration(config: Path, env: Path) -> Iterator[NewFile]:
    for name in ("runtime.yaml", "runtime.schema.json"):
        yield NewFile(config / name, _starter(f"config/{name}"))
    yield NewFile(env, _starter("env"), PRIVATE)


def _machines(folder: Path) -> Iterator[NewFile]:
    for name in ("hello.mkl", "hello.test.yaml", "guards.yaml", "sentence.guard.yaml"):
        yield NewFile(folder / name, _starter(f"machines/{name}"))
    yield NewFile(folder / "mklang.schema.json", schema_text())


def _starter(name: str) -> str:
    return (files("mklang.host") / "starter" / name).read_text("utf-8")


def copy_of(origin: Listed, name: str, folder: Path) -> list[NewFile]:
    """The machine ``origin`` under another name, with its scenarios and guard where it has some.

    Raises ``UsageError`` for a name that no file or machine can have.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' cannot be a machine's name here: a letter first, then letters, digits, '_' and '-'")
    stem, found = origin.path.stem, []
    for ending in _BESIDE:
        file = origin.path.with_name(stem + ending)
        if file.is_file():
            found.append(NewFile(folder / f"{name}{ending}", _renamed(file.read_text("utf-8"), origin, name, folder)))
    machine = read_machine(Source(name, found[0].text)).machine
    if machine is None or machine.name != name:
        raise UsageError(f"'{name}' is no name that a machine can have in YAML; choose another one")
    return found


def _renamed(text: str, origin: Listed, name: str, folder: Path) -> str:
    """The text with the machine's name replaced, in its own line, its calls by name and its guard."""
    old = re.escape(origin.name)
    text = re.sub(rf"mklang run {old}\b", f"mklang run {folder / name}.mkl", text)
    return re.sub(rf"(?<![\w/]){old}(?![\w.])(?!\.mkl)", name, text)


def write_new(wanted: Iterable[NewFile]) -> list[Made]:
    """Write the files that are not there, and say of each whether it was written.

    Raises ``UsageError`` where one cannot be; then, as after Ctrl-C, those written before are gone again, with the
    folders made for them.
    """
    made: list[Made] = []
    folders: list[Path] = []
    try:
        for one in wanted:
            _make_folder(one.path.parent, folders)
            made.append(Made(one.path, _write(one)))
    except OSError as error:
        _take_back(made, folders)
        reason = f"cannot be written: {error.strerror or error}"
        raise UsageError(f"{error.filename or 'a file'}: {reason}; nothing was left behind") from error
    except BaseException:
        _take_back(made, folders)
        raise
    return made


def _take_back(made: Iterable[Made], folders: Iterable[Path]) -> None:
    for path in [done.path for done in made if done.created]:
        with suppress(OSError):
            path.unlink()
    for folder in reversed(list(folders)):
        with suppress(OSError):
            folder.rmdir()


def _write(one: NewFile) -> bool:
    """Create the file, whole or not at all; False when something stands there."""
    try:
        handle = os.open(one.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), one.mode)
    except FileExistsError:
        return False
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(one.text)
    except BaseException:  # half a file is none, Ctrl-C included
        with suppress(OSError):
            one.path.unlink()
        raise
    return True


def _make_folder(folder: Path, made: list[Path]) -> None:
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir()
        made.append(one)
