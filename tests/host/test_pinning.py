"""A recorded run becomes a scenario that passes at once, and only a run that can be pinned does (L90)."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mklang.durable.journal import End, create_journal, read_journal
from mklang.engine.options import DEFAULT_OPTIONS, RunOptions
from mklang.engine.outcome import status_of
from mklang.engine.requests import (
    Answer,
    NotYet,
    Observation,
    Produced,
    Reply,
    Request,
    Tool,
    Usage,
    Verdict,
)
from mklang.engine.run import arun
from mklang.errors import Cancelled, RunStoreError, TimeExhausted, ToolFailed
from mklang.host.pinning import pinned_text
from mklang.host.session import Loaded
from mklang.lang.models import Machine
from mklang.lang.reader import machine_from_text
from mklang.oracles.journaled import JournaledOracle
from mklang.source import Source
from mklang.testing.playing import play_all
from mklang.testing.reading import read_scenarios
from mklang.testing.scenario import Scenario
from tests.durable.test_replay_properties import Chance, machines
from tests.host.test_replaying import LETTER, LIBRARY, Fate, begin, recorded

pytestmark = pytest.mark.rule("L90")


class Told(Chance):
    """Answers by kind, an exception is raised; whoever is not told of answers by chance."""

    def __init__(self, **answers: Answer | Exception) -> None:
        super().__init__(1, 1)
        self.answers = answers

    def _answer(self, request: Request) -> Answer:
        answer = self.answers.get(type(request).__name__.lower())
        if isinstance(answer, Exception):
            raise answer
        return super()._answer(request) if answer is None else answer


def pin(machine: Machine, oracle: Chance, options: RunOptions = DEFAULT_OPTIONS) -> tuple[Scenario, str]:
    """The scenario that pins a run, read from its text, and the text."""
    with recorded(machine, oracle, options) as (outcome, journal):
        text = pinned_text(Loaded(machine=machine, library=LIBRARY, warnings=()), journal, name="pinned")
    (entry,) = read_scenarios(Source("p.test.yaml", text)).entries
    assert isinstance(entry, Scenario)
    assert entry.expect.status == status_of(outcome)
    (played,) = play_all([entry], machine, LIBRARY)
    assert [str(mismatch) for mismatch in played.mismatches] == []
    return entry, text


@given(
    machine=machines(),
    salt=st.integers(0, 10**6),
    order=st.integers(0, 10**6),
    ends=st.sampled_from([None, TimeExhausted, Cancelled]),
    after=st.integers(0, 20),
    options=st.builds(
        RunOptions,
        humans=st.booleans(),
        suspend_on_limit=st.booleans(),
        max_tokens=st.none() | st.integers(0, 120),
        max_failed_branches=st.none() | st.integers(0, 2),
        concurrency=st.sampled_from([None, 2]),
    ),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_a_run_did_its_pin_passes(
    machine: Machine, salt: int, order: int, ends: type[Exception] | None, after: int, options: RunOptions
) -> None:
    scenario, _ = pin(machine, Fate(salt, order, ends=ends, after=after), options)
    assert scenario.options == options
    assert scenario.expect.trace is not None


def test_a_pin_holds_what_was_said_and_where_it_led() -> None:
    letter = machine_from_text(LETTER)
    oracle = Told(
        produce=Produced(text="drip\ndrop", usage=Usage(9, 9), model="m", finish_reason="stop"),
        judge=Verdict(index=0),
        tool=Observation(text="sent"),
    )
    _, text = pin(letter, oracle, RunOptions(max_steps=5))
    assert text.split("scenarios:\n")[1] == (
        "  - name: pinned\n"
        "    run:\n"
        "      max_steps: 5\n"
        "    answers:\n"
        "      1:draft/produce: |-\n"
        "        drip\n"
        "        drop\n"
        "      1:draft/judge[0]: 0\n"
        "      2:post/tool: sent\n"
        "    expect:\n"
        "      status: done\n"
        "      result: sent\n"
        "      trace:\n"
        "        - {state: draft, policy: ok, to: post, gate_via: llm}\n"
        "        - {state: post, policy: ok, to: END, gate_via: otherwise}\n"
    )


@pytest.mark.parametrize(("limit", "ends"), [(22, "status: halt\n      error: cost-exhausted"), (23, "status: done")])
def test_costs_are_pinned_where_they_ended_the_run(limit: int, ends: str) -> None:
    oracle = Told(produce=Produced(text="drip", usage=Usage(9, 9)), judge=Verdict(index=0, usage=Usage(3, 1)))
    _, text = pin(machine_from_text(LETTER), oracle, RunOptions(max_tokens=limit))
    assert f"cost_budget: {limit}" in text
    assert ends in text
    assert text.count("tokens:") == (2 if limit == 22 else 0)


def test_a_reply_is_pinned_with_what_it_confirms_where_its_words_do_not_say() -> None:
    letter = machine_from_text(LETTER)
    for reply, written in [
        (Reply(values={"editor.says": "yes"}, confirms=True), "editor.says: 'yes'\n"),
        (Reply(values={"editor.says": "hm"}, confirms=True), "editor.says: hm\n        confirms: true\n"),
        (Reply(values={"editor.says": None}, expired=True), "2:post/ask:\n        expired: true\n"),
    ]:
        oracle = Told(produce=Produced(text="a"), judge=Verdict(index=None), ask=reply)
        _, text = pin(letter, oracle, RunOptions(humans=True))
        assert written in text


def test_a_waiting_run_is_pinned_waiting() -> None:
    oracle = Told(produce=Produced(text="a"), judge=Verdict(index=None), ask=NotYet(question=""))
    scenario, _ = pin(machine_from_text(LETTER), oracle, RunOptions(humans=True))
    assert (scenario.expect.status, scenario.expect.error, scenario.expect.ask) == (
        "suspended",
        "escalated",
        "Post it?",
    )


def test_a_failed_run_is_pinned_failing() -> None:
    oracle = Told(produce=Produced(text="a"), judge=Verdict(index=0), tool=ToolFailed("no stamp: \u2028"))
    scenario, text = pin(machine_from_text(LETTER), oracle)
    assert scenario.expect.error == "state-error: no stamp: \u2028"
    assert "kind: tool" in text


def test_an_effect_of_unknown_outcome_is_pinned_as_such() -> None:
    letter = machine_from_text(LETTER)

    class Dies(Told):
        def _answer(self, request: Request) -> Answer:
            if isinstance(request, Tool):
                raise KeyboardInterrupt
            return super()._answer(request)

    with tempfile.TemporaryDirectory() as folder:
        journal = create_journal(Path(folder) / "r.jsonl", begin(letter), sync=False)
        oracle = JournaledOracle(Dies(produce=Produced(text="a"), judge=Verdict(index=0)), journal, clock=lambda: 0.0)
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(arun(letter, oracle=oracle))
        journal.write(End(at=0.0, status="interrupted"))
        journal.close()
        recording = read_journal(journal.path)
        text = pinned_text(Loaded(machine=letter, library={}, warnings=()), recording, name="n")
    assert "2:post/tool:\n        outcome: unknown\n" in text
    assert "error: outcome-unknown" in text


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("Write about", "Sing of"), "recorded from another machine than this one"),
        (None, "the recorded run was interrupted before it was answered"),
    ],
)
def test_a_run_that_cannot_be_pinned_says_why(change: tuple[str, str] | None, why: str) -> None:
    letter = machine_from_text(LETTER)
    with recorded(letter, Told(produce=Produced(text="a"), judge=Verdict(index=0))) as (_, journal):
        kept = [line for line in journal.path.read_bytes().splitlines(keepends=True) if b'"2:post/tool"' not in line]
        interrupted = b'{"type":"end","at":0.0,"status":"interrupted"}\n'
        journal.path.write_bytes(b"".join([*kept[:-1], interrupted]) if change is None else b"".join(kept))
        now = machine_from_text(LETTER.replace(*change) if change else LETTER)
        with pytest.raises(RunStoreError, match=why):
            pinned_text(Loaded(machine=now, library={}, warnings=()), read_journal(journal.path), name="n")


def test_a_text_that_yaml_cannot_hold_is_refused_and_not_changed() -> None:
    letter = machine_from_text(LETTER)
    oracle = Told(produce=Produced(text="half \ud800"), judge=Verdict(index=0))
    with recorded(letter, oracle) as (_, journal), pytest.raises(RunStoreError, match="cannot be written"):
        pinned_text(Loaded(machine=letter, library={}, warnings=()), journal, name="n")
