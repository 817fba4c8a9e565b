"""``check`` and ``lint`` through their public doors: what each reports, on which conditions, how often it looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from mklang.analysis import Analyser, check_machine, check_tiers, fails_strict, lint_machine
from mklang.diagnostics import Diagnostic, Severity
from mklang.lang.models import END, Machine, Ok, Otherwise, Tier
from mklang.lang.models import Gate as GateModel
from mklang.lang.reader import machine_from_text
from mklang.lang.yaml_tree import NOWHERE
from mklang.source import Span
from tests.analysis.support import complete, example

GATE = "gates: [{ when: otherwise, then: ok, to: END }]"
ONE_STATE = "{ structure: s, prompt: p, output: o, " + GATE + " }"


def codes(found: tuple[Diagnostic, ...]) -> list[str]:
    return [one.code for one in found]


def machine(fragment: str) -> Machine:
    return machine_from_text(complete(fragment))


class Counting(Mapping[str, Machine]):
    """A library that counts how often a machine is asked for."""

    def __init__(self, machines: dict[str, Machine]) -> None:
        self.machines = machines
        self.asked: Counter[str] = Counter()

    def __getitem__(self, name: str) -> Machine:
        self.asked[name] += 1
        return self.machines[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.machines)

    def __len__(self) -> int:
        return len(self.machines)


DIAMOND = """\
machine: mTHIS
budget: 3
states:
  a:
    call: mNEXT
    output: o
    gates: [{ when: it is good, then: ok, to: b }, { when: otherwise, fail: true }]
  b: { call: mNEXT, output: o, gates: [{ when: otherwise, then: ok, to: END }] }
"""
TEN_MISTAKES = """\
mklang: "0.9"
machine: many
entry: first
budget: 3
result: anser
hooks: [{ name: small }]
tools: [{ name: search }]
states:
  first:
    structure: s
    prompt: p
    output: o
    gates:
      - { when: it is small, hook: smal, then: ok, to: secnd }
      - { when: it is bad, repair: 1, to: END }
      - { when: it is good, then: ok, to: second }
  second:
    max_visits: 2
    tool: serch
    output: o
    gates:
      - { when: it is bad, hook: "eq:", repair: 2, to: second }
      - { when: otherwise, then: ok, to: END }
  third:
    structure: s
    prompt: p
    output: o
    gates: [{ when: otherwise, then: ok, to: end }]
