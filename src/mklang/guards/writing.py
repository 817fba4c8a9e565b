"""Writing what was checked, and nothing else: the whole file or the old one, never something between."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from mklang.guards.checked import Checked, Receipt


def write_checked(path: str | os.PathLike[str], content: Checked[Any], *, mode: int = 0o600) -> Receipt:
    """Write the canonical bytes of a checked value to a file, which then has exactly ``mode``; returns the receipt.

    The hash is computed again first. Raises ``TypeError`` for anything that no guard has checked,
    ``AlteredAfterCheck`` for a value that was changed since, ``OSError`` when it cannot be written; the old file is
    then as it was. A symbolic link in the file's place is replaced, not followed.
    """
    if not isinstance(content, Checked):
        raise TypeError(f"write_checked writes what a guard has checked, not {type(content).__name__}")
    data = content.content()
    target = Path(path)
    if target.is_dir() and not target.is_symlink():
        raise IsADirectoryError(f"{target} is a directory")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _settle(target.parent)
    return content.receipt


def _settle(folder: Path) -> None:
    """Make the folder's own change durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
