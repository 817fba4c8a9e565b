"""Rules from patterns: a model drafts candidates, then answers questions meant to disprove each. One no settles it.

What is left is put up for a person. The model's answers can only take a candidate away; they are never averaged, and no
answer of theirs lets anything pass that a person has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from mklang.guards import Bounds, Checked, Guard
from mklang.knowledge.asking import ask
from mklang.knowledge.distil import Stage
from mklang.knowledge.files import make_folder
from mklang.knowledge.patterns import Pattern
from mklang.knowledge.schemas import ForbiddenTexts

QUESTIONS = {
    "grounded": "Do the patterns it names really say this, without anything added?",
    "specific": "Is it specific to this project or person, and not what any capable assistant does anyway?",
    "actionable": "Is it one clear do or don't that can be followed without further instruction?",
    "rule": "Is it a rule for every session, and not a procedure for one task?",
    "new": "Is it missing from the rules that are there, also in other words?",
    "risky": "Is there something that goes wrong when it is not followed?",
}
"""What a candidate must be, each to be answered with yes or no."""
MOST = 10


class Candidate(msgspec.Struct, frozen=True):
    """A drafted rule: its text, the patterns it rests on, what goes wrong without it."""

    rule: str
    patterns: tuple[str, ...]
    risk: str


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate with what was answered. ``why_not`` is empty for one that is left."""

    candidate: Candidate
    answers: dict[str, str]
    why_not: str = ""


def draft_guard(patterns: Sequence[Pattern], forbid: ForbiddenTexts = ()) -> Guard:
    """What may be drafted: a few rules, each from patterns that exist."""
    names = {"type": "array", "minItems": 1, "items": {"enum": [one.id for one in patterns]}}
    text = {"type": "string", "minLength": 8, "maxLength": 300, "pattern": r"^[^\n]*\S[^\n]*$"}
    item = {
        "type": "object",
        "required": ["rule", "patterns", "risk"],
        "additionalProperties": False,
        "properties": {"rule": text, "patterns": names, "risk": text},
    }
    schema: dict[str, Any] = {"type": "array", "maxItems": MOST, "items": item}
    bounds = Bounds(bytes=65_536, depth=5, items=200)
    return Guard(name="drafts", schema=schema, forbidden=tuple(forbid), bounds=bounds, fold_whitespace=True)


def answer_guard() -> Guard:
    """What may be answered: each question once, yes or no, with a line of evidence."""
    one = {
        "type": "object",
        "required": ["answer", "evidence"],
        "additionalProperties": False,
        "properties": {"answer": {"enum": ["yes", "no"]}, "evidence": {"type": "string", "maxLength": 500}},
    }
    schema: dict[str, Any] = {
        "type": "object",
        "required": list(QUESTIONS),
        "properties": dict.fromkeys(QUESTIONS, one),
        "additionalProperties": False,
    }
    return Guard(name="answers", schema=schema, bounds=Bounds(bytes=16_384, depth=4, items=20))


async def candidates(
    patterns: Sequence[Pattern], rules: str, stages: tuple[Stage, Stage], folder: Path, *, forbid: ForbiddenTexts = ()
) -> list[Examined] | str:
    """Draft and examine; without patterns nobody is asked. A text says why a model's drafts did not pass."""
    if not patterns:
        return []
    draft, refute = stages
    shown = "\n".join(f"{one.id}: {' '.join(one.pattern.split())}" for one in patterns)
    where = folder / sha256(f"{draft.identity}\0{refute.identity}\0{shown}\0{rules}".encode()).hexdigest()[:16]
    make_folder(where)
    inputs: dict[str, Any] = {"patterns": shown, "rules": rules}
    drafted = await ask(draft, draft_guard(patterns, forbid), inputs, where / "draft.jsonl")
    if not isinstance(drafted, Checked):
        return drafted
    found = msgspec.json.decode(drafted.content(), type=list[Candidate])
    return [await _examine(one, inputs, refute, where / f"refute-{number}.jsonl") for number, one in enumerate(found)]


async def _examine(candidate: Candidate, inputs: dict[str, Any], refute: Stage, journal: Path) -> Examined:
    questions = "\n".join(f"{name}: {text}" for name, text in QUESTIONS.items())
    asked = {**inputs, "candidate": candidate.rule, "rests_on": ", ".join(candidate.patterns), "questions": questions}
    answered = await ask(refute, answer_guard(), asked, journal)
    if not isinstance(answered, Checked):
        return Examined(candidate=candidate, answers={}, why_not=f"no answers that pass: {answered}")
    answers = {name: one["answer"] for name, one in answered.value.items()}
    against = next((name for name in QUESTIONS if answers[name] == "no"), None)
    why_not = f"not {against}: {answered.value[against]['evidence']}" if against else ""
    return Examined(candidate=candidate, answers=answers, why_not=why_not)
