"""What a judge sees of the blackboard: all of it as JSON, or its head and its tail (L35)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.engine.blackboard import EVIDENCE_CHARS, Blackboard
from mklang.engine.excerpt import ends
from mklang.engine.taint import Mark

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=30,
)


@given(value=VALUES, room=st.integers(1, 80))
@pytest.mark.rule("L35")
def test_the_ends_are_those_of_the_whole_text(value: Any, room: int) -> None:
    whole = json.dumps(value, ensure_ascii=False)
    half = (room + 1) // 2
    cut = len(whole) > room
    assert ends(value, room) == ((whole[:half], whole[-half:], True) if cut else (whole, whole, False))


def plain(values: dict[str, Any]) -> str:
    """The rule as it is written."""
    whole = json.dumps(values, ensure_ascii=False)
    if len(whole) <= EVIDENCE_CHARS:
        return whole
    mark = "…[context_truncated]…"
    room = EVIDENCE_CHARS - len(mark)
    return whole[: room // 2] + mark + whole[len(whole) - (room - room // 2) :]


LISTS = st.dictionaries(st.text(max_size=8), st.lists(VALUES, max_size=40), max_size=6)


@given(values=LISTS, times=st.integers(1, 300))
@pytest.mark.rule("L35")
def test_evidence_of_long_lists_is_the_whole_context_or_its_two_halves(values: dict[str, Any], times: int) -> None:
    board = Blackboard({})
    for key, value in values.items():
        board.place((key,), value * times, Mark.NONE)
    assert board.evidence() == plain({key: value * times for key, value in values.items()})


@given(sizes=st.lists(st.integers(0, 6000), max_size=5))
@pytest.mark.rule("L35")
def test_evidence_is_the_whole_context_or_its_two_halves_around_a_mark(sizes: list[int]) -> None:
    values = {f"k{number}": "x" * (size % 97) + str(number) * size for number, size in enumerate(sizes)}
    board = Blackboard({})
    for key, value in values.items():
        board.deposit(key, value, Mark.NONE)
    assert board.evidence() == plain(values)
    board.deposit("k0", "changed", Mark.NONE)
    assert board.evidence() == plain(values | {"k0": "changed"})


def test_an_appended_list_shows_its_new_end() -> None:
    board = Blackboard({})
    for number in range(400):
        board.deposit("log", f"entry {number} of many", Mark.NONE, accumulate=True)
    assert board.evidence().endswith('"entry 399 of many"]}')
    assert len(board.evidence()) == EVIDENCE_CHARS
