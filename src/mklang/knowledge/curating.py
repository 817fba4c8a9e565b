"""Curating: a model says of each file that is loaded what should become of it, after code has looked. Nothing changes.

Files go to the model in small batches, each with what code has found about it, because one large context nods
everything through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from mklang.guards import Bounds, Checked, Guard
from mklang.knowledge.asking import ask
from mklang.knowledge.distil import Stage
from mklang.knowledge.files import make_folder
from mklang.knowledge.health import Sick
from mklang.knowledge.loaded import LoadedFile

VERDICTS = ("Keep", "Improve", "Update", "Merge", "Demote", "Retire")
BATCH = 8
TEXT = 6000
"""How much of a file is shown."""


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """What a model thinks should become of a file, and why; None when it gave nothing that passes."""

    path: str
    verdict: str | None
    reason: str


def opinion_guard(paths: Sequence[str]) -> Guard:
    """What may be said: one verdict out of the set and a reason, for each file."""
    one = {
        "type": "object",
        "required": ["verdict", "reason"],
        "additionalProperties": False,
        "properties": {
            "verdict": {"enum": list(VERDICTS)},
            "reason": {"type": "string", "minLength": 1, "maxLength": 600},
        },
    }
    schema: dict[str, Any] = {
        "type": "object",
        "required": list(paths),
        "properties": dict.fromkeys(paths, one),
        "additionalProperties": False,
    }
    return Guard(name="opinions", schema=schema, bounds=Bounds(bytes=65_536, depth=4, items=100))


async def curate(files: Sequence[LoadedFile], findings: Sequence[Sick], stage: Stage, folder: Path) -> list[Opinion]:
    """The opinions, in the order of the files."""
    found: list[Opinion] = []
    for batch in _batches(files):
        shown = "\n\n".join(_shown(file, findings) for file in batch)
        digest = sha256(f"{stage.identity}\0{shown}".encode("utf-8", "replace")).hexdigest()[:16]
        make_folder(folder)
        guard = opinion_guard([file.path for file in batch])
        said = await ask(stage, guard, {"files": shown}, folder / f"curate-{digest}.jsonl")
        for file in batch:
            if isinstance(said, Checked):
                found.append(Opinion(path=file.path, **said.value[file.path]))
            else:
                found.append(Opinion(path=file.path, verdict=None, reason=said))
    return found


def _batches(files: Sequence[LoadedFile]) -> Iterator[Sequence[LoadedFile]]:
    return (files[start : start + BATCH] for start in range(0, len(files), BATCH))


def _shown(file: LoadedFile, findings: Sequence[Sick]) -> str:
    noted = "\n".join(f"- line {one.line}: {one.kind}: {one.message}" for one in findings if one.file == file.path)
    loaded = "every session" if file.always else "when called for"
    head = f"FILE {file.path} (loaded by {loaded}, {file.lines} lines)"
    return f"{head}\n{noted or '- nothing found by code'}\n{file.text[:TEXT]}"
