"""Where the next judge call would teach most: at a condition in doubt that a possible finding hangs on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from mklang.measure.evidence import LIKELY, Output

SETTLED = 0.93
"""A pair known so well from one output needs no more calls on others."""
REACHED = 0.97
"""A gate shown to be reached so clearly needs no more calls."""
ENOUGH = 0.04
"""Below this a call is not worth its price."""
_LESS = 0.1
_READINGS = 6
"""So many answers about one condition on one output are enough."""


@dataclass(frozen=True)
class Doubts:
    """What is open about a state, seen over all its outputs."""

    outputs: Sequence[Output]
    conditions: int
    catch_all: bool

    @cached_property
    def settled(self) -> frozenset[tuple[int, int]]:
        """The pairs that some output shows beyond doubt."""
        pairs = [(i, j) for i in range(self.conditions) for j in range(i + 1, self.conditions)]
        return frozenset(
            (i, j) for i, j in pairs if any(one.chance(i) * one.chance(j) >= SETTLED for one in self.outputs)
        )

    @cached_property
    def reached(self) -> frozenset[int]:
        """The conditions with an output that reaches them, beyond doubt."""
        return frozenset(
            j for j in range(self.conditions) if any(self._reaches(one, j) > REACHED for one in self.outputs)
        )

    @cached_property
    def gap_settled(self) -> bool:
        """Whether some output shows a gap beyond doubt."""
        return any(one.judged and one.emptiness >= SETTLED for one in self.outputs)

    @staticmethod
    def _reaches(output: Output, condition: int) -> float:
        return output.chance(condition) * prod(1 - output.chance(one) for one in range(condition))

    def worth(self, output: Output, condition: int) -> float:
        """What a call about one condition on one output is worth, from 0 to 1."""
        if output.readings[condition] >= _READINGS:
            return 0.0
        p = output.chance(condition)
        return (1 - abs(2 * p - 1)) * max(
            self._for_a_pair(output, condition), self._for_a_gap(output, condition), self._for_reach(output, condition)
        )

    def _for_a_pair(self, output: Output, condition: int) -> float:
        others = (one for one in range(self.conditions) if one != condition)
        return max(output.chance(one) * self._news(min(one, condition), max(one, condition)) for one in others)

    def _news(self, earlier: int, later: int) -> float:
        """How new it would be that both are true. A gate nothing reaches is shown by two outputs, not by one."""
        seen = sum(one.chance(earlier) * one.chance(later) >= LIKELY for one in self.outputs)
        enough = 1 if later in self.reached else 2
        return _LESS if (earlier, later) in self.settled and seen >= enough else 1.0

    def _for_a_gap(self, output: Output, condition: int) -> float:
        if self.catch_all or self.gap_settled:
            return 0.0
        return prod(1 - output.chance(one) for one in range(self.conditions) if one != condition)

    def _for_reach(self, output: Output, condition: int) -> float:
        """Only a gate that overlaps an earlier one can be shadowed."""
        best = 0.0
        for j in range(max(1, condition), self.conditions):
            if j in self.reached or not any((i, j) in self.settled for i in range(j)):
                continue
            earlier = prod(1 - output.chance(one) for one in range(j) if one != condition)
            best = max(best, earlier * (1.0 if j == condition else output.chance(j)))
        return best
