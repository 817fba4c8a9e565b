"""How long to wait before trying again, and when not to."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.errors import ProviderFailed, Refused
from mklang.llm.retry import Pace, RetryPolicy, Transient, asked_wait, retrying
from tests.llm.asking import NOON, Slept


def wait(value: str | None, message: str = "", name: str = "retry-after") -> float | None:
    return asked_wait({} if value is None else {name: value}, message, lambda: NOON)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("86400", 86400.0),
        ("inf", float("inf")),
        ("nan", None),
        ("", None),
        ("soon", None),
        ("Mon, 30 Nov 2026 12:00:07 GMT", 7.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("Mon, 99 Nov 2026 11:00:00 GMT", None),
        ("2026-11-30T12:00:07Z", 7.0),
        ("2s", 2.0),
        ("1m30s", 90.0),
    ],
)
def test_retry_after_is_a_number_a_duration_or_a_date(header: str, seconds: float | None) -> None:
    assert wait(header) == seconds


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("no capacity, try again in 60 seconds", 60.0),
        ("Please try again in 1.5s.", 1.5),
        ("try again in 250ms", 0.25),
        ("Retry after 2 minutes", 120.0),
        ("Please try again in 1m2.5s. Visit our page.", 62.5),
        ("Please retry in 6m0s", 360.0),
        ("Please try again in 1h2m3s", 3723.0),
        ("try again in 34.074824224s.", 34.074824224),
        ("try again in 7 moons", None),
        ("try again later", None),
        ("", None),
    ],
)
def test_without_a_header_the_message_may_say_it(message: str, seconds: float | None) -> None:
    assert wait(None, message) == seconds


def test_the_header_counts_more_than_the_message_and_milliseconds_more_than_seconds() -> None:
    assert wait("3", "try again in 60 seconds") == 3.0
    assert wait("soon", "try again in 60 seconds") == 60.0
    assert wait("1500", name="retry-after-ms") == 1.5


@given(st.text(max_size=30), st.text(max_size=60))
def test_no_header_and_no_message_makes_it_raise(header: str, message: str) -> None:
    seconds = wait(header, message)
    assert seconds is None or seconds >= 0


@given(st.integers(1, 60), st.none() | st.floats(0, 60), st.floats(0, 0.999))
def test_a_pause_is_never_shorter_than_asked_or_than_our_own_and_bounded(
    failures: int, asked: float | None, jitter: float
) -> None:
    pause = RetryPolicy().wait(failures, asked, jitter)
    assert max(asked or 0.0, min(0.5 * 2 ** (failures - 1), 60.0)) <= pause <= 120.0


def attempts(*outcomes: Exception | str) -> tuple[list[float], int, str]:
    """The pauses, the number of attempts and the end of a call whose attempts end as given."""
    slept, left = Slept(), list(outcomes)

    async def attempt() -> str:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    try:
        end = asyncio.run(retrying(attempt, RetryPolicy(), slept.pace))
    except (ProviderFailed, Refused) as failed:
        end = f"{type(failed).__name__}: {failed}"
    return slept.pauses, len(outcomes) - len(left), end


def test_our_own_pauses_double() -> None:
    assert attempts(*[Transient("busy")] * 3, "ok") == ([0.5, 1.0, 2.0], 4, "ok")


def test_each_failure_is_waited_for_as_it_asks() -> None:
    assert attempts(Transient("busy", 1.0), Transient("busy", 3.0), "ok") == ([1.0, 3.0], 3, "ok")


def test_there_is_always_an_end() -> None:
    assert attempts(*[Transient("busy")] * 9) == ([0.5, 1.0, 2.0], 4, "ProviderFailed: busy; tried 4 times")


def test_a_pause_that_is_too_long_is_reported_instead_of_taken() -> None:
    end = "ProviderFailed: busy; it asks for a pause of 86400 s: try again then"
    assert attempts(Transient("busy", 86400.0), "ok") == ([], 1, end)


def test_what_is_not_transient_is_not_tried_again() -> None:
    assert attempts(Refused("no"), "ok") == ([], 1, "Refused: no")


def test_jitter_is_added() -> None:
    slept, outcomes = Slept(), [True, False]

    async def attempt() -> None:
        if outcomes.pop(0):
            raise Transient("busy", 2.0)

    pace = Pace(sleep=slept.sleep, now=lambda: NOON, jitter=lambda: 0.5, elapsed=lambda: 0.0)
    asyncio.run(retrying(attempt, RetryPolicy(), pace))
    assert slept.pauses == [2.25]
