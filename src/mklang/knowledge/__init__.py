"""The knowledge cycle: experience in, approved behaviour out (S48, S49).

Layer 1 is a log that is never rewritten, layer 2 knowledge that can be computed again from it, layer 3 the text that is
loaded, which only a person's decision changes. A name is imported when it is used: the hook of an agent waits for this
package and needs little of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mklang.knowledge.acting import Acting as Acting
    from mklang.knowledge.approval import Approvals as Approvals
    from mklang.knowledge.config import CycleConfig as CycleConfig
    from mklang.knowledge.config import read_config as read_config
    from mklang.knowledge.distil import Choice as Choice
    from mklang.knowledge.distil import Distiller as Distiller
    from mklang.knowledge.distil import Stage as Stage
    from mklang.knowledge.distil import choose as choose
    from mklang.knowledge.gate import AgentGate as AgentGate
    from mklang.knowledge.home import Home as Home
    from mklang.knowledge.home import find_home as find_home
    from mklang.knowledge.importing import import_events as import_events
    from mklang.knowledge.ledger import Ledger as Ledger
    from mklang.knowledge.log import EpisodeLog as EpisodeLog
    from mklang.knowledge.log import Sync as Sync
    from mklang.knowledge.operations import Act as Act
    from mklang.knowledge.patterns import Pattern as Pattern
    from mklang.knowledge.patterns import ranked as ranked
    from mklang.knowledge.promotion import Promoter as Promoter
    from mklang.knowledge.promotion import active_rules as active_rules
    from mklang.knowledge.proposals import Proposals as Proposals
    from mklang.knowledge.reading import read_log as read_log
    from mklang.knowledge.rebuilding import rebuild as rebuild
    from mklang.knowledge.record import Origin as Origin
    from mklang.knowledge.record import Record as Record
    from mklang.knowledge.store import KnowledgeStore as KnowledgeStore
    from mklang.knowledge.verifying import seal_days as seal_days
    from mklang.knowledge.verifying import verify_log as verify_log

_HOMES = {
    "acting": ("Acting",),
    "approval": ("Approvals",),
    "config": ("CycleConfig", "read_config"),
    "distil": ("Choice", "Distiller", "Stage", "choose"),
    "gate": ("AgentGate",),
    "home": ("Home", "find_home"),
    "importing": ("import_events",),
    "ledger": ("Ledger",),
    "log": ("EpisodeLog", "Sync"),
    "operations": ("Act",),
    "patterns": ("Pattern", "ranked"),
    "promotion": ("Promoter", "active_rules"),
    "proposals": ("Proposals",),
    "reading": ("read_log",),
    "rebuilding": ("rebuild",),
    "record": ("Origin", "Record"),
    "store": ("KnowledgeStore",),
    "verifying": ("seal_days", "verify_log"),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'mklang.knowledge' has no attribute '{name}'")
    return getattr(import_module(f"mklang.knowledge.{_MODULES[name]}"), name)
