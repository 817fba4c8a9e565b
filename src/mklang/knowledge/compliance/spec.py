"""Specs of compliance: the public reference's files, and what ours add so that code can decide.

A step of the reference is told in prose and needs a model. With ``match`` code decides; ``when`` says in which sessions
a step applies, ``never`` makes it a prohibition, ``each`` asks for it before every one of some events.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from mklang.errors import UsageError
from mklang.guards import Bounds, Failure
from mklang.guards.plain_yaml import parse_yaml
from mklang.guards.schemas import Schema, SchemaProblem

MOST_STEPS = 50
_BOUNDS = Bounds(bytes=256 * 1024, depth=12, items=1000)


class Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a text must hold: one of ``any``, all of ``all``, a ``regex`` (found anywhere, in linear time)."""

    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    regex: str | None = None

    def __post_init__(self) -> None:
        if self.regex is not None:
            try:
                Schema({"type": "string", "pattern": self.regex})
            except SchemaProblem as problem:
                raise ValueError(f"regex {self.regex!r}: {problem}") from problem


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"but": "not"}):
    """Which events a step is about. Everything that is given must hold; a plain text is a part of what is compared."""

    tool: str | tuple[str, ...] | None = None
    path: str | None = None
    command: str | Text | None = None
    output: str | Text | None = None
    text: str | Text | None = None
    but: Match | None = None


class Detector(msgspec.Struct, frozen=True):
    """What a step looks like, in prose, and its place among the others."""

    description: str = ""
    after_step: str | None = None
    before_step: str | None = None


class Step(msgspec.Struct, frozen=True):
    """One step. ``count`` is how many times at least; ``within`` how many events may lie between it and an ``each``."""

    id: str
    description: str = ""
    required: bool = True
    detector: Detector = Detector()
    match: Match | None = None
    when: Match | None = None
    never: bool = False
    each: Match | None = None
    count: int = 1
    within: int | None = None


class Scoring(msgspec.Struct, frozen=True):
    """Below which share a step should be enforced instead of asked for."""

    threshold_promote_to_hook: float = 0.6


class Spec(msgspec.Struct, frozen=True):
    """A rule as steps that can be seen in a session. Unknown keys are the reference's affair and pass."""

    id: str
    steps: tuple[Step, ...]
    name: str = ""
    source_rule: str = ""
    version: str | int | float = ""
    scoring: Scoring = Scoring()

    @property
    def prose_steps(self) -> tuple[Step, ...]:
        """The steps that only a model can see."""
        return tuple(step for step in self.steps if step.match is None)


def read_spec(path: Path) -> Spec:
    """The spec in a file. Raises ``UsageError`` with what is wrong and where."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return spec_in(text, str(path))


def spec_in(text: str, name: str) -> Spec:
    """A spec from text. Raises ``UsageError``."""
    parsed = parse_yaml(text, _BOUNDS)
    if isinstance(parsed, Failure):
        raise UsageError(f"{name}: {parsed.message}")
    try:
        spec = msgspec.convert(_whole(parsed), Spec)
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"{name}: {error}") from error
    problem = _problem(spec)
    if problem:
        raise UsageError(f"{name}: {problem}")
    return spec


def _whole(value: Any) -> Any:
    """A spec wrapped in one key, as some files have it."""
    if isinstance(value, dict) and "steps" not in value and isinstance(value.get("spec"), dict):
        return value["spec"]
    return value


def _problem(spec: Spec) -> str:
    names = [step.id for step in spec.steps]
    if not names or len(names) > MOST_STEPS:
        return f"a spec has 1 to {MOST_STEPS} steps, not {len(names)}"
    for step in spec.steps:
        if not step.id or names.count(step.id) > 1:
            return f"step '{step.id}': every step has a name of its own"
        for other in (step.detector.after_step, step.detector.before_step):
            if other is not None and (other not in names or other == step.id):
                return f"step '{step.id}': there is no other step '{other}'; there are {', '.join(names)}"
        if step.match is None and (step.never or step.each is not None):
            return f"step '{step.id}': 'never' and 'each' take a 'match'"
        if step.count < 1 or (step.within is not None and step.within < 1):
            return f"step '{step.id}': 'count' and 'within' are 1 or more"
    return ""
