"""What measuring may cost at most, before anything is spent: calls, tokens, and money where prices are known (S11)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import ceil

from mklang.engine.requests import NO_USAGE, Usage
from mklang.lang.models import Machine, State, Tier
from mklang.measure.controls import CONTROLS
from mklang.measure.stimuli import conditions_of, measurable, write_request
from mklang.measure.survey import Plan
from mklang.measure.targets import Stratum, Target

CHARS_A_TOKEN = 3.6
OUTPUT_TOKENS = 90
REPLY_TOKENS = 20
JUDGE_OVERHEAD = 200
"""Tokens of a judge's message besides the conditions and the output, and of its reply."""
CONTROL_TOKENS = JUDGE_OVERHEAD + 60
CONTEXT_TOKENS = 1200
"""No judge sees more of the context (L35)."""


class Role(Enum):
    """Whom tokens go to."""

    WRITER = "writer"
    JUDGE = "judge"


Charge = Callable[[Tier, Role, Usage], "int | None"]
"""Billionths of a US dollar for tokens of a tier's writer or judge; None where nobody knows the price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The most an invocation may take, before anything is spent. ``usage`` is by tier and by who is asked."""

    states: int = 0
    produce_calls: int = 0
    judge_calls: int = 0
    control_calls: int = 0
    usage: Mapping[tuple[Tier, Role], Usage] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """All tokens together."""
        return sum(one.total for one in self.usage.values())

    def nano_usd(self, charge: Charge) -> int | None:
        """All of it in billionths of a US dollar; None when a price is not known: that is no price of zero."""
        prices = [charge(tier, role, usage) for (tier, role), usage in self.usage.items()]
        known = [price for price in prices if price is not None]
        return sum(known) if len(known) == len(prices) else None

    def to_wire(self) -> dict[str, int]:
        """The JSON form."""
        names = ("states", "produce_calls", "judge_calls", "control_calls", "tokens")
        return {name: getattr(self, name) for name in names}


def estimate(machines: Iterable[Machine], plan: Plan, *, controls: bool = True) -> Estimate:
    """The most calls and tokens that measuring these machines can take."""
    states = [(machine, state) for machine in machines for state in measurable(machine)]
    usage: dict[tuple[Tier, Role], Usage] = {}
    judge_calls = 0
    for machine, state in states:
        tier = state.tier or machine.default_tier
        for role, tokens in (
            (Role.WRITER, _written(machine, state, plan)),
            (Role.JUDGE, _judged(machine, state, plan)),
        ):
            usage[tier, role] = usage.get((tier, role), NO_USAGE) + tokens
        judge_calls += plan.judge_calls(len(conditions_of(state)))
    tiers = {tier for tier, _ in usage}
    calls = 3 * len(CONTROLS) if controls else 0
    for tier in tiers if controls else ():
        usage[tier, Role.JUDGE] += Usage(calls * (CONTROL_TOKENS - REPLY_TOKENS), calls * REPLY_TOKENS)
    return Estimate(
        states=len(states),
        produce_calls=len(states) * plan.samples,
        judge_calls=judge_calls,
        control_calls=calls * len(tiers),
        usage=usage,
    )


def _written(machine: Machine, state: State, plan: Plan) -> Usage:
    request = write_request(machine, state, [Target(stratum=Stratum.BORDERLINE)], key="")
    asked = ceil(len(request.system + request.user) / CHARS_A_TOKEN)
    outputs = plan.samples + len(conditions_of(state)) // 2
    return Usage(plan.samples * asked, outputs * OUTPUT_TOKENS)


def _judged(machine: Machine, state: State, plan: Plan) -> Usage:
    conditions = conditions_of(state)
    calls = plan.judge_calls(len(conditions))
    shown = ceil(sum(len(gate.when) for gate in conditions.gates) / CHARS_A_TOKEN)
    context = ceil(sum(len(repr(value)) + len(key) for key, value in machine.context.items()) / CHARS_A_TOKEN)
    each = shown + 2 * OUTPUT_TOKENS + min(context, CONTEXT_TOKENS) + JUDGE_OVERHEAD - REPLY_TOKENS
    return Usage(calls * each, calls * REPLY_TOKENS)
