"""What the lint finds of a truth that is known, within the calls a state may take."""

from __future__ import annotations

import pytest

from mklang.measure.findings import Kind, findings_of
from mklang.measure.survey import Plan
from tests.measure.planted import Score, Simulation, corpus, wobbly_corpus
from tests.measure.surveys import score, survey

STATES = corpus()
KINDS = ("overlap", "shadowed", "gap")


def everywhere(found: Score) -> float:
    return sum(found.false.values()) / sum(found.clean.values())


def test_the_corpus_is_large_and_mixed() -> None:
    assert len(STATES) >= 80
    assert {one.size for one in STATES} == {2, 3, 4, 5}
    assert sum(bool(one.overlapping) for one in STATES) >= 30
    assert sum(bool(one.shadowed) for one in STATES) >= 20
    assert sum(one.gap for one in STATES) >= 20


@pytest.mark.rule("S5", "S8", "S11")
def test_a_judge_with_probabilities_finds_nearly_everything_and_nothing_else() -> None:
    found = score(STATES)
    assert all(found.recall(kind) >= 0.95 for kind in KINDS), found.row()
    assert all(found.false_rate(kind) <= 0.05 for kind in KINDS), found.row()


def test_one_wrong_answer_in_ten_costs_little() -> None:
    found = Score()
    for seed in range(3):
        found.merge(score(STATES, noise=0.1, seed=seed))
    assert all(found.recall(kind) >= 0.85 for kind in KINDS), found.row()
    assert all(found.false_rate(kind) <= 0.10 for kind in KINDS), found.row()


def test_a_writer_who_slips_does_not_make_findings() -> None:
    found = score(STATES, slips=0.1)
    assert found.recall("overlap") >= 0.9, found.row()
    assert everywhere(found) <= 0.02, found.row()


@pytest.mark.rule("S8", "S11")
def test_a_judge_that_only_picks_finds_most_through_targeted_probes() -> None:
    found = score(STATES, probabilities=False)
    assert all(found.recall(kind) >= 0.80 for kind in KINDS), found.row()
    assert everywhere(found) <= 0.05, found.row()


def test_probes_of_every_condition_find_the_rest() -> None:
    found = score(STATES, Plan(full=True), probabilities=False)
    assert all(found.recall(kind) >= 0.95 for kind in KINDS), found.row()
    assert everywhere(found) <= 0.05, found.row()


@pytest.mark.rule("S6", "S7")
@pytest.mark.parametrize("probabilities", [True, False])
def test_an_output_on_which_the_judge_is_of_two_minds_is_found(probabilities: bool) -> None:
    states, seeds = wobbly_corpus(), (1, 2, 3)
    measured = [survey(Simulation(state, probabilities=probabilities, seed=seed)) for state in states for seed in seeds]
    found = sum(any(one.kind is Kind.UNSTABLE for one in findings_of(each)) for each in measured)
    assert found / (len(states) * len(seeds)) >= 0.8


def test_a_steady_judge_is_not_called_unstable() -> None:
    for state in STATES:
        for probabilities in (True, False):
            kinds = {one.kind for one in findings_of(survey(Simulation(state, probabilities=probabilities)))}
            assert not kinds & {Kind.UNSTABLE, Kind.ORDER_DRIFT}
