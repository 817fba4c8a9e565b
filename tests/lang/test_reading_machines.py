"""What a machine's keys may hold, and that every problem of a document is reported at once and in its place."""

import pytest

from mklang.lang.models import (
    Call,
    Declaration,
    Escalate,
    Fail,
    Generative,
    HookCondition,
    Ok,
    Otherwise,
    Over,
    Parse,
    Prose,
    Repair,
    Sample,
    Tier,
    Tool,
)
from tests.lang.documents import hint, machine, message, problems, read, smallest, with_context, with_gate, with_state

EVERYTHING = """\
mklang: "0.4"
machine: everything
entry: write
budget: 12
default_tier: fast
result: final
context: {raw: "", items: [a, b], nested: {on: true}}
tools:
  - {name: search, description: Looks it up.}
  - name: send
hooks: [{name: approved}]
states:
  write:
    structure: A paragraph.
    prompt: "Write about {{raw}}"
    execution: Be brief.
    tier: reasoning
    reason: true
    parse: list
    accumulate: true
    sample: 3
    max_visits: 4
    output: drafts
    gates:
      - {when: it is good, then: ok, to: each}
      - {when: it is thin, repair: 2, to: write}
      - {when: approved by a person, hook: approved, then: ok, to: END}
      - {when: " OtherWise\\n", escalate: true, ask: Shall we?, reply_to: boss.ok, to: look}
  each:
    call: polish
    input: {text: "{{item}}"}
    tier: balanced
    over: "{{drafts}}"
    output: final
    gates:
      - {when: otherwise, fail: true}
  look:
    tool: search
    output: found
    gates:
      - {when: otherwise, hook: ignored, then: ok, to: END}
"""


@pytest.mark.rule("L2", "L9")
def test_the_smallest_machine_has_the_documented_defaults() -> None:
    found = machine(smallest())
    assert (found.name, found.entry, found.budget) == ("m", "a", 5)
    assert (found.default_tier, found.result, found.version) == (Tier.BALANCED, None, None)
    assert (dict(found.context), found.tools, found.hooks) == ({}, (), ())


@pytest.mark.rule("L2")
def test_every_top_level_key_is_read() -> None:
    found = machine(EVERYTHING)
    assert (found.version, found.default_tier, found.result) == ("0.4", Tier.FAST, "final")
    assert found.context == {"raw": "", "items": ("a", "b"), "nested": {"on": True}}
    assert found.tools == (Declaration("search", "Looks it up."), Declaration("send"))
    assert found.hooks == (Declaration("approved"),)


@pytest.mark.rule("L5")
def test_every_key_of_a_generative_state_is_read() -> None:
    state = machine(EVERYTHING).states["write"]
    assert isinstance(state, Generative)
    assert (state.structure, state.prompt.text, state.execution) == ("A paragraph.", "Write about {{raw}}", "Be brief.")
    assert (state.tier, state.reason, state.parse, state.accumulate) == (Tier.REASONING, True, Parse.LIST, True)
    assert (state.fan_out, state.max_visits, state.output) == (Sample(3), 4, "drafts")


@pytest.mark.rule("L5")
def test_call_and_tool_states_are_told_apart_by_their_key() -> None:
    states = machine(EVERYTHING).states
    call, tool = states["each"], states["look"]
    assert isinstance(call, Call)
    assert isinstance(tool, Tool)
    assert (call.machine, call.tier, tool.tool, tool.tier) == ("polish", Tier.BALANCED, "search", None)
    assert isinstance(call.fan_out, Over)
    assert call.fan_out.items.path == "drafts"


@pytest.mark.rule("L4", "L6")
def test_a_gate_is_a_condition_and_a_policy() -> None:
    states = machine(EVERYTHING).states
    found = [(gate.index, gate.condition, gate.policy) for gate in states["write"].gates]
    assert found == [
        (0, Prose("it is good"), Ok("each")),
        (1, Prose("it is thin"), Repair("write", 2)),
        (2, HookCondition("approved"), Ok("END")),
        (3, Otherwise(), Escalate("look", "Shall we?", "boss.ok")),
    ]
    assert [gate.policy for gate in states["each"].gates] == [Fail()]
    assert [gate.condition for gate in states["look"].gates] == [Otherwise()]


