"""The four patterns of code and model together, as objects that can tell how they conform (S42-S45).

``Guard`` (model → code) is in ``mklang.guards``; here are ``Filter`` (code → model), ``Judge`` with ``Enforce``, and
``Orchestrator``. Each refuses to be put together in the ways a review would refuse.
"""

from __future__ import annotations

from mklang.patterns.conformance import Conformance
from mklang.patterns.filters import Filter, Manifest, Selection
from mklang.patterns.judging import Approval, Change, Decision, Enforce, Enforced, Judge
from mklang.patterns.orchestrator import (
    Attempt,
    Limits,
    OnFailure,
    Orchestrator,
    Report,
    Status,
    StepReport,
    Task,
    guard_conformance,
    machine_worker,
)
from mklang.stakes import GLOBS, Stake, stake_of

__all__ = [
    "GLOBS",
    "Approval",
    "Attempt",
    "Change",
    "Conformance",
    "Decision",
    "Enforce",
    "Enforced",
    "Filter",
    "Judge",
    "Limits",
    "Manifest",
    "OnFailure",
    "Orchestrator",
    "Report",
    "Selection",
    "Stake",
    "Status",
    "StepReport",
    "Task",
    "guard_conformance",
    "machine_worker",
    "stake_of",
]
