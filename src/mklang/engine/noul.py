"""Walking yes/no probabilities in gate order: the first that reaches the threshold, never the greatest (ADR 0037)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mklang.engine.requests import Read, Verdict
from mklang.engine.trace import Judgement
from mklang.lang.models import Gate

MAPPING = "noul_first_ge"


def first_at_least(probabilities: Sequence[float], threshold: float) -> int | None:
    """The position of the first probability that reaches the threshold; None when none does."""
    return next((index for index, value in enumerate(probabilities) if value >= threshold), None)


def usable(verdict: Verdict, conditions: int) -> bool:
    """Whether a verdict can be walked: read, and one probability in [0, 1] for each condition. A pick is refused."""
    probabilities, threshold = verdict.probabilities, verdict.threshold
    return (
        verdict.read is not Read.UNREAD
        and verdict.mapping == MAPPING
        and threshold is not None
        and 0.0 <= threshold <= 1.0
        and probabilities is not None
        and len(probabilities) == conditions
        and all(0.0 <= value <= 1.0 for value in probabilities)
    )


def doubtful(walked: Iterable[float], verdict: Verdict) -> bool:
    """Whether any probability that decided, one rejected on the way or the one that fired, is within the band."""
    threshold = verdict.threshold or 0.0
    return verdict.band > 0 and any(abs(value - threshold) < verdict.band for value in walked)


def contradicts(verdict: Verdict) -> bool:
    """Whether the judge says both that a condition holds and that none does."""
    none, threshold = verdict.none_probability, verdict.threshold or 0.0
    return none is not None and none >= threshold and any(p >= threshold for p in verdict.probabilities or ())


def how_none(verdict: Verdict) -> str:
    """Whether none was found because the judge says so, or because nothing reached the threshold."""
    none = verdict.none_probability
    return "asked" if none is not None and verdict.threshold is not None and none >= verdict.threshold else "default"


def judgement_of(asked: Sequence[Gate], verdict: Verdict, chosen: Gate | None, uncertain: bool) -> Judgement:
    """One question to a judge and its answer, as the trace keeps it (S29)."""
    probabilities = verdict.probabilities
    walked = probabilities is not None and len(probabilities) == len(asked)
    confidence = None
    if probabilities is not None and walked and chosen is not None:
        confidence = probabilities[[gate.index for gate in asked].index(chosen.index)]
    return Judgement(
        gates=tuple([gate.index for gate in asked]),
        model=verdict.model,
        mapping=verdict.mapping,
        chosen=None if chosen is None else chosen.index,
        provider=verdict.provider,
        threshold=verdict.threshold,
        band=verdict.band,
        probabilities=probabilities,
        none_probability=verdict.none_probability,
        none=how_none(verdict) if walked and chosen is None else None,
        confidence=confidence,
        uncertain=uncertain,
        contradiction=contradicts(verdict),
        fence_applied=verdict.fence_applied,
        read=verdict.read.value,
        usage=verdict.usage,
        seconds=verdict.seconds,
    )
