"""Shares with intervals, over sessions: what is counted, what is not, and which steps would be better enforced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import msgspec

from mklang.knowledge.compliance.outcomes import COUNTED, Outcome
from mklang.knowledge.compliance.spec import Spec
from mklang.measure.statistics import wilson

LEAST = 5
"""Below so many sessions no share is shown."""


class Distribution(Enum):
    """Where the sessions come from: the rule's own surroundings, or others that it was not made from."""

    HOME = "home"
    HELD_OUT = "held-out"


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One step over all sessions. ``share`` None: too few sessions count. ``low`` and ``high`` are Wilson's 95 %."""

    step: str
    required: bool
    outcomes: dict[str, int]
    done: int
    of: int
    share: float | None
    low: float
    high: float
    enforce: bool


class Compliance(msgspec.Struct, frozen=True, kw_only=True):
    """A spec over sessions. ``whole`` counts sessions in which every required step that counts was done; ``note`` says
    what the numbers do not."""

    spec: str
    distribution: Distribution
    sessions: int
    unmeasured: tuple[str, ...]
    steps: tuple[Measured, ...]
    whole: int
    whole_of: int
    note: str = ""


def measure(
    spec: Spec,
    results: Mapping[str, Mapping[str, Outcome]],
    *,
    distribution: Distribution,
    unmeasured: Iterable[str] = (),
    least: int = LEAST,
) -> Compliance:
    """Count. ``results`` are outcomes by session; ``unmeasured`` sessions that could not be looked at."""
    steps = []
    for step in spec.steps:
        counts = Counter(found[step.id] for found in results.values())
        of = sum(counts[outcome] for outcome in COUNTED)
        done, interval = counts[Outcome.DONE], wilson(counts[Outcome.DONE], of)
        share = done / of if of >= least else None
        under = share is not None and share < spec.scoring.threshold_promote_to_hook
        steps.append(
            Measured(
                step=step.id,
                required=step.required,
                outcomes={outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]},
                done=done,
                of=of,
                share=share,
                low=interval.low,
                high=interval.high,
                enforce=under and step.required and step.match is not None,
            )
        )
    required = [step.id for step in spec.steps if step.required]
    counting = [found for found in results.values() if any(found[name] in COUNTED for name in required)]
    whole = sum(
        all(found[name] is Outcome.DONE or found[name] not in COUNTED for name in required) for found in counting
    )
    return Compliance(
        spec=spec.id,
        distribution=distribution,
        sessions=len(results),
        unmeasured=tuple(unmeasured),
        steps=tuple(steps),
        whole=whole,
        whole_of=len(counting),
        note="" if required else "no required steps",
    )


def to_wire(found: Compliance) -> dict[str, Any]:
    """The JSON form."""
    wire: dict[str, Any] = msgspec.to_builtins(found)
    return wire
