"""Whatever stands in a scenario file or a case, reading it ends in scenarios or in problems, never in an exception."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.diagnostics import has_errors
from mklang.lang.json_text import to_json_text
from mklang.source import Source
from mklang.testing.conformance import read_case
from mklang.testing.reading import read_scenarios
from mklang.testing.vocabulary import KEYS, Part

WORDS = sorted({name for keys in KEYS.values() for name in keys} | {"done", "halt", "none", "unparseable", "END"})
KEY = st.sampled_from(WORDS)
LEAF = (
    st.none()
    | st.booleans()
    | st.integers(-3, 10**10)
    | st.floats(allow_nan=False, allow_infinity=False)
    | KEY
    | st.text(max_size=5)
)
TREE = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=4), max_leaves=25
)
SCENARIO = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS[Part.SCENARIO], TREE))
CASE = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS[Part.CASE], TREE))


@pytest.mark.rule("W58")
@given(st.lists(SCENARIO | TREE, min_size=1, max_size=3))
def test_scenarios(scenarios: list[Any]) -> None:
    file = read_scenarios(Source("x.test.yaml", to_json_text({"scenarios": scenarios}, "x")))
    assert len(file.entries) == len(scenarios)


@given(TREE)
def test_scenario_files(document: Any) -> None:
    file = read_scenarios(Source("x.test.yaml", to_json_text(document, "x")))
    assert file.entries or has_errors(file.diagnostics)


@given(CASE | TREE)
def test_cases(document: Any) -> None:
    case, problems = read_case(Source("x.yaml", to_json_text(document, "x")), "x")
    assert case is not None or has_errors(problems)


@given(st.text())
def test_any_text(text: str) -> None:
    assert read_scenarios(Source("x.test.yaml", text)).entries == ()
    assert read_case(Source("x.yaml", text), "x")[0] is None
