"""Opening a document: bytes to text, and every way that can go wrong as a diagnostic (W43, W60)."""

from __future__ import annotations

import os
import stat
from io import FileIO

from mklang.diagnostics import Diagnostic
from mklang.lang.yaml_tree import MAX_BYTES, too_large
from mklang.source import Source, Span

_STREAMS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Pipes that a shell hands over on purpose."""
_PIECE = 1024 * 1024
_BOMS_OF_16_AND_32 = (b"\xff\xfe", b"\xfe\xff")


def read_source(path: str | os.PathLike[str]) -> tuple[Source | None, tuple[Diagnostic, ...]]:
    """A file's text under the name it was asked for, or the reason why there is none. Never raises."""
    name = os.fspath(path)
    try:
        with open(path, "rb", buffering=0, opener=_without_waiting) as file:
            if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode) and not name.startswith(_STREAMS):
                return None, (Diagnostic(code="file-unreadable", message="this is a pipe, not a file", path=name),)
            os.set_blocking(file.fileno(), True)
            data = _all_of(file)
    except FileNotFoundError:
        return None, (Diagnostic(code="file-missing", message="there is no such file", path=name),)
    except IsADirectoryError:
        hint = "name a file in it"
        return None, (Diagnostic(code="file-is-directory", message="this is a directory", path=name, hint=hint),)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return None, (Diagnostic(code="file-unreadable", message=f"cannot be read: {reason}", path=name),)
    if len(data) > MAX_BYTES:
        return None, (too_large(name),)
    return decode(data, name)


def _all_of(file: FileIO) -> bytes:
    """What a file holds, up to a byte too many. Read in pieces, so that Ctrl-C is heard between them."""
    data = bytearray()
    while len(data) <= MAX_BYTES and (piece := file.read(_PIECE)):
        data += piece
    return bytes(data)


def _without_waiting(path: str, flags: int) -> int:
    """Open without waiting for a writer: a named pipe that lies about must not hold up whoever looks at a folder."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def decode(data: bytes, name: str) -> tuple[Source | None, tuple[Diagnostic, ...]]:
    """The text of a document's bytes: UTF-8, with or without a byte order mark."""
    try:
        return Source(name, data.decode("utf-8-sig")), ()
    except UnicodeDecodeError as error:
        return None, (_not_utf8(data, error.start, name),)


def _not_utf8(data: bytes, offset: int, name: str) -> Diagnostic:
    before = data[:offset]
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
    utf16 = data.startswith(_BOMS_OF_16_AND_32)
    what = (
        "is UTF-16 or UTF-32, not UTF-8" if utf16 else f"is not UTF-8: line {line} holds the byte 0x{data[offset]:02X}"
    )
    return Diagnostic(
        code="not-utf8",
        message=f"the file {what}",
        path=name,
        span=Span(line, column, line, column + 1),
        hint="save it as UTF-8",
    )