@pytest.mark.rule("W39")
def test_ten_mistakes_give_ten_diagnostics_each_in_its_place() -> None:
    text = """\
mklang: 0.4
machine: ""
entry: a
budget: 010
default_teir: fast
states:
  a:
    structure: s
    promt: p
    output: a.b
    gates:
      - {when: x, repair: 0, to: a}
      - {when: x, to: a}
      - {when: x, fail: true, to: a}
      - {when: x, then: ok, escalate: true, to: a}
  END: {tool: t, tier: fast, output: o, gates: []}
"""
    assert problems(text) == [
        *("wrong-type 1:9", "bad-value 2:10", "wrong-type 4:9", "unknown-key 5:1", "unknown-key 9:5"),
        *("bad-value 10:13", "bad-value 12:27", "missing-key 13:9", "conflicting-keys 14:31"),
        *("conflicting-keys 15:29", "bad-value 16:3", "wrong-kind 16:18", "bad-value 16:48"),
    ]
    assert [one.where for one in read(text).diagnostics][5:9] == [
        *("states.a.output", "states.a.gates[0].repair", "states.a.gates[1]", "states.a.gates[2].to")
    ]


@pytest.mark.rule("W39", "W42")
def test_a_problem_renders_as_one_line_that_editors_can_follow() -> None:
    (found,) = read(smallest("output", "outptu")).diagnostics
    assert found.render() == (
        "m.mkl:8:5: unknown-key: states.a.outptu: 'outptu' is not a key of a state (did you mean 'output'?)"
    )


@pytest.mark.rule("L2")
@pytest.mark.parametrize("name", ["machine", "entry", "budget"])
def test_a_required_key_that_is_missing_is_named(name: str) -> None:
    text = "".join(line for line in smallest().splitlines(keepends=True) if not line.startswith(name))
    assert problems(text) == ["missing-key 1:1"]
    assert f"'{name}'" in message(text)


@pytest.mark.rule("L5")
@pytest.mark.parametrize("name", ["structure", "prompt", "output"])
def test_a_state_without_a_required_key_is_reported_at_its_id(name: str) -> None:
    text = "".join(line for line in smallest().splitlines(keepends=True) if not line.startswith(f"    {name}"))
    assert problems(text) == ["missing-key 5:3"]
    assert f"'{name}'" in message(text)


@pytest.mark.rule("W49")
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("machine: m", 'machine: ""', "bad-value 1:10"),
        ("machine: m", 'machine: " "', "bad-value 1:10"),
        ("entry: a", 'entry: ""', "bad-value 2:8"),
        ("budget: 5", 'budget: 5\nresult: ""', "bad-value 4:9"),
        ("  a:", '  "":', "bad-value 5:3"),
        ("  a:", "  END:", "bad-value 5:3"),
        ("output: o", 'output: ""', "bad-value 8:13"),
        ("when: otherwise", 'when: ""', "bad-value 10:15"),
        ("when: otherwise", 'when: x\n        hook: ""', "bad-value 11:15"),
        ("to: END", 'to: ""', "bad-value 12:13"),
    ],
)
def test_names_and_conditions_must_not_be_empty(old: str, new: str, problem: str) -> None:
    assert problems(smallest(old, new)) == [problem]


@pytest.mark.rule("W48")
@pytest.mark.parametrize("key", ["output", "result"])
def test_a_context_key_has_no_dot(key: str) -> None:
    text = smallest("output: o", "output: a.b") if key == "output" else f"result: a.b\n{smallest()}"
    assert [one.split()[0] for one in problems(text)] == ["bad-value"]
    assert "dot" in message(text)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("machine: m", "machine: m\ncontext: ~", "wrong-type 2:10"),
        ("machine: m", "machine: m\ncontext: [a]", "wrong-type 2:10"),
        ("machine: m", "machine: m\ncontext:", "wrong-type 2:1"),
        ("machine: m", "machine: m\ntools: x", "wrong-type 2:8"),
        ("machine: m", "machine: m\ntools: {a: b}", "wrong-type 2:8"),
        ("machine: m", "machine: m\ntools: [a]", "wrong-type 2:9"),
        ("machine: m", "machine: m\ntools: [{}]", "missing-key 2:9"),
        ("machine: m", "machine: m\nhooks: [{name: a, x: b}]", "unknown-key 2:19"),
        ("machine: m", "machine: m\nhooks: [{name: ''}]", "bad-value 2:16"),
        ("machine: m", "machine: m\ndefault_tier: quick", "bad-value 2:15"),
        ("machine: m", 'machine: m\nmklang: ["0.4"]', "wrong-type 2:9"),
        ("entry: a", "entry: [a]", "wrong-type 2:8"),
        ("  a:\n", "  b: ~\n  a:\n", "wrong-type 5:6"),
        ("  a:\n", "  b: [x]\n  a:\n", "wrong-type 5:6"),
    ],
)
def test_a_value_of_the_wrong_type_is_reported_where_it_stands(old: str, new: str, problem: str) -> None:
    assert problems(smallest(old, new)) == [problem]


