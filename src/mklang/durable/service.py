"""What can be done with a stored run: begin it, take it up again, answer its questions, settle what is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mklang.durable.journal import Begin, End, JournalFile, MachineRecord, Session
from mklang.engine.options import Effect, Reaction, RunOptions
from mklang.engine.outcome import Done, Halted, Outcome, status_of
from mklang.engine.requests import Observation, Reply
from mklang.errors import RunStoreError, UsageError
from mklang.lang.models import Machine
from mklang.lang.semantics import closure, semantic_hash, state_hashes
from mklang.lang.values import Json
from mklang.oracles.journaled import OUTCOMES
from mklang.oracles.people import says_yes
from mklang.oracles.recording import Answered, Cleared, Failed


def describe(machine: Machine, library: Mapping[str, Machine]) -> tuple[MachineRecord, ...]:
    """The root and every machine its calls can reach, as a journal keeps them."""
    return tuple(_record(part) for part in closure(machine, library))


def _record(machine: Machine) -> MachineRecord:
    name = machine.source_name
    path = str(Path(name).resolve()) if name and Path(name).is_file() else None
    return MachineRecord(
        name=machine.name,
        path=path,
        semantic_hash=semantic_hash(machine),
        states=state_hashes(machine),
        text=Path(path).read_text(encoding="utf-8-sig") if path else "",
    )


def differences(begin: Begin, machine: Machine, library: Mapping[str, Machine]) -> list[str]:
    """How the machines of today differ in meaning from those the run began with, in words; empty when they do not."""
    now = {record.name: record for record in describe(machine, library)}
    found: list[str] = []
    for before in begin.machines:
        after = now.pop(before.name, None)
        if after is None:
            found.append(f"machine '{before.name}' is gone")
        elif after.semantic_hash != before.semantic_hash:
            found.append(f"machine '{before.name}' {before.semantic_hash[:12]} is now {after.semantic_hash[:12]}")
            found.extend(_state_differences(before, after))
    found.extend(f"machine '{name}' is new" for name in now)
    return found


def _state_differences(before: MachineRecord, after: MachineRecord) -> list[str]:
    gone = [name for name in before.states if name not in after.states]
    new = [name for name in after.states if name not in before.states]
    changed = [name for name, digest in before.states.items() if after.states.get(name, digest) != digest]
    words = (("no longer there", gone), ("new", new), ("changed", changed))
    return [f"  state '{name}' is {word}" for word, names in words for name in names]


def tightened(stored: RunOptions, asked: Mapping[str, Json]) -> RunOptions:
    """The stored policies with what a resume asks for. Limits may be raised; protections may only be added (W9)."""
    wanted = msgspec.convert(msgspec.to_builtins(stored) | dict(asked), RunOptions)
    for name in ("on_truncate", "on_untrusted_flow", "on_tainted_arguments"):
        if getattr(stored, name) is Reaction.HALT and getattr(wanted, name) is not Reaction.HALT:
            raise UsageError(f"the run began with {name}=halt; a resumed run's policies can only be tightened")
    for name in ("delimit", "humans"):
        if getattr(stored, name) and not getattr(wanted, name):
            raise UsageError(f"the run began with {name} on; it cannot be turned off on the way")
    loosened = [
        tool
        for tool, effect in wanted.tool_effects.items()
        if effect is Effect.READ and stored.tool_effects.get(tool) is not Effect.READ
    ]
    if loosened or not wanted.trusted <= stored.trusted:
        raise UsageError("a resumed run cannot trust more than it did when it began")
    return wanted


def take_up(journal: JournalFile, options: RunOptions, *, at: float) -> None:
    """Note that another process goes on with the run."""
    journal.write(Session(at=at, options=options))


def current_options(journal: JournalFile) -> RunOptions:
    """The policies of the run's latest session."""
    sessions = [line.options for line in journal.lines if isinstance(line, Session)]
    return sessions[-1] if sessions else journal.begin.options


def answer_question(
    journal: JournalFile, values: Mapping[str, Json], *, key: str | None = None, confirms: bool | None = None
) -> str:
    """Answer a waiting question, once; returns its key.

    ``values`` maps context paths to values; the question's own reply path must be among them. ``key`` is needed only
    when several questions wait. ``confirms`` None lets the reply's own words decide (L80).
    """
    waiting = journal.questions
    if not waiting:
        raise UsageError("the run waits for no answer")
    matching = [asked for asked in waiting if key is None or asked.key == key]
    if len(matching) != 1:
        keys = ", ".join(asked.key for asked in waiting)
        raise UsageError(f"say which question is meant with its key: {keys}")
    asked = matching[0]
    if asked.reply_to not in values:
        raise UsageError(
            f"the question '{asked.key}' is answered at '{asked.reply_to}'; found {', '.join(values) or 'nothing'}"
        )
    reply = values[asked.reply_to]
    yes = says_yes(reply) if confirms is None else confirms
    journal.write(Answered(key=asked.key, digest=asked.digest, answer=Reply(values=dict(values), confirms=yes)))
    return asked.key


def settle_outcome(journal: JournalFile, outcome: str, *, key: str | None = None, observation: str = "") -> str:
    """Say what became of a call whose outcome was never recorded; returns the call's key."""
    if outcome not in OUTCOMES:
        raise UsageError(f"'{outcome}' is not an outcome; allowed: {', '.join(OUTCOMES)}")
    matching = [intent for intent in journal.unknown_outcomes if key is None or intent.key == key]
    if len(matching) != 1:
        keys = ", ".join(intent.key for intent in journal.unknown_outcomes) or "none"
        raise UsageError(f"say which call is meant with its key; of unknown outcome: {keys}")
    intent = matching[0]
    match outcome:
        case "happened":
            journal.write(Answered(key=intent.key, digest=intent.digest, answer=Observation(text=observation)))
        case "again":
            journal.write(Cleared(key=intent.key))
        case _:
            message = f"tool '{intent.tool}': a person said the call failed"
            journal.write(Failed(key=intent.key, digest=intent.digest, kind="ToolFailed", message=message))
    return intent.key


def conclude(journal: JournalFile, outcome: Outcome, *, at: float) -> None:
    """Write how a session ended."""
    usage = outcome.usage
    journal.write(
        End(
            at=at,
            status=status_of(outcome),
            error=None if isinstance(outcome, Done) else outcome.error,
            step=_last_step(outcome),
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            nano_usd=usage.nano_usd,
        )
    )


def _last_step(outcome: Outcome) -> str | None:
    """The key prefix of the root's step that a halted run ended in."""
    if not isinstance(outcome, Halted) or outcome.at is None:
        return None
    return f"{sum(outcome.visits.values())}:{outcome.at}"


def check_open(journal: JournalFile) -> None:
    """Refuse to go on with a run that is finished."""
    end = journal.end
    if end is not None and end.status == "done":
        raise RunStoreError(f"run '{journal.begin.run}' is finished; its answers are not asked for again")
