"""Server-sent events, from bytes cut anywhere (docs/adr/0006-own-event-decoder.md).

Bytes go in as they come, events come out when they are complete: line ends of all three kinds, comments, fields without
a space after the colon, characters split over two reads, a byte-order mark, a last event without its empty line.
"""

from __future__ import annotations

from dataclasses import dataclass

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, empty where it has none, and its data, lines joined by line feeds."""

    name: str
    data: str


class EventDecoder:
    """Reads one stream."""

    __slots__ = ("_begun", "_buffer", "_data", "_name")

    def __init__(self) -> None:
        self._buffer = b""
        self._begun = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes."""
        buffer = self._buffer + chunk
        if not self._begun and len(buffer) < len(_MARK) and _MARK.startswith(buffer):
            self._buffer = buffer
            return []
        if not self._begun:
            self._begun, buffer = True, buffer.removeprefix(_MARK)
        lines = buffer.splitlines(keepends=True)
        # A line is complete once its end cannot be the first half of a carriage return with a line feed.
        self._buffer = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        return [event for line in lines if (event := self._line(line.rstrip(b"\r\n"))) is not None]

    def finish(self) -> list[Event]:
        """The events that the end of the stream completes."""
        buffer, self._buffer = self._buffer, b""
        events = [self._line(line) for line in buffer.splitlines()]
        return [event for event in (*events, self._line(b"")) if event is not None]

    def _line(self, line: bytes) -> Event | None:
        if not line:
            event = Event(self._name, "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if field == b"data":
            self._data.append(text)
        elif field == b"event":
            self._name = text
        return None
