"""The corpus: every document gives exactly the findings that are written at its end, each at its place."""

from __future__ import annotations

import pytest

from mklang.analysis.pages import read_page
from mklang.analysis.registry import Rule
from tests.analysis.support import Case, cases, example, observed, rules

RULES = [pytest.param(rule, id=rule.code) for rule in rules()]


@pytest.mark.rule("L8", "L12", "L13", "L14", "L16", "L17", "S1", "S2")
@pytest.mark.rule("W44", "W45", "W46", "W47", "W51", "W52")
@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.rule}/{case.name}") for case in cases()])
def test_a_document_gives_the_findings_written_at_its_end(case: Case) -> None:
    document = example(case.text)
    found = [observed(one, document.source) for one in document.lint(strict=case.strict)]
    assert found == case.expected


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.rule}/{case.name}") for case in cases()])
def test_a_case_fires_or_stays_silent_as_its_name_says(case: Case) -> None:
    fired = case.rule in [code for _, _, code, _, _ in case.expected]
    assert fired == case.name.startswith("fires")
    assert fired != case.name.startswith("silent")


@pytest.mark.parametrize("rule", RULES)
def test_the_example_on_a_rules_page_fires_and_its_repair_is_clean(rule: Rule) -> None:
    page = read_page(rule.page)
    assert set(example(page.fires).codes()) == {rule.code}
    assert example(page.repaired).codes() == []
