"""A recorded run as a scenario: every answer under its key, and the run's end and route to be expected (L90).

A pin is proven before anybody sees it: its text is read and played, and must pass.
"""

from __future__ import annotations

import asyncio

import msgspec
from msgspec.structs import asdict

from mklang import __version__
from mklang.diagnostics import has_errors
from mklang.durable.journal import JournalFile
from mklang.durable.service import current_options, differences
from mklang.engine.outcome import Done, Halted, Outcome, Reason, Suspended, status_of
from mklang.engine.requests import (
    NO_USAGE,
    Answer,
    Ask,
    HookValue,
    NotYet,
    Observation,
    Produced,
    Reply,
    Request,
    Tool,
    Usage,
    Verdict,
    usage_of,
)
from mklang.engine.run import arun
from mklang.engine.trace import TraceStep
from mklang.errors import AnswerFailed, ReplayMismatch, RunStoreError
from mklang.host.replaying import ended_on_a_limit, limit_reached, why_it_ends
from mklang.host.session import Loaded
from mklang.host.suites import surroundings
from mklang.lang.values import Json
from mklang.oracles.people import says_yes
from mklang.oracles.pinned import FailureKind, PinnedAnswer, PinnedFailure, PinnedReply, Unsettled, operation_of
from mklang.oracles.replayed import ReplayedOracle
from mklang.oracles.scripted import MODEL, Script
from mklang.source import Source
from mklang.testing.playing import play_all
from mklang.testing.reading import read_scenarios
from mklang.testing.scenario import UNSET, Expectation, Scenario
from mklang.testing.writing import scenario_file_text


def pinned_text(loaded: Loaded, journal: JournalFile, *, name: str) -> str:
    """The text of a scenario file with one scenario, ``name``, that pins a recorded run.

    Raises ``RunStoreError`` for a run that cannot be pinned: one that was broken off, that was recorded from another
    machine, or that says something YAML cannot hold.
    """
    scenario = pin(loaded, journal, name=name)
    run = " ".join(journal.begin.run.split())
    heading = [
        f"Pinned from run {run} by mklang {__version__}: what was answered, and how the run went with it.",
        "The texts are the run's own. An answer belongs to its key, so prompts may change and the route may not.",
    ]
    text = scenario_file_text([scenario], heading=heading)
    _prove(text, loaded, run)
    return text


def pin(loaded: Loaded, journal: JournalFile, *, name: str) -> Scenario:
    """The scenario that pins a recorded run. Raises ``RunStoreError``."""
    run = journal.begin.run
    changed = differences(journal.begin, loaded.machine, loaded.library)
    if changed:
        listed = "\n  ".join(changed)
        raise RunStoreError(f"run '{run}' was recorded from another machine than this one:\n  {listed}")
    options = current_options(journal)
    notes = _Notes(journal)
    outcome = asyncio.run(
        arun(
            loaded.machine,
            journal.begin.inputs,
            oracle=notes,
            library=loaded.library,
            options=options,
            guards=loaded.guards.bindings or None,
        )
    )
    if isinstance(outcome, Halted) and _parted(outcome):
        raise RunStoreError(f"run '{run}' cannot be pinned: {outcome.error.partition(': ')[2]}")
    return Scenario(
        name=name,
        script=Script(answers=notes.answers),
        inputs=journal.begin.inputs,
        options=options,
        expect=expectation(outcome),
    )


def _parted(halted: Halted) -> bool:
    """Whether the replay came to a question that the recording does not answer."""
    return Reason.RESUME_MISMATCH.value in halted.error.split(": ")


def expectation(outcome: Outcome) -> Expectation:
    """How a run ended and the way it took, without the words on the way."""
    return Expectation(
        status=status_of(outcome),
        error=UNSET if isinstance(outcome, Done) else outcome.error,
        result=outcome.result if isinstance(outcome, Done) else UNSET,
        at=UNSET if isinstance(outcome, Done) else outcome.at,
        ask=outcome.asks[0].ask if isinstance(outcome, Suspended) and outcome.asks else UNSET,
        trace=tuple(_skeleton(step) for step in outcome.trace),
    )


def _skeleton(step: TraceStep) -> dict[str, Json]:
    known: dict[str, Json] = {
        "state": step.state,
        "policy": step.policy,
        "to": step.to,
        "gate_via": step.gate_via,
    }
    return {key: value for key, value in known.items() if value is not None}


def _prove(text: str, loaded: Loaded, run: str) -> None:
    """Read the text and play it, as ``mklang test`` will."""
    read = read_scenarios(Source("the pinned scenario", text))
    if has_errors(read.diagnostics):
        raise RunStoreError(f"run '{run}' cannot be written as a scenario: {read.diagnostics[0].render()}")
    for played in play_all(read.entries, loaded.machine, loaded.library, around=surroundings(loaded.guards)):
        if not played.passed:
            listed = "\n  ".join(str(mismatch) for mismatch in played.mismatches)
            raise RunStoreError(f"run '{run}' does not go the same way twice:\n  {listed}")


class _Notes:
    """Answers from the recording, at once and in the order of asking, as a script does; notes each as a pin."""

    def __init__(self, journal: JournalFile) -> None:
        spent = limit_reached(journal)
        self._recording = ReplayedOracle(journal, spent=spent, ending=why_it_ends(journal))
        self._costs_matter = bool(spent) and ended_on_a_limit(journal)
        self.answers: dict[str, PinnedAnswer] = {}

    async def answer(self, request: Request, /) -> Answer:
        """The recorded answer."""
        try:
            answer = self._recording.recorded(request)
        except ReplayMismatch:
            raise
        except AnswerFailed as failed:
            kind = FailureKind.of(failed, operation_of(request.key))
            cost = self._cost(usage_of(failed))
            self.answers[request.key] = PinnedFailure(str(failed), kind, cost)
            for name, amount in asdict(cost).items():
                setattr(failed, name, amount)  # what is pinned costs as little here as it will when it is played
            raise
        pinned = self._pinned(request, answer)
        if pinned is None:
            return answer
        self.answers[request.key] = pinned
        return pinned if isinstance(pinned, Produced | Verdict) else answer

    def _pinned(self, request: Request, answer: Answer) -> PinnedAnswer | None:
        """The answer without what no route depends on; None where nothing is to be pinned."""
        match request, answer:
            case (_, Produced()):
                why = answer.finish_reason if answer.truncated else None
                usage = self._cost(answer.usage)
                return Produced(
                    text=answer.text,
                    reasoning=answer.reasoning,
                    usage=usage,
                    finish_reason=why,
                    truncated=answer.truncated,
                )
            case (_, Verdict()):
                usage = self._cost(answer.usage)
                return msgspec.structs.replace(answer, usage=usage, model=MODEL, seconds=0.0, attempts=())
            case (_, Observation()):
                return Observation(answer.text)
            case (_, HookValue()):
                return answer
            case (Ask(), Reply()):
                return _reply(request, answer)
            case (Tool(), NotYet()):
                return Unsettled.OUTCOME_UNKNOWN
            case _:
                return None  # a nonce, or a question that waits

    def _cost(self, usage: Usage) -> Usage:
        """Tokens and money, where they ended the run; everywhere else an answer is free, and no limit is met."""
        return usage if self._costs_matter else NO_USAGE


def _reply(request: Ask, reply: Reply) -> PinnedReply:
    if reply.expired:
        return PinnedReply({}, expired=True)
    by_its_words = says_yes(reply.values.get(request.reply_to))
    return PinnedReply(reply.values, confirms=None if reply.confirms is by_its_words else reply.confirms)
