"""An invocation of ``lint --llm`` as a whole: limits, cache, outages, controls, and what its report says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mklang.engine.requests import Answer, Judge, Produce, Request, Verdict
from mklang.errors import ProviderFailed
from mklang.lang.reader import machine_from_text
from mklang.measure.asking import AnswerCache
from mklang.measure.findings import Kind
from mklang.measure.llm_lint import Job, Linter, LintReport, Setting, expected
from mklang.measure.stimuli import measurable
from mklang.measure.survey import Plan
from mklang.measure.wire import Origin, as_sarif, changes, findings_to_wire, report_to_wire
from tests.measure.planted import UNTRUE, Planted, Simulation, World, corpus
from tests.measure.surveys import NOUL

SHADOW = Planted("shadow", 2, frozenset({World({0}), World({0, 1})}))
CLEAR = Planted("clear", 3, frozenset({World({0}), World({1}), World({2})}))
ORIGIN = Origin(provider="planted", generators={"fast": "w"}, judges={"fast": "j"}, mklang="0", date="2026-11-30")


class Several:
    """Simulations of several machines behind one oracle, right about the controls unless told otherwise."""

    def __init__(self, states: Iterable[Planted], *, fit: bool = True, fail_after: int | None = None) -> None:
        self.simulations = {one.name: Simulation(one) for one in states}
        self.fit = fit
        self.fail_after = fail_after
        self.asked: list[Request] = []

    async def answer(self, request: Request, /) -> Answer:
        if isinstance(request, Judge | Produce):
            if self.fail_after is not None and len(self.asked) >= self.fail_after:
                raise ProviderFailed("connection refused")
            self.asked.append(request)
        if isinstance(request, Judge) and "the output shows" not in request.conditions[0]:
            held = [(one not in UNTRUE) == self.fit for one in request.conditions]
            chances = tuple(0.9 if one else 0.1 for one in held)
            usage = next(iter(self.simulations.values())).cost
            return Verdict(index=None, method="noul_first_ge", mapping="noul_first_ge", probabilities=chances,
                           threshold=0.5, model="planted-noul", usage=usage)  # fmt: skip
        known = list(self.simulations.values())
        if isinstance(request, Produce):
            known = [one for one in known if one.planted.size == request.user.count("the output shows mark")]
        return await known[0].answer(request)


def jobs(*states: Planted) -> list[Job]:
    return [Job(path=f"{one.name}.mkl", machine=one.machine()) for one in states]


def lint(oracle: Any, *states: Planted, cache: Path | None = None, **settings: Any) -> LintReport:
    setting = Setting(options=NOUL, **settings)
    linter = Linter(oracle, setting, who="planted", cache=None if cache is None else AnswerCache(cache))
    return asyncio.run(linter.measure(jobs(*states)))


@pytest.mark.rule("S8", "S10", "S13")
def test_a_report_says_what_was_found_and_how() -> None:
    report = lint(Several([SHADOW, CLEAR]), SHADOW, CLEAR)
    first, second = report.machines
    assert {one.kind for one in first.findings} == {Kind.OVERLAP, Kind.SHADOWED}
    assert second.findings == ()
    found = findings_to_wire(first)[0]
    assert (found["kind"], found["state"], found["gates"]) == ("shadowed", "look", [0, 1])
    assert found["suggestion"]
    assert found["examples"]
    wire = report_to_wire(report, ORIGIN)
    assert wire["provider"] == "planted"
    assert wire["tiers"] == ["fast"]
    assert wire["temperature"] == {"generator": 0.8, "judge": 0.0}
    assert wire["judge_models"] == {"fast": "j"}
    assert wire["mapping"] == ["noul_first_ge"]
    assert wire["threshold"] == [0.5]
    assert (wire["samples"], wire["repeats"]) == (5, 3)
    assert "absence of a finding is not proof" in wire["limits"]
    assert "a difference between two runs is expected" in wire["limits"]
    assert wire["machines"][0]["hash"]
    assert wire["calls"]["judge"] == report.tally.judge > 0
    assert wire["tokens"]["total"] == report.tally.usage.total == 100 * report.tally.calls


@pytest.mark.rule("S10")
def test_hooks_and_catch_alls_are_not_measured() -> None:
    machine = machine_from_text("""
machine: m
entry: one
budget: 3
states:
  one:
    structure: x
    prompt: x
    output: x
    gates:
      - { when: it is short, then: ok, to: END }
      - { when: the amount is small, hook: auto_approve_ok, then: ok, to: END }
      - { when: otherwise, then: ok, to: END }
      - { when: it is never asked about, then: ok, to: END }
