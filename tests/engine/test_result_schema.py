"""The published schema of a run's output holds for what runs really write (L72, L73)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from mklang.engine.outcome import to_wire
from mklang.engine.result_schema import result_schema
from mklang.testing.conformance import case_files, run_case

CASES = Path(__file__).parents[2] / "conformance/cases"
VALIDATOR = jsonschema_rs.validator_for(result_schema())
MINIMAL: dict[str, Any] = {"status": "done", "error": None, "result": 1, "usage": None, "trace": []}


@pytest.mark.rule("L72", "L73")
def test_every_outcome_of_the_conformance_cases_is_valid() -> None:
    outcomes = [played.outcome for played in map(run_case, case_files(CASES)) if played.outcome is not None]
    problems = [str(error) for outcome in outcomes for error in VALIDATOR.iter_errors(to_wire(outcome))]
    assert problems == []
    assert {to_wire(outcome)["status"] for outcome in outcomes} >= {"done", "halt"}


@pytest.mark.rule("L73")
@pytest.mark.parametrize(
    ("change", "valid"),
    [
        ({}, True),
        ({"anything": "else"}, True),
        ({"status": "halt", "error": "gate-fail"}, True),
        ({"status": "error", "error": None}, True),
        ({"error": "gate-fail"}, False),
        ({"status": "suspended"}, False),
        ({"status": "suspended", "error": ""}, False),
        ({"status": "finished"}, False),
        ({"usage": {"input_tokens": -1, "output_tokens": 0}}, False),
        ({"diagnosis": {"most_visited_state": "a", "visits": 1}}, False),
        ({"trace": [{"state": "a"}]}, False),
    ],
)
def test_what_is_valid_and_what_is_not(change: dict[str, Any], valid: bool) -> None:
    assert VALIDATOR.is_valid(MINIMAL | change) is valid
