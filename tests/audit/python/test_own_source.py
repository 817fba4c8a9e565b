"""Our own source, audited: no write to what steers behaviour, and every other finding has its reason here (S50)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mklang.audit.python import AuditOptions, PythonReport, audit_python
from mklang.host.auditing_python import PythonLooking, audit_python_in

SOURCE = Path(__file__).parents[3] / "src/mklang"
ASKING = tuple(
    f"mklang.llm.{name}"
    for name in (
        "base.TierModel.produce",
        "choice.ChoiceJudge.judge",
        "endpoint.Endpoint.produce",
        "fallback.FallbackBackend.produce",
        "local.LocalModel.produce",
        "noul.NoulJudge.judge",
    )
)
"""Where model output enters: the adapters. What a run gives is a typed record, so our own rule for it is left out."""
EXPLAINED: dict[tuple[str, str], str] = {}
"""File and code of a finding that stays, and why."""


@pytest.fixture(scope="module")
def report() -> PythonReport:
    return audit_python([str(SOURCE)], AuditOptions(without=("mklang",), sources=ASKING))


@pytest.mark.rule("S50")
def test_nothing_of_ours_writes_what_steers_behaviour(report: PythonReport) -> None:
    assert [one.render() for one in report.findings if one.code in {"AK101", "AK103", "AK105", "AK302"}] == []


def test_no_finding_in_our_own_source_is_unexplained(report: PythonReport) -> None:
    places = {(Path(one.path).relative_to(SOURCE).as_posix(), one.code): one.render() for one in report.findings}
    assert {place: told for place, told in places.items() if place not in EXPLAINED} == {}


def test_as_our_project_is_set_up_nothing_is_left_without_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as ``mklang audit src``: what a run gives counts as a model's, the rules' one writer as behaviour."""
    monkeypatch.chdir(SOURCE.parents[1])
    report = audit_python_in(["src"], PythonLooking(cached=False, everything=True))
    assert [one.render() for one in report.findings if one.code != "AK901"] == []
    assert report.sources > 5
    assert report.finished


def test_a_second_writer_of_rules_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text((SOURCE.parents[1] / "pyproject.toml").read_text("utf-8"), "utf-8")
    (tmp_path / "short_cut.py").write_text(
        "import mklang\nfrom pathlib import Path\nfrom mklang.knowledge.approval import write_behaviour\n\n"
        "def main():\n    text = mklang.run('x').result\n    write_behaviour(Path('rules/a.md'), text)\n"
        "    Path('CLAUDE.md').write_text(text)\n",
        "utf-8",
    )
    report = audit_python_in(["short_cut.py"], PythonLooking(cached=False))
    assert [(one.code, one.line) for one in report.findings] == [("AK101", 7), ("AK101", 8)]


def test_every_file_of_ours_is_read_and_models_are_seen(report: PythonReport) -> None:
    assert report.problems == ()
    assert report.solver is not None
    assert set(ASKING) <= set(report.solver.asking)
