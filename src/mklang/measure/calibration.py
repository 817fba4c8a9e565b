"""Whether probabilities mean what they say, and which threshold the evidence suggests. Nothing is ever set here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mklang.measure.corpora import Case, Corpus
from mklang.measure.divergence import Row
from mklang.measure.statistics import Forecast, brier, calibration_error, clustered, reliability

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))
TELLING = 20
"""With fewer forecasts than this nothing is suggested."""


def forecasts(rows: Sequence[Row], corpus: Corpus) -> list[Forecast]:
    """Probabilities with the truth of what they were given for, as far as the gold tells it.

    The gold gate's condition is true and the earlier ones are false; about later ones the gold says nothing.
    """
    cases = {case.id: case for case in corpus.cases}
    found: list[Forecast] = []
    for row in rows:
        probabilities = row.get("noul_probs")
        if probabilities:
            gold = _gold(cases[row["case"]], corpus)
            last = len(probabilities) - 1 if gold is None else gold
            found += [(value, index == gold) for index, value in enumerate(probabilities[: last + 1])]
    return found


def _gold(case: Case, corpus: Corpus) -> int | None:
    """The place of the gold gate among the prose gates; None when the catch-all is right."""
    machine = corpus.machines[case.machine, 0]
    target = case.gold.partition(" || ")[0].partition(">")[2]
    gates = machine.states[machine.entry].gates
    return next((g.index for g in gates if g.target == target and g.when != "otherwise"), None)


def calibrate(rows: Sequence[Row], corpus: Corpus) -> dict[str, Any] | None:
    """Reliability, Brier score, calibration error, accuracy by threshold; None for a judge without probabilities."""
    known = forecasts(rows, corpus)
    if not known:
        return None
    by_threshold = [_at(rows, corpus, threshold) for threshold in THRESHOLDS]
    best = max(by_threshold, key=lambda one: (one["rate"] or 0.0, -abs(one["threshold"] - 0.5)))
    return {
        "forecasts": len(known),
        "brier": round(brier(known), 4),
        "calibration_error": round(calibration_error(known), 4),
        "reliability": [asdict(one) for one in reliability(known)],
        "accuracy_by_threshold": by_threshold,
        "suggested_threshold": best["threshold"] if len(known) >= TELLING else None,
        "note": "a suggestion with its evidence, not a setting: changing a threshold is a decision of its own",
    }


def _at(rows: Sequence[Row], corpus: Corpus, threshold: float) -> dict[str, Any]:
    """Accuracy if the walk had used another threshold."""
    cases = {case.id: case for case in corpus.cases}
    outcomes = [
        (row["machine"], _first(row["noul_probs"], threshold) == _gold(cases[row["case"]], corpus))
        for row in rows
        if row.get("noul_probs")
    ]
    return {"threshold": threshold, **clustered(outcomes).to_wire()}


def _first(probabilities: Sequence[float], threshold: float) -> int | None:
    return next((index for index, value in enumerate(probabilities) if value >= threshold), None)
