"""A run outlives the process: answers are recorded before anything depends on them, and never paid for twice."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest

from mklang.durable.journal import Begin, JournalFile, create_journal, open_journal, read_journal
from mklang.durable.service import (
    answer_question,
    check_open,
    conclude,
    current_options,
    describe,
    differences,
    settle_outcome,
    take_up,
    tightened,
)
from mklang.engine.options import DEFAULT_OPTIONS, Reaction, RunOptions
from mklang.engine.oracle import Oracle
from mklang.engine.outcome import Done, Halted, Outcome, Reason, Suspended
from mklang.engine.requests import (
    Answer,
    Ask,
    Hook,
    HookValue,
    Judge,
    Nonce,
    NonceValue,
    NotYet,
    Observation,
    Produce,
    Produced,
    Request,
    Tool,
    Usage,
    Verdict,
)
from mklang.engine.run import arun
from mklang.errors import ProviderFailed, RunStoreError, UsageError
from mklang.lang.models import Machine
from mklang.lang.reader import machine_from_text
from mklang.oracles.journaled import JournaledOracle
from mklang.oracles.replayed import ReplayedOracle

pytestmark = [pytest.mark.rule("L81"), pytest.mark.rule("L86")]

MACHINE = """
mklang: "0.4"
machine: letters
entry: draft
budget: 20
context: {topic: rain}
states:
  draft:
    structure: a line
    prompt: "Write about {{topic}}"
    output: draft
    gates:
      - {when: it rhymes, then: ok, to: post}
      - {when: otherwise, repair: 1, to: draft}
      - {when: otherwise, escalate: true, to: post, ask: "Post it anyway?", reply_to: editor.says}
  post:
    tool: send_letter
    input: {text: "{{draft}}"}
    output: receipt
    gates: [{when: otherwise, then: ok, to: END}]
