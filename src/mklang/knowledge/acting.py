"""What a person does to layer 2, with what follows from it: on record in layer 1, and rules that lose their ground are
put up for removal. Taking a pattern away is the person's act; taking a rule away is another (I5)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mklang.errors import UsageError
from mklang.guards import Checked
from mklang.knowledge.home import Home
from mklang.knowledge.ledger import Ledger
from mklang.knowledge.log import EpisodeLog
from mklang.knowledge.operations import Act
from mklang.knowledge.promotion import Promoter, active_rules, resting_on
from mklang.knowledge.proposals import Proposal, read_waiting
from mklang.knowledge.record import Origin
from mklang.knowledge.store import KnowledgeStore
from mklang.lang.values import Json

ACT = "knowledge_act"
"""The type of the record of a person's act in layer 1."""
ADOPTED = "knowledge_adopted"
"""The type of the record of patterns that were taken over."""


def adopt(store: KnowledgeStore, log: EpisodeLog, items: Checked[list[dict[str, Any]]]) -> int:
    """Take over patterns that somebody else wrote; returns how many are new. On record in layer 1, as they are."""
    operation = store.adopting(items)
    if operation is None:
        return 0
    with log:
        log.append_generated(ADOPTED, {"at": operation.at, "items": json.loads(items.content())})
    return store.adopt(operation, items)


@dataclass(frozen=True, slots=True)
class Done:
    """What came of an act: patterns that are gone, removals that are proposed, and what could not be."""

    gone: tuple[str, ...]
    proposals: tuple[Proposal, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """Carries out what a person does to the patterns of a home."""

    home: Home
    store: KnowledgeStore
    log: EpisodeLog
    promoter: Promoter

    def do(self, act: Act, subject: str, *, by: str, why: str) -> Done:
        """Carry out an act. Raises ``UsageError`` for a subject that nothing has, or without a person and a reason."""
        operation = self.store.acting(act, subject, by=by, why=why)
        data: dict[str, Json] = {"act": act.value, "subject": subject, "at": operation.at, "by": by, "why": why}
        with self.log as log:
            log.append(ACT, data, Origin.HUMAN)
        gone = self.store.act(operation)
        self.store.export()
        return self._remove_rules(gone, f"{act.value} {subject}: {why}") if gone else Done((), ())

    def _remove_rules(self, gone: list[str], why: str) -> Done:
        ledger = Ledger(self.home, self.store.now)
        proposed = {rule for one in read_waiting(self.home, ledger)[0] for rule in one.removed}
        proposals: list[Proposal] = []
        problems: list[str] = []
        for active in resting_on(active_rules(self.home, ledger.rows), gone):
            if active.rule.id in proposed:
                continue
            try:
                proposals.append(self.promoter.propose_removal(active, why=why))
            except UsageError as error:
                problems.append(str(error))
        return Done(tuple(sorted(gone)), tuple(proposals), tuple(problems))
