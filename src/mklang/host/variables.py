"""Environment variables as every command and the API see them: one look-up, in layers (L98, L101, W64).

The process's environment, then ``.env`` of the project, then ``.env`` of the user's configuration folder. A value of
spaces only counts as none. Nothing is written into the process's environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mklang.errors import ConfigError

ENVIRONMENT = "the environment"
MAX_BYTES = 1_000_000
"""The longest ``.env`` file."""
FOLDERS = frozenset({"MKLANG_CONFIG_DIR", "MKLANG_DATA_DIR", "MKLANG_STATE_DIR", "MKLANG_CACHE_DIR"})
"""Where a user's things are: told by the environment only, since ``.env`` files are among those things."""
GUARDED = frozenset(
    {"MKLANG_CONFIG", "MKLANG_FS_WRITE", "MKLANG_FS_ROOT", "MKLANG_ALLOWED_PLUGINS", "MKLANG_JEV_BASE_URL"}
)
"""What a project's ``.env`` says about grants, code and addresses counts only when the folder is trusted."""

_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED = re.compile(r"""(["'])(.*)\1\s*(?:#.*)?""")
_COMMENT = re.compile(r"\s+#.*|\A#.*")


@dataclass(frozen=True, slots=True)
class Value:
    """A variable's value, and where it was found, in words."""

    text: str
    source: str


class Variables(Mapping[str, str]):
    """Variables from several places, each with the place it comes from; the first place that has one counts."""

    def __init__(self, *layers: tuple[str, Mapping[str, str]]) -> None:
        """Layers with the name of each, those that count more first."""
        self._layers = layers

    def find(self, name: str) -> Value | None:
        """A variable with its source; None where it is not set, or to spaces only."""
        for source, layer in self._layers:
            text = layer.get(name, "").strip()
            if text:
                return Value(text, source)
        return None

    def __getitem__(self, name: str) -> str:
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found.text

    def __iter__(self) -> Iterator[str]:
        return (name for name in dict.fromkeys(name for _, layer in self._layers for name in layer) if name in self)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None


def dotenv(path: Path) -> dict[str, str]:
    """The assignments in an ``.env`` file; none when there is no such file. Nothing in it is expanded or run.

    Raises ``ConfigError`` for a file that cannot be read. A line that is no assignment says nothing.
    """
    try:
        if not path.is_file():
            return {}
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"'{path}' has more than the {MAX_BYTES} bytes that are read")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"'{path}' cannot be read: {reason}") from None
    found = (_ASSIGNMENT.fullmatch(line.strip()) for line in text.splitlines())
    return {match[1]: _value(match[2]) for match in found if match}


def _value(written: str) -> str:
    quoted = _QUOTED.fullmatch(written)
    return quoted[2] if quoted else _COMMENT.sub("", written).strip()
