"""Where a key is looked up (L98): in the variable its owner names, then in the file its owner names; nowhere else.

A variable that is not set in the environment is looked for in ``.env`` of the working directory and then of the user's
configuration directory. Only variables that name a key are ever read from there, and never beside a machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mklang.errors import ConfigError
from mklang.host.config import config_folder

_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED = re.compile(r"""(["'])(.*)\1\s*(?:#.*)?""")
_COMMENT = re.compile(r"\s+#.*|\A#.*")


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
    key = key_in(places.variable, environ) if places.variable else ""
    if not key and places.file:
        key = _read(beside(places.folder, places.file), places.owner)
    if not key and (places.variable or places.file):
        ways = [f"the variable {places.variable} is not set" if places.variable else "", "its api_key_file is empty"]
        missing = " and ".join(filter(None, ways if places.file else ways[:1]))
        told = f"{places.config}: " if places.config else ""
        raise ConfigError(f"{told}there is no key for {places.owner}: {missing}")
    return key or None


def key_in(variable: str, environ: Mapping[str, str]) -> str:
    """The key in a variable, of the environment or of an ``.env``; empty when it is in none."""
    key = environ.get(variable, "").strip()
    for folder in (Path(), config_folder(environ)):
        key = key or dotenv(folder / ".env").get(variable, "").strip()
    return key


def dotenv(path: Path) -> dict[str, str]:
    """The assignments in an ``.env`` file; none when there is no such file. Nothing in it is expanded or run.

    Raises ``ConfigError`` for a file that cannot be read. A line that is no assignment says nothing.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"'{path}' cannot be read: {reason}") from None
    found = (_ASSIGNMENT.fullmatch(line.strip()) for line in text.splitlines())
    return {match[1]: _value(match[2]) for match in found if match}


def _value(written: str) -> str:
    quoted = _QUOTED.fullmatch(written)
    return quoted[2] if quoted else _COMMENT.sub("", written).strip()


def beside(folder: Path, name: str) -> Path:
    """A path in a configuration: ``~`` is the home directory, relative means beside the configuration."""
    return folder / Path(name).expanduser()


def _read(path: Path, owner: str) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"the key file '{path}' of {owner} cannot be read: {reason}") from None
