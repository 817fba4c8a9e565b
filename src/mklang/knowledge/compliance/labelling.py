"""Steps in prose: a model says which events are which step, in small batches, and a guard reads what it says.

The events are data, fenced by the machine that is asked; what stands in them cannot answer for itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from mklang.guards import Bounds, Guard
from mklang.knowledge.asking import ask
from mklang.knowledge.compliance.spec import Step
from mklang.knowledge.compliance.timeline import Event, Session
from mklang.knowledge.distil import Stage
from mklang.knowledge.files import make_folder
from mklang.lang.values import Json

BATCH = 40
INPUT, OUTPUT = 500, 200


def label_guard(steps: Sequence[Step], count: int) -> Guard:
    """What a model may say about ``count`` events: for each step their numbers, whole and in range."""
    numbers = {"type": "array", "maxItems": count, "items": {"type": "integer", "minimum": 0, "maximum": count - 1}}
    schema: dict[str, Any] = {
        "type": "object",
        "required": [step.id for step in steps],
        "properties": {step.id: numbers for step in steps},
        "additionalProperties": False,
    }
    return Guard(name="labels", schema=schema, bounds=Bounds(bytes=65_536, depth=4, items=10_000))


async def label(
    session: Session, steps: Sequence[Step], stage: Stage, folder: Path, *, batch: int = BATCH
) -> dict[str, list[int]] | str:
    """The events of each step by number, or why a model could not say. Goes on where an earlier attempt ended."""
    found: dict[str, list[int]] = {step.id: [] for step in steps}
    asked = "\n".join(f"{step.id}: {step.detector.description or step.description}" for step in steps)
    name = sha256(f"{stage.identity}\0{asked}\0{session.name}".encode("utf-8", "replace")).hexdigest()[:16]
    make_folder(folder / name)
    for start in range(0, len(session.events), batch):
        part = session.events[start : start + batch]
        shown = "\n".join(_line(number, event) for number, event in enumerate(part))
        digest = sha256(shown.encode("utf-8", "replace")).hexdigest()[:12]
        inputs: dict[str, Json] = {"steps": asked, "events": shown}
        result = await ask(stage, label_guard(steps, len(part)), inputs, folder / name / f"{start}-{digest}.jsonl")
        if isinstance(result, str):
            return result
        for step, numbers in result.value.items():
            found[step] += [start + int(number) for number in numbers]
    return found


def _line(number: int, event: Event) -> str:
    shown = {"n": number, "tool": event.tool}
    told = event.text or json.dumps(event.input, ensure_ascii=False)
    return json.dumps({**shown, "input": told[:INPUT], "output": event.output[:OUTPUT]}, ensure_ascii=False)
