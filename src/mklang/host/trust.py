"""Which project folders a person trusts, and in what state: a hash of everything in them that could do harm.

A folder is trusted as it was when the person looked. When something that counts changes, it is not trusted until they
have looked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from mklang.errors import ConfigError

FILE = "trusted.json"
_FORMAT = 1


class Trust(Enum):
    """How a project folder stands."""

    NONE = "not trusted"
    CHANGED = "changed since it was trusted"
    TRUSTED = "trusted"


@dataclass(frozen=True, slots=True)
class TrustStore:
    """The trusted folders of a person, in one file of their configuration folder."""

    path: Path

    @classmethod
    def of(cls, config_folder: Path) -> TrustStore:
        """The store in a configuration folder; the file may not exist."""
        return cls(config_folder / FILE)

    def state(self, folder: Path, pin: str) -> Trust:
        """How a folder with this pin stands. Raises ``ConfigError`` for a store that cannot be read."""
        known = self.folders().get(_name(folder))
        if known is None:
            return Trust.NONE
        return Trust.TRUSTED if known == pin else Trust.CHANGED

    def folders(self) -> Mapping[str, str]:
        """The pin of each trusted folder."""
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            folders: dict[str, str] = {str(name): str(pin) for name, pin in kept["folders"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"'{self.path}' cannot be read ({type(error).__name__}); delete it to trust no folder"
            ) from None
        return folders

    def add(self, folder: Path, pin: str) -> None:
        """Trust a folder as it is now."""
        self._write({**self.folders(), _name(folder): pin})

    def remove(self, folder: Path) -> bool:
        """Trust a folder no longer; whether it was trusted."""
        folders = dict(self.folders())
        known = folders.pop(_name(folder), None) is not None
        if known:
            self._write(folders)
        return known

    def _write(self, folders: Mapping[str, str]) -> None:
        text = json.dumps({"format": _FORMAT, "folders": dict(sorted(folders.items()))}, indent=2, ensure_ascii=False)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.path.parent, delete=False, encoding="utf-8") as file:
                file.write(f"{text}\n")
                file.flush()
                os.fsync(file.fileno())
            Path(file.name).replace(self.path)
        except OSError as error:
            raise ConfigError(f"'{self.path}' cannot be written: {error.strerror}") from None


def pin_of(parts: Iterable[tuple[str, bytes]]) -> str:
    """One hash over named parts, in any order; no part's text can pass for another's."""
    whole = hashlib.sha256()
    for name, data in sorted(parts):
        whole.update(f"{len(name.encode())}:{name}:{hashlib.sha256(data).hexdigest()}\n".encode())
    return whole.hexdigest()


def _name(folder: Path) -> str:
    return os.path.realpath(folder)