@pytest.mark.parametrize("states", ["~", "[]", "{}", "x", ""])
def test_a_machine_needs_states(states: str) -> None:
    assert [one.split()[0] for one in problems(f"machine: m\nentry: a\nbudget: 1\nstates: {states}\n")] in (
        ["wrong-type"],
        ["bad-value"],
    )


@pytest.mark.rule("L5")
@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("tool: t\ncall: c", ["missing-key 5:3", "missing-key 5:3", "conflicting-keys 7:5"]),
        ("tool: t\nprompt: p", ["missing-key 5:3", "missing-key 5:3", "wrong-kind 7:5"]),
        ("tool: t\ntier: fast", ["missing-key 5:3", "missing-key 5:3", "wrong-kind 7:5"]),
        ("call: c\nstructure: s", ["missing-key 5:3", "missing-key 5:3", "wrong-kind 7:5"]),
        ("call: c\nreason: true", ["missing-key 5:3", "missing-key 5:3", "wrong-kind 7:5"]),
        ("output: o", ["missing-key 5:3", "missing-key 5:3"]),
        ("prompt: p\nstructure: s\ninput: {}", ["missing-key 5:3", "missing-key 5:3", "wrong-kind 8:5"]),
        ("tol: t\noutput: o", ["missing-key 5:3", "unknown-key 6:5"]),
    ],
)
def test_a_state_is_of_one_kind(lines: str, found: list[str]) -> None:
    assert problems(with_state(lines)) == found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("promt", "did you mean 'prompt'?"),
        ("Prompt", "did you mean 'prompt'?"),
        ("max_visit", "did you mean 'max_visits'?"),
        ("when", "it belongs to a gate"),
        ("budget", "it belongs to the document"),
        ("repair", "it belongs to a repair gate"),
        ("zzz", "known here: structure, prompt"),
    ],
)
def test_an_unknown_key_is_explained(name: str, words: str) -> None:
    text = smallest("    output: o", f"    output: o\n    {name}: x")
    assert problems(text) == ["unknown-key 9:5"]
    assert words in hint(text)


@pytest.mark.rule("L5", "W50")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('over: "{{x}}"', []),
        ('over: " {{ x.y }} "', []),
        ('over: "all of {{x}}"', ["~over-expression 9:11"]),
        ("over: hello", ["over-expression 9:11"]),
        ('over: ""', ["over-expression 9:11"]),
        ('over: "{{x-y}}"', ["over-expression 9:11"]),
        ('over: "{{x}}{{y}}"', ["over-expression 9:11"]),
        ("over: [1, 2]", ["wrong-type 9:11"]),
        ('sample: 2\n    over: "{{x}}"', ["conflicting-keys 10:5"]),
        ("sample: 0", ["bad-value 9:13"]),
        ("sample: 1", ["bad-value 9:13"]),
        ("max_visits: 0", ["bad-value 9:17"]),
        ("max_visits: 3.0", []),
        ("parse: xml", ["bad-value 9:12"]),
        ("parse: true", ["wrong-type 9:12"]),
        ("tier: FAST", ["bad-value 9:11"]),
        ("execution: ~", ["wrong-type 9:16"]),
        ("accumulate: 1", ["wrong-type 9:17"]),
    ],
)
def test_the_optional_keys_of_a_state(line: str, found: list[str]) -> None:
    assert problems(smallest("    output: o", f"    output: o\n    {line}")) == found