""")
    assert measurable(machine) == []
    assert expected([Job(path="m", machine=machine)], Setting()).states == 0


@pytest.mark.rule("S11")
def test_the_whole_stays_within_the_cost_that_was_announced() -> None:
    states = corpus(each=2)
    most = expected(jobs(*states), Setting())
    assert (most.produce_calls, most.judge_calls) == (5 * len(states), 15 * len(states))
    report = lint(Several([SHADOW, CLEAR]), SHADOW, CLEAR)
    assert report.tally.produce <= 10
    assert report.tally.judge <= 30 + report.estimate.control_calls


@pytest.mark.rule("S12", "W67")
def test_half_the_budget_stops_at_the_cap_and_the_next_run_pays_for_the_rest(tmp_path: Path) -> None:
    whole = lint(Several([SHADOW, CLEAR]), SHADOW, CLEAR)
    cap = whole.tally.usage.total // 2
    first = lint(Several([SHADOW, CLEAR]), SHADOW, CLEAR, cache=tmp_path, max_tokens=cap)
    assert cap <= first.tally.usage.total < cap + 100
    assert "token limit" in first.stopped
    assert first.left_out
    second = lint(Several([SHADOW, CLEAR]), SHADOW, CLEAR, cache=tmp_path)
    assert second.tally.cached == first.tally.calls
    assert not second.left_out
    third = lint(Several([SHADOW, CLEAR]), SHADOW, CLEAR, cache=tmp_path)
    assert third.tally.calls == 0
    assert third.tally.usage.total == 0
    assert [one.findings for one in third.machines] == [one.findings for one in second.machines]


def test_asking_again_on_purpose_is_not_answered_from_the_cache(tmp_path: Path) -> None:
    oracle = Several([SHADOW])
    report = lint(oracle, SHADOW, cache=tmp_path)
    asked = [one.output for one in oracle.asked if isinstance(one, Judge)]
    assert len(asked) > len(set(asked))
    assert report.tally.cached == 0


def test_an_outage_ends_the_measuring_and_keeps_what_was_learnt() -> None:
    report = lint(Several([SHADOW, CLEAR], fail_after=18), SHADOW, CLEAR)
    assert "connection refused" in report.stopped
    assert report.machines[0].states[0].survey.judged
    assert report.left_out
    assert report_to_wire(report, ORIGIN)["not_measured"] == report.left_out


def test_ctrl_c_ends_the_measuring_and_keeps_what_was_learnt() -> None:
    class Stopping(Several):
        async def answer(self, request: Request, /) -> Answer:
            if len(self.asked) == 12:
                raise asyncio.CancelledError
            return await super().answer(request)

    report = lint(Stopping([SHADOW, CLEAR]), SHADOW, CLEAR)
    assert report.interrupted
    assert len(report.machines[0].states[0].survey.judged) >= 2
    assert report.left_out


def test_a_judge_that_fails_its_controls_is_unfit_and_its_findings_say_so() -> None:
    report = lint(Several([SHADOW], fit=False), SHADOW)
    assert report.fitness.fit is False
    assert all(one.doubtful for one in report.machines[0].findings)
    assert report_to_wire(report, ORIGIN)["judge_unfit"] is True


def test_a_judge_nobody_can_read_finds_nothing_and_says_under_sampled() -> None:
    class Mumbling(Several):
        async def answer(self, request: Request, /) -> Answer:
            answer = await super().answer(request)
            return (
                Verdict(index=None, method="noul_first_ge", probabilities=()) if isinstance(answer, Verdict) else answer
            )

    report = lint(Mumbling([SHADOW]), SHADOW, controls=False)
    assert report.machines[0].states[0].under_sampled
    assert report.machines[0].findings == ()


def test_what_the_author_wrote_is_judged_first() -> None:
    oracle = Several([SHADOW])
    job = Job(path="m", machine=SHADOW.machine(), material={"look": ["from a scenario shows 0", "another shows 0 1"]})
    linter = Linter(oracle, Setting(options=NOUL, controls=False), who="planted")
    report = asyncio.run(linter.measure([job]))
    assert isinstance(oracle.asked[0], Judge)
    assert report.machines[0].states[0].survey.outputs[0].text == "from a scenario shows 0"


def test_two_reports_are_compared_by_what_they_found() -> None:
    finding = {"kind": "overlap", "state": "s", "gates": [0, 1]}
    before = {"items": [{"path": "a.mkl", "llm_findings": [finding]}]}
    after = {"items": [{"path": "a.mkl", "llm_findings": [{**finding, "gates": [1, 2]}]}]}
    assert {word: len(found) for word, found in changes(before, after).items()} == {"new": 1, "gone": 1, "still": 0}


@pytest.mark.rule("S9")
def test_in_sarif_every_finding_is_a_note() -> None:
    report = lint(Several([SHADOW]), SHADOW)
    sarif = as_sarif([("shadow.mkl", 6, one) for one in report.machines[0].findings], ORIGIN)
    assert {one["level"] for one in sarif["runs"][0]["results"]} == {"note"}


def test_more_calls_only_when_they_were_asked_for() -> None:
    assert Plan().judge_calls(4) == 15
    assert Plan(full=True).judge_calls(4) == 35
