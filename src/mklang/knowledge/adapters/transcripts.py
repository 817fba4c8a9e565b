"""Transcripts of Claude Code: session files and the output of ``--output-format stream-json``.

Both hold a JSON object a line with ``type`` user or assistant and a ``message`` in blocks. What the model said and
did is generated; what tools gave back is observed; what the person typed is theirs. An assistant's message comes
several times while it grows; a block is taken once, by its name or by what it says. Events of a sub-agent name what
called it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from mklang.errors import UsageError
from mklang.knowledge.importing import Event
from mklang.knowledge.record import Origin

NAME = "claude-code"
_OURS = {"text": "said", "tool_use": "tool_use", "thinking": "thinking"}


def transcript(path: Path) -> Iterator[Event | str]:
    """The events of a transcript, in order. A line that is no JSON is a problem; one of an unknown type is kept as it
    is, so that nothing is lost when the format grows."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    reader = _Reader(path.stem)
    with file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield f"{path}:{number}: not JSON: {error}"
                continue
            if isinstance(entry, dict):
                yield from reader.events(entry)
            else:
                yield f"{path}:{number}: an object is needed, not {type(entry).__name__}"


class _Reader:
    """Remembers the session and which blocks were there already."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._seen: set[str] = set()
        self._count: dict[str, int] = {}

    def events(self, entry: dict[str, Any]) -> Iterator[Event]:
        self._session = str(entry.get("sessionId") or entry.get("session_id") or self._session)
        message = entry.get("message")
        if entry.get("type") not in {"user", "assistant"} or not isinstance(message, dict):
            yield from self._once(entry, _digest(entry), "session", ({"entry": entry}, Origin.OBSERVED))
            return
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, dict):
                yield from self._block(entry, message, block)

    def _block(self, entry: dict[str, Any], message: dict[str, Any], block: dict[str, Any]) -> Iterator[Event]:
        base = str(message.get("id") or entry.get("uuid") or "")
        name = str(block.get("id") or block.get("tool_use_id") or f"{base}:{_digest(block)}")
        kind = str(block.get("type"))
        if entry["type"] == "assistant":
            data = {key: value for key, value in block.items() if key not in {"type", "signature"}}
            yield from self._once(entry, f"a:{name}", _OURS.get(kind, "said"), (data, Origin.GENERATED))
        elif kind == "tool_result":
            data = {"tool_use_id": block.get("tool_use_id"), "output": _text(block.get("content"))}
            data |= {"is_error": True} if block.get("is_error") else {}
            yield from self._once(entry, f"r:{name}", "tool_result", (data, Origin.OBSERVED))
        else:
            human = not entry.get("isMeta") and not entry.get("parent_tool_use_id") and not entry.get("isSidechain")
            origin = Origin.HUMAN if human else Origin.OBSERVED
            yield from self._once(entry, f"u:{name}", "prompt", ({"text": _text([block])}, origin))

    def _once(
        self, entry: dict[str, Any], name: str, kind: str, said: tuple[dict[str, Any], Origin]
    ) -> Iterator[Event]:
        if name in self._seen:
            return
        self._seen.add(name)
        data, origin = said
        at, parent = entry.get("timestamp"), entry.get("parent_tool_use_id")
        yield Event(
            session=self._session,
            name=name,
            type=kind,
            data=data,
            origin=origin,
            at=str(at or ""),
            parent=str(parent or ""),
        )


def _digest(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", f"[{part.get('type')}]")) for part in parts if isinstance(part, dict))
