"""Layer 2 computed again from layer 1 alone (I3): no model is asked, and the bytes are the same.

Every distillation and every act of a person stands in layer 1 as a record. What a model said then passes today's guard
again: an entry that the operator has forbidden since keeps its run out, and that is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from mklang.errors import KnowledgeError
from mklang.guards import Checked, Guard
from mklang.knowledge.acting import ACT, ADOPTED
from mklang.knowledge.distil import DISTILLED
from mklang.knowledge.files import locked, read_plain, replace_file
from mklang.knowledge.home import Home
from mklang.knowledge.operations import (
    Acted,
    Adopted,
    Basis,
    Distilled,
    Exported,
    Found,
    Operation,
    State,
    encode_operation,
)
from mklang.knowledge.reading import Located, read_log
from mklang.knowledge.record import Record
from mklang.knowledge.schemas import ForbiddenTexts, found_guard, knowledge_guard
from mklang.knowledge.store import LIMIT, render
from mklang.knowledge.store_files import aside


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What was computed: the operations, ``knowledge.json`` as bytes, and the runs that no longer pass."""

    operations: tuple[Operation, ...]
    knowledge: bytes
    refused: tuple[str, ...]


def replay(home: Home, forbid: ForbiddenTexts) -> Rebuilt:
    """Compute layer 2 from layer 1. Writes nothing. Raises ``KnowledgeError`` for a record that is not as it was."""
    entries = tuple(forbid)
    guards = found_guard(entries), knowledge_guard(entries, strict=False)
    state = State()
    operations: list[Operation] = []
    refused: list[str] = []
    for found in read_log(home.logs):
        if not isinstance(found, Located):
            continue
        operation = _operation(found.record, guards, f"{found.file}:{found.line}")
        if isinstance(operation, str):
            refused.append(operation)
        elif operation is not None and not (isinstance(operation, Distilled) and operation.basis.run in state.runs):
            state.apply(operation)
            operations.append(operation)
    return Rebuilt(tuple(operations), render(list(state.patterns.values()), knowledge_guard(entries)), tuple(refused))


def _operation(record: Record, guards: tuple[Guard, Guard], place: str) -> Operation | str | None:
    try:
        if record.type == DISTILLED:
            return _distilled(msgspec.convert(record.data.get("basis"), Basis), guards[0], place)
        if record.type == ACT:
            told: dict[str, Any] = {key: record.data.get(key) for key in ("act", "subject", "at", "by", "why")}
            return msgspec.convert({"op": "acted", **told}, Acted)
        if record.type == ADOPTED:
            return _adopted(record, guards[1], place)
    except msgspec.ValidationError as error:
        raise KnowledgeError(f"{place}: the record is not as it was written: {error}") from error
    return None


def _distilled(basis: Basis, guard: Guard, place: str) -> Distilled | str:
    checked = guard.examine(basis.reply)
    if not isinstance(checked, Checked):
        return f"{place}: run {basis.run}: {checked[0]}"
    found = msgspec.json.decode(checked.content(), type=tuple[Found, ...])
    return Distilled(basis=basis, receipt=checked.receipt, found=found)


def _adopted(record: Record, guard: Guard, place: str) -> Adopted | str:
    checked = guard.examine_value(record.data.get("items"))
    if not isinstance(checked, Checked):
        return f"{place}: adopted patterns: {checked[0]}"
    return Adopted(at=str(record.data.get("at")), receipt=checked.receipt, items=tuple(checked.value))


def rebuild(home: Home, forbid: ForbiddenTexts) -> Rebuilt:
    """Compute layer 2 and put it in the place of what is there, which is kept beside it."""
    with locked(home.root / "knowledge.lock"):
        made = replay(home, forbid)
        for path in (home.operations, home.knowledge):
            if read_plain(path, LIMIT) is not None:
                aside(home, path)
        lines = [encode_operation(one) for one in (*made.operations, Exported(sha=sha256(made.knowledge).hexdigest()))]
        replace_file(home.operations, b"".join(line + b"\n" for line in lines))
        replace_file(home.knowledge, made.knowledge)
    return made
