"""Every policy of a run in one frozen value, validated once at the edge."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

from mklang.errors import UsageError


class Effect(Enum):
    """What a tool does to the world (L77): ``read`` looks, ``effect`` changes something."""

    READ = "read"
    EFFECT = "effect"


class Reaction(Enum):
    """What a run does when a policy is touched: say so in the trace, or stop."""

    REPORT = "report"
    HALT = "halt"


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Host policies of one run. All limits are checked before a request, never after.

    ``max_steps`` replaces the root machine's ``budget``. ``max_tokens`` bounds tokens in and out, judges and callees
    included (L65). ``concurrency`` bounds requests in flight (None: as many as there are branches). ``max_fanout``
    bounds the width of one fan-out. ``value_chars`` caps one interpolated value, 0 for no cap (L27). ``trusted`` names
    context paths the host vouches for (L30). ``tool_effects`` overrides the effect class of tools (L77).
    ``max_failed_branches`` is how many branches of a fan-out may fail (None: all but one).
    """

    max_steps: int | None = None
    max_tokens: int | None = None
    concurrency: int | None = None
    max_fanout: int | None = None
    max_failed_branches: int | None = None
    max_depth: int = 8
    value_chars: int = 20_000
    delimit: bool = True
    repair_feedback: bool = True
    on_truncate: Reaction = Reaction.REPORT
    on_untrusted_flow: Reaction = Reaction.REPORT
    tool_effects: Mapping[str, Effect] = {}
    trusted: frozenset[str] = frozenset()
    flow_tainted: bool = False

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise UsageError(f"run option '{name}': found {value!r}, allowed is a whole number of {least} or more")


_LEAST = {
    "max_steps": 1,
    "max_tokens": 0,
    "concurrency": 1,
    "max_fanout": 1,
    "max_failed_branches": 0,
    "max_depth": 0,
    "value_chars": 0,
}
DEFAULT_OPTIONS = RunOptions()