"""


@pytest.mark.rule("L11", "L12", "L13", "W51")
def test_every_mistake_of_a_document_is_reported_at_its_place_in_reading_order() -> None:
    found = check_machine(machine_from_text(TEN_MISTAKES, "many.mkl"))
    assert [(one.span.line, one.span.column, one.code) for one in found if one.span] == [
        (1, 9, "version-unsupported"),
        (5, 9, "result-unknown"),
        (13, 5, "otherwise-missing"),
        (14, 36, "hook-undeclared"),
        (14, 56, "target-unknown"),
        (15, 43, "repair-to-end"),
        (18, 17, "visits-below-repairs"),
        (19, 11, "tool-undeclared"),
        (22, 34, "hook-malformed"),
        (24, 3, "state-unreachable"),
        (28, 46, "target-unknown"),
    ]
    assert {one.path for one in found} == {"many.mkl"}


@pytest.mark.rule("L16")
def test_lint_reports_what_check_reports_and_more() -> None:
    document = example("states:\n  a: " + ONE_STATE.replace("prompt: p", 'prompt: "{{x}}"').replace("END", "end"))
    checked = check_machine(document.machine)
    linted = lint_machine(document.machine)
    assert codes(checked) == ["target-unknown"]
    assert codes(linted) == ["placeholder-unknown", "target-unknown"]
    assert set(checked) < set(linted)


@pytest.mark.rule("L3", "L18")
def test_strict_makes_a_version_that_is_not_understood_an_error() -> None:
    late = machine('mklang: "1.0"\nstates:\n  a: ' + ONE_STATE)
    assert [one.severity for one in check_machine(late)] == [Severity.WARNING]
    assert [one.severity for one in check_machine(late, strict=True)] == [Severity.ERROR]


@pytest.mark.rule("L18")
@pytest.mark.parametrize(
    ("fragment", "fails"),
    [
        ("states:\n  a: " + ONE_STATE, False),
        ("budget: 1\nstates:\n  a: " + ONE_STATE, False),
        ("states:\n  a: " + ONE_STATE.replace("prompt: p", "prompt: p # cut"), False),
        ("states:\n  a: " + ONE_STATE.replace("prompt: p", 'prompt: "{{x}}"'), True),
        ("states:\n  a: " + ONE_STATE.replace("otherwise", "it is good"), True),
        ("states:\n  a: " + ONE_STATE.replace("END", "end"), True),
    ],
    ids=["clean", "check warning", "note", "finding", "no otherwise", "error"],
)
def test_lint_strict_fails_on_errors_and_findings_but_not_on_check_warnings_and_notes(
    fragment: str, *, fails: bool
) -> None:
    assert fails_strict(example(fragment.replace(", output", "\n, output")).lint()) is fails


@pytest.mark.rule("L12")
def test_a_tier_without_a_model_is_reported_only_when_the_tiers_are_known() -> None:
    deep = machine("states:\n  a: " + ONE_STATE.replace("{ ", "{ tier: reasoning, ", 1))
    assert codes(check_machine(deep)) == []
    assert codes(Analyser(tiers=[Tier.FAST]).check(deep)) == ["tier-missing"]
    assert codes(check_tiers(deep, [Tier.FAST])) == ["tier-missing"]
    assert codes(check_tiers(deep, [Tier.REASONING])) == []


@pytest.mark.rule("L12")
def test_nothing_is_said_about_callees_when_it_is_not_known_what_can_be_called() -> None:
    caller = machine("states:\n  a: { call: other, output: o, " + GATE + " }")
    assert codes(check_machine(caller)) == []
    assert codes(check_machine(caller, library={})) == ["callee-unknown"]
    assert codes(check_machine(caller, library={"other": machine("states:\n  a: " + ONE_STATE)})) == []


@pytest.mark.rule("W11", "L15")
def test_every_callee_is_checked_once_under_its_own_name() -> None:
    document = example(
        "states:\n"
        "  a: { call: one, output: o, gates: [{ when: otherwise, then: ok, to: b }] }\n"
        "  b: { call: two, output: o, " + GATE + " }\n"
        "---\nmachine: one\nstates:\n  a: { call: two, output: o, " + GATE + " }\n"
        "---\nmachine: two\nstates:\n  a: " + ONE_STATE.replace("END", "end") + "\n"
    )
    found = Analyser(document.library).check_all(document.machine)
    assert [(one.path, one.code) for one in found if one.severity is Severity.ERROR] == [
        ("callee1.mkl", "target-unknown")
    ]


@pytest.mark.rule("W18")
def test_a_chain_of_diamonds_is_looked_at_once_per_machine() -> None:
    levels = 24
    machines = {
        f"m{level}": machine(DIAMOND.replace("THIS", str(level)).replace("NEXT", str(level + 1)))
        for level in range(levels)
    }
    machines[f"m{levels}"] = machine(f"machine: m{levels}\nstates:\n  a: {{ tool: send, output: o, {GATE} }}")
    library = Counting(machines)
    analyser = Analyser(library)
    assert codes(analyser.lint(machines["m0"])).count("effect-in-callee") == 1
    assert set(library.asked.values()) == {1}
    assert len(analyser.check_all(machines["m0"])) == levels
    assert set(library.asked.values()) == {2}


def test_a_machine_made_without_text_is_checked_without_places() -> None:
    bare = replace(machine("entry: b\nstates:\n  a: " + ONE_STATE), at=NOWHERE)
    found = check_machine(bare)
    assert [(one.code, one.where, one.span) for one in found] == [("entry-unknown", "entry", None)]


def test_a_source_sharpens_a_place_to_the_placeholder() -> None:
    document = example('states:\n  a: { structure: s, prompt: "Hello {{x}}", output: o, ' + GATE + " }")
    (with_text,), (without,) = document.lint(), lint_machine(document.machine)
    assert with_text.span == Span(2, 37, 2, 42)
    assert without.span == Span(2, 30, 2, 43)


def test_a_part_that_is_used_twice_through_an_alias_is_reported_once() -> None:
    text = (
        "states:\n  a: &shape\n    structure: s\n    prompt: p\n    output: o\n"
        "    gates: [{ when: it is good, then: ok, to: END }, { when: it is bad, then: ok, to: b }]\n  b: *shape\n"
    )
    found = check_machine(machine(text))
    assert codes(found) == ["otherwise-missing", "otherwise-missing"]
    assert len({one.message for one in found}) == 2


def test_twenty_thousand_states_in_a_chain_are_no_problem() -> None:
    size = 20_000
    short = machine("result: o\nstates:\n  s0: " + ONE_STATE)
    state = replace(short.states["s0"], at=NOWHERE)
    targets = [*(f"s{number}" for number in range(1, size)), END]
    states = {
        f"s{number}": replace(state, id=f"s{number}", gates=(GateModel("otherwise", Otherwise(), Ok(to), 0),))
        for number, to in enumerate(targets)
    }
    found = lint_machine(replace(short, states=states, budget=size + 5))
    assert Counter(codes(found)) == {"output-overwritten": size - 1}


def test_among_many_states_a_near_miss_is_found_by_its_beginning() -> None:
    rows = "".join(f"  step{number}: {ONE_STATE.replace('END', f'step{number + 1}')}\n" for number in range(500))
    found = check_machine(
        machine(f"entry: step0\nbudget: 600\nstates:\n{rows}  stop: {ONE_STATE.replace('END', 'END')}\n")
    )
    assert [one.hint for one in found if one.code == "target-unknown"] == ["did you mean 'step50'?"]


def test_a_callee_that_is_there_and_cannot_be_read_is_left_to_its_reader() -> None:
    class Broken(Counting):
        def __getitem__(self, name: str) -> Machine:
            raise KeyError(name)

    caller = machine("states:\n  a: { call: other, output: o, " + GATE + " }")
    assert check_machine(caller, library=Broken({"other": caller})) == ()
    assert codes(check_machine(caller, library=Broken({"another": caller}))) == ["callee-unknown"]
