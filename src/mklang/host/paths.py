"""Where a user's things are (L100): one place that reads the variables and knows the defaults."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """The folder for what runs leave behind: ``MKLANG_STATE_DIR``, else the XDG state folder's ``mklang``."""
    own = os.environ.get("MKLANG_STATE_DIR")
    if own:
        return Path(own)
    xdg = os.environ.get("XDG_STATE_HOME")
    return (Path(xdg) if xdg else Path.home() / ".local" / "state") / "mklang"


def data_folder() -> Path:
    """The folder of a user's own machines: ``MKLANG_DATA_DIR``, else the XDG data folder's ``mklang``."""
    own = os.environ.get("MKLANG_DATA_DIR")
    if own:
        return Path(own)
    xdg = os.environ.get("XDG_DATA_HOME")
    return (Path(xdg) if xdg else Path.home() / ".local" / "share") / "mklang"


def runs_folder() -> Path:
    """The folder of the journals."""
    return state_folder() / "runs"
