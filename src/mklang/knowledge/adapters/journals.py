"""Our own run journals: what a run was asked, what models wrote (generated), what tools and people gave (observed)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mklang.durable.journal import End, JournalFile, read_journal
from mklang.engine.requests import Observation, Produced, Reply
from mklang.knowledge.importing import Event
from mklang.knowledge.record import Origin
from mklang.oracles.recording import Answered, Failed

NAME = "journal"


def journal(path: Path) -> Iterator[Event | str]:
    """The events of a run. Raises ``RunStoreError`` for a file that is no journal."""
    file = read_journal(path)
    run, started = file.begin.run, str(file.begin.created)
    begun = {"machine": file.begin.machines[0].name, "inputs": file.begin.inputs}
    yield Event(session=run, name="begin", type="session", data=begun, origin=Origin.OBSERVED, at=started)
    yield from _lines(file, run)


def _lines(file: JournalFile, run: str) -> Iterator[Event]:
    ends = 0
    for line in file.lines:
        if isinstance(line, Answered):
            found = _answer(line)
            if found is not None:
                kind, data, origin = found
                yield Event(session=run, name=line.key, type=kind, data={"key": line.key, **data}, origin=origin)
        elif isinstance(line, Failed):
            data = {"key": line.key, "message": line.message}
            yield Event(session=run, name=f"{line.key}!", type="failure", data=data, origin=Origin.OBSERVED)
        elif isinstance(line, End):
            ends += 1
            data = {"status": line.status, "error": line.error}
            name = f"end:{ends}"
            yield Event(session=run, name=name, type="run_end", data=data, origin=Origin.OBSERVED, at=str(line.at))


def _answer(line: Answered) -> tuple[str, dict[str, Any], Origin] | None:
    match line.answer:
        case Produced():
            return "produced", {"text": line.answer.text, "model": line.answer.model}, Origin.GENERATED
        case Observation():
            return "tool_result", {"output": line.answer.text}, Origin.OBSERVED
        case Reply():
            return "reply", {"values": msgspec.to_builtins(line.answer.values)}, Origin.HUMAN
        case _:
            return None
