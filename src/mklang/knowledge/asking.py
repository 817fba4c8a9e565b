"""One question to a machine under an orchestrator: limits in code, a guard on the reply, a journal to go on from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mklang.guards import Checked, Guard
from mklang.knowledge.distil import Stage, set_failure_aside
from mklang.lang.values import Json
from mklang.patterns import Limits, Orchestrator, Task

LIMITS = Limits(steps=1, attempts=3, seconds=600)


async def ask(stage: Stage, guard: Guard, inputs: Mapping[str, Json], journal: Path) -> Checked[Any] | str:
    """What passed the guard, or why nothing did. What was answered is not asked again; what was not is."""
    set_failure_aside(journal)
    orchestrator = Orchestrator(name=f"akc-{guard.name}", worker=stage.worker, guard=guard, limits=LIMITS)
    report = await orchestrator.run([Task(guard.name, inputs)], str(journal))
    if not report.steps:
        return "out of time"
    step = report.steps[0]
    return step.result if step.result is not None else step.why
