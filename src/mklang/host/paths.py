"""Where a user's things are (L100): one place that reads the variables and knows the defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

FILE = "runtime.yaml"
SYSTEM = Path("/etc/mklang") / FILE
MACHINES = "machines"


def config_folder(environ: Mapping[str, str]) -> Path:
    """The user's configuration folder: ``MKLANG_CONFIG_DIR``, else the XDG folder's ``mklang``; it may not exist."""
    return _folder(environ, "MKLANG_CONFIG_DIR", "XDG_CONFIG_HOME", ".config")


def data_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder for a user's own machines and the like: ``MKLANG_DATA_DIR``, else the XDG folder's ``mklang``."""
    return _folder(os.environ if environ is None else environ, "MKLANG_DATA_DIR", "XDG_DATA_HOME", ".local/share")


def state_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder for what runs leave behind: ``MKLANG_STATE_DIR``, else the XDG folder's ``mklang``."""
    return _folder(os.environ if environ is None else environ, "MKLANG_STATE_DIR", "XDG_STATE_HOME", ".local/state")


def runs_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the journals."""
    return state_folder(environ) / "runs"


def project_folder(here: Path) -> Path:
    """The project that a person in the folder ``here`` works in: this folder, or its parent from ``machines``.

    Every command and the API look for a project's configuration and ``.env`` here and nowhere else (W65).
    """
    here = Path(os.path.abspath(here))  # noqa: PTH100 - links stay as they are written
    return here.parent if here.name == MACHINES else here


def project_file(project: Path) -> Path:
    """A project's own runtime configuration; it may not exist."""
    return project / "config" / FILE


def _folder(environ: Mapping[str, str], own: str, xdg: str, default: str) -> Path:
    """A folder by its own variable, the standard's, or below the home directory."""
    if given := environ.get(own):
        return Path(given)
    base = environ.get(xdg)
    return (Path(base) if base else Path.home() / default) / "mklang"
