"""Writing a document back over itself: whole or not at all, and never over what somebody else wrote meanwhile."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path

from mklang.errors import HostError
from mklang.source import Source

_BOM = b"\xef\xbb\xbf"


def write_back(path: str, read: Source, text: str) -> None:
    """Replace the document ``read`` from ``path`` by ``text``; its rights, a link to it and a byte order mark stay.

    Raises ``HostError`` when the file no longer holds what was read, or cannot be written.
    """
    target = Path(path).resolve()
    try:
        before = target.read_bytes()
        mark = _BOM if before.startswith(_BOM) else b""
        if before.removeprefix(mark) != read.text.encode():
            raise HostError(f"{path}: the file was changed in between; nothing was written")
        _replace(target, mark + text.encode())
    except OSError as error:
        raise HostError(f"{path}: cannot be written: {error.strerror or error}") from error


def _replace(target: Path, data: bytes) -> None:
    """A new file beside the old one takes its place in one step."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(target.stat().st_mode & 0o7777)
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def difference(path: str, before: str, after: str) -> Iterator[str]:
    """The lines of a unified diff, without line ends; what ends a line differently is no difference."""
    first, second = (text.replace("\r\n", "\n").split("\n") for text in (before, after))
    yield from unified_diff(first, second, f"{path} (as it is)", f"{path} (rewritten)", lineterm="")
