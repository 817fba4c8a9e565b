"""Machines made at random: no rule ever fails, and what a rule claims about all runs is refuted by no walk.

A walk takes gates in any order the language allows, so it is a run whose judge and hooks say anything at all.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mklang.analysis.graph import live_gates
from mklang.analysis.runner import Analyser
from mklang.diagnostics import Diagnostic
from mklang.lang.json_text import to_json_text
from mklang.lang.models import END, Call, Generative, Machine, Otherwise, Repair, State, Tier, Tool
from mklang.lang.reader import machine_from_text
from mklang.lang.template import Template
from mklang.source import Source

IDS = ("a", "b", "c", "d", "e")
KEYS = ("x", "y", "z")
CONDITIONS = ("otherwise", "it is good", "It is good!", "it is bad")
HOOKS = ("eq:x:1", "eq:nobody:1", "eq:x", "write_failed", "host", "always_true")
TEXTS = (
    "{{x}}",
    "{{y.k}} {{ z }}",
    "{{item}} {{index}}",
    "{{nobody}} {{a-b}} {x}",
    "plain \\n text",
    "{{human.reply}}",
)


@st.composite
def gates(draw: st.DrawFn, targets: tuple[str, ...]) -> dict[str, Any]:
    gate: dict[str, Any] = {"when": draw(st.sampled_from(CONDITIONS))}
    if draw(st.booleans()):
        gate["hook"] = draw(st.sampled_from(HOOKS))
    policies: tuple[dict[str, Any], ...] = ({"then": "ok"}, {"repair": 2}, {"escalate": True}, {"fail": True})
    gate |= draw(st.sampled_from(policies))
    if "fail" not in gate:
        gate["to"] = draw(st.sampled_from((*targets, END)))
    if "escalate" in gate and draw(st.booleans()):
        gate |= {"ask": "Is {{x}} right?", "reply_to": "y.k"}
    return gate


@st.composite
def states(draw: st.DrawFn, targets: tuple[str, ...]) -> dict[str, Any]:
    text = st.sampled_from(TEXTS)
    bodies: tuple[dict[str, Any], ...] = (
        {"structure": draw(text), "prompt": draw(text), "execution": "{{x}}"},
        {"tool": draw(st.sampled_from(("search", "send"))), "input": {"q": draw(text), "n": [draw(text)]}},
        {"call": draw(st.sampled_from(("self", "other", "nowhere"))), "input": {"x": draw(text), "w": 1}},
    )
    state = dict(draw(st.sampled_from(bodies)))
    state |= {"output": draw(st.sampled_from(KEYS)), "gates": draw(st.lists(gates(targets), min_size=1, max_size=3))}
    state |= draw(st.sampled_from(({}, {}, {"sample": 3}, {"over": "{{y}}"}, {"accumulate": True})))
    state |= draw(st.sampled_from(({}, {}, {"max_visits": 2})))
    return state


@st.composite
def documents(draw: st.DrawFn, name: str = "self") -> dict[str, Any]:
    ids = IDS[: draw(st.integers(1, len(IDS)))]
    targets = (*ids, "nowhere") if draw(st.integers(0, 4)) == 0 else ids
    document: dict[str, Any] = {"machine": name, "entry": draw(st.sampled_from(targets))}
    document |= {"budget": draw(st.integers(1, 6)), "states": {one: draw(states(targets)) for one in ids}}
    values = st.sampled_from(("", "text", 1, ["a"], {"k": ""}, {"other": "{{x}}"}))
    document["context"] = draw(st.dictionaries(st.sampled_from((*KEYS, "item")), values, max_size=2))
    document |= draw(st.sampled_from(({}, {"result": "x"}, {"result": "q"}, {"mklang": "0.2"}, {"mklang": "9"})))
    document |= draw(st.sampled_from(({}, {"tools": [{"name": "search"}], "hooks": [{"name": "hosts"}]})))
    return document


def read(document: dict[str, Any]) -> tuple[Machine, Source]:
    source = Source(document["machine"], to_json_text(document, document["machine"]))
    return machine_from_text(source.text, source.name), source


@given(documents(), documents("other"))
def test_no_rule_fails_and_every_finding_has_a_place(one: dict[str, Any], two: dict[str, Any]) -> None:
    (machine, source), (other, _) = read(one), read(two)
    analyser = Analyser({"other": other}, tiers=[Tier.FAST])
    found = analyser.lint(machine, source)
    lines = source.text.splitlines()
    for diagnostic in found:
        span = diagnostic.span
        assert span is not None and 1 <= span.line <= len(lines) and 1 <= span.column <= len(lines[span.line - 1])
        assert (span.end_line, span.end_column) > (span.line, span.column)
        assert diagnostic.message and diagnostic.where
    assert found == Analyser({"other": other}, tiers=[Tier.FAST]).lint(machine, source)
    codes = {diagnostic.code for diagnostic in found}
    assert {one.code for one in analyser.check(machine, source)} <= codes
    assert {one.code for one in Analyser({"other": other}, tiers=[Tier.FAST]).lint(machine)} == codes


@given(documents(), st.integers(0, 2**32))
def test_no_walk_refutes_what_a_rule_claims(document: dict[str, Any], seed: int) -> None:
    machine, source = read(document)
    found = Analyser({}).lint(machine, source)
    walk = Walk(machine, Random(seed))
    if machine.entry not in machine.states:
        assert "entry-unknown" in {one.code for one in found}
        return
    walk.run(40)
    claims = {code: states_named(found, code) for code in ("state-unreachable", "output-overwritten", "dead-end")}
    assert not walk.visited & claims["state-unreachable"]
    assert not walk.read_back & claims["output-overwritten"]
    assert not walk.early & {(name_in(one), key_in(one)) for one in found if one.code == "placeholder-early"}
    codes = {one.code for one in found}
    if walk.ended is not None:
        assert not claims["dead-end"] & set(walk.path)
    if walk.ended == END:
        assert "end-unreachable" not in codes
        assert "budget-infeasible" not in codes or len(walk.path) > machine.budget


class Walk:
    """One way through a machine, and what it shows."""

    def __init__(self, machine: Machine, random: Random) -> None:
        self.machine = machine
        self.random = random
        self.path: list[str] = []
        self.ended: str | None = None
        self.read_back: set[str] = set()
        self.early: set[tuple[str, str]] = set()
        self._writers: dict[str, str] = {}
        self._spent: dict[tuple[str, int], int] = {}

    @property
    def visited(self) -> set[str]:
        return set(self.path)

    def run(self, steps: int) -> None:
        here = self.machine.entry
        for _ in range(steps):
            state = self.machine.states[here]
            self.path.append(here)
            self._read(state)
            self._writers[state.output] = here
            eligible = [gate for gate in state.gates if self._left(here, gate.index, gate.policy)]
            choices = live_gates(tuple(eligible))
            if not choices:
                return
            gate = self.random.choice(choices)
            if isinstance(gate.policy, Repair):
                self._spent[here, gate.index] = self._spent.get((here, gate.index), 0) + 1
            target = gate.target
            if target is None or target == END:
                self.ended = target or "fail"
                if target == END and self.machine.result in self._writers:
                    self.read_back.add(self._writers[self.machine.result])
                return
            if target not in self.machine.states:
                return
            here = target

    def _left(self, state: str, gate: int, policy: object) -> bool:
        return not isinstance(policy, Repair) or self._spent.get((state, gate), 0) < policy.limit

    def _read(self, state: State) -> None:
        templates: list[Template] = []
        if isinstance(state, Generative):
            templates.append(state.prompt)
        elif isinstance(state, Call | Tool):
            templates += [argument.value for argument in state.input if isinstance(argument.value, Template)]
        for template in templates:
            for placeholder in template.placeholders:
                if placeholder.root in self._writers:
                    self.read_back.add(self._writers[placeholder.root])
                    self.early.add((state.id, placeholder.root))


def states_named(found: tuple[Diagnostic, ...], code: str) -> set[str]:
    return {name_in(one) for one in found if one.code == code}


def name_in(found: Diagnostic) -> str:
    return found.where.split(".")[1]


def key_in(found: Diagnostic) -> str:
    return found.message.split("'")[1]


def test_a_walk_takes_no_gate_behind_a_catch_all() -> None:
    text = '{"machine": "m", "entry": "a", "budget": 1, "states": {"a": {"structure": "", "prompt": "", "output": "o", '
    text += '"gates": [{"when": "otherwise", "then": "ok", "to": "END"}, {"when": "x", "fail": true}]}}}'
    gates = live_gates(machine_from_text(text).states["a"].gates)
    assert [gate.condition for gate in gates] == [Otherwise()]
