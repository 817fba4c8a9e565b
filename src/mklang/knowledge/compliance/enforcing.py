"""A step that is not followed becomes a hook: what code can see, code can refuse. The hook is put up as a proposal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mklang.knowledge.compliance.matching import matches
from mklang.knowledge.compliance.spec import Spec, Step
from mklang.knowledge.compliance.timeline import Event, session_in


def hook_text(spec: Path, step: Step) -> str:
    """A pre-tool-use hook that enforces one step of a spec, as a shell script."""
    why = " ".join((step.description or step.id).split())
    return (
        "#!/bin/sh\n"
        f"# {step.id}: {why}\n"
        "# A pre-tool-use hook: it is given the event on stdin and refuses what breaks the step.\n"
        f"exec mklang akc comply hook {shlex.quote(str(spec))} --step {shlex.quote(step.id)}\n"
    )


def breaks(spec: Spec, step: Step, event: Mapping[str, Any]) -> str:
    """Why what an agent is about to do breaks a step; empty when it does not. Raises ``ValueError`` for no event, or
    for a step that code cannot enforce before a tool is used."""
    name, given = event.get("tool_name"), event.get("tool_input")
    if not isinstance(name, str) or not isinstance(given, dict):
        raise ValueError("a hook's event has a 'tool_name' and a map 'tool_input'")
    act = Event(tool=name, input=given)
    told = step.description or step.detector.description or step.id
    if step.match is None:
        raise ValueError(f"step '{step.id}' has no match: code cannot enforce it")
    if step.never:
        return f"{step.id}: {told}" if matches(step.match, act) else ""
    before = [one.match for one in spec.steps if one.id == step.detector.before_step and one.match is not None]
    triggers = [*before, *([step.each] if step.each is not None else [])]
    if not any(matches(trigger, act) for trigger in triggers):
        return ""
    events = _so_far(event)
    if step.each is not None:
        last = max((number for number, one in enumerate(events) if matches(step.each, one)), default=-1)
        events = events[last + 1 :]
    done = any(matches(step.match, one) for one in events)
    return "" if done else f"{step.id} comes first: {told}"


def _so_far(event: Mapping[str, Any]) -> tuple[Event, ...]:
    path = event.get("transcript_path")
    if not isinstance(path, str):
        raise ValueError("the event names no transcript, so nobody can tell what was done before")
    return session_in(Path(path)).events
