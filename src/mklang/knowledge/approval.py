"""Approval: the only code that writes layer 3 (I5). A person's yes to exactly these bytes, at a terminal.

There is no flag, no timer and no variable that replaces the person, and a model cannot say yes: nothing here asks one.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mklang.errors import GuardRefused, NotApproved
from mklang.guards import Checked, Guard
from mklang.knowledge.files import locked, make_folder, replace_file
from mklang.knowledge.home import Clock, Home
from mklang.knowledge.ledger import OPEN, Event, Ledger, Row, new_row
from mklang.knowledge.proposals import Proposal, read_proposal, read_target, resolve_target, sha_of
from mklang.knowledge.signing import verify
from mklang.knowledge.terminal import Witness


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a person decided. ``content`` is the text that was shown last; ``witness`` how they came to say it."""

    event: Event
    content: bytes
    witness: Witness
    why: str = ""
    signature: str = ""


class Approvals:
    """Takes decisions about the proposals of a home."""

    def __init__(self, home: Home, clock: Clock, guard: Guard, signers: Path | None = None) -> None:
        """``signers``, an allowed-signers file, makes every approval take a signature."""
        self._signers = signers
        self._home = home
        self._clock = clock
        self._guard = guard

    def decide(self, name: str, verdict: Verdict) -> Row:
        """Write what was decided, and the file when it was a yes.

        Raises ``NotApproved`` and changes nothing when the proposal is decided already, was changed since it was made,
        or its target is not as it was then; ``GuardRefused`` when the text, as it would be written, does not pass.
        """
        if not isinstance(verdict.witness, Witness):
            raise TypeError("a decision takes a witness, and only a terminal makes one")
        with locked(self._home.root / "decisions.lock"):
            ledger = Ledger(self._home, self._clock)
            self._settle(ledger)
            proposal, stored = read_proposal(self._home, name, ledger.rows)
            if ledger.last_event(name) not in OPEN:
                raise NotApproved(f"proposal {name} is decided already")
            if verdict.event is not Event.APPROVED:
                return ledger.append(_row(proposal, verdict, sha_of(stored), edited=False))
            return self._approve(ledger, proposal, stored, verdict)

    def _approve(self, ledger: Ledger, proposal: Proposal, stored: bytes, verdict: Verdict) -> Row:
        path = resolve_target(self._home, proposal.target)
        if sha_of(read_target(path)) != proposal.base_sha:
            raise NotApproved(f"{proposal.target} has changed since the proposal was made; propose it again")
        checked = self._guard.check(verdict.content)
        new_sha = sha_of(checked.content())
        if self._signers is not None:
            actor, signature = verdict.witness.actor, verdict.signature
            verify(self._signers, actor, signature, proposal=proposal.id, new_sha=new_sha)
        row = _row(proposal, verdict, new_sha, edited=verdict.content != stored)
        ledger.append(msgspec.structs.replace(row, event=Event.INTENDED))
        write_behaviour(path, checked)
        return ledger.append(row)

    def rows(self) -> list[Row]:
        """The ledger as it is now."""
        return Ledger(self._home, self._clock).rows

    def supersede(self, name: str, successor: str) -> Row:
        """Write down that a proposal was made anew. Raises ``NotApproved`` when it is decided already."""
        with locked(self._home.root / "decisions.lock"):
            ledger = Ledger(self._home, self._clock)
            proposal, stored = read_proposal(self._home, name, ledger.rows)
            if ledger.last_event(name) not in OPEN:
                raise NotApproved(f"proposal {name} is decided already")
            row = new_row(
                Event.SUPERSEDED,
                name,
                target=proposal.target,
                base_sha=proposal.base_sha,
                new_sha=sha_of(stored),
            )
            return ledger.append(msgspec.structs.replace(row, why=successor))

    def settle(self) -> list[Row]:
        """Find out what became of a yes whose end was never recorded, and write that down."""
        with locked(self._home.root / "decisions.lock"):
            return self._settle(Ledger(self._home, self._clock))

    def _settle(self, ledger: Ledger) -> list[Row]:
        last = {row.proposal: row for row in ledger.rows}
        settled = []
        for row in last.values():
            if row.event is Event.INTENDED:
                there = sha_of(read_target(resolve_target(self._home, row.target))) == row.new_sha
                event = Event.APPROVED if there else Event.ABANDONED
                settled.append(ledger.append(msgspec.structs.replace(row, event=event)))
        return settled

    def examine(self, content: bytes) -> str:
        """Why a text would not pass; empty when it would."""
        try:
            self._guard.check(content)
        except GuardRefused as refused:
            return str(refused)
        return ""


def write_behaviour(path: Path, content: Checked[str]) -> None:
    """Write a file of layer 3. It keeps its mode; a new one is readable by all, as the program that loads it is."""
    make_folder(path.parent)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    replace_file(path, content.content(), mode=mode)


def _row(proposal: Proposal, verdict: Verdict, new_sha: str, *, edited: bool) -> Row:
    witness = verdict.witness
    return msgspec.structs.replace(
        new_row(verdict.event, proposal.id, target=proposal.target, base_sha=proposal.base_sha, new_sha=new_sha),
        actor=witness.actor,
        channel=witness.channel,
        seconds=round(witness.seconds, 1),
        full=witness.full,
        edited=edited,
        why=verdict.why,
        rules=proposal.rules,
        removed=proposal.removed,
        patterns=proposal.lineage.patterns,
        signature=verdict.signature,
    )
