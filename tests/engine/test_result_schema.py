"""The published schema of a run's output comes from one table, and holds for what runs really write (L70-L73)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mklang.engine.options import RunOptions
from mklang.engine.outcome import Outcome, to_wire
from mklang.engine.result_schema import result_schema, result_schema_text
from mklang.engine.run import arun
from mklang.engine.wire_keys import RESULT_KEYS, STEP_KEYS
from mklang.lang.models import Machine
from mklang.testing.conformance import case_files, run_case
from mklang.testing.vocabulary import KEYS, Part
from tests.durable.test_replay_properties import CHILD, Chance, machines

ROOT = Path(__file__).parents[2]
CASES = [ROOT / "../shared/conformance/cases", ROOT / "conformance/cases"]
PUBLISHED = jsonschema_rs.validator_for(result_schema())
OURS = jsonschema_rs.validator_for(result_schema(closed=True))
MINIMAL: dict[str, Any] = {"status": "done", "error": None, "result": 1, "usage": None, "trace": []}


@cache
def outcomes_of_cases() -> list[Outcome]:
    files = [file for folder in CASES if folder.is_dir() for file in case_files(folder)]
    return [played.outcome for played in map(run_case, files) if played.outcome is not None]


def problems(wire: dict[str, object]) -> list[str]:
    """What both the published schema and the one that knows our keys only hold against an output."""
    return [f"{error.instance_path}: {error.message}" for one in (PUBLISHED, OURS) for error in one.iter_errors(wire)]


def steps_in(trace: Any) -> Iterator[dict[str, object]]:
    """Every step of a trace, callees' included."""
    for step in trace:
        if isinstance(step, list):
            yield from steps_in(step)
        elif step is not None:
            yield step
            yield from steps_in(step.get("sub_trace", []))


def test_the_committed_file_is_the_schema() -> None:
    assert (ROOT / "schema/run-result.schema.json").read_text("utf-8") == result_schema_text()


@pytest.mark.rule("L72", "L73")
@pytest.mark.parametrize("hashes", [False, True])
def test_every_outcome_of_every_conformance_case_is_valid(hashes: bool) -> None:
    wires = [to_wire(outcome, hashes=hashes) for outcome in outcomes_of_cases()]
    assert [found for wire in wires for found in problems(wire)] == []
    assert {wire["status"] for wire in wires} == {"done", "halt", "suspended"}


@given(machine=machines(), salt=st.integers(0, 10**6), limit=st.none() | st.integers(1, 99), humans=st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.rule("L70", "L73")
def test_every_outcome_of_any_run_is_valid(machine: Machine, salt: int, limit: int | None, humans: bool) -> None:
    options = RunOptions(max_tokens=limit, max_nano_usd=limit, humans=humans, suspend_on_limit=humans)
    outcome = asyncio.run(arun(machine, oracle=Chance(salt, 1), library={"child": CHILD}, options=options))
    assert problems(to_wire(outcome, hashes=True)) == []


@pytest.mark.rule("L71", "L72")
def test_keys_stand_in_the_order_of_the_table() -> None:
    for wire in (to_wire(outcome, hashes=True) for outcome in outcomes_of_cases()):
        assert list(wire) == [name for name in RESULT_KEYS if name in wire]
        for step in steps_in(wire["trace"]):
            assert list(step) == [name for name in STEP_KEYS if name in step]


@pytest.mark.rule("L71")
def test_hashes_are_there_only_when_asked_for() -> None:
    for outcome in outcomes_of_cases():
        plain = list(steps_in(to_wire(outcome)["trace"]))
        hashed = list(steps_in(to_wire(outcome, hashes=True)["trace"]))
        assert not any("output_hash" in step for step in plain)
        assert [step.keys() for step in plain] == [step.keys() - {"output_hash"} for step in hashed]
        assert all(("output_hash" in step) is ("output" in step) for step in hashed)


@pytest.mark.rule("L70", "L72")
@pytest.mark.parametrize(("rule", "keys"), [("L70", STEP_KEYS), ("L72", RESULT_KEYS)])
def test_the_language_page_names_every_key_and_no_other(rule: str, keys: dict[str, Any]) -> None:
    page = (ROOT / "docs/language.md").read_text("utf-8")
    section = re.search(rf"\*\*{rule}\*\*(.*?)\n\*\*L", page, re.DOTALL)
    assert section is not None
    rows = re.findall(r"^\| (`[^|]*) \|", section[1], re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`([a-z_]+)`", row)) == sorted(keys)


def test_a_scenario_can_expect_every_key_of_a_scripted_step() -> None:
    assert KEYS[Part.STEP].keys() == STEP_KEYS.keys() - {"output_hash"}


@pytest.mark.rule("L73")
@pytest.mark.parametrize(
    ("change", "valid"),
    [
        ({}, True),
        ({"anything": "else"}, True),
        ({"status": "halt", "error": "gate-fail"}, True),
        ({"status": "error", "error": None}, True),
        ({"error": "gate-fail"}, False),
        ({"status": "halt"}, False),
        ({"status": "suspended"}, False),
        ({"status": "suspended", "error": ""}, False),
        ({"status": "finished"}, False),
        ({"usage": {"input_tokens": -1, "output_tokens": 0}}, False),
        ({"diagnosis": {"most_visited_state": "a", "visits": 1}}, False),
        ({"trace": [{"state": "a"}]}, False),
        ({"warnings": ["w"], "schema_version": "1", "checkpoint_file": "f", "result_truncated": True}, True),
        ({"warnings": "w"}, False),
    ],
)
def test_what_is_valid_and_what_is_not(change: dict[str, Any], valid: bool) -> None:
    assert PUBLISHED.is_valid(MINIMAL | change) is valid
