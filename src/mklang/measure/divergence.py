"""Gate divergence: the same outputs before one judge or several, and how the runs go (S4).

A run here is a real run of a corpus machine with the entry state's output pinned, so that only the judge decides; live,
the models write as well. A run comes down to its signature, and everything else is counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from itertools import combinations
from typing import Any

from mklang.engine.options import RunOptions
from mklang.engine.oracle import Oracle
from mklang.engine.outcome import Done, Halted, Outcome, Suspended
from mklang.engine.requests import Answer, Produce, Produced, Request, Verdict
from mklang.engine.run import arun
from mklang.lang.models import Machine
from mklang.lang.semantics import semantic_hash
from mklang.lang.values import Json
from mklang.measure.corpora import INJECTION, Case, Corpus
from mklang.measure.ledger import Ledger
from mklang.measure.signatures import gates_of, route_of, signature
from mklang.measure.statistics import Share, clustered

MAX_TOKENS = 20_000
"""Tokens that one run of the harness may use."""
PINNED_MODEL = "pinned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One judge that is measured. ``options`` are those of a run with it, ``mapping`` is how it judges.

    ``live`` lets the models write the outputs. ``priced`` says that the price of everything a run asks is known; else a
    row says no cost, for an unknown price is no price of zero.
    """

    name: str
    oracle: Oracle
    options: RunOptions = field(default_factory=RunOptions)
    mapping: str = "choice"
    tier: str = "fast"
    live: bool = False
    priced: bool = False


@dataclass(slots=True)
class Pinning:
    """An oracle that writes what the corpus says and lets the judge answer, and keeps the verdicts.

    ``live`` lets a model write; ``output`` is then what it wrote.
    """

    inner: Oracle
    entry: str
    output: str
    live: bool = False
    verdicts: list[Verdict] = field(default_factory=list)

    async def answer(self, request: Request, /) -> Answer:
        """Answer one request."""
        if isinstance(request, Produce) and not self.live:
            return Produced(text=self.output if request.state == self.entry else "done", model=PINNED_MODEL)
        answer = await self.inner.answer(request)
        if isinstance(answer, Verdict):
            self.verdicts.append(answer)
        elif isinstance(answer, Produced) and isinstance(request, Produce) and request.state == self.entry:
            self.output = answer.text
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run that is to be made: a case in one wording, asked for the n-th time."""

    case: Case
    machine: Machine
    variant: int = 0
    repeat: int = 0


Row = dict[str, Any]
"""One run as the harness writes it, by the published keys and what a judge of probabilities adds (S29)."""


async def run_trial(trial: Trial, contender: Contender) -> Row:
    """One run, as a row."""
    case, machine = trial.case, trial.machine
    oracle = Pinning(contender.oracle, machine.entry, "" if contender.live else case.output, live=contender.live)
    inputs: dict[str, Json] = {"message": case.output} if contender.live else {}
    outcome = await arun(machine, inputs, oracle=oracle, options=contender.options)
    return row_of(trial, contender, outcome, oracle)


def row_of(trial: Trial, contender: Contender, outcome: Outcome, oracle: Pinning) -> Row:
    """A run as a row."""
    case = trial.case
    status = {Done: "done", Halted: "halted", Suspended: "suspended"}[type(outcome)]
    route = route_of(outcome.trace)
    identity = f"{semantic_hash(trial.machine)}/{case.id}/{trial.variant}"
    return {
        "provider": contender.name,
        "machine": case.machine,
        "variant": trial.variant,
        "skipped": False,
        "status": status,
        "error": None if isinstance(outcome, Done) else getattr(outcome, "error", status),
        "judge_tier": contender.tier,
        "judge_override": None,
        "signature": signature(outcome.trace),
        "route": route,
        "correct": route == case.gold if status == "done" else None,
        "output_hash": blake2b(oracle.output.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest(),
        "gates": gates_of(outcome.trace),
        "usage": {"input_tokens": outcome.usage.input_tokens, "output_tokens": outcome.usage.output_tokens},
        "usd": outcome.usage.nano_usd / 1e9 if contender.priced else None,
        "repeat": trial.repeat,
        "experiment": case.purpose,
        "input_hash": sha256(identity.encode()).hexdigest()[:16],
        "case": case.id,
        "gold": case.gold,
        "family": case.family,
        "held_out": case.held_out,
        **_judged(oracle.verdicts[-1] if oracle.verdicts else None, contender),
    }


def _judged(verdict: Verdict | None, contender: Contender) -> Row:
    """What the judge said, by the fields that a comparison needs."""
    if verdict is None:
        return {"judge_provider": contender.name, "mapping": contender.mapping}
    probabilities = None if verdict.probabilities is None else list(verdict.probabilities)
    chosen = None if verdict.index is None or probabilities is None else probabilities[verdict.index]
    return {
        "judge_provider": verdict.provider or contender.name,
        "judge_model": verdict.model,
        "mapping": verdict.mapping,
        "threshold": verdict.threshold,
        "noul_probs": probabilities,
        "chosen_index": verdict.index,
        "none": verdict.index is None,
        "confidence": chosen,
        "latency_ms": round(verdict.seconds * 1000),
        "tokens_in": verdict.usage.input_tokens,
        "fence_applied": verdict.fence_applied,
        "read": verdict.read.value,
    }


def trials(corpus: Corpus, cases: Sequence[Case], *, variants: Sequence[int] = (0,), repeats: int = 1) -> list[Trial]:
    """Every run of some cases. Injections are asked in the author's own words only."""
    return [
        Trial(case=case, machine=corpus.machines[case.machine, variant], variant=variant, repeat=repeat)
        for variant in variants
        for case in cases
        if not (variant and case.purpose == INJECTION)
        for repeat in range(repeats)
    ]


