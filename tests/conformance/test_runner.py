"""Running a directory of cases: what a case must be, and that a bad one fails and hides nothing (L94)."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from mklang.errors import UsageError
from mklang.testing.conformance import run_case, run_directory

pytestmark = pytest.mark.rule("L94")

CASE = """
    case: one
    description: A single step.
    machine:
      machine: one
      entry: a
      budget: 2
      states:
        a:
          structure: s
          prompt: p
          output: o
          gates: [{ when: otherwise, then: ok, to: END }]
    llm: { produce: [done] }
    expect: { status: done, result: done }
"""
CALLING = """
    case: one
    machine:
      machine: one
      entry: a
      budget: 2
      states:
        a:
          call: helper
          structure: unused
          output: o
          gates: [{ when: otherwise, then: ok, to: END }]
    registry:
      helper:
        machine: helper
        entry: b
        budget: 2
        states:
          b:
            structure: s
            prompt: p
            output: o
            gates: [{ when: otherwise, then: ok, to: END }]
    llm: { produce: [helped] }
    expect: { result: helped }
"""


def told(tmp_path: Path, text: str, name: str = "one.yaml") -> list[str]:
    path = tmp_path / name
    path.write_text(dedent(text), "utf-8")
    return [str(mismatch).removeprefix(f"{path}") for mismatch in run_case(path).mismatches]


def test_a_case_holds(tmp_path: Path) -> None:
    assert told(tmp_path, CASE) == []


def test_a_registry_holds_the_machines_that_are_called_and_reading_is_lenient(tmp_path: Path) -> None:
    assert told(tmp_path, CALLING) == []


def test_a_case_that_does_not_hold_tells_what_differs_and_how_it_ended(tmp_path: Path) -> None:
    found = told(tmp_path, CASE.replace("result: done", "result: other"))
    assert found == ['result: expected "other", got "done"', 'the run ended: status "done"']


def test_a_case_bears_the_name_of_its_file(tmp_path: Path) -> None:
    (found,) = told(tmp_path, CASE, "two.yaml")
    assert found.startswith(":2:7: bad-value: case: the case is called 'one' and its file 'two'")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("case: one\n", "cas: one\n", "unknown-key: cas"),
        ("case: one\n", "\n", "missing-key"),
        ("    machine:\n      machine: one", "    machin:\n      machine: one", "unknown-key: machin"),
        ("expect: {", "expects: {", "unknown-key: expects"),
        ("entry: a", "entry: z", "unknown-entry: entry: 'z' is not a state"),
        ("to: END", "to: nowhere", "unknown-target: states.a.gates[0].to: 'nowhere' is not a state"),
        ("budget: 2", "budget: 0", "bad-value: budget"),
    ],
)
def test_a_case_that_cannot_be_read_fails_with_its_problem(tmp_path: Path, old: str, new: str, found: str) -> None:
    assert old in CASE
    (told_once,) = told(tmp_path, CASE.replace(old, new, 1))
    assert found in told_once


@pytest.mark.parametrize("text", ["", "- 1", "case: [", "5"])
def test_a_file_that_is_no_case_fails(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, text) != []


def test_cases_run_in_the_order_of_their_names_and_a_bad_one_stops_nothing(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.yaml").write_text(dedent(CASE).replace("case: one", f"case: {name}"), "utf-8")
    (tmp_path / "b.yaml").write_text("case: [", "utf-8")
    (tmp_path / "notes.txt").write_text("not a case", "utf-8")
    assert [(one.name, one.passed) for one in run_directory(tmp_path)] == [("a", True), ("b", False), ("c", True)]


@pytest.mark.parametrize("name", ["missing", "file.txt", ""])
def test_a_place_without_cases_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.txt").write_text("", "utf-8")
    with pytest.raises(UsageError, match=r"no such directory|this is a file|no case files"):
        run_directory(tmp_path / name)
