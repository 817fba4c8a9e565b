"""A scenario that is written is read again as the same scenario, whatever texts and values it holds (L90)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mklang.engine.noul import MAPPING, first_at_least
from mklang.engine.options import Effect, OnUncertain, Reaction, RunOptions
from mklang.engine.requests import HookValue, Observation, Produced, Read, Usage, Verdict
from mklang.lang.models import Tier
from mklang.oracles.pinned import FailureKind, PinnedFailure, PinnedReply, Unsettled
from mklang.oracles.scripted import MODEL, Script
from mklang.source import Source
from mklang.testing.reading import read_scenarios
from mklang.testing.scenario import UNSET, Expectation, Scenario
from mklang.testing.writing import scenario_file_text

pytestmark = pytest.mark.rule("L90")

# What other YAML readers take for something else, or what makes a writer choose another style.
AWKWARD = [
    *("no", "on", "Off", "true", "False", "null", "~", "", " ", "010", "0x1F", "1_000", "0o7", "12:30", "1.", ".5"),
    *("-.5", "+1", "1e3", "1.0e+3", ".inf", ".NaN", "2026-01-02", "=", "<<", "- a", "a: b", "a #b", "#b", "? a"),
    *("{a}", "[a]", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a", "'a'", '"a"', "a\n", "\na", "a\n\nb", "  a\nb"),
    *("a \nb", "a\tb", "\ta", "a\r\nb", "\x00", "\x07", "\x85", "\u2028", "\ufeff", "\U0001f600", "x" * 200),
    *("word " * 40, " word" * 40, "a" * 100 + " ", "line\n" * 3, "trailing  \n", "---", "...", "--- a", "a\n---\nb"),
]
texts = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(max_size=60),
    st.lists(st.sampled_from([*AWKWARD, "\n", " ", "a"]), max_size=5).map("".join),
)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
usages = st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**12))
chances = st.floats(0, 1)


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    usage = draw(usages)
    match draw(st.sampled_from(["position", "none", "unparseable", "probabilities"])):
        case "position":
            return Verdict(index=draw(st.integers(0, 9)), usage=usage, model=MODEL)
        case "none":
            return Verdict(index=None, usage=usage, model=MODEL)
        case "unparseable":
            return Verdict(index=None, read=Read.UNREAD, raw="unparseable", usage=usage, model=MODEL)
    found, threshold = tuple(draw(st.lists(chances, min_size=1, max_size=4))), draw(chances)
    return Verdict(
        index=first_at_least(found, threshold),
        method=MAPPING,
        mapping=MAPPING,
        model=MODEL,
        usage=usage,
        probabilities=found,
        threshold=threshold,
        band=draw(chances),
        none_probability=draw(st.none() | chances),
    )


answers = st.fixed_dictionaries(
    {},
    optional={
        "1:a/produce": st.builds(
            Produced,
            text=texts,
            reasoning=st.none() | texts,
            usage=usages,
            finish_reason=st.none() | texts,
            truncated=st.booleans(),
        ),
        "2:b/produce": st.builds(PinnedFailure, texts, st.sampled_from(FailureKind), usages),
        "2:b c: d #/judge[0]": verdicts(),
        "3:m[2]/call/1:r/tool": st.builds(Observation, texts),
        "4:t/tool": st.just(Unsettled.OUTCOME_UNKNOWN),
        "5:h/hook[1]": st.builds(HookValue, st.booleans()),
        "6:q/ask": st.builds(
            PinnedReply,
            st.dictionaries(texts.filter(lambda path: path not in {"confirms", "expired"}), values, max_size=3),
            st.none() | st.booleans(),
            st.booleans(),
        ),
        "7:w/which": st.builds(PinnedReply, st.just({"gate": "1"})),
    },
)
limits = st.none() | st.integers(1, 10**6)
options = st.builds(
    RunOptions,
    max_steps=limits,
    budgets=st.dictionaries(texts, st.integers(1, 99), max_size=2),
    max_tokens=limits,
    max_nano_usd=st.none() | st.integers(0, 10**12),
    concurrency=limits,
    max_failed_branches=limits,
    value_chars=st.integers(0, 9),
    delimit=st.booleans(),
    on_truncate=st.sampled_from(Reaction),
    tool_effects=st.dictionaries(texts, st.sampled_from(Effect), max_size=2),
    trusted=st.frozensets(texts, max_size=2),
    whole_decisions=st.frozensets(st.sampled_from(Tier)),
    on_uncertain=st.sampled_from(OnUncertain),
    humans=st.booleans(),
)
expectations = st.builds(
    Expectation,
    status=st.sampled_from(["done", "halt", "suspended"]),
    error=st.just(UNSET) | st.none() | texts,
    result=st.just(UNSET) | values,
    at=st.just(UNSET) | texts,
    context=st.dictionaries(texts, values, max_size=2),
    trace=st.just(UNSET)
    | st.lists(
        st.fixed_dictionaries({"state": texts}, optional={"to": texts, "output": texts, "reply": st.none()}), max_size=3
    ).map(tuple),
)
scenarios = st.builds(
    Scenario,
    name=texts,
    inputs=st.dictionaries(texts, values, max_size=3),
    options=options,
    script=st.builds(Script, answers=answers),
    expect=expectations,
)


def without_place(scenario: object) -> dict[str, object]:
    assert isinstance(scenario, Scenario), scenario
    return {name: getattr(scenario, name) for name in ("name", "inputs", "options", "script", "expect")}


@given(scenario=scenarios)
@settings(max_examples=300, deadline=None)
def test_what_is_written_is_read_again_without_a_word_about_it(scenario: Scenario) -> None:
    read = read_scenarios(Source("s.test.yaml", scenario_file_text([scenario], heading=["a line"])))
    assert read.diagnostics == ()
    (entry,) = read.entries
    assert without_place(entry) == without_place(scenario) | {"name": scenario.name or "scenario[0]"}


@given(text=texts)
@example("x" * 81 + "\n ")
@settings(max_examples=500, deadline=None)
def test_any_text_survives_as_name_input_answer_and_key(text: str) -> None:
    scenario = Scenario(
        name="n",
        inputs={text: text},
        script=Script(answers={f"1:{text}/produce": Produced(text=text), "1:t/tool": Observation(text)}),
        expect=Expectation(status="done", result=[text, {text: text}]),
    )
    read = read_scenarios(Source("s.test.yaml", scenario_file_text([scenario])))
    assert read.diagnostics == ()
    assert without_place(read.entries[0]) == without_place(scenario)


def test_long_texts_are_blocks_and_steps_are_lines() -> None:
    scenario = Scenario(
        name="n",
        script=Script(answers={"1:a/produce": Produced(text="two\nlines"), "1:a/judge[0]": Verdict(index=0)}),
        expect=Expectation(status="done", trace=({"state": "a", "to": "END"},)),
    )
    assert scenario_file_text([scenario], heading=["why"]) == (
        "# why\n"
        "scenarios:\n"
        "  - name: n\n"
        "    answers:\n"
        "      1:a/produce: |-\n"
        "        two\n"
        "        lines\n"
        "      1:a/judge[0]: 0\n"
        "    expect:\n"
        "      status: done\n"
        "      trace:\n"
        "        - {state: a, to: END}\n"
    )


def test_half_a_surrogate_pair_is_refused_by_the_reader_and_not_changed() -> None:
    scenario = Scenario(name="a\ud800", expect=Expectation(status="done"))
    assert read_scenarios(Source("s.test.yaml", scenario_file_text([scenario]))).entries == ()