"""


class World:
    """A live oracle that counts what it is asked, with a tool that leaves marks in a ledger."""

    def __init__(self, *, verdict: int | None = 0, outage_at: int = 0) -> None:
        self.asked: list[str] = []
        self.ledger: list[str] = []
        self.verdict = verdict
        self.outage_at = outage_at

    async def answer(self, request: Request, /) -> Answer:
        self.asked.append(request.key)
        if len(self.asked) == self.outage_at:
            raise ProviderFailed("no route")
        match request:
            case Produce():
                return Produced(text=f"line {request.key}", usage=Usage(3, 2), model="m")
            case Judge():
                return Verdict(index=self.verdict, usage=Usage(1, 1), model="j")
            case Tool():
                self.ledger.append(request.idempotency_key)
                return Observation(text="sent")
            case Hook():
                return HookValue(True)
            case Ask():
                return NotYet(question="")
            case Nonce():
                return NonceValue("a-seed")


def begin(machine: Machine, options: RunOptions = DEFAULT_OPTIONS) -> Begin:
    return Begin(
        format=1, run="r1", created=0.0, mklang="0", machines=describe(machine, {}), inputs={}, options=options
    )


def go(machine: Machine, journal: JournalFile, world: Oracle, *, options: RunOptions | None = None) -> Outcome:
    oracle = JournaledOracle(world, journal, clock=lambda: 1.0)
    outcome = asyncio.run(arun(machine, oracle=oracle, options=options or journal.begin.options))
    conclude(journal, outcome, at=2.0)
    journal.close()
    return outcome


def test_a_finished_run_replays_without_asking_anyone(tmp_path: Path) -> None:
    machine = machine_from_text(MACHINE)
    world = World()
    first = go(machine, create_journal(tmp_path / "r.jsonl", begin(machine)), world)
    again = asyncio.run(arun(machine, oracle=ReplayedOracle(read_journal(tmp_path / "r.jsonl"))))
    assert isinstance(first, Done)
    assert again == first
    assert world.ledger == [world.ledger[0]]


def test_a_journal_is_the_owners_alone_and_holds_no_prompt(tmp_path: Path) -> None:
    machine = machine_from_text(MACHINE)
    go(machine, create_journal(tmp_path / "r.jsonl", begin(machine)), World())
    assert stat.S_IMODE((tmp_path / "r.jsonl").stat().st_mode) == 0o600
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [line["type"] for line in lines][:2] == ["begin", "answer"]
    assert not any("Write about rain" in json.dumps(line) for line in lines[1:])


@pytest.mark.parametrize("outage_at", [2, 3, 4])
def test_after_an_outage_only_the_missing_answer_is_asked_for(tmp_path: Path, outage_at: int) -> None:
    machine = machine_from_text(MACHINE)
    path = tmp_path / "r.jsonl"
    broken = World(outage_at=outage_at)
    halted = go(machine, create_journal(path, begin(machine)), broken)
    assert isinstance(halted, Halted)
    assert halted.reason is Reason.PROVIDER_ERROR
    journal = open_journal(path)
    if journal.unknown_outcomes:
        settle_outcome(journal, "again")
    mended = World()
    assert isinstance(go(machine, journal, mended), Done)
    assert mended.asked[0] == broken.asked[-1]
    assert len(mended.asked) + len(broken.asked) - 1 == 4


def test_a_question_waits_and_its_answer_is_used_once(tmp_path: Path) -> None:
    machine = machine_from_text(MACHINE)
    path = tmp_path / "r.jsonl"
    world = World(verdict=None)
    waiting = go(machine, create_journal(path, begin(machine, RunOptions(humans=True))), world)
    assert isinstance(waiting, Suspended)
    assert [(ask.ask, ask.reply_to, ask.state) for ask in waiting.asks] == [("Post it anyway?", "editor.says", "post")]
    assert world.ledger == []

    journal = open_journal(path)
    with pytest.raises(UsageError, match=r"editor\.says"):
        answer_question(journal, {"human.reply": "yes"})
    assert answer_question(journal, {"editor.says": "yes"}) == "3:post/ask"
    with pytest.raises(UsageError, match="waits for no answer"):
        answer_question(journal, {"editor.says": "no"})
    done = go(machine, journal, world)
    assert isinstance(done, Done)
    assert done.context["editor"] == {"says": "yes"}
    assert [step.reply for step in done.trace] == [None, "confirmed", None]
    assert len(world.ledger) == 1


def test_an_unanswered_question_expires_and_is_recorded_as_expired(tmp_path: Path) -> None:
    machine = machine_from_text(MACHINE)
    path = tmp_path / "r.jsonl"
    options = RunOptions(humans=True)
    world = World(verdict=None)
    clock = iter([10.0, 100.0])
    for journal in (create_journal(path, begin(machine, options)), None):
        opened = journal or open_journal(path)
        oracle = JournaledOracle(world, opened, clock=lambda: next(clock), ask_seconds=60)
        outcome = asyncio.run(arun(machine, oracle=oracle, options=options))
        conclude(opened, outcome, at=0)
        opened.close()
    assert isinstance(outcome, Done)
    assert outcome.trace[1].reply == "expired"


def test_an_effect_of_unknown_outcome_is_never_repeated_unasked(tmp_path: Path) -> None:
    machine = machine_from_text(MACHINE)
    path = tmp_path / "r.jsonl"

    class DiesInTool(World):
        async def answer(self, request: Request, /) -> Answer:
            if isinstance(request, Tool):
                self.ledger.append(request.idempotency_key)
                raise KeyboardInterrupt
            return await super().answer(request)

    world = DiesInTool()
    journal = create_journal(path, begin(machine))
    with pytest.raises(KeyboardInterrupt):
        go(machine, journal, world)
    journal.close()
    for outcome, result, calls in (("happened", "it was sent", 1), ("again", "sent", 2)):
        copy = tmp_path / f"{outcome}.jsonl"
        copy.write_bytes(path.read_bytes())
        waiting = go(machine, open_journal(copy), World())
        assert isinstance(waiting, Suspended)
        assert waiting.reason is Reason.OUTCOME_UNKNOWN
        assert "send_letter" in waiting.asks[0].question
        reopened = open_journal(copy)
        settle_outcome(reopened, outcome, observation="it was sent")
        after = World()
        done = go(machine, reopened, after)
        assert isinstance(done, Done)
        assert done.result == result
        assert set(world.ledger + after.ledger) == set(world.ledger)
        assert len(world.ledger + after.ledger) == calls


def test_a_torn_last_line_is_set_aside_and_the_run_goes_on(tmp_path: Path) -> None:
    machine = machine_from_text(MACHINE)
    path = tmp_path / "r.jsonl"
    first = go(machine, create_journal(path, begin(machine)), World())
    data = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(data[:3]) + data[3][:17])
    world = World()
    assert go(machine, open_journal(path), world) == first
    assert (tmp_path / "r.jsonl.torn").read_bytes() == data[3][:17]
    assert len(world.asked) == 2


@pytest.mark.rule("L85", "W13")
def test_half_a_surrogate_pair_comes_back_as_it_was(tmp_path: Path) -> None:
    machine = machine_from_text(MACHINE)

    class Halved(World):
        async def answer(self, request: Request, /) -> Answer:
            answer = await super().answer(request)
            return Produced(text="half \ud800 a pair") if isinstance(request, Produce) else answer

    first = go(machine, create_journal(tmp_path / "r.jsonl", begin(machine)), Halved())
    assert first.context["draft"] == "half \ud800 a pair"
    assert asyncio.run(arun(machine, oracle=ReplayedOracle(read_journal(tmp_path / "r.jsonl")))) == first


def test_a_second_process_is_kept_out(tmp_path: Path) -> None:
    machine = machine_from_text(MACHINE)
    journal = create_journal(tmp_path / "r.jsonl", begin(machine))
    with pytest.raises(RunStoreError, match="another process"):
        open_journal(tmp_path / "r.jsonl")
    journal.close()
    open_journal(tmp_path / "r.jsonl").close()


def test_an_edited_line_is_refused_with_its_number(tmp_path: Path) -> None:
    machine = machine_from_text(MACHINE)
    path = tmp_path / "r.jsonl"
    go(machine, create_journal(path, begin(machine)), World())
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"type":"answer","key":1}\n' + b"".join(lines[2:]))
    with pytest.raises(RunStoreError, match=r"r\.jsonl:2"):
        read_journal(path)


def test_an_answer_recorded_for_another_question_is_refused(tmp_path: Path) -> None:
    machine = machine_from_text(MACHINE)
    path = tmp_path / "r.jsonl"
    go(machine, create_journal(path, begin(machine)), World())
    other = machine_from_text(MACHINE.replace("rain", "snow"))
    outcome = asyncio.run(arun(other, oracle=ReplayedOracle(read_journal(path))))
    assert isinstance(outcome, Halted)
    assert outcome.reason is Reason.RESUME_MISMATCH
    assert "1:draft/produce" in outcome.detail


def test_layout_does_not_count_and_meaning_does() -> None:
    machine = machine_from_text(MACHINE)
    stored = begin(machine)
    relaid = MACHINE.replace("context: {topic: rain}", "# a note\ncontext:\n  topic: rain").replace(
        "structure: a line", "structure:   'a line'"
    )
    assert differences(stored, machine_from_text(relaid), {}) == []
    renamed = machine_from_text(MACHINE.replace("  post:", "  mail:").replace("to: post", "to: mail"))
    said = "\n".join(differences(stored, renamed, {}))
    assert "state 'post' is no longer there" in said
    assert "state 'mail' is new" in said


def test_a_read_only_folder_is_said_so(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        target = Path("/proc/mklang-runs/r.jsonl")
    else:
        tmp_path.chmod(0o500)
        target = tmp_path / "runs" / "r.jsonl"
    with pytest.raises(RunStoreError, match="cannot be made"):
        create_journal(target, begin(machine_from_text(MACHINE)))


@pytest.mark.parametrize(
    "content", [b"a user's notes, without a line end", b"", b"{}\nrest", b'{"type":"end","at":0}\nx']
)
def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(RunStoreError):
        open_journal(path)
    assert path.read_bytes() == content
    assert [kept.name for kept in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.rule("W9")
def test_a_resumed_runs_protections_can_be_tightened_and_never_loosened() -> None:
    stored = RunOptions(on_untrusted_flow=Reaction.HALT, humans=True, max_tokens=10)
    assert tightened(stored, {"max_tokens": 20, "on_truncate": "halt"}).max_tokens == 20
    for loosened in (
        {"on_untrusted_flow": "report"},
        {"humans": False},
        {"delimit": False},
        {"tool_effects": {"send": "read"}},
        {"trusted": ["note"]},
    ):
        with pytest.raises(UsageError):
            tightened(stored, loosened)  # type: ignore[arg-type]


@pytest.mark.rule("W10", "W23")
def test_a_finished_run_is_not_run_again_and_a_raised_limit_stays_raised(tmp_path: Path) -> None:
    machine = machine_from_text(MACHINE)
    path = tmp_path / "r.jsonl"
    first = RunOptions(max_steps=1)
    halted = go(machine, create_journal(path, begin(machine, first)), World())
    assert isinstance(halted, Halted)
    raised = tightened(first, {"max_steps": 9})
    journal = open_journal(path)
    take_up(journal, raised, at=3.0)
    assert current_options(journal).max_steps == 9
    world = World()
    assert isinstance(go(machine, journal, world, options=current_options(journal)), Done)
    reopened = open_journal(path)
    assert current_options(reopened).max_steps == 9
    with pytest.raises(RunStoreError, match="finished"):
        check_open(reopened)
    reopened.close()


@pytest.mark.rule("W24")
def test_a_line_without_its_parts_is_named_not_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    create_journal(path, begin(machine_from_text(MACHINE))).close()
    path.write_bytes(path.read_bytes() + b'{"type":"answer","key":"1:a/produce"}\n')
    with pytest.raises(RunStoreError, match=r"r\.jsonl:2: not a journal line.*digest"):
        read_journal(path)


def test_a_journal_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text("mine")
    with pytest.raises(RunStoreError, match=r"kept\.jsonl: something is there already, and a journal replaces nothing"):
        create_journal(path, Begin(format=1, run="r1", created=0.0, mklang="0", machines=(), inputs={}))
    assert path.read_text() == "mine"
