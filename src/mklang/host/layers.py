"""Where machines are that no project brings: bundled ones, the system's, the user's (L20), and finding one by its name.

A later layer wins. A bundled machine's file is called like the machine, so no file is read to know the names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from mklang.host.paths import FILE as CONFIG
from mklang.host.paths import SYSTEM as SYSTEM_CONFIG
from mklang.host.paths import config_folder, data_folder, project_file, project_folder

SUFFIXES = frozenset({".mkl", ".mk"})
PROJECT_FOLDER = "machines"
BUNDLED = Path(__file__).resolve().parents[1] / PROJECT_FOLDER
SYSTEM = Path("/usr/share/mklang") / PROJECT_FOLDER


_LOOKED_AT = 1_000_000
"""Bytes of a file that are looked at for a word; a longer one may have it."""


class Origin(Enum):
    """Who brought a machine."""

    BUNDLED = "stdlib"
    PLUGIN = "plugin"
    SYSTEM = "system"
    USER = "user"
    PROJECT = "local"


@dataclass(frozen=True, slots=True)
class Layer:
    """A folder of machines and who it belongs to; it may not exist."""

    origin: Origin
    folder: Path


def layers(plugins: tuple[Path, ...] | None = None) -> tuple[Layer, ...]:
    """The layers outside any project, later ones winning.

    ``plugins`` are the folders of plug-ins, None for those that are allowed here.
    """
    if plugins is None and not _may_allow_plugins():
        plugins = ()
    if plugins is None:
        from mklang.host.plugins import plugin_folders  # loads the configuration, which most documents need not

        plugins = plugin_folders()
    return (
        Layer(Origin.BUNDLED, BUNDLED),
        *(Layer(Origin.PLUGIN, folder) for folder in plugins),
        Layer(Origin.SYSTEM, SYSTEM),
        Layer(Origin.USER, Path(os.path.realpath(data_folder() / PROJECT_FOLDER))),
    )


def _may_allow_plugins() -> bool:
    """Whether anything that has a say here mentions plug-ins: a look at the bytes, where reading them all costs more
    than a check of a document."""
    if os.environ.get("MKLANG_ALLOWED_PLUGINS"):
        return True
    project, user = project_folder(Path.cwd()), config_folder(os.environ)
    named = os.environ.get("MKLANG_CONFIG")
    files = (project_file(project), user / CONFIG, SYSTEM_CONFIG, project / ".env", user / ".env")
    return any(_mentions(file) for file in (*files, *((Path(named),) if named else ())))


def _mentions(file: Path) -> bool:
    try:
        if not file.is_file():
            return False
        if file.stat().st_size > _LOOKED_AT:
            return True
        text = file.read_bytes()
    except OSError:
        return False
    return any(word in text for word in (b"plugins", b"MKLANG_ALLOWED_PLUGINS", b"MKLANG_CONFIG"))


def machine_files_in(folder: Path) -> list[Path]:
    """The machine files of a folder, in order of name; a link that leads out of it does not count.

    Raises ``OSError`` for a folder that cannot be read.
    """
    found = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    return [path for path in found if path.is_file() and Path(os.path.realpath(path)).parent == folder]


def files_outside(plugins: tuple[Path, ...] | None = None) -> Iterator[tuple[Origin, Path]]:
    """Every machine file of the layers, later layers later; one that cannot be read has none."""
    for layer in layers(plugins):
        try:
            files = machine_files_in(layer.folder)
        except OSError:
            continue
        yield from ((layer.origin, file) for file in files)


@cache
def bundled_names() -> frozenset[str]:
    """The names of the machines that come with mklang."""
    return frozenset(path.stem for path in machine_files_in(BUNDLED))


def find_named(
    name: str, name_of: Callable[[Path], str | None], plugins: tuple[Path, ...] | None = None
) -> Path | None:
    """The file of the machine called ``name`` in the layers; ``name_of`` reads a file's machine's name (L21)."""
    found = None
    for origin, path in files_outside(plugins):
        if (path.stem if origin is Origin.BUNDLED else name_of(path)) == name:
            found = path
    return found
