"""Files of the cycle: never through a link, never half, the owner's alone, locked while they change.

The one module of the package that opens a file to write. The last folder and the file itself must be what they seem: a
symbolic link, a second hard link, a device or a folder in a file's place is refused and stays as it is.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mklang.errors import KnowledgeError

PRIVATE = 0o600
PRIVATE_FOLDER = 0o700
_ALWAYS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def refused(path: Path, error: OSError) -> KnowledgeError:
    """An operating system's no in words that name the file."""
    return KnowledgeError(f"{path}: {error.strerror or error}")


def make_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, for the owner alone. One that is there keeps its mode; a link
    in its place is refused."""
    if path.is_symlink():
        raise KnowledgeError(f"{path}: a link; nothing was done behind it")
    if path.is_dir():
        return
    if path.parent != path:
        make_folder(path.parent)
    try:
        path.mkdir(PRIVATE_FOLDER)
    except FileExistsError:
        if not path.is_dir():
            raise KnowledgeError(f"{path}: something that is no folder is in the way") from None
    except OSError as error:
        raise refused(path, error) from error


def open_plain(path: Path, flags: int) -> int:
    """A descriptor of a plain file, made for the owner alone where ``flags`` make it. Raises ``FileNotFoundError``
    for one that is missing and ``KnowledgeError`` for everything else."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(path.parent, error) from error
    try:
        handle = os.open(path.name, flags | _ALWAYS, PRIVATE, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(path, error) from error
    finally:
        os.close(folder)
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(handle)
        what = "a file with a second name" if stat.S_ISREG(found.st_mode) else "no plain file"
        raise KnowledgeError(f"{path}: {what}; nothing was done with it")
    return handle


def read_plain(path: Path, limit: int | None = None) -> bytes | None:
    """The bytes of a file, None when it is missing. Raises ``KnowledgeError`` also for one of more than ``limit``."""
    try:
        handle = open_plain(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        try:
            data = file.read(-1 if limit is None else limit + 1)
        except OSError as error:
            raise refused(path, error) from error
    if limit is not None and len(data) > limit:
        raise KnowledgeError(f"{path}: more than {limit:,} bytes")
    return data


def write_all(handle: int, data: bytes) -> None:
    """Write every byte; raises ``OSError``."""
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def replace_file(path: Path, data: bytes, *, mode: int = PRIVATE) -> None:
    """The whole new file or the whole old one, whatever happens meanwhile. Raises ``KnowledgeError``."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise KnowledgeError(f"{path}: no plain file; nothing was done with it")
    if path.parent.is_symlink():
        raise KnowledgeError(f"{path.parent}: a link; nothing was done behind it")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:80]}.", dir=path.parent)
    except OSError as error:
        raise refused(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise refused(path, error) from error
    finally:
        Path(name).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a folder's own change durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be the only one who holds this lock file, in any process. It dies with its process."""
    make_folder(path.parent)
    handle = open_plain(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def append_lines(path: Path, data: bytes) -> None:
    """Append whole lines and return when they are on disk. The caller holds the lock of what the file belongs to.

    A torn last line, which a crash left and nobody was told of, is cut off first. What could not be written whole is
    taken back.
    """
    new = not path.exists()
    handle = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        size = _cut_torn(handle)
        write_or_undo(handle, data, size)
        os.fsync(handle)
    except OSError as error:
        raise refused(path, error) from error
    finally:
        os.close(handle)
    if new:
        sync_folder(path.parent)


def _cut_torn(handle: int) -> int:
    """Cut off what stands behind the last line ending; returns the size that is left."""
    size = end = os.lseek(handle, 0, os.SEEK_END)
    while end:
        begin = max(0, end - 65_536)
        found = os.pread(handle, end - begin, begin).rfind(b"\n")
        end = begin + found + 1 if found >= 0 else begin
        if found >= 0:
            break
    if end < size:
        os.ftruncate(handle, end)
    return end


def write_or_undo(handle: int, data: bytes, size: int) -> None:
    """Write at the end of a file of ``size`` bytes, or leave it at that size and raise ``OSError``."""
    try:
        written = os.write(handle, data)  # mklang: ignore[AK106] a record of what happened, as it happened
        if written < len(data):
            write_all(handle, data[written:])
    except BaseException:
        os.ftruncate(handle, size)
        raise
