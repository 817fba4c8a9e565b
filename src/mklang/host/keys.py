"""Where a key is looked up (L98): in the variable its owner names, then in the file its owner names; nowhere else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mklang.errors import ConfigError
from mklang.llm.transport import check_key

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MOST_BYTES = 16_384
"""A key file with more holds no key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPlaces:
    """Where one key may be. ``owner`` names whose key it is, for messages; a file is relative to ``folder``.

    ``config`` is the configuration that says so, for messages; empty when none does.
    """

    owner: str
    config: str = ""
    folder: Path = Path()
    variable: str | None = None
    file: str | None = None


def find_key(places: KeyPlaces, environ: Mapping[str, str]) -> str | None:
    """The key; None where no place is named.

    Raises ``ConfigError`` when one is named and no key is there. Nothing that may be a key is shown.
    """
    told = f"{places.config}: " if places.config else ""
    if places.variable and not _VARIABLE.fullmatch(places.variable):
        raise ConfigError(
            f"{told}the api_key_env of {places.owner} is no variable's name (letters, digits and '_'); the key itself "
            "belongs into a variable or a file"
        )
    key = environ.get(places.variable, "").strip() if places.variable else ""
    if not key and places.file:
        key = _read(beside(places.folder, places.file), f"{told}the key file of {places.owner},")
    if not key and (places.variable or places.file):
        ways = [f"the variable {places.variable} is not set" if places.variable else "", "its api_key_file is empty"]
        missing = " and ".join(filter(None, ways if places.file else ways[:1]))
        raise ConfigError(f"{told}there is no key for {places.owner}: {missing}")
    try:
        return check_key(key)
    except ConfigError as error:
        raise ConfigError(f"{told}{places.owner}: {error}") from None


def beside(folder: Path, name: str) -> Path:
    """A path in a configuration: ``~`` is the home directory, relative means beside the configuration."""
    return folder / Path(name).expanduser()


def _read(path: Path, what: str) -> str:
    """A key file's text. Only of a file: a pipe or a device might never end."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{what} '{path}' cannot be read: it is no file")
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode().strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"{what} '{path}' cannot be read: {reason}") from None
