"""The conversation with a person about what waits: one proposal at a time, nothing in bulk, and no answer is no."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mklang.errors import GuardRefused
from mklang.knowledge.approval import Approvals, Verdict
from mklang.knowledge.home import Home
from mklang.knowledge.ledger import Event, Row
from mklang.knowledge.promotion import Promoter
from mklang.knowledge.proposals import (
    Proposal,
    difference,
    needs_person,
    read_proposal,
    read_target,
    resolve_target,
    sha_of,
    stake_now,
)
from mklang.knowledge.terminal import Terminal, with_code

HELP = "y CODE approve · n REASON reject · h hold · e edit · d all of the text · q leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewing:
    """What a review needs. ``sign`` gives a signature of an approval, where signatures are asked for; ``editor`` is
    the program a person edits with."""

    home: Home
    approvals: Approvals
    promoter: Promoter
    terminal: Terminal
    actor: str
    nonce: Callable[[], str]
    editor: str = ""
    sign: Callable[[str, str], str] | None = None

    def one(self, name: str) -> Row | None:
        """Go through one proposal; None when the person left without deciding. Raises ``HostError`` for one that
        cannot be reviewed."""
        proposal, content = read_proposal(self.home, name, self.approvals.rows())
        old = read_target(resolve_target(self.home, proposal.target))
        if sha_of(old) != proposal.base_sha:
            return self._anew(proposal, content)
        full = needs_person(proposal)
        while True:
            code, begun = self._show(proposal, old, content, full=full)
            answer = self.terminal.ask("decide> ")
            if answer is None or answer == "q":
                return None
            word, _, rest = answer.partition(" ")
            if word == "d":
                full = True
            elif word == "e":
                content, full = self._edited(content, proposal), True
            elif word in {"n", "h"} and (word == "h" or rest.strip()):
                event = Event.HELD if word == "h" else Event.REJECTED
                return self._decide(proposal, content, event, begun, full=full, why=rest.strip())
            elif word == "y" and rest.strip() == code:
                row = self._try_approve(proposal, content, begun, full=full)
                if row is not None:
                    return row
            else:
                self.terminal.say(self._why_not(word))

    def _anew(self, old: Proposal, stored: bytes) -> Row | None:
        """The file has changed: a rule is put up anew for the file as it is, anything else has to be by who made it."""
        new = self.promoter.anew(old, stored)
        self.approvals.supersede(old.id, new.id)
        self.terminal.say(f"{old.target} has changed since {old.id} was made; it is put up anew as {new.id}")
        return self.one(new.id)

    def _why_not(self, word: str) -> str:
        if word == "y":
            return "that is not the code: it stands beside a line of the text above, and changes each time"
        return "a rejection takes a reason: n REASON" if word == "n" else HELP

    def _show(self, proposal: Proposal, old: bytes | None, content: bytes, *, full: bool) -> tuple[str, float]:
        terminal = self.terminal
        terminal.say("\n".join(_heading(proposal)))
        lines = difference(old, content, proposal.target).splitlines() if full else list(_fields(proposal))
        problem = self.approvals.examine(content)
        if problem:
            terminal.say(f"check failed: {problem}")
        shown, code = with_code(lines, self.nonce())
        terminal.say("\n".join(shown))
        terminal.say(HELP)
        return code, terminal.elapsed()

    def _try_approve(self, proposal: Proposal, content: bytes, begun: float, *, full: bool) -> Row | None:
        try:
            return self._decide(proposal, content, Event.APPROVED, begun, full=full)
        except GuardRefused as refused:
            self.terminal.say(f"not written: {refused}")
            return None

    def _decide(
        self, proposal: Proposal, content: bytes, event: Event, begun: float, *, full: bool, why: str = ""
    ) -> Row:
        signature = ""
        if event is Event.APPROVED and self.sign is not None:
            signature = self.sign(proposal.id, sha_of(content))
        witness = self.terminal.witness(self.actor, begun, full=full)
        verdict = Verdict(event=event, content=content, witness=witness, why=why, signature=signature)
        return self.approvals.decide(proposal.id, verdict)

    def _edited(self, content: bytes, proposal: Proposal) -> bytes:
        """The text as a person leaves it in their editor; unchanged when there is none or it fails."""
        if not self.editor:
            self.terminal.say("no editor: set VISUAL or EDITOR")
            return content
        with tempfile.TemporaryDirectory(prefix="akc-edit-") as folder:
            file = Path(folder) / Path(proposal.target).name
            file.write_bytes(content)
            try:
                subprocess.run([*self.editor.split(), str(file)], check=True)  # noqa: S603 - the person's own editor
            except (OSError, subprocess.CalledProcessError) as error:
                self.terminal.say(f"the editor failed: {error}")
                return content
            return file.read_bytes()


def _heading(proposal: Proposal) -> Iterator[str]:
    yield ""
    yield f"proposal {proposal.id}: {proposal.kind} of {proposal.target} ({stake_now(proposal).name.lower()})"
    if proposal.why:
        yield f"  why: {proposal.why}"
    lineage = proposal.lineage
    if lineage.patterns:
        yield f"  from: patterns {', '.join(lineage.patterns)}; {lineage.episodes} records"
    if lineage.share:
        total = sum(lineage.share.values())
        parts = [f"{origin} {count} ({count / total:.0%})" for origin, count in sorted(lineage.share.items())]
        yield f"  records behind it: {', '.join(parts)}"
    if proposal.judge:
        yield f"  a model's opinion, which counts for nothing here: {proposal.judge}"


def _fields(proposal: Proposal) -> Iterator[str]:
    summary = proposal.summary
    yield f"approved intent:     {summary.approved_intent or '(not said)'}"
    yield f"realised change:     {summary.realised_change or '(not said)'}"
    yield f"difference to plan:  {summary.plan_delta}"
    yield f"effect:              {summary.impact or '(not said)'}"
    yield f"evidence changes:    {summary.evidence_changes}"
