"""What a survey shows about a state's conditions: overlap, shadowing, gaps, instability, order drift (S7, S8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from mklang.measure.evidence import Output
from mklang.measure.statistics import Interval, benjamini_hochberg, binomial_tail, entropy, wilson
from mklang.measure.survey import Survey

EXAMPLE_CHARS = 160
"""How much of an example output is shown."""
EXAMPLES = 3
FALSE_RATE = 0.1
"""How often an overlap may be seen where there is none; what is found is held against it."""
WITNESS = 0.5
"""As soon as one output reaches a gate with this probability, nobody says that the gate is shadowed."""
NEAR = 0.05
"""A probability this near the threshold decides by a hair."""


class Kind(Enum):
    """The kinds of findings, and what to do about each."""

    OVERLAP = "overlap"
    SHADOWED = "shadowed"
    GAP = "gap"
    UNSTABLE = "unstable"
    ORDER_DRIFT = "order-drift"


_ADVICE = {
    Kind.OVERLAP: "put the narrower condition first, or tighten one so that they exclude each other",
    Kind.SHADOWED: "move the later gate before the earlier one, or make the earlier condition narrower",
    Kind.GAP: "add an otherwise gate, or a condition for these outputs",
    Kind.UNSTABLE: "say what counts in so many words, split the condition, or make it a hook if it can be computed",
    Kind.ORDER_DRIFT: "the judge looked for the best match: make the conditions exclude each other, or change judges",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to look at. ``gates`` are numbers as the author counts them, from 0, earlier first.

    It was seen on ``n`` of ``of`` outputs. ``q`` is the least false discovery rate at which an overlap counts when
    judges err on every tenth output; ``entropy`` is that of the routes, in bits. ``doubtful`` marks the findings of a
    judge that failed its controls.
    """

    kind: Kind
    state: str
    gates: tuple[int, ...]
    n: int
    of: int
    interval: Interval
    message: str
    examples: tuple[str, ...]
    q: float | None = None
    entropy: float | None = None
    doubtful: bool = False

    @property
    def suggestion(self) -> str:
        """What an author can do."""
        return _ADVICE[self.kind]

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "kind": self.kind.value,
            "state": self.state,
            "gates": list(self.gates),
            "n": self.n,
            "of": self.of,
            "interval": self.interval.to_wire(),
            "message": self.message,
            "examples": list(self.examples),
            "suggestion": self.suggestion,
            **({} if self.q is None else {"q": round(self.q, 4)}),
            **({} if self.entropy is None else {"entropy": round(self.entropy, 4)}),
            **({"unfit_judge": True} if self.doubtful else {}),
        }


def findings_of(survey: Survey) -> list[Finding]:
    """Everything a survey shows, most serious kind first."""
    return [*_shadowed(survey), *_overlaps(survey), *_gaps(survey), *_drift(survey), *_unstable(survey)]


def _finding(
    survey: Survey, kind: Kind, gates: Sequence[int], *, seen: Sequence[Output], of: int, message: str
) -> Finding:
    numbers = survey.conditions.numbers
    return Finding(
        kind=kind,
        state=survey.state.id,
        gates=tuple(numbers[one] for one in gates),
        n=len(seen),
        of=of,
        interval=wilson(len(seen), of),
        message=message,
        examples=tuple(shortened(one.text) for one in seen[:EXAMPLES]),
    )


def _overlaps(survey: Survey) -> list[Finding]:
    numbers, found, tails = survey.conditions.numbers, [], []
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            asked = [one for one in survey.judged if one.readings[i] and one.readings[j]]
            seen = [one for one in asked if (i, j) in one.both]
            if seen:
                message = f"gates {numbers[i]} and {numbers[j]} overlap on {len(seen)}/{len(asked)} synthetic outputs"
                found.append(_finding(survey, Kind.OVERLAP, (i, j), seen=seen, of=len(asked), message=message))
                tails.append(binomial_tail(len(seen), len(asked), FALSE_RATE))
    rates = benjamini_hochberg(tails)
    return [replace(one, q=rate) for one, rate in zip(found, rates, strict=True)]


