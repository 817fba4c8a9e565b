"""calc computes what Python computes, and gives up at once on what would take long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.tools.calc import MAX_CHARS, calc


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("7 / 2", "3.5"),
        ("8 / 2", "4.0"),
        ("7 // 2", "3"),
        ("-7 % 3", "2"),
        ("2 ** 10", "1024"),
        ("2 ** -1", "0.5"),
        ("--5", "5"),
        ("+1", "1"),
        ("1e3 + .5", "1000.5"),
        ("1_000 * 2", "2000"),
        (" 1\n+ 1 ", "2"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("1 ** 999999999999", "1"),
        ("2 ** 3999", str(2**3999)),
    ],
)
def test_a_value_is_written_as_python_writes_numbers(expression: str, value: str) -> None:
    assert calc({"expr": expression}) == value


def test_the_expression_may_be_a_number_or_come_as_query() -> None:
    assert calc({"expr": 5}) == "5"
    assert calc({"query": "1+1"}) == "2"


@pytest.mark.rule("W16")
@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9**9",
        "9**9**9",
        "(9**999)**999",
        "2**4001",
        "*".join(["9**999"] * 40),
        "1e308*10",
        "2.0**99999",
        "10**400/3.0",
        "1e999",
        "-" * 400 + "1",
        "(" * 250 + "1" + ")" * 250,
        "(" * 150,
        "1" * (MAX_CHARS + 1),
        "*".join(str(n) for n in range(1, 20_000)),
        "*".join(["9**1200"] * 50),
        "(" * 10_000 + "1" + ")" * 10_000,
        "**".join(["2"] * 150),
        "-(" * 120 + "9**9**9" + ")" * 120,
    ],
)
def test_what_is_too_large_is_an_error_text_and_fast(expression: str) -> None:
    begun = time.perf_counter()
    answer = calc({"expr": expression})
    assert answer.startswith("error: ") or expression.startswith("-")
    assert time.perf_counter() - begun < 0.5


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("1/0", "division by zero"),
        ("1%0", "division by zero"),
        ("0**-1", "division by zero"),
        ("(-8)**(1/3)", "not a real number"),
        ("", "only numbers"),
        ("2 apples", "only numbers"),
        ("__import__('os')", "only numbers"),
        ("e", "only numbers"),
        ("1(2)", "only numbers"),
        ("1,2", "only numbers"),
        ("True", "only numbers"),
        ("1 +", "not an arithmetic expression"),
        ("007", "not an arithmetic expression"),
        ("1 2", "not an arithmetic expression"),
        (None, "'expr' must be"),
        (True, "'expr' must be"),
        (["1"], "'expr' must be"),
    ],
)
def test_what_is_no_arithmetic_is_an_error_text(expression: object, reason: str) -> None:
    answer = calc({"expr": expression})  # type: ignore[dict-item]
    assert answer.startswith("error: ")
    assert reason in answer


@given(st.text(alphabet="0123456789.eE_+-*/%() ", max_size=60))
def test_no_text_makes_it_raise(expression: str) -> None:
    assert isinstance(calc({"expr": expression}), str)


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12), st.sampled_from(["+", "-", "*"]))
def test_whole_numbers_are_exact(left: int, right: int, sign: str) -> None:
    expected = {"+": left + right, "-": left - right, "*": left * right}[sign]
    assert calc({"expr": f"({left}) {sign} ({right})"}) == str(expected)