@pytest.mark.rule("L6")
@pytest.mark.parametrize(
    ("gate", "found"),
    [
        ("{when: yes, then: ok, to: END}", []),
        ('{when: x, then: "ok", to: END}', []),
        ("{when: x, hook: h, repair: 1, to: END}", []),
        ("{when: x, escalate: true, to: a, ask: '', reply_to: a.b.c}", []),
        ("{when: x, fail: true}", []),
        ("{then: ok, to: a}", ["missing-key 10:9"]),
        ("{when: x, to: a}", ["missing-key 10:9"]),
        ("{when: x}", ["missing-key 10:9"]),
        ("{}", ["missing-key 10:9", "missing-key 10:9"]),
        ("{when: x, then: ok}", ["missing-key 10:9"]),
        ("{when: x, then: ok, to: ~}", ["wrong-type 10:33"]),
        ("{when: x, then: ok, to: 1}", ["wrong-type 10:33"]),
        ("{when: x, then: yes, to: a}", ["bad-value 10:25"]),
        ("{when: x, then: true, to: a}", ["wrong-type 10:25"]),
        ("{when: x, then: OK, to: a}", ["bad-value 10:25"]),
        ("{when: x, repair: 0, to: a}", ["bad-value 10:27"]),
        ('{when: x, repair: "2", to: a}', ["wrong-type 10:27"]),
        ("{when: x, escalate: false, to: a}", ["bad-value 10:29"]),
        ("{when: x, escalate: yes, to: a}", ["wrong-type 10:29"]),
        ("{when: x, fail: false}", ["bad-value 10:25"]),
        ("{when: x, fail: true, to: a}", ["conflicting-keys 10:31"]),
        ("{when: x, fail: true, then: ok, to: a}", ["conflicting-keys 10:31"]),
        ("{when: x, then: ok, repair: 1, to: a}", ["conflicting-keys 10:29"]),
        ("{when: x, then: ok, to: a, ask: q}", ["wrong-kind 10:36"]),
        ("{when: x, repair: 1, to: a, reply_to: q}", ["wrong-kind 10:37"]),
        ("{when: x, escalate: true, to: a, reply_to: a..b}", ["bad-value 10:52"]),
        ("{when: x, than: ok, to: a}", ["unknown-key 10:19"]),
        ("{when: x, then: ok, two: a}", ["unknown-key 10:29"]),
        ("{wen: x, then: ok, to: a}", ["unknown-key 10:10"]),
        ("{when: x, then: ok, to: a, max_visits: 3}", ["unknown-key 10:36"]),
        ("{when: ~, then: ok, to: a}", ["wrong-type 10:16"]),
        ("{when: true, then: ok, to: a}", ["wrong-type 10:16"]),
        ("[when, x]", ["wrong-type 10:9"]),
        ("just text", ["wrong-type 10:9"]),
    ],
)
def test_a_gate_has_a_condition_and_exactly_one_policy(gate: str, found: list[str]) -> None:
    assert problems(with_gate(gate)) == found


@pytest.mark.parametrize("gates", ["[]", "{when: x}", "~", "x", ""])
def test_a_state_needs_a_list_of_gates(gates: str) -> None:
    lines = f"structure: s\nprompt: p\noutput: o\ngates: {gates}"
    assert [one.split()[0] for one in problems(with_state(lines))] in (["bad-value"], ["wrong-type"])


def test_a_place_whose_name_is_no_word_is_named_in_quotes() -> None:
    text = smallest("  a:", "  two words:").replace("output: o", "output: ~")
    assert read(text).diagnostics[0].where == 'states["two words"].output'


@pytest.mark.rule("L5")
def test_a_lenient_reading_ignores_keys_that_do_not_belong() -> None:
    text = with_state(
        "structure: s\ncall: c\nreason: 7\nzzz: 1\noutput: o\ngates: [{when: x, then: ok, to: END, ask: q}]"
    )
    assert problems(f"zzz: 1\n{text}", lenient=True) == []
    found = read(text, lenient=True).machine
    assert found
    assert isinstance(found.states["a"], Call)


@pytest.mark.rule("L5")
def test_a_lenient_reading_is_strict_about_everything_else() -> None:
    assert problems(smallest("then: ok", "then: no"), lenient=True) == ["bad-value 11:15"]
    assert problems(smallest("budget: 5", "budget: x"), lenient=True) == ["wrong-type 3:9"]
    assert problems(with_gate("{when: x, to: a}"), lenient=True) == ["missing-key 10:9"]


@pytest.mark.rule("L4")
def test_names_are_free_text() -> None:
    text = "context: {größe: 1}\n" + smallest("machine: m", "machine: Prüfung 😀")
    assert problems(text) == []


def test_warnings_do_not_keep_a_machine_from_being_read() -> None:
    found = read(with_context("{a: 010}"))
    assert found.machine
    assert len(found.diagnostics) == 1


@pytest.mark.parametrize(
    ("written", "meant"), [("thenn: ok, to: END", "then"), ("repare: 1, to: END", "repair"), ("fial: true", "fail")]
)
def test_a_misspelt_key_is_taken_for_one_that_is_not_written_yet(written: str, meant: str) -> None:
    text = with_gate(f"{{ when: it is short, {written} }}")
    assert [one for one in problems(text) if not one.startswith("~")] == ["unknown-key 10:30"]
    assert hint(text) == f"did you mean '{meant}'?"
