"""What the judge's answers say about each condition on each output, gathered as log-odds.

A fused pick of a perfect first-true judge says that one condition is true and the earlier ones are false, and nothing
about the later ones; a probability says something about its own condition; so does a probe of one condition alone. All
add up in one place, whatever kind of judge answered. No single answer counts for more than a judge that is wrong in one
case of ten, so that a finding against expectation needs two answers that agree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from mklang.measure.targets import Stratum, Target

TRUST = math.log(9)
"""The most one answer can weigh: that of a judge right in nine cases of ten."""
LIKELY = 0.8
"""From here on a condition counts as true of an output; below 1 - LIKELY as false."""
NO_GATE = 0.7
"""How sure it must be that all conditions together are false before a gap is spoken of."""
_PRIOR = {True: 1.0, False: -0.6, None: -0.5}
"""A writer usually does as asked, when it can be done at all."""


def sure(log_odds: float) -> float:
    """Log-odds as a probability."""
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, log_odds))))


def weight(probability: float, threshold: float) -> float:
    """How much a probability says about a condition's being true, relative to the judge's threshold."""
    near = 1e-6
    p, t = (min(1 - near, max(near, value)) for value in (probability, threshold))
    return max(-TRUST, min(TRUST, math.log(p / (1 - p)) - math.log(t / (1 - t))))


@dataclass(slots=True)
class Output:
    """One synthetic output and what is known about it. Conditions are numbered by their place, from 0.

    ``routes`` are the decisions the engine's own call came to, in the order they were asked: a condition's place, None
    for none. ``alone`` counts what probes of one condition said: how often true, how often false.
    """

    text: str
    target: Target
    odds: list[float]
    readings: list[int]
    routes: list[int | None] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)
    chances: list[dict[int, float]] = field(default_factory=list)
    alone: dict[int, Counter[bool]] = field(default_factory=dict)
    unread: int = 0

    @classmethod
    def fresh(cls, text: str, target: Target, conditions: int) -> Output:
        """An output nobody has been asked about."""
        open_minded = target.stratum in {Stratum.SEVERAL, Stratum.NONE}
        odds = [0.0 if open_minded else _PRIOR[target.meant(one)] for one in range(conditions)]
        return cls(text, target, odds, [0] * conditions)

    def chance(self, condition: int) -> float:
        """How likely the condition is true of this output."""
        return sure(self.odds[condition])

    def holds(self, condition: int) -> bool:
        """Whether the condition is true, as far as answers tell."""
        return self.readings[condition] > 0 and self.chance(condition) >= LIKELY

    def fails(self, condition: int) -> bool:
        """Whether the condition is false, as far as answers tell."""
        return self.readings[condition] > 0 and self.chance(condition) <= 1 - LIKELY

    def say(self, condition: int, log_odds: float) -> None:
        """Add what an answer says."""
        self.odds[condition] += log_odds
        self.readings[condition] += 1

    def take_probabilities(self, places: Sequence[int], values: Sequence[float], threshold: float) -> None:
        """A judge's probabilities for the conditions at these places."""
        for place, value in zip(places, values, strict=True):
            self.say(place, weight(value, threshold))

    def take_pick(self, places: Sequence[int], pick: int | None) -> None:
        """A pick among the conditions at these places, asked in this order: a position, None for none."""
        for position, place in enumerate(places):
            if pick is not None and position > pick:
                break
            self.say(place, TRUST if position == pick else -TRUST)

    def take_alone(self, place: int, held: bool) -> None:
        """A probe of one condition by itself."""
        self.say(place, TRUST if held else -TRUST)
        self.alone.setdefault(place, Counter())[held] += 1

    @property
    def both(self) -> list[tuple[int, int]]:
        """The pairs of conditions that are both true of this output."""
        true = [one for one in range(len(self.odds)) if self.holds(one)]
        return [(i, j) for n, i in enumerate(true) for j in true[n + 1 :] if self.chance(i) * self.chance(j) >= LIKELY]

    def witnesses(self, condition: int) -> bool:
        """Whether the condition is true and every earlier one false."""
        return self.holds(condition) and all(self.fails(one) for one in range(condition))

    def reaches(self, condition: int) -> float:
        """How likely the condition is true and every earlier one false, as far as it was asked about."""
        if not self.readings[condition]:
            return 0.0
        return self.chance(condition) * math.prod(1 - self.chance(one) for one in range(condition))

    @property
    def emptiness(self) -> float:
        """How likely it is that no condition is true."""
        return math.prod(1 - self.chance(one) for one in range(len(self.odds)))

    @property
    def empty(self) -> bool:
        """Whether no condition is true."""
        return all(self.fails(one) for one in range(len(self.odds))) and self.emptiness >= NO_GATE

    @property
    def judged(self) -> bool:
        """Whether any answer about it could be read."""
        return any(self.readings)