def _shadowed(survey: Survey) -> Iterator[Finding]:
    """A later gate all of whose outputs an earlier one claims, after an output that it alone claims was asked for."""
    numbers = survey.conditions.numbers
    for j in range(1, len(numbers)):
        true = [one for one in survey.judged if one.holds(j)]
        claimed = [one for one in true if any(one.holds(i) for i in range(j))]
        tried = any(target.true == (j,) and count for target, count in survey.asked.items())
        answers = sum(min(2, one.readings[j]) for one in claimed)
        if answers < (2 if tried else 5) or any(one.reaches(j) > WITNESS for one in survey.judged):
            continue
        by = [i for i in range(j) if any(one.holds(i) for one in claimed)]
        names = " and ".join(str(numbers[i]) for i in by)
        share = f"{len(claimed)} of {len(true)} outputs"
        message = f"gate {numbers[j]} is shadowed: gate {names} is true before it on {share}"
        yield _finding(survey, Kind.SHADOWED, (*by, j), seen=claimed, of=len(true), message=message)


def _gaps(survey: Survey) -> Iterator[Finding]:
    if survey.conditions.catch_all:
        return
    asked = [one for one in survey.judged if all(one.readings)]
    seen = [one for one in asked if one.empty]
    if seen:
        message = f"no gate holds on {len(seen)}/{len(asked)} synthetic outputs, and there is no otherwise"
        yield _finding(survey, Kind.GAP, (), seen=seen, of=len(asked), message=message)


def _drift(survey: Survey) -> Iterator[Finding]:
    """The engine's call picked a later condition although an earlier one, asked about alone, is true."""
    numbers = survey.conditions.numbers
    pairs: dict[tuple[int, int], list[Output]] = {}
    asked = [one for one in survey.judged if one.alone and one.routes]
    for output in asked:
        pick = output.routes[0]
        for place, votes in output.alone.items():
            later = pick is None or place < pick
            if later and votes[True] >= 2 and votes[True] > 2 * votes[False]:
                pairs.setdefault((place, -1 if pick is None else pick), []).append(output)
    for (earlier, pick), seen in pairs.items():
        fired = "none" if pick < 0 else f"gate {numbers[pick]}"
        message = f"the judge chose {fired} although gate {numbers[earlier]}, asked about alone, is true"
        gates = (earlier,) if pick < 0 else (earlier, pick)
        yield _finding(survey, Kind.ORDER_DRIFT, gates, seen=seen, of=len(asked), message=message)


def _unstable(survey: Survey) -> Iterator[Finding]:
    numbers = survey.conditions.numbers
    repeated = [one for one in survey.judged if len(one.routes) > 1]
    seen = [one for one in repeated if len(set(one.routes)) > 1]
    hair = [one for one in survey.judged if one not in seen and _by_a_hair(one, survey)]
    if not seen and not hair:
        return
    routes = sorted({-1 if route is None else route for one in seen for route in one.routes})
    places = sorted({one for one in routes if one >= 0} | {place for one in hair for place in _near(one, survey)})
    bits = max((entropy(Counter(one.routes).values()) for one in seen), default=0.0)
    parts = []
    if seen:
        votes = " and ".join(f"none x{n}" if r is None else f"gate {numbers[r]} x{n}" for r, n in _votes(seen))
        parts.append(
            f"the same output went different ways on {len(seen)}/{len(repeated)} outputs asked again ({votes})"
        )
    if hair:
        parts.append(f"a probability within {NEAR:g} of the threshold decided on {len(hair)} outputs")
    total = len({id(one) for one in (*repeated, *hair)})
    found = _finding(survey, Kind.UNSTABLE, places, seen=[*seen, *hair], of=total, message="; ".join(parts))
    yield replace(found, entropy=bits)


def _votes(seen: Sequence[Output]) -> list[tuple[int | None, int]]:
    return Counter(seen[0].routes).most_common()


def _near(output: Output, survey: Survey) -> list[int]:
    """The conditions whose mean probability decided and lies next to the threshold."""
    threshold = next(iter(survey.thresholds), 0.5)
    margin = max(NEAR, survey.band)
    walked: list[int] = []
    for place in sorted(output.chances[0]):
        values = [one[place] for one in output.chances if place in one]
        mean = sum(values) / len(values)
        if abs(mean - threshold) < margin:
            walked.append(place)
        if mean >= threshold:
            break
    return walked


def _by_a_hair(output: Output, survey: Survey) -> bool:
    return bool(output.chances) and bool(_near(output, survey))


def shortened(text: str) -> str:
    """An output as one line, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= EXAMPLE_CHARS else line[: EXAMPLE_CHARS - 1] + "…"
