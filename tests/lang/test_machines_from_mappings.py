"""A host can hand over a machine as a mapping; it is read like a document and its problems have places."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.errors import DocumentError
from mklang.lang.reader import machine_from_mapping
from mklang.lang.values import thaw
from tests.lang.documents import machine, smallest

DOCUMENT: dict[str, Any] = {
    "machine": "m",
    "entry": "a",
    "budget": 5,
    "states": {
        "a": {
            "structure": "One line.",
            "prompt": "Say hello.",
            "output": "o",
            "gates": [{"when": "otherwise", "then": "ok", "to": "END"}],
        }
    },
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_a_mapping_and_a_text_give_the_same_machine() -> None:
    assert machine_from_mapping(DOCUMENT) == machine(smallest())


def test_a_problem_in_a_mapping_names_its_place() -> None:
    with pytest.raises(DocumentError) as caught:
        machine_from_mapping(DOCUMENT | {"budget": 0}, name="<host>")
    (found,) = caught.value.diagnostics
    assert (found.code, found.path, found.where) == ("bad-value", "<host>", "budget")
    assert found.span


@given(JSON)
def test_context_values_survive_the_way_through_text(value: Any) -> None:
    context = machine_from_mapping(DOCUMENT | {"context": {"x": value}}).context
    assert json.dumps(thaw(context["x"])) == json.dumps(value)


@pytest.mark.parametrize("value", [{1}, object(), b"x", {1: 2}, math.nan, -math.inf, 10**400])
def test_what_json_cannot_hold_is_refused_with_its_place(value: object) -> None:
    with pytest.raises(DocumentError) as caught:
        machine_from_mapping(DOCUMENT | {"context": {"a": [value]}})
    (found,) = caught.value.diagnostics
    assert (found.code, found.where) == ("not-json", "context.a[0]")


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(DocumentError):
        machine_from_mapping(DOCUMENT | {"context": {"a": "\ud800"}})


def test_a_mapping_that_contains_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["x"] = endless
    with pytest.raises(DocumentError) as caught:
        machine_from_mapping(DOCUMENT | {"context": endless})
    assert [one.code for one in caught.value.diagnostics] == ["yaml-depth"]


def test_a_key_longer_than_yaml_takes_without_a_mark_is_read() -> None:
    assert machine_from_mapping(DOCUMENT | {"context": {"k" * 5000: 1}}).context["k" * 5000] == 1
