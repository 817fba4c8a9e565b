"""A folder that tools may look into, and write into where that was granted; nothing outside it is ever touched.

Paths are followed one name at a time from an open folder, and no link is followed, so that neither ``..`` nor a link,
nor one that is put there in the meantime, leads out (Z4). Needs an operating system with ``openat``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mklang.errors import ConfigError
from mklang.tools.envelope import ToolProblem

MAX_BYTES = 262_144
"""The most that is read or written at once."""
MAX_ENTRIES = 200
SUFFIXES = frozenset(
    ".txt .md .csv .tsv .json .jsonl .yaml .yml .xml .toml .log .html".split()  # noqa: SIM905 - a list of words
)
"""What may be written: text that nothing runs. Machines are not among it."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file or folder in a listing; ``bytes`` only for a file."""

    name: str
    folder: bool
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The beginning of a file, and how long the whole is, in bytes."""

    data: bytes
    size: int

    @property
    def truncated(self) -> bool:
        """Whether there is more of it."""
        return self.size > len(self.data)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder and whether it may be written into. ``root`` itself may be reached through links; it is the host's.

    Every method raises ``ToolProblem`` for a path that leads nowhere or out, and for what is not allowed.
    """

    root: Path
    writable: bool = False

    def __post_init__(self) -> None:
        """Raises ``ConfigError`` where confining is not possible."""
        if os.open not in os.supports_dir_fd:
            raise ConfigError("file tools need an operating system that opens files relative to a folder (openat)")

    def entries(self, path: str = "") -> tuple[list[Entry], int]:
        """What is in a folder, by name, at most 200, and how much there is; hidden names and links are not shown."""
        with self._folder(_names(path)) as folder:
            found = sorted(name for name in os.listdir(folder) if _why_not(name) is None)  # noqa: PTH208 - a descriptor
            shown = list(_entries(folder, found))
        return shown[:MAX_ENTRIES], len(shown)

    def read(self, path: str, limit: int = MAX_BYTES) -> Content:
        """The first ``limit`` bytes of a file."""
        *folders, name = _file_names(path)
        with self._folder(folders) as folder, _opened(name, _FILE, folder, path) as file:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                raise ToolProblem(f"'{path}' is no file")
            data = bytearray()
            while len(data) < limit and (piece := os.read(file, limit - len(data))):
                data += piece
            return Content(data=bytes(data), size=max(about.st_size, len(data)))

    def write(self, path: str, data: bytes, *, overwrite: bool = False) -> bool:
        """Write a file whole or not at all, with the folders it is in; whether one was replaced."""
        *folders, name = _file_names(path)
        self._check_write(path, name, data)
        with self._folder(folders, make=True) as folder:
            about = _about(name, folder)
            if about is not None and not stat.S_ISREG(about.st_mode):
                raise ToolProblem(f"'{path}' is there and no file")
            if about is not None and not overwrite:
                raise ToolProblem(f"'{path}' exists; say overwrite to replace it", existed=True)
            _put(folder, name, data, replace=overwrite, path=path)
            return about is not None

    def _check_write(self, path: str, name: str, data: bytes) -> None:
        if not self.writable:
            raise ToolProblem("writing is not granted here; the host grants it (--allow-write, or tools.fs.write)")
        suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122 - a name, not a file
        if suffix not in SUFFIXES:
            raise ToolProblem(f"'{path}' is not of a kind that may be written: {' '.join(sorted(SUFFIXES))}")
        if len(data) > MAX_BYTES:
            raise ToolProblem(f"{len(data)} bytes are more than the {MAX_BYTES} that may be written")

    @contextmanager
    def _folder(self, names: list[str], *, make: bool = False) -> Iterator[int]:
        """The descriptor of a folder, from the root on by one name at a time."""
        try:
            here = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ToolProblem(f"the workspace cannot be opened: {error.strerror}") from None
        try:
            for number, name in enumerate(names):
                inner = _enter(here, name, "/".join(names[: number + 1]), make=make)
                os.close(here)
                here = inner
            yield here
        finally:
            os.close(here)


def _names(path: str) -> list[str]:
    """The parts of a relative path. Refuses everything that could lead elsewhere, or names something hidden."""
    if path.startswith(("/", "\\", "~")) or (len(path) > 1 and path[1] == ":"):
        raise ToolProblem(f"'{path}' is not relative to the workspace")
    parts = path.replace("\\", "/").split("/")
    while parts and parts[-1] == "":
        parts.pop()
    if parts and parts[0] == "." and len(parts) == 1:
        return []
    for part in parts:
        reason = _why_not(part)
        if reason is not None:
            raise ToolProblem(f"'{path}' is no path in the workspace: {reason}")
    return parts


def _file_names(path: str) -> list[str]:
    names = _names(path)
    if not names:
        raise ToolProblem("'path' names no file")
    return names


def _why_not(name: str) -> str | None:
    if name == "..":
        return "'..' leads out"
    if name.startswith("."):
        return "hidden names are left alone"
    if not name or len(name.encode("utf-8", "surrogatepass")) > 255:
        return "a name is empty or too long"
    if not name.isprintable() or ":" in name:
        return "a name has characters that do not belong there"
    return None


def _entries(folder: int, names: list[str]) -> Iterator[Entry]:
    for name in names:
        about = _about(name, folder)
        if about is not None and stat.S_ISDIR(about.st_mode):
            yield Entry(name=name, folder=True)
        elif about is not None and stat.S_ISREG(about.st_mode):
            yield Entry(name=name, folder=False, bytes=about.st_size)


def _about(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _enter(here: int, name: str, path: str, *, make: bool) -> int:
    if make:
        try:
            os.mkdir(name, 0o755, dir_fd=here)
        except FileExistsError:
            pass
    try:
        return os.open(name, _FOLDER, dir_fd=here)
    except OSError:
        raise _no_way(name, here, path, "a folder") from None


@contextmanager
def _opened(name: str, flags: int, folder: int, path: str) -> Iterator[int]:
    try:
        file = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in _CLOSED:
            raise ToolProblem(f"'{path}' cannot be read: {error.strerror}") from None
        raise _no_way(name, folder, path, "a file") from None
    try:
        yield file
    finally:
        os.close(file)


_CLOSED = frozenset({13, 1})  # EACCES, EPERM


def _no_way(name: str, folder: int, path: str, wanted: str) -> ToolProblem:
    about = _about(name, folder)
    if about is None:
        return ToolProblem(f"there is no '{path}'")
    if stat.S_ISLNK(about.st_mode):
        return ToolProblem(f"'{path}' is a link, and links are not followed")
    return ToolProblem(f"'{path}' is not {wanted} that can be opened")


def _put(folder: int, name: str, data: bytes, *, replace: bool, path: str) -> None:
    """On disk under a temporary name first, then under its own: nobody ever sees half a file."""
    temporary = f".mklang-{os.urandom(8).hex()}.tmp"
    file = os.open(temporary, _NEW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if replace:
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise ToolProblem(f"'{path}' exists; say overwrite to replace it", existed=True) from None
    finally:
        try:
            os.unlink(temporary, dir_fd=folder)
        except FileNotFoundError:
            pass
    os.fsync(folder)