async def measure(
    planned: Sequence[Trial],
    contender: Contender,
    *,
    corpus_id: str,
    ledger: Ledger | None = None,
    watch: Callable[[Row], None] = lambda _row: None,
) -> list[Row]:
    """Every run with one judge. The ledger, where there is one, is asked before each and refuses at its cap."""
    rows: list[Row] = []
    for trial in planned:
        if ledger is not None:
            ledger.reserve()
        row = await run_trial(trial, contender) | {"corpus_id": corpus_id}
        if ledger is not None:
            ledger.charge(row)
        rows.append(row)
        watch(row)
    return rows


def summarise(rows: Sequence[Row]) -> dict[str, Any]:
    """The summary by the published keys, each rate with an interval that respects clustering by machine."""
    done = [row for row in rows if row["status"] == "done"]
    pairs = list(_pairs(done))
    accuracy = share(done)
    agreement = clustered((pair["machine"], pair["same_signature"]) for pair in pairs)
    cross = clustered((pair["machine"], pair["same_signature"]) for pair in pairs if not pair["same_provider"])
    intra = clustered((pair["machine"], pair["same_signature"]) for pair in pairs if pair["same_provider"])
    blind = None if agreement.rate is None or accuracy.rate is None else round(agreement.rate - accuracy.rate, 4)
    return {
        "providers_attempted": sorted({row["provider"] for row in rows}),
        "machines": sorted({row["machine"] for row in rows}),
        "runs_done": len(done),
        "runs_skipped": sum(row["skipped"] for row in rows),
        "runs_failed": len(rows) - len(done),
        "signature_agreement_rate": agreement.to_wire(),
        "cross_provider_agreement": cross.to_wire(),
        "intra_provider_agreement": intra.to_wire(),
        "accuracy": accuracy.to_wire(),
        "scored_runs": sum(row["correct"] is not None for row in rows),
        "gate_blind_spot": blind,
        "per_machine": {name: share(r for r in done if r["machine"] == name).to_wire() for name in _machines(done)},
        "per_purpose": {name: share(r for r in done if r["experiment"] == name).to_wire() for name in _purposes(done)},
        "per_family": {name: share(r for r in done if r["family"] == name).to_wire() for name in _families(done)},
        "paraphrase": paraphrase(done).to_wire(),
        "distinct_signatures": len({row["signature"] for row in done}),
        "gate_errors": [f"{row['case']}: {row['error']}" for row in rows if row["status"] != "done"],
        "corpus_id": next((row.get("corpus_id") for row in rows), None),
    }


def share(rows: Iterable[Row]) -> Share:
    """How many of the scored runs took the gold way."""
    return clustered((row["machine"], row["correct"]) for row in rows if row["correct"] is not None)


def _pairs(rows: Sequence[Row]) -> Iterable[Row]:
    """Runs of the same case and wording, two by two."""
    by_case: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        by_case.setdefault((row["case"], row["variant"]), []).append(row)
    for (_, variant), members in by_case.items():
        for a, b in combinations(members, 2):
            yield {
                "a": a["provider"],
                "b": b["provider"],
                "same_provider": a["provider"] == b["provider"],
                "same_signature": a["signature"] == b["signature"],
                "same_outputs": a["output_hash"] == b["output_hash"],
                "machine": a["machine"],
                "variant": variant,
            }


def paraphrase(rows: Sequence[Row]) -> Share:
    """How often other words for the conditions lead the same way."""
    routes: dict[tuple[str, str, int], dict[int, str]] = {}
    machines: dict[tuple[str, str, int], str] = {}
    for row in rows:
        key = (row["provider"], row["case"], row["repeat"])
        routes.setdefault(key, {})[row["variant"]] = row["route"]
        machines[key] = row["machine"]
    return clustered((machines[key], found[0] == found[1]) for key, found in routes.items() if len(found) > 1)


def _machines(rows: Iterable[Row]) -> list[str]:
    return sorted({row["machine"] for row in rows})


def _purposes(rows: Iterable[Row]) -> list[str]:
    return sorted({row["experiment"] for row in rows})


def _families(rows: Iterable[Row]) -> list[str]:
    return sorted({row["family"] for row in rows if row["family"]})
