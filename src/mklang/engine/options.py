"""Every policy of a run in one frozen value, validated once at the edge."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from mklang.errors import UsageError
from mklang.lang.models import Tier


class Effect(Enum):
    """What a tool does to the world (L77): ``read`` looks, ``egress`` sends what it is given elsewhere and changes
    nothing, ``effect`` changes something."""

    READ = "read"
    EGRESS = "egress"
    EFFECT = "effect"


class Reaction(Enum):
    """What a run does when a policy is touched: say so in the trace, or stop."""

    REPORT = "report"
    HALT = "halt"


class OnUncertain(Enum):
    """What happens when a probability that decided lies within the judge's band around its threshold."""

    FLAG = "flag"
    ASK = "ask"


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Host policies of one run. All limits are checked before a request, never after.

    ``max_steps`` replaces the root machine's ``budget``, ``budgets`` that of any machine by name. ``max_tokens`` bounds
    tokens in and out, judges and callees included (L65), ``max_nano_usd`` their price. ``concurrency`` bounds requests
    in flight (None: as many as there are branches), ``max_fanout`` the width of one fan-out, ``max_failed_branches``
    how many of its branches may fail (None: all but one). ``value_chars`` caps one interpolated value (L27; 0: no cap).
    ``trusted`` names context paths the host vouches for (L30), ``tool_effects`` overrides effect classes (L77).
    ``whole_decisions`` names the tiers whose judge gives a probability for every condition: it is asked once for a
    whole decision, and the kernel walks the gates (ADR 0037); ``on_uncertain`` says what a doubtful one leads to. With
    ``humans`` an escalate gate asks a person before its handler runs (L81). With ``suspend_on_limit`` a limit suspends
    the run, to be resumed with a higher one, instead of halting it. ``guards`` names the guards that stand at places of
    the machines, each with its hash: for the record, so that a resumed run cannot drop one (L123).
    ``structured_tools`` names tools whose observation, where it is the JSON text of a map or list, is deposited as that
    value, so that later states can read it by path (L55).
    """

    max_steps: int | None = None
    budgets: Mapping[str, int] = {}
    max_tokens: int | None = None
    max_nano_usd: int | None = None
    concurrency: int | None = None
    max_fanout: int | None = None
    max_failed_branches: int | None = None
    max_depth: int = 8
    value_chars: int = 20_000
    delimit: bool = True
    repair_feedback: bool = True
    on_truncate: Reaction = Reaction.REPORT
    on_untrusted_flow: Reaction = Reaction.REPORT
    on_tainted_arguments: Reaction = Reaction.REPORT
    tool_effects: Mapping[str, Effect] = {}
    trusted: frozenset[str] = frozenset()
    flow_tainted: bool = False
    whole_decisions: frozenset[Tier] = frozenset()
    on_uncertain: OnUncertain = OnUncertain.FLAG
    humans: bool = False
    suspend_on_limit: bool = False
    guards: Mapping[str, str] = {}
    structured_tools: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise UsageError(f"run option '{name}': found {value!r}, allowed is a whole number of {least} or more")


_LEAST = {
    "max_steps": 1,
    "max_tokens": 0,
    "max_nano_usd": 0,
    "concurrency": 1,
    "max_fanout": 1,
    "max_failed_branches": 0,
    "max_depth": 0,
    "value_chars": 0,
}
DEFAULT_OPTIONS = RunOptions()
