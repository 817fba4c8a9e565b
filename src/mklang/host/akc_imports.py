"""Which adapter reads which files of elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mklang.errors import UsageError
from mklang.knowledge.importing import Event
from mklang.knowledge.record import Origin

ADAPTERS = ("jsonl", "claude-code", "journal")
_KEYS = {"type": "type_path", "time": "time", "session": "session", "name": "name"}


def events_of(kind: str, path: Path, mapped: Sequence[str], origin: str) -> Iterator[Event | str]:
    """The events of a file. ``mapped`` are ``KEY=PATH`` texts, for plain JSON lines. Raises ``UsageError``."""
    if mapped and kind != "jsonl":
        raise UsageError("--map is for --as jsonl")
    if kind == "claude-code":
        from mklang.knowledge.adapters.transcripts import transcript

        return transcript(path)
    if kind == "journal":
        from mklang.knowledge.adapters.journals import journal

        return journal(path)
    from mklang.knowledge.adapters.json_lines import Mapping, json_lines

    return json_lines(path, Mapping(origin=Origin(origin), **dict(_pair(text) for text in mapped)))


def _pair(text: str) -> tuple[str, str]:
    key, equals, path = text.partition("=")
    if not equals or key not in _KEYS or not path:
        raise UsageError(f"--map {text!r}: write --map KEY=PATH, with KEY one of {', '.join(_KEYS)}")
    return _KEYS[key], path
