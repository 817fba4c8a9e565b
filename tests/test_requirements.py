"""Requirements are traced both ways: every one has a test or a dated gap, and every mark names one that exists.

A test says what it shows with ``@pytest.mark.rule("L57", "W3")`` on a function or class, in ``pytest.param(marks=…)``,
or for a whole module with ``pytestmark``. A conformance case says it at the end of its description:
``Rules: L57, L62.`` ``requirements.toml`` lists what no test shows yet, with a date and a reason. Nothing is imported:
``ast`` reads the files.
"""

from __future__ import annotations

import ast
import datetime
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
MANIFEST: dict[str, Any] = tomllib.loads((ROOT / "tests/requirements.toml").read_text("utf-8"))
PAGE = (ROOT / "docs/language.md").read_text("utf-8")
SERIES = {
    "L": set(range(1, 126)),
    "S": {*range(1, 15), *range(20, 33), *range(40, 53)},
    "W": set(range(1, 68)),
}
EVERY_ID = {f"{letter}{number}" for letter, numbers in SERIES.items() for number in numbers}
NO_PROOF = ("skip", "xfail")


@dataclass(frozen=True)
class Shown:
    """A test and the requirements it says it shows."""

    node: str
    ids: tuple[str, ...] = field(default=())


def marks(tree: ast.AST, name: str) -> Iterator[ast.Call | ast.Attribute]:
    """Every ``…mark.NAME`` or ``…mark.NAME(…)`` in a piece of a test file."""
    called = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_mark(node.func, name):
            called.add(node.func)
            yield node
        elif is_mark(node, name) and node not in called:
            assert isinstance(node, ast.Attribute)
            yield node


def is_mark(node: ast.AST, name: str) -> bool:
    """Whether a node is ``mark.NAME`` or ``pytest.mark.NAME``."""
    return isinstance(node, ast.Attribute) and node.attr == name and ast.unparse(node.value).endswith("mark")


def ids_in(tree: ast.AST) -> tuple[str, ...]:
    """The ids in every ``rule`` mark of a piece of a test file."""
    calls = (found for found in marks(tree, "rule") if isinstance(found, ast.Call))
    return tuple(str(ast.literal_eval(argument)) for call in calls for argument in call.args)


def shown_in(source: str, path: str) -> list[Shown]:
    """The tests of one file, each with the ids of its own marks, its class's and its module's."""
    tree = ast.parse(source)
    of_module = tuple(found for node in tree.body if isinstance(node, ast.Assign) for found in ids_in(node.value))
    found: list[Shown] = []

    def visit(body: list[ast.stmt], prefix: str, inherited: tuple[str, ...]) -> None:
        for node in body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if any(True for decorator in node.decorator_list for name in NO_PROOF for _ in marks(decorator, name)):
                continue
            ids = inherited + tuple(one for decorator in node.decorator_list for one in ids_in(decorator))
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                visit(node.body, f"{prefix}::{node.name}", ids)
            elif not isinstance(node, ast.ClassDef) and node.name.startswith("test"):
                found.append(Shown(f"{prefix}::{node.name}", ids))

    visit(tree.body, path, of_module)
    return found


