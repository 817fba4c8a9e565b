"""A session as numbered events: tools with what they gave back, and what the agent said. Both count (I14)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from mklang.knowledge.adapters.transcripts import transcript
from mklang.knowledge.importing import Event as Imported
from mklang.knowledge.reading import Located, read_log

TEXT = "Text"
"""The tool name of something said, as the public reference has it."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event. ``output`` is what the tool gave back; empty when nothing came."""

    tool: str
    input: dict[str, Any] = {}
    output: str = ""
    text: str = ""
    error: bool = False


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session. ``problems`` are lines that could not be read: what is in them is not known."""

    name: str
    events: tuple[Event, ...]
    problems: tuple[str, ...] = ()

    @property
    def has_tools(self) -> bool:
        """Whether tools can be seen in it at all."""
        return any(event.tool != TEXT for event in self.events)

    @property
    def has_texts(self) -> bool:
        """Whether what was said can be seen in it."""
        return any(event.tool == TEXT for event in self.events)


def session_in(path: Path) -> Session:
    """The session in a transcript. Raises ``UsageError`` for a file that is not there."""
    found = list(transcript(path))
    problems = tuple(one for one in found if isinstance(one, str))
    return Session(name=path.stem, events=tuple(_events(_plain(found))), problems=problems)


def sessions_in(logs: Path, *, since: str = "") -> Iterator[Session]:
    """The sessions of agents that were imported into a log."""
    grouped: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for found in read_log(logs, since=since):
        if isinstance(found, Located) and found.record.type in {"said", "tool_use", "tool_result"}:
            data = {key: value for key, value in found.record.data.items() if key != "_akc"}
            grouped.setdefault(str(found.record.mark.get("session", "")), []).append((found.record.type, data))
    for name, entries in grouped.items():
        yield Session(name=name, events=tuple(_events(entries)))


def _plain(found: Iterable[Imported | str]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((one.type, one.data) for one in found if not isinstance(one, str))


def _events(entries: Iterable[tuple[str, dict[str, Any]]]) -> list[Event]:
    events: list[Event] = []
    waiting: dict[str, int] = {}
    for kind, data in entries:
        if kind == "said" and str(data.get("text", "")).strip():
            events.append(Event(tool=TEXT, text=str(data["text"])))
        elif kind == "tool_use":
            given = data.get("input")
            waiting[str(data.get("id"))] = len(events)
            events.append(Event(tool=str(data.get("name", "")), input=given if isinstance(given, dict) else {}))
        elif kind == "tool_result" and (place := waiting.pop(str(data.get("tool_use_id")), None)) is not None:
            output, error = str(data.get("output", "")), bool(data.get("is_error"))
            events[place] = msgspec.structs.replace(events[place], output=output, error=error)
    return events
