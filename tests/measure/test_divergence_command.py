"""``mklang divergence`` at the command line."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mklang.cli import measuring_judges
from mklang.cli.main import main
from mklang.host.judge_config import Manner
from mklang.lang.models import Tier
from tests.measure.test_divergence import Judging


class Answering:
    """A judge of known quality where models are expected."""

    def __init__(self, judge: Judging) -> None:
        self._judge = judge

    async def judge(self, request: Any) -> Any:
        await asyncio.sleep(0.002)
        return await self._judge.answer(request)


@pytest.fixture(autouse=True)
def judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def aclose() -> None:
        return None

    def choose(*, judge: Manner | None, **_: Any) -> SimpleNamespace:
        noul = judge is Manner.NOUL
        quality = Judging(noul=noul, shadow_misses=0 if noul else 4)
        return SimpleNamespace(
            tiers={},
            judge=Answering(quality),
            notice="simulated",
            judged_by={Tier.FAST: "sim"},
            whole_decisions=frozenset(Tier) if noul else frozenset(),
            prices={},
            aclose=aclose,
        )

    monkeypatch.setattr(measuring_judges, "choose_models", choose)


@pytest.mark.rule("S4", "S30")
def test_two_mappings_on_the_same_evidence_with_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--judge", "noul", "--judge", "choice", "--bars", "--no-injections"]
    asked += ["--machines", "priority_shadow,amount_edge"]
    assert main(["divergence", *asked, "--report", "out", "--jsonl", "rows.jsonl", "--summary-json", "s.json"]) == 1
    told = capsys.readouterr().out
    assert "sim/noul" in told
    assert "priority_shadow at the chosen threshold >= 1.0: met (1.000 (80 of 80" in told
    assert "priority_shadow at the chosen threshold >= 1.0: not met (0.950 (76 of 80" in told
    assert "STOP" in told
    assert "HOLD" in told
    assert len(Path("rows.jsonl").read_text("utf-8").splitlines()) == 2 * 84
    assert json.loads(Path("s.json").read_text("utf-8"))["cross_provider_agreement"]["n"] == 80
    page = Path("out/index.html").read_text("utf-8")
    assert page.count("<svg") >= 4


@pytest.mark.rule("S29")
def test_every_call_to_a_judge_is_timed_and_in_the_log_with_its_corpus(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mklang.judge")
    asked = ["--judge", "noul", "--no-injections", "--machines", "amount_edge"]
    assert main(["divergence", *asked, "--jsonl", "rows.jsonl"]) == 0
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text("utf-8").splitlines()]
    lines = [json.loads(record.message) for record in caplog.records if record.name == "mklang.judge"]
    assert len(lines) == len(rows) > 0
    assert {line["corpus_id"] for line in lines} == {row["corpus_id"] for row in rows}
    assert all(line["produce_hash"] and line["latency_ms"] > 0 for line in lines)
    assert all(row["latency_ms"] > 0 for row in rows)


def test_floors_fail_and_a_cap_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["divergence", "--judge", "choice", "--machines", "priority_shadow"]
    assert main([*asked, "--min-accuracy", "0.9"]) == 0
    assert main([*asked, "--min-accuracy", "0.99"]) == 1
    assert main([*asked, "--ledger", "costs.jsonl", "--max-usd", "0.02", "--run-usd", "0.002"]) == 1
    assert "would pass the cap of $0.02" in capsys.readouterr().out
    assert len(Path("costs.jsonl").read_text("utf-8").splitlines()) == 10


def test_what_the_corpus_does_not_have_is_refused() -> None:
    assert main(["divergence", "--machines", "nothing_like_it"]) == 2
    assert main(["divergence", "--min-paraphrase-invariance", "0.8"]) == 2
