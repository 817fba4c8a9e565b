"""Whether an event is what a step means, decided by code."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from mklang.guards.schemas import Schema
from mklang.knowledge.compliance.spec import Match, Text
from mklang.knowledge.compliance.timeline import TEXT, Event

_PATHS = ("file_path", "notebook_path", "path", "filePath")


def matches(match: Match, event: Event) -> bool:
    """Whether everything a match asks for holds for the event."""
    tools = (match.tool,) if isinstance(match.tool, str) else match.tool
    if tools is not None and event.tool not in tools:
        return False
    if match.text is not None and (event.tool != TEXT or not _holds(match.text, event.text)):
        return False
    if match.path is not None and not any(_glob(match.path)(path) for path in _paths(event)):
        return False
    if match.command is not None and not _holds(match.command, str(event.input.get("command", ""))):
        return False
    if match.output is not None and not _holds(match.output, event.output):
        return False
    return match.but is None or not matches(match.but, event)


def needs_tools(match: Match) -> bool:
    """Whether only a tool's event can match."""
    if match.text is not None or match.tool == TEXT:
        return False
    return any(part is not None for part in (match.tool, match.path, match.command, match.output))


def _paths(event: Event) -> list[str]:
    return [str(event.input[key]) for key in _PATHS if isinstance(event.input.get(key), str)]


def _holds(wanted: str | Text, text: str) -> bool:
    if isinstance(wanted, str):
        return wanted in text
    if wanted.any and not any(part in text for part in wanted.any):
        return False
    if not all(part in text for part in wanted.all):
        return False
    return wanted.regex is None or _regex(wanted.regex).admits(text)


@lru_cache(maxsize=256)
def _regex(pattern: str) -> Schema:
    return Schema({"type": "string", "pattern": pattern})


@lru_cache(maxsize=256)
def _glob(glob: str) -> Callable[[str], Any]:
    anchored = glob if glob.startswith("/") else f"**/{glob}"
    pattern = re.escape(anchored).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.compile(pattern, re.DOTALL).fullmatch
