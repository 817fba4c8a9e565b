"""What ``mklang divergence`` does: choose the cases and the judges, measure, tell, and say how it ended."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mklang import __version__
from mklang.cli.exit_codes import ExitCode
from mklang.cli.output import Output, complain, envelope, is_terminal, one_line, to_json
from mklang.engine.options import OnUncertain, RunOptions
from mklang.errors import UsageError
from mklang.hooks.registry import HookRegistry
from mklang.host.judge_config import Manner
from mklang.host.models import Models, choose_models
from mklang.host.seam import REAL, Seam
from mklang.lang.models import Tier
from mklang.measure.bars import rule
from mklang.measure.calibration import calibrate
from mklang.measure.corpora import INJECTION, Case, Corpus, pinned_corpus
from mklang.measure.divergence import MAX_TOKENS, Contender, Row, Trial, measure, summarise, trials
from mklang.measure.ledger import CapReached, Ledger
from mklang.oracles.judge_log import LoggedOracle
from mklang.oracles.live import LiveOracle
from mklang.oracles.timed import TimedOracle
from mklang.tools.registry import ToolRegistry

LIMITS = (
    "Numbers hold for this corpus, these models and this day. Runs of one machine go together, which the intervals "
    "respect. HOLD keeps the status as it is and is no go-ahead; a live comparison with other providers (path C) needs "
    "keys and a decision."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person asked for, by the names of the flags."""

    config: str | None
    providers: tuple[str, ...]
    model: str | None
    base_url: str | None
    judges: tuple[str, ...]
    bars: bool
    machines: str
    no_injections: bool
    limit: int | None
    repeats: int
    paraphrase: bool
    live: bool
    jsonl: str | None
    summary_json: str | None
    report: str | None
    min_agreement: float | None
    min_accuracy: float | None
    min_paraphrase_invariance: float | None
    ledger: str | None
    max_usd: float
    run_usd: float


@dataclass(frozen=True, slots=True)
class _Judge:
    """A judge that is to be measured, by the name its rows carry."""

    name: str
    models: Models
    live: bool

    def contender(self, corpus_id: str) -> Contender:
        """The judge as the harness wants it: timed, and its calls logged."""
        models = self.models
        live = LiveOracle(
            models=models.tiers, judge=models.judge, tools=ToolRegistry(), hooks=HookRegistry(), nonce=lambda: "measure"
        )
        logged = LoggedOracle(TimedOracle(live, elapsed=REAL.elapsed), labels={"corpus_id": corpus_id})
        options = RunOptions(
            max_tokens=MAX_TOKENS, whole_decisions=models.whole_decisions, on_uncertain=OnUncertain.FLAG
        )
        mapping = "noul_first_ge" if Tier.FAST in models.whole_decisions else "choice"
        writer, judge = models.prices.get(Tier.FAST, (None, None))
        priced = judge is not None and (writer is not None or not self.live)
        return Contender(name=self.name, oracle=logged, options=options, mapping=mapping, live=self.live, priced=priced)


def run(asked: Asked, out: Output, *, seam: Seam = REAL) -> int:
    """Measure, and tell."""
    if asked.report:
        from mklang.measure.plots import require_plots

        require_plots()
    if asked.min_paraphrase_invariance is not None and not asked.paraphrase:
        raise UsageError("--min-paraphrase-invariance needs --paraphrase")
    corpus = pinned_corpus()
    variants = (0, 1) if asked.paraphrase else (0,)
    planned = trials(corpus, chosen(corpus, asked), variants=variants, repeats=asked.repeats)
    ledger = _ledger(asked, seam)
    judges = list(_judges(asked, seam))
    rows, stopped = asyncio.run(_measured(asked, planned, judges, quiet=out.json, ledger=ledger))
    report = _report(asked, judges, rows, seam) | {"stopped": stopped}
    _write(asked, report, rows)
    code = _exit_code(asked, report, rows)
    if out.json:
        items = report["judges"]
        summary = {**report["measured"], "limits": LIMITS, "stopped": stopped}
        out.wire(envelope("divergence", ok=code == ExitCode.OK, items=items, summary=summary))
    else:
        for line in told(report, bars=asked.bars):
            out.say(line)
    return code


