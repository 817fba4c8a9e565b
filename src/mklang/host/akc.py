"""A knowledge cycle put together: its home, its configuration and the real clock. Prints nothing.

Models are put to it in ``akc_models``: most of what a cycle does needs none.
"""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass
from pathlib import Path

from mklang.errors import KnowledgeError
from mklang.guards import Guard
from mklang.host.seam import REAL, Seam
from mklang.knowledge.approval import Approvals
from mklang.knowledge.config import CycleConfig, read_config
from mklang.knowledge.distil import Choice, Chosen, choose
from mklang.knowledge.files import make_folder
from mklang.knowledge.home import FOLDER, Clock, Home, find_home, stamp
from mklang.knowledge.ledger import Ledger
from mklang.knowledge.log import EpisodeLog
from mklang.knowledge.promotion import Promoter, active_rules
from mklang.knowledge.proposals import Proposals
from mklang.knowledge.schemas import rule_guard
from mklang.knowledge.store import KnowledgeStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """A project's cycle."""

    home: Home
    config: CycleConfig
    seam: Seam = REAL

    @property
    def clock(self) -> Clock:
        """The host's time."""
        return self.seam.now

    @property
    def rule_guard(self) -> Guard:
        """The guard of what is loaded as a rule."""
        return rule_guard(self.config.forbidden)

    def store(self) -> KnowledgeStore:
        """Layer 2."""
        return KnowledgeStore(self.home, self.clock, forbid=self.config.forbidden, per_item=self.config.per_item)

    def log(self) -> EpisodeLog:
        """The writing side of layer 1."""
        return EpisodeLog(self.home.logs, self.clock, sync=self.config.sync)

    def ledger(self) -> Ledger:
        """What was decided."""
        return Ledger(self.home, self.clock)

    def proposals(self) -> Proposals:
        """What makes proposals."""
        return Proposals(self.home, self.clock, self.seam.nonce)

    def promoter(self) -> Promoter:
        """What proposes rules."""
        return Promoter(home=self.home, proposals=self.proposals(), guard=self.rule_guard)

    def approvals(self) -> Approvals:
        """What takes decisions."""
        signers = self.config.signers
        return Approvals(
            self.home, self.clock, self.rule_guard, self.home.project / signers if signers is not None else None
        )

    def rules_text(self) -> str:
        """The rules in force, a line each."""
        return "\n".join(one.rule.text for one in active_rules(self.home, self.ledger().rows))

    def choose(self, choice: Choice) -> Chosen:
        """Select records for a distillation."""
        today = stamp(self.clock())[:10]
        return choose(self.home, choice, self.store(), today=today, rules=self.rules_text())


def make_cycle(folder: Path) -> Home:
    """Make a home in a folder. One that is there stays as it is."""
    home = Home((folder / FOLDER).resolve())
    for part in (home.root, home.logs, home.proposals):
        make_folder(part)
    return home


def open_cycle(told: str | None = None, *, seam: Seam = REAL) -> Cycle:
    """The cycle around the working folder, or the one whose folder is ``told``. Raises ``KnowledgeError``."""
    home = find_home(Path.cwd(), told or os.environ.get("MKLANG_AKC"))
    if not home.root.is_dir():
        raise KnowledgeError(f"{home.root} is no folder; 'mklang akc init' makes one")
    return Cycle(home=home, config=read_config(home), seam=seam)


def person() -> str:
    """Who is at the keyboard, as the system knows them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
