"""A recording played again ends as the recorded run did, however far that got, and asks nobody (L88, hazards §5.1)."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mklang.durable.journal import Begin, End, JournalFile, create_journal, open_journal, read_journal
from mklang.durable.service import answer_question, conclude, describe, take_up
from mklang.engine.options import DEFAULT_OPTIONS, RunOptions
from mklang.engine.outcome import Halted, Outcome, Reason, Suspended, to_wire
from mklang.engine.requests import Answer, Ask, Judge, NotYet, Produce, Produced, Request, Tool, Verdict
from mklang.engine.run import arun
from mklang.errors import Cancelled, RunStoreError, TimeExhausted, UsageError
from mklang.host.replaying import find_recording, replay
from mklang.host.session import Loaded
from mklang.lang.models import Machine
from mklang.lang.reader import machine_from_text
from mklang.oracles.journaled import JournaledOracle
from tests.durable.test_replay_properties import CHILD, Chance, machines

pytestmark = pytest.mark.rule("L88")

LIBRARY = {"child": CHILD}
LETTER = """
machine: letter
entry: draft
budget: 6
context: { topic: rain }
states:
  draft:
    structure: a line
    prompt: "Write about {{topic}}"
    output: draft
    gates:
      - { when: it rhymes, then: ok, to: post }
      - { when: otherwise, escalate: true, to: post, ask: "Post it?", reply_to: editor.says }
  post:
    tool: send_letter
    input: { text: "{{draft}}" }
    output: receipt
    gates: [{ when: otherwise, then: ok, to: END }]
"""


class Fate(Chance):
    """Chance, and after so many answers the time is up, or the host calls the run off, or a person is not there."""

    def __init__(self, salt: int, order: int, *, ends: type[Exception] | None, after: int) -> None:
        super().__init__(salt, order)
        self.ends = ends
        self.after = after

    async def answer(self, request: Request, /) -> Answer:
        answer = await super().answer(request)
        if isinstance(request, Produce | Judge | Tool):
            self.after -= 1
            if self.after < 0 and self.ends is not None:
                raise self.ends("30 s have passed")
        if isinstance(request, Ask) and self._draw("away", request.key) % 3 == 0:
            return NotYet(question="")
        return answer


@contextmanager
def recorded(
    machine: Machine, oracle: Chance, options: RunOptions = DEFAULT_OPTIONS
) -> Iterator[tuple[Outcome, JournalFile]]:
    """How a run ended, and its recording."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        journal = create_journal(path, begin(machine, options), sync=False)
        journaled = JournaledOracle(oracle, journal, clock=lambda: 0.0)
        outcome = asyncio.run(arun(machine, oracle=journaled, library=LIBRARY, options=options))
        conclude(journal, outcome, at=0.0)
        journal.close()
        yield outcome, read_journal(path)


def begin(machine: Machine, options: RunOptions = DEFAULT_OPTIONS) -> Begin:
    parts = describe(machine, LIBRARY)
    return Begin(format=1, run="r", created=0.0, mklang="0", machines=parts, inputs={}, options=options)


def played(machine: Machine, journal: JournalFile) -> Outcome:
    return asyncio.run(replay(Loaded(machine=machine, library=LIBRARY, warnings=()), journal).run())


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
        max_fanout=st.sampled_from([None, 2]),
        concurrency=st.sampled_from([None, 1, 3]),
    ),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_replay_equals_the_run_whatever_finished_first(
    machine: Machine, salt: int, order: int, ends: type[Exception] | None, after: int, options: RunOptions
) -> None:
    with recorded(machine, Fate(salt, order, ends=ends, after=after), options) as (outcome, journal):
        assert to_wire(played(machine, journal)) == to_wire(outcome)