@cache
def all_tests() -> list[Shown]:
    """Every test of the suite."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [one for file in files for one in shown_in(file.read_text("utf-8"), file.relative_to(ROOT).as_posix())]


@cache
def all_cases() -> list[Shown]:
    """Our own conformance cases; a case names its rules at the end of its description."""
    found = []
    for file in sorted((ROOT / "conformance/cases").glob("*.yaml")):
        description = yaml.load(file.read_text("utf-8"), Loader=yaml.CSafeLoader)["description"]
        rules = re.search(r"Rules: ((?:[LSW]\d+(?:, )?)+)\.\s*$", description)
        found.append(Shown(file.stem, tuple(rules[1].split(", ")) if rules else ()))
    return found


def proofs() -> dict[str, list[str]]:
    """Requirement id → the tests and conformance cases that show it."""
    conformance = MANIFEST.get("conformance", {"run_by": None, "pending": []})
    counted = [one for one in all_cases() if conformance["run_by"] and one.node not in conformance["pending"]]
    found: dict[str, list[str]] = {}
    for one in [*all_tests(), *counted]:
        for requirement in one.ids:
            found.setdefault(requirement, []).append(one.node)
    return found


def gap_ids() -> list[str]:
    """Every id listed as a gap, repeats included."""
    return [requirement for gap in MANIFEST["gaps"] for requirement in gap["ids"]]


def in_order(ids: set[str]) -> list[str]:
    """Ids as a person counts."""
    return sorted(ids, key=lambda one: (one[0], int(one[1:])))


def test_every_rule_stands_once_on_the_language_page_or_in_the_manifest() -> None:
    on_page = re.findall(r"^\*\*([LSW]\d+)\*\*", PAGE, re.MULTILINE)
    listed = [*on_page, *MANIFEST["requirements"]]
    assert in_order(set(listed)) == in_order(EVERY_ID)
    assert [one for one in listed if listed.count(one) > 1] == []


def test_every_requirement_has_a_test_or_a_dated_gap() -> None:
    assert in_order(EVERY_ID - set(proofs()) - set(gap_ids())) == []


def test_no_requirement_has_both_a_test_and_a_gap() -> None:
    shown = proofs()
    assert {one: shown[one] for one in in_order(set(gap_ids()) & set(shown))} == {}


def test_every_mark_names_a_requirement() -> None:
    assert {one.node: one.ids for one in [*all_tests(), *all_cases()] if not set(one.ids) <= EVERY_ID} == {}


def test_gaps_name_requirements_once_with_a_date_and_a_reason() -> None:
    ids = gap_ids()
    assert [one for one in ids if one not in EVERY_ID or ids.count(one) > 1] == []
    for gap in MANIFEST["gaps"]:
        assert isinstance(gap["since"], datetime.date)
        assert len(gap["reason"]) > 20


def test_every_conformance_case_names_its_rules() -> None:
    assert [one.node for one in all_cases() if not one.ids] == []


def test_the_runner_and_the_pending_cases_of_the_manifest_exist() -> None:
    conformance = MANIFEST.get("conformance")
    if conformance is None:
        return
    assert conformance["run_by"] in {one.node for one in all_tests()}
    assert set(conformance["pending"]) <= {one.node for one in all_cases()}


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        ('@pytest.mark.rule("L1", "W2")\ndef test_a(): ...', ("L1", "W2")),
        ('@mark.rule("L1")\nasync def test_a(): ...', ("L1",)),
        ('pytestmark = pytest.mark.rule("L1")\ndef test_a(): ...', ("L1",)),
        ('pytestmark = [pytest.mark.slow, pytest.mark.rule("L1")]\ndef test_a(): ...', ("L1",)),
        ('@pytest.mark.rule("L1")\nclass TestA:\n @pytest.mark.rule("L2")\n def test_a(self): ...', ("L1", "L2")),
        ('@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.rule("L1"))])\ndef test_a(x): ...', ("L1",)),
    ],
)
def test_marks_are_found_wherever_pytest_takes_them(source: str, ids: tuple[str, ...]) -> None:
    assert [one.ids for one in shown_in(source, "t.py")] == [ids]


@pytest.mark.parametrize(
    "source",
    [
        '@pytest.mark.rule("L1")\ndef helper(): ...',
        '@pytest.mark.skip\n@pytest.mark.rule("L1")\ndef test_a(): ...',
        '@pytest.mark.rule("L1")\n@pytest.mark.xfail(reason="later")\ndef test_a(): ...',
    ],
)
def test_a_mark_on_what_proves_nothing_does_not_count(source: str) -> None:
    assert [one for one in shown_in(source, "t.py") if one.ids] == []
