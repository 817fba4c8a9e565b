"""Where a key is looked up (L98): in the variable its owner names, then in the file its owner names; nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mklang.errors import ConfigError


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
    """The key; None where no place is named. Raises ``ConfigError`` when one is named and nothing is there."""
    key = environ.get(places.variable, "").strip() if places.variable else ""
    if not key and places.file:
        key = _read(beside(places.folder, places.file), places.owner)
    if not key and (places.variable or places.file):
        ways = [f"the variable {places.variable} is not set" if places.variable else "", "its api_key_file is empty"]
        missing = " and ".join(filter(None, ways if places.file else ways[:1]))
        told = f"{places.config}: " if places.config else ""
        raise ConfigError(f"{told}there is no key for {places.owner}: {missing}")
    return key or None


def beside(folder: Path, name: str) -> Path:
    """A path in a configuration: ``~`` is the home directory, relative means beside the configuration."""
    return folder / Path(name).expanduser()


def _read(path: Path, owner: str) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"the key file '{path}' of {owner} cannot be read: {reason}") from None