def chosen(corpus: Corpus, asked: Asked) -> list[Case]:
    """The cases that were asked for, spread evenly over the corpus where there is a limit."""
    wanted = () if asked.machines == "all" else tuple(part.strip() for part in asked.machines.split(","))
    known = {name for case in corpus.cases for name in (case.machine, case.purpose)}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UsageError(f"--machines {unknown[0]}: the corpus has {', '.join(sorted(known))}")
    cases = [one for one in corpus.chosen(wanted) if not (asked.no_injections and one.purpose == INJECTION)]
    if asked.limit is None or asked.limit >= len(cases):
        return cases
    return [cases[place * len(cases) // asked.limit] for place in range(asked.limit)]


def _judges(asked: Asked, seam: Seam) -> Iterator[_Judge]:
    for provider in asked.providers or (None,):
        for word in dict.fromkeys(asked.judges):
            manner = None if word == "configured" else Manner(word)
            models = choose_models(
                config=asked.config,
                provider=provider,
                model=asked.model,
                base_url=asked.base_url,
                judge=manner,
                seam=seam,
            )
            name = models.judged_by.get(Tier.FAST) or provider or "judge"
            yield _Judge(f"{name}/{'noul' if Tier.FAST in models.whole_decisions else 'choice'}", models, asked.live)


async def _measured(
    asked: Asked, planned: Sequence[Trial], judges: Sequence[_Judge], *, quiet: bool, ledger: Ledger | None
) -> tuple[list[Row], str]:
    """The rows, and why it ended early if it did; what was measured is kept."""
    corpus = pinned_corpus()
    rows: list[Row] = []
    try:
        for judge in judges:
            if not quiet:
                complain(f"# {judge.name}: {len(planned)} runs ({judge.models.notice})", label="")
            keep = _Keeping(rows, asked.jsonl)
            await measure(planned, judge.contender(corpus.id), corpus_id=corpus.id, ledger=ledger, watch=keep)
    except CapReached as reached:
        return rows, str(reached)
    except asyncio.CancelledError:
        return rows, "interrupted"
    finally:
        for judge in judges:
            await judge.models.aclose()
    return rows, ""


@dataclass(slots=True)
class _Keeping:
    """Every row as it comes: kept, appended to a file, and counted for a person."""

    rows: list[Row]
    jsonl: str | None

    def __call__(self, row: Row) -> None:
        """Take a row."""
        self.rows.append(row)
        if self.jsonl:
            with Path(self.jsonl).open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        if is_terminal(sys.stderr):
            sys.stderr.write(f"\r{len(self.rows)} runs")
            sys.stderr.flush()


def _ledger(asked: Asked, seam: Seam) -> Ledger | None:
    if not asked.ledger:
        return None
    stamp = seam.now().isoformat(timespec="seconds")
    return Ledger(Path(asked.ledger), asked.max_usd, asked.run_usd, run_id=seam.nonce()[:12], timestamp=stamp)


def _report(asked: Asked, judges: Sequence[_Judge], rows: list[Row], seam: Seam) -> dict[str, Any]:
    corpus, entries = pinned_corpus(), []
    for judge in judges:
        mine = [row for row in rows if row["provider"] == judge.name]
        used = next((row["threshold"] for row in mine if row.get("threshold") is not None), None)
        entries.append(
            {
                "provider": judge.name,
                "threshold": used,
                "summary": summarise(mine),
                "ruling": rule(mine, judge.name).to_wire(),
                "calibration": calibrate([row for row in mine if row["variant"] == 0], corpus),
            }
        )
    measured = {
        "corpus": corpus.id,
        "runs": len(rows),
        "repeats": asked.repeats,
        "paraphrase": asked.paraphrase,
        "live": asked.live,
        "limit": asked.limit,
        "date": seam.now().isoformat(timespec="seconds"),
        "mklang": __version__,
    }
    return {"judges": entries, "all": summarise(rows), "measured": measured, "limits": LIMITS}


def _write(asked: Asked, report: dict[str, Any], rows: Sequence[Row]) -> None:
    if asked.summary_json:
        Path(asked.summary_json).write_text(to_json(report["all"]) + "\n", "utf-8")
    if asked.report:
        from mklang.measure.divergence_page import divergence_page

        folder = Path(asked.report)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").write_text(divergence_page(report), "utf-8")
        (folder / "report.json").write_text(to_json(report) + "\n", "utf-8")
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / "rows.jsonl").write_text(lines, "utf-8")


def _exit_code(asked: Asked, report: dict[str, Any], rows: Sequence[Row]) -> int:
    found = report["all"]
    if report["stopped"] == "interrupted":
        return ExitCode.INTERRUPTED
    if found["runs_done"] < 2:
        return ExitCode.UNUSABLE
    floors = (
        (asked.min_agreement, found["signature_agreement_rate"]["rate"]),
        (asked.min_accuracy, found["accuracy"]["rate"]),
        (asked.min_paraphrase_invariance, found["paraphrase"]["rate"]),
    )
    missed = any(floor is not None and (rate is None or rate < floor) for floor, rate in floors)
    stop = asked.bars and any(judge["ruling"]["verdict"] == "STOP" for judge in report["judges"])
    failed = any(row["status"] != "done" for row in rows) or bool(report["stopped"])
    return ExitCode.FAILED if missed or stop or failed else ExitCode.OK


def told(report: dict[str, Any], *, bars: bool) -> Iterator[str]:
    """The report for a person."""
    for judge in report["judges"]:
        found = judge["summary"]
        yield f"{judge['provider']}: {found['runs_done']} runs done, {found['runs_failed']} failed"
        for name in ("accuracy", "intra_provider_agreement", "paraphrase"):
            if found[name]["of"]:
                yield f"  {name.replace('_', ' ')}: {_share(found[name])}"
        for name, rate in found["per_purpose"].items():
            yield f"    {one_line(name)}: {_share(rate)}"
        if bars:
            for bar in judge["ruling"]["bars"]:
                yield f"  bar: {bar['bar']} >= {bar['required']}: {bar['standing']} ({_share(bar)})"
            yield f"  {judge['ruling']['verdict']}"
        calibration = judge["calibration"]
        if calibration:
            yield (
                f"  calibration: Brier {calibration['brier']}, error {calibration['calibration_error']}; suggested "
                f"threshold {calibration['suggested_threshold']} ({calibration['note']})"
            )
    if len(report["judges"]) > 1:
        yield f"agreement across judges: {_share(report['all']['cross_provider_agreement'])}"
    if report["stopped"]:
        yield f"stopped early: {one_line(report['stopped'])}"
    yield LIMITS


def _share(found: dict[str, Any]) -> str:
    low, high = found["interval"]
    rate = "-" if found["rate"] is None else f"{found['rate']:.3f}"
    return f"{rate} ({found['n']} of {found['of']}, 95 % interval {low:.3f} to {high:.3f})"
