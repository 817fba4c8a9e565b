"""``--fix``: safe repairs, made where the finding points, whole or not at all (house style 8, 9)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mklang.analysis.pages import read_page
from mklang.analysis.registry import Rule
from mklang.cli.main import main
from mklang.diagnostics import Diagnostic
from mklang.host import fixing
from mklang.host.fixing import fix
from mklang.host.inspection import Inspector, Looking
from mklang.lang.editing import apply_edits
from mklang.lang.reader import read_machine
from mklang.lang.semantics import semantic_hash
from mklang.source import Edit, Fix, Source, Span
from tests.analysis.support import example, rules
from tests.cli.test_check import GOOD, write
from tests.lang.odd_documents import scribble

TOP = "machine: m\nentry: a\nbudget: 5\n"
GATE = "{ when: otherwise, then: ok, to: END }"
STATES = f"states:\n  a:\n    structure: s\n    prompt: p\n    output: o\n    gates: [{GATE}]\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fixed(text: str) -> str:
    """The document after ``lint --fix``; what was found with a fix is gone."""
    Path("a.mkl").write_bytes(text.encode())
    main(["lint", "a.mkl", "--fix"])
    return Path("a.mkl").read_bytes().decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("mklang: 0.4", 'mklang: "0.4"'),
        ("machine: 12", 'machine: "12"'),
        ("Budget: 5", "budget: 5"),
        ("bud-get: 5", "budget: 5"),
        ('budget: "5"', "budget: 5"),
        ("budget: 1_000", "budget: 1000"),
        ("default-tier: Fast", "default_tier: fast"),
        ("    reason: yes", "    reason: true"),
        ("    reason: 'false'", "    reason: false"),
        ("    maxVisits: 3", "    max_visits: 3"),
        ("    gates: [{ when: otherwise, then: OK, to: END }]", f"    gates: [{GATE}]"),
        ("    gates: [{ when: otherwise, Escalate: on, to: END }]", None),
        ("    structure: 5", '    structure: "5"'),
        ("    prompt: true", '    prompt: "true"'),
    ],
)
def test_what_can_only_be_meant_in_one_way_is_repaired(before: str, after: str | None) -> None:
    key = before.split(":")[0].replace("-", "").replace("_", "").casefold()
    kept = [line for line in (TOP + STATES).splitlines() if line.split(":")[0].casefold() != key]
    at = kept.index("states:") if not before.startswith(" ") else kept.index("  a:") + 1
    lines = [*kept[:at], before, *kept[at:]]
    expected = after or "    gates: [{ when: otherwise, escalate: true, to: END }]"
    found = fixed("\n".join(lines) + "\n")
    assert expected in found.splitlines()
    assert read_machine(Source("a", found)).machine is not None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("context: { n: 010 }\n", 'context: { n: "010" }\n'),
        ("tools: [{ name: x }]\n", ""),
        ("tools:\n  - name: x\n    description: y\nhooks:\n  - name: z\n", ""),
        ("# mklang: ignore-file[text] old\n", ""),
        ("default_tier: fast # mklang: ignore[data, text] old\n", "default_tier: fast\n"),
        ("# mklang: ignore-file[data, text] the host reads it\ncontext: { n: 1 }\n", None),
        ("default_tier: fast\ndefault_tier: fast\n", "default_tier: fast\n"),
        ("context:\n  a: [1, { b: 2 }]\n  a:\n    - 1\n    - b: 2\n", "context:\n  a: [1, { b: 2 }]\n"),
    ],
)
def test_findings_with_a_safe_fix_disappear(before: str, after: str | None) -> None:
    expected = after if after is not None else "# mklang: ignore-file[data] the host reads it\ncontext: { n: 1 }\n"
    assert fixed(TOP + before + STATES) == TOP + expected + STATES


@pytest.mark.parametrize(
    ("declared", "feature", "becomes"),
    [('mklang: "0.2"\n', "max_visits: 3", 'mklang: "0.4"\n'), ("", "parse: list", 'mklang: "0.3"\n')],
)
def test_the_version_that_is_needed_is_declared(declared: str, feature: str, becomes: str) -> None:
    states = STATES.replace("    output", f"    {feature}\n    output")
    assert fixed(declared + TOP + states) == becomes + TOP + states
    assert fixed("# head\n" + declared + TOP + states) == "# head\n" + becomes + TOP + states


@pytest.mark.parametrize(
    "text",
    [
        "default_tier: fast\ndefault_tier: balanced\n",
        "context: { n: no }\n",
        "budgit: 5\n",
        "context: { release: 1.10 }\n",
        "context: { a: 1, a: 1 }\n",
        "default_tier: fast\ndefault_tier: fast # why\n",
        "tools: [{ name: x }]  # kept for later\n",
    ],
)
def test_what_only_the_author_can_know_is_left_alone(text: str) -> None:
    assert fixed(TOP + text + STATES) == TOP + text + STATES


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.code) for rule in rules()])
def test_a_rule_whose_page_calls_its_fix_safe_has_one_and_no_other(rule: Rule) -> None:
    page = read_page(rule.page)
    found = [one for one in example(page.fires).lint() if one.code == rule.code]
    assert [one.fix is not None for one in found] == [page.safe] * len(found)


@pytest.mark.parametrize("rule", [pytest.param(one, id=one.code) for one in rules() if read_page(one.page).safe])
def test_fixing_makes_the_finding_of_every_fixable_rule_disappear(rule: Rule) -> None:
    before = example(read_page(rule.page).fires).source.text
    after = Source("a.mkl", fixed(before))
    reading = read_machine(after)
    assert reading.machine is not None
    assert rule.code not in {one.code for one in Inspector(Looking(lint=True)).inspect("a.mkl").diagnostics}
    assert fixed(after.text) == after.text


def test_line_ends_and_rights_stay() -> None:
    text = ('mklang: "0.2"\nmachin: m\n' + TOP + STATES.replace("    output", "    parse: json\n    output")).replace(
        "machin: m\n", ""
    )
    Path("a.mkl").write_bytes(text.replace("\n", "\r\n").encode())
    Path("a.mkl").chmod(0o600)
    assert main(["lint", "a.mkl", "--fix"]) == 0
    assert Path("a.mkl").read_bytes() == text.replace("0.2", "0.4").replace("\n", "\r\n").encode()
    assert Path("a.mkl").stat().st_mode & 0o777 == 0o600


def test_fixes_are_counted_and_what_is_left_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.mkl", GOOD.replace("budget: 5", "Budget: 5").replace("to: END", "to: nowhere"))
    assert main(["check", "a.mkl", "--fix", "--format", "json"]) == 1
    wire = json.loads(capsys.readouterr().out)
    assert wire["summary"] == {"files": 1, "repaired": 1}
    assert [found["code"] for found in wire["items"][0]["diagnostics"]] == ["target-unknown"]


def test_json_says_which_findings_can_be_repaired(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.mkl", GOOD.replace("budget: 5", "Budget: 5"))
    main(["check", "a.mkl", "--format", "json"])
    found = json.loads(capsys.readouterr().out)["items"][0]["diagnostics"]
    assert [one.get("fix") for one in found] == ["write budget"]


def test_diff_writes_nothing_and_fails_when_there_is_something(capsys: pytest.CaptureFixture[str]) -> None:
    odd = GOOD.replace("budget: 5", "Budget: 5")
    write("a.mkl", odd)
    assert main(["lint", "a.mkl", "--fix", "--diff"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "-Budget: 5" in lines and "+budget: 5" in lines
    assert Path("a.mkl").read_text("utf-8") == odd
    write("a.mkl", GOOD)
    assert main(["lint", "a.mkl", "--diff"]) == 0


def test_only_chosen_findings_are_repaired() -> None:
    text = TOP + "tools: [{ name: x }]\ncontext: { n: 010 }\n" + STATES
    write("a.mkl", text)
    main(["lint", "a.mkl", "--fix", "--select", "declarations"])
    assert Path("a.mkl").read_text("utf-8") == text.replace("tools: [{ name: x }]\n", "")


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("t: [{ a: 1 }, { b: 2 }]\n", Span(1, 5, 1, 13), "t: [{ b: 2 }]\n"),
        ("t: [{ a: 1 }, { b: 2 }]  # why\n", Span(1, 15, 1, 23), "t: [{ a: 1 }]  # why\n"),
        ("t: [{ a: 1 },\n  { b: 2 }]\n", Span(1, 5, 1, 13), "t: [\n  { b: 2 }]\n"),
    ],
)
def test_an_item_in_brackets_goes_with_its_comma(text: str, span: Span, expected: str) -> None:
    assert apply_edits(text, [Edit(span, "", whole_lines=True)])[0] == expected


@pytest.mark.parametrize("text", ["entry: b", "entry: [", "entri: a"])
def test_a_fix_that_would_do_harm_is_not_kept(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No rule has such a fix; here one is made up."""
    write("a.mkl", TOP + "tools: [{ name: x }]\n" + STATES)
    inspector = Inspector(Looking(lint=True))
    before = inspector.inspect("a.mkl")
    bad = [
        one if one.fix is None else _with_fix(one, Fix("harm", Edit(Span(2, 1, 2, 9), text)))
        for one in before.diagnostics
    ]
    harmed = fixing.Inspected(before.path, tuple(bad), before.source, before.machine)
    result = fix(inspector, harmed)
    assert (result.text, len(result.refused)) == (None, 1)


