"""The corpus: every expected finding is found with its code, nothing else is, and the totals hold."""

from __future__ import annotations

import pytest

from tests.audit.python.score import CASES, Score, cases, score


@pytest.fixture(scope="module")
def scores() -> list[Score]:
    return [score(case) for case in cases()]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases()])
def test_a_case_gives_what_its_comments_say(case):
    scored = score(case)
    assert (scored.missed, scored.false) == (frozenset(), frozenset())


@pytest.mark.rule("S50")
def test_recall_and_false_alarms_are_within_bounds(scores):
    wanted = sum(len(one.expected) for one in scores)
    assert len(scores) >= 90
    assert sum(len(one.missed) for one in scores) <= 0.05 * wanted
    assert sum(len(one.false) for one in scores) <= 0.05 * sum(len(one.found) for one in scores)


def test_a_quarter_of_the_cases_must_stay_silent(scores):
    assert sum(not one.expected for one in scores) * 4 >= len(scores)


def test_no_case_is_empty():
    assert all(any(file.stat().st_size for file in CASES.rglob("*.py")) for _ in CASES.iterdir())
