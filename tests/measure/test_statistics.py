"""Known values, and what must hold for any."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.measure.statistics import (
    NOTHING_KNOWN,
    agreement,
    benjamini_hochberg,
    binomial_tail,
    bootstrap,
    brier,
    calibration_error,
    clustered,
    entropy,
    kappa,
    pair_agreement,
    reliability,
    wilson,
)

PEOPLE = [True] * 18 + [False] * 2


def test_a_judge_that_always_passes_agrees_often_and_knows_nothing() -> None:
    assert agreement(PEOPLE, [True] * 20) == 0.9
    assert kappa(PEOPLE, [True] * 20) == 0.0


def test_kappa_of_a_table_of_four() -> None:
    people = [True] * 12 + [False] * 8
    judge = [True] * 10 + [False] * 2 + [True] * 3 + [False] * 5
    assert agreement(people, judge) == 0.75
    assert round(kappa(people, judge), 4) == 0.4681


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(11, 11, 0.7412, 1.0), (9, 11, 0.5230, 0.9486), (73, 73, 0.9500, 1.0), (66, 66, 0.9450, 1.0), (0, 5, 0.0, 0.4345)],
)
def test_wilson_by_known_values(hits: int, of: int, low: float, high: float) -> None:
    found = wilson(hits, of)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_seventy_three_without_a_miss_are_the_fewest_that_show_95_percent() -> None:
    assert wilson(72, 72).low < 0.95 <= wilson(73, 73).low


@given(st.integers(0, 200), st.integers(1, 200))
def test_an_interval_holds_its_share(hits: int, of: int) -> None:
    hits = min(hits, of)
    found = wilson(hits, of)
    assert 0.0 <= found.low <= hits / of <= found.high <= 1.0


def test_nothing_counted_is_nothing_known() -> None:
    assert wilson(0, 0) == NOTHING_KNOWN
    assert clustered([]).interval == NOTHING_KNOWN
    assert clustered([]).rate is None
    assert bootstrap({}, seed=1) == NOTHING_KNOWN


def test_entropy_is_nothing_for_one_outcome_and_one_bit_for_two_alike() -> None:
    assert entropy([4]) == 0.0
    assert entropy([2, 2]) == 1.0
    assert math.isclose(entropy([7, 3]), 0.8812908992306927)


def test_pairs_of_labels() -> None:
    assert pair_agreement(["a", "a", "a", "b"]) == (3, 6)


def test_adjusted_p_values_grow_and_keep_their_order() -> None:
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert benjamini_hochberg([]) == []


def test_a_tail_counts_everything_from_there_on() -> None:
    assert binomial_tail(0, 5, 0.1) == pytest.approx(1.0)
    assert binomial_tail(2, 2, 0.1) == pytest.approx(0.01)


def test_answers_that_go_together_widen_the_interval() -> None:
    apart = clustered([(f"m{i}", i % 10 != 0) for i in range(100)])
    together = clustered([(f"m{i // 10}", i >= 10) for i in range(100)])
    assert apart.rate == together.rate == 0.9
    assert together.design_effect > 5
    assert together.interval.low < apart.interval.low - 0.1


def test_a_bootstrap_is_the_same_for_the_same_seed() -> None:
    groups = {f"m{i}": [float(i % 3 == 0), 1.0, 1.0] for i in range(9)}
    first = bootstrap(groups, seed=7)
    assert first == bootstrap(groups, seed=7)
    assert first.low < 7 / 9 < first.high + 0.2


def test_a_calibrated_judge_has_no_calibration_error_and_a_liar_has_much() -> None:
    honest = [(0.8, True)] * 8 + [(0.8, False)] * 2
    assert calibration_error(honest) == pytest.approx(0.0)
    assert brier(honest) == pytest.approx(0.16)
    assert calibration_error([(1.0, False)] * 4) == 1.0
    assert [(one.count, one.share) for one in reliability(honest)] == [(10, 0.8)]