def test_a_fix_that_cannot_be_kept_does_not_keep_others_from_being_made(capsys: pytest.CaptureFixture[str]) -> None:
    """The blank lines behind the block would become part of its text."""
    text = TOP + "context:\n  note: |+\n    text\ntools: [{ name: x }]\n\ndefault_tier: Fast\n" + STATES
    assert fixed(text) == text.replace("Fast", "fast")
    err = capsys.readouterr().err
    assert "a.mkl: not repaired: declaration-unused: the machine would not be the same" in err


def _with_fix(found: Diagnostic, made: Fix) -> Diagnostic:
    return replace(found, fix=made)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**48))
def test_fixing_never_changes_what_a_machine_means(seed: int) -> None:
    text, _ = scribble(Random(seed))
    source = Source("none/odd.mkl", text)
    reading = read_machine(source)
    inspector = Inspector(Looking(lint=True))
    result = fix(inspector, inspector.inspect_text("none/odd.mkl", source, reading))
    assert result.inspected.machine is not None and reading.machine is not None
    assert semantic_hash(result.inspected.machine) == semantic_hash(reading.machine)
    assert [one for one in result.inspected.diagnostics if one.fix and not one.fix.edit.whole_lines] == []


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([Edit(Span(1, 1, 1, 2), "x")], "xb\ncd\n"),
        ([Edit(Span(1, 2, 1, 3), ""), Edit(Span(2, 1, 2, 2), "")], "a\nd\n"),
        ([Edit(Span(1, 1, 1, 3), "x"), Edit(Span(1, 2, 2, 1), "y")], "x\ncd\n"),
        ([Edit(Span(2, 1, 2, 3), "", whole_lines=True)], "ab\n"),
        ([Edit(Span(2, 1, 2, 2), "", whole_lines=True)], "ab\ncd\n"),
        ([Edit(Span(9, 1, 9, 2), "x"), Edit(Span(2, 3, 2, 9), "x")], "ab\ncd\n"),
    ],
)
def test_edits_that_touch_wait_and_impossible_ones_are_left_out(edits: list[Edit], expected: str) -> None:
    assert apply_edits("ab\ncd\n", edits)[0] == expected
