"""Every call to a judge leaves one line with the same fields, whatever came of it and whoever judged."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from mklang.engine.requests import Judge, Produced, Read, Usage, Verdict
from mklang.errors import ProviderFailed
from mklang.oracles.judge_log import LoggedOracle
from tests.engine.worlds import World
from tests.llm.asking import decide, write

pytestmark = pytest.mark.rule("S29")
SEED_FIELDS = {
    "judge_provider", "mapping", "threshold", "noul_probs", "chosen_index", "none", "confidence", "latency_ms",
    "tokens_in", "estimated_usd", "fence_applied", "produce_hash",
}  # fmt: skip


def noul(*chances: float, **more: Any) -> Verdict:
    index = next((number for number, chance in enumerate(chances) if chance >= 0.5), None)
    told = {"index": index, "threshold": 0.5, "probabilities": chances, "model": "jev-1", "provider": "jev", **more}
    return Verdict(method="noul_first_ge", mapping="noul_first_ge", fence_applied=True, **told)


def logged(
    answer: Any, caplog: pytest.LogCaptureFixture, request: Judge | None = None, **labels: Any
) -> dict[str, Any]:
    """The fields of the one line, checked to be the same in the message and on the record."""

    def judge(_: Judge) -> Verdict:
        if isinstance(answer, Exception):
            raise answer
        return answer

    oracle = LoggedOracle(World(judge=judge), labels=labels)
    with caplog.at_level(logging.INFO, "mklang.judge"):
        try:
            asyncio.run(oracle.answer(request or decide()))
        except ProviderFailed:
            assert isinstance(answer, ProviderFailed)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("mklang.judge", logging.INFO)
    fields: dict[str, Any] = record.__dict__["judge"]
    assert json.loads(record.getMessage()) == fields
    return fields


def test_a_probability_judges_call_has_every_field(caplog: pytest.LogCaptureFixture) -> None:
    verdict = noul(0.2, 0.7, none_probability=0.1, band=0.05, usage=Usage(21, 3, 400_000), seconds=0.1234)
    fields = logged(verdict, caplog, decide(output="A fox."), corpus_id="shadow-1")
    assert fields.keys() >= SEED_FIELDS
    assert fields == {
        "key": "1:s/judge[0]",
        "state": "s",
        "tier": "fast",
        "conditions": 2,
        "produce_hash": fields["produce_hash"],
        "judge_provider": "jev",
        "judge_model": "jev-1",
        "mapping": "noul_first_ge",
        "threshold": 0.5,
        "band": 0.05,
        "noul_probs": [0.2, 0.7],
        "none_probability": 0.1,
        "chosen_index": 1,
        "none": None,
        "confidence": 0.7,
        "read": "clean",
        "raw": None,
        "fence_applied": True,
        "latency_ms": 123,
        "tokens_in": 21,
        "tokens_out": 3,
        "estimated_usd": 0.0004,
        "corpus_id": "shadow-1",
    }
    caplog.clear()
    other = logged(verdict, caplog, decide(output="A dog."))
    assert other["produce_hash"] != fields["produce_hash"]


@pytest.mark.parametrize(
    ("verdict", "chosen", "none"),
    [
        (noul(0.9, 0.1), 0, None),
        (noul(0.1, 0.1, none_probability=0.9), None, "asked"),
        (noul(0.1, 0.1, none_probability=0.2), None, "default"),
        (noul(0.1, 0.1), None, "default"),
        (Verdict(index=1, model="m"), 1, None),
        (Verdict(index=None, model="m"), None, "asked"),
        (Verdict(index=None, model="m", forced=True), None, "default"),
        (Verdict(index=0, model="m", read=Read.UNREAD, raw="hm"), None, None),
    ],
)
def test_what_was_chosen_or_how_none_was_found(
    verdict: Verdict, chosen: int | None, none: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    fields = logged(verdict, caplog)
    assert (fields["chosen_index"], fields["none"]) == (chosen, none)
    assert fields.keys() >= SEED_FIELDS
    assert fields["raw"] == (verdict.raw if verdict.read is Read.UNREAD else None)


def test_a_failed_call_is_a_line_too_with_its_cost(caplog: pytest.LogCaptureFixture) -> None:
    fields = logged(ProviderFailed("nobody there", input_tokens=5), caplog)
    assert (fields["error"], fields["tokens_in"]) == ("ProviderFailed: nobody there", 5)


def test_other_requests_leave_no_line_and_an_unheard_logger_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    oracle = LoggedOracle(World(produce=lambda _: Produced(text="x")))
    with caplog.at_level(logging.INFO, "mklang.judge"):
        asyncio.run(oracle.answer(write()))
    with caplog.at_level(logging.WARNING, "mklang.judge"):
        asyncio.run(oracle.answer(decide()))
    assert not caplog.records