@given(
    machine=machines(),
    salt=st.integers(0, 10**6),
    order=st.integers(0, 10**6),
    limit=st.integers(0, 120),
    concurrency=st.sampled_from([None, 1, 2]),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_run_stopped_by_its_token_limit_is_stopped_by_it_again(
    machine: Machine, salt: int, order: int, limit: int, concurrency: int | None
) -> None:
    options = RunOptions(max_tokens=limit, concurrency=concurrency)
    with recorded(machine, Chance(salt, order), options) as (outcome, journal):
        again = played(machine, journal)
    if not isinstance(outcome, Halted):
        assert to_wire(again) == to_wire(outcome)
        return
    # Which branch of a fan-out meets the limit is a matter of who is first; that somebody does is not.
    assert isinstance(again, Halted)
    assert again.error.removeprefix("call-failed: ") == outcome.error.removeprefix("call-failed: ")


def resumed(journal: JournalFile, machine: Machine, **values: str) -> JournalFile:
    """Answer the waiting question and run on."""
    opened = open_journal(journal.path, sync=False)
    answer_question(opened, values)
    take_up(opened, opened.begin.options, at=1.0)
    oracle = JournaledOracle(Chance(1, 1), opened, clock=lambda: 1.0)
    outcome = asyncio.run(arun(machine, oracle=oracle, options=opened.begin.options))
    conclude(opened, outcome, at=2.0)
    opened.close()
    return read_journal(journal.path)


class Awkward(Chance):
    """The judge finds nothing true, nobody is at home, and the tool takes the process with it."""

    def _answer(self, request: Request) -> Answer:
        match request:
            case Produce():
                return Produced(text="drops")
            case Judge():
                return Verdict(index=None)
            case Ask():
                return NotYet(question="")
            case Tool():
                raise KeyboardInterrupt
        return super()._answer(request)


def test_a_waiting_run_replays_to_its_question_and_an_answered_one_beyond_it() -> None:
    machine = machine_from_text(LETTER)
    with recorded(machine, Awkward(1, 1), RunOptions(humans=True)) as (outcome, journal):
        assert isinstance(outcome, Suspended)
        assert to_wire(played(machine, journal)) == to_wire(outcome)
        again = played(machine, resumed(journal, machine, **{"editor.says": "yes"}))
        assert again.trace[0].reply == "confirmed"
        assert again.context["receipt"]


def test_an_interrupted_run_replays_as_far_as_it_went() -> None:
    machine = machine_from_text(LETTER)
    with tempfile.TemporaryDirectory() as folder:
        journal = create_journal(Path(folder) / "r.jsonl", begin(machine), sync=False)
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(arun(machine, oracle=JournaledOracle(Awkward(1, 1), journal, clock=lambda: 0.0)))
        journal.write(End(at=1.0, status="interrupted"))
        journal.close()
        unknown = played(machine, read_journal(journal.path))
        assert isinstance(unknown, Suspended)
        assert unknown.reason is Reason.OUTCOME_UNKNOWN
        cut = [line for line in journal.path.read_bytes().splitlines(keepends=True) if b'"1:draft/judge' not in line]
        journal.path.write_bytes(b"".join(cut))
        ended = played(machine, read_journal(journal.path))
    assert isinstance(ended, Halted)
    assert ended.error == (
        "resume-mismatch: the recording has no answer for 1:draft/judge[0]: "
        "the recorded run was interrupted before it was answered"
    )


@pytest.mark.rule("L87")
@pytest.mark.parametrize(
    ("before", "after", "difference"),
    [
        ("Write about", "Write on", 'user was "Write about rain" and is "Write on rain"'),
        ("it rhymes", "it scans", 'conditions was "it rhymes" and is "it scans"'),
        ("a line", "two lines", "system was "),
    ],
)
def test_a_changed_machine_is_told_what_was_asked_and_what_is_asked_now(
    before: str, after: str, difference: str, tmp_path: Path
) -> None:
    source = tmp_path / "letter.mkl"
    source.write_text(LETTER)
    with recorded(machine_from_text(LETTER, str(source)), Awkward(1, 1), RunOptions(humans=True)) as (_, journal):
        changed = machine_from_text(LETTER.replace(before, after))
        session = replay(Loaded(machine=changed, library={}, warnings=()), journal)
        outcome = asyncio.run(session.run())
    assert isinstance(outcome, Halted)
    assert outcome.reason is Reason.RESUME_MISMATCH
    assert difference in outcome.detail
    assert [warning.code for warning in session.warnings] == ["machine-changed"]
    assert "state 'draft' is changed" in session.warnings[0].message


@pytest.mark.rule("L87")
def test_without_the_recorded_texts_the_digests_tell_the_questions_apart() -> None:
    machine = machine_from_text(LETTER)
    with recorded(machine, Chance(1, 1)) as (_, journal):
        outcome = played(machine_from_text(LETTER.replace("Write", "Sing")), journal)
    assert isinstance(outcome, Halted)
    assert "1:draft/produce was given to another question (recorded " in outcome.detail


def test_a_recording_is_found_by_its_file_or_its_name_and_not_while_it_runs(tmp_path: Path) -> None:
    machine = machine_from_text(LETTER)
    journal = create_journal(tmp_path / "letter-1.jsonl", begin(machine))
    with pytest.raises(RunStoreError, match="still running"):
        find_recording("letter-1", tmp_path)
    journal.close()
    assert find_recording("letter", tmp_path).begin.run == "r"
    assert find_recording(str(tmp_path / "letter-1.jsonl"), tmp_path / "elsewhere").begin.run == "r"
    with pytest.raises(UsageError, match="no run 'postcard'"):
        find_recording("postcard", tmp_path)
