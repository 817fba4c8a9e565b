"""One rule is one file, one function, one code, one fixture that fires and one that does not, one page."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from subprocess import run

import pytest

import mklang.analysis.rules
from mklang.analysis.catalogue import catalogue, write
from mklang.analysis.codes import FAMILY_OF, READING
from mklang.analysis.pages import read_page
from mklang.analysis.registry import AFTER, CHECK, LINT, RUN, Rule
from mklang.diagnostics import Severity
from tests.analysis.support import cases, rules

ROOT = Path(__file__).parents[2]
FOLDER = Path(mklang.analysis.rules.__path__[0])
RULES = [pytest.param(rule, id=rule.code) for rule in rules()]


def test_the_table_lists_every_rule_file_once() -> None:
    files = [
        ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        for path in FOLDER.rglob("*.py")
        if path.stem != "__init__"
    ]
    assert sorted((*CHECK, *LINT, *AFTER, *RUN)) == sorted(files)


@pytest.mark.parametrize("name", [*CHECK, *LINT, *AFTER, *RUN])
def test_a_rules_code_is_its_files_name(name: str) -> None:
    rule = import_module(f"mklang.analysis.rules.{name}").RULE
    assert rule.code == name.split(".")[1].replace("_", "-")
    assert FAMILY_OF[rule.code] == name.split(".")[0]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_what_why_and_whether_a_fix_is_safe(rule: Rule) -> None:
    page = read_page(rule.page)
    assert page.summary.endswith(".")
    assert page.why and page.fires and page.repaired and page.fix
    assert re.fullmatch(r"[LSW]\d+( [EFC]\d+)?(,? [LSW]\d+( [EFC]\d+)?)*", rule.basis)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_a_case_that_fires_and_one_that_stays_silent(rule: Rule) -> None:
    names = [case.name for case in cases() if case.rule == rule.code]
    assert {name.split("-")[0] for name in names} == {"fires", "silent"}


def test_the_corpus_has_no_cases_of_rules_that_are_gone() -> None:
    assert {case.rule for case in cases()} == {rule.code for rule in rules()}


def test_every_code_of_reading_is_explained_and_no_other() -> None:
    sources = [*(ROOT / "src/mklang/lang").glob("*.py"), ROOT / "src/mklang/host/library.py"]
    texts = [path.read_text("utf-8") for path in sources if path.stem != "problems"]
    words = {word for text in texts for word in re.findall(r'"([a-z]+(?:-[a-z0-9]+)+)"', text)}
    explained = {code for code, family in FAMILY_OF.items() if family == READING}
    assert explained == words - {"utf-8", "utf-8-sig"}


def test_only_warnings_make_lint_strict_fail() -> None:
    assert [rule.code for rule in rules() if rule.strict and rule.severity is not Severity.WARNING] == []


def test_every_finding_of_lint_makes_it_fail_under_strict_unless_it_is_a_note() -> None:
    lint = [import_module(f"mklang.analysis.rules.{name}").RULE for name in (*LINT, *AFTER)]
    assert [rule.code for rule in lint if not rule.strict and rule.severity is not Severity.NOTE] == []


def test_the_pages_in_the_documentation_are_up_to_date() -> None:
    """If this fails: ``python -m mklang.analysis.catalogue docs/rules``."""
    folder = ROOT / "docs/rules"
    assert {path.name: path.read_text("utf-8") for path in folder.glob("*.md")} == dict(catalogue())


def test_writing_the_pages_deletes_those_of_rules_that_are_gone(tmp_path: Path) -> None:
    (tmp_path / "gone.md").write_text("x", "utf-8")
    write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(catalogue())


@pytest.mark.parametrize(
    ("docstring", "problem"),
    [
        ("It is wrong.\n\nWhy: x\n\nFires:\n    a\n\nFix: safe. Do it.", "Repaired"),
        ("It is wrong.\n\nWhy: x\n\nFires:\n    a\n\nRepaired:\n    b\n\nFix: maybe. Do it.", "safe"),
        ("It is wrong.\n\nWhy: x\n\nFires:\n    a\n\nRepaired:\n    b\n\nFix: safe.", "what to do"),
    ],
)
def test_a_docstring_that_lacks_a_part_is_refused(docstring: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_page(docstring)


def test_check_imports_no_rule_of_lint() -> None:
    script = (
        "import sys; from mklang.analysis import check_machine; from mklang.lang.reader import machine_from_text;"
        "check_machine(machine_from_text('machine: m\\nentry: a\\nbudget: 3\\nstates: {a: {structure: s, prompt: p,"
        " output: o, gates: [{when: otherwise, then: ok, to: END}]}}'));"
        "print([name for name in sys.modules if name.startswith('mklang.analysis.rules.') and name.count('.') == 4])"
    )
    done = run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("mklang.analysis.rules.") for name in re.findall(r"'([\w.]+)'", done.stdout)}
    assert loaded == set(CHECK)
