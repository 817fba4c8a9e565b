"""Every conformance case there is, the published ones and our own, run in the published manner."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from mklang.lang.files import read_source
from mklang.testing.conformance import read_case, run_case
from mklang.testing.matching import Unanswered
from mklang.testing.playing import play

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "../shared/conformance/cases"
OURS = ROOT / "conformance/cases"


def cases_in(directory: Path) -> list[object]:
    return [pytest.param(path, id=path.stem) for path in sorted(directory.glob("*.yaml"))]


@pytest.mark.rule("L95")
def test_the_published_cases_are_beside_the_project() -> None:
    found = len(list(PUBLISHED.glob("*.yaml")))
    if not found and not os.environ.get("CI"):
        pytest.skip(f"the public conformance suite is not at {PUBLISHED}; in CI this fails")
    assert found == 42, f"expected the 42 public conformance cases at {PUBLISHED}"


@pytest.mark.rule("L94", "L95")
@pytest.mark.parametrize("path", cases_in(PUBLISHED))
def test_published_cases(path: Path) -> None:
    played = run_case(path)
    assert [str(mismatch) for mismatch in played.mismatches] == []


@pytest.mark.parametrize("path", cases_in(OURS))
def test_our_cases(path: Path) -> None:
    played = run_case(path)
    assert [str(mismatch) for mismatch in played.mismatches] == []


@pytest.mark.parametrize("path", cases_in(OURS))
def test_our_cases_script_every_answer_they_rely_on(path: Path) -> None:
    source, _ = read_source(path)
    assert source is not None
    case, problems = read_case(source, path.stem)
    assert case is not None, problems
    played = asyncio.run(play(case.scenario, case.machine, case.library))
    assert [str(mismatch) for mismatch in played.mismatches if isinstance(mismatch, Unanswered)] == []
