"""What a synthetic output is asked to show: which conditions should be true of it, and which false (S5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum


class Stratum(Enum):
    """The kinds of outputs that are asked for, so that clear cases and borderline ones are all there."""

    WITNESS = "witness"
    """One condition is true and all earlier ones are false: its gate is reached."""
    BOTH = "both"
    """Two named conditions are true."""
    SEVERAL = "several"
    """Any two or more are true, in a combination not seen yet."""
    NONE = "none"
    """No condition is true."""
    BORDERLINE = "borderline"
    """It is hard to say which are true."""
    MATERIAL = "material"
    """Not asked for: a text of the author's own, from a scenario or a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One output that is asked for. Conditions are named by their place among the state's prose conditions, from 0."""

    stratum: Stratum
    true: tuple[int, ...] = ()
    false: tuple[int, ...] = ()
    avoid: tuple[tuple[int, int], ...] = ()

    def meant(self, condition: int) -> bool | None:
        """Whether the condition should be true of the output; None when nothing was said."""
        return True if condition in self.true else False if condition in self.false else None

    def request(self, numbers: Sequence[int]) -> str:
        """The output described for a writer; ``numbers`` are the gates' numbers as the author sees them."""
        match self.stratum:
            case Stratum.NONE:
                return "none of the conditions is true"
            case Stratum.BORDERLINE:
                return "it is hard to say which of the conditions are true, a real borderline case"
            case Stratum.SEVERAL:
                other = ", ".join(f"{numbers[i]}+{numbers[j]}" for i, j in self.avoid)
                return "at least two of the conditions are clearly true at the same time" + (
                    f", in another combination than {other}" if other else ""
                )
            case _:
                false = f" and {_named(self.false, numbers)} clearly false" if self.false else ""
                return f"{_named(self.true, numbers)} clearly true{false}"


def _named(conditions: Sequence[int], numbers: Sequence[int]) -> str:
    listed = " and ".join(str(numbers[one]) for one in conditions)
    return f"condition {listed} is" if len(conditions) == 1 else f"conditions {listed} are"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestions:
    """What is not known yet about a state, and how often each kind of output was asked for in vain."""

    conditions: int
    overlapping: frozenset[tuple[int, int]]
    witnessed: frozenset[int]
    empty_seen: bool
    catch_all: bool
    asked: Mapping[Target, int]
    several_failed: int

    def _tries(self, target: Target) -> int:
        return self.asked.get(target, 0)

    def targets(self) -> list[Target]:
        """The outputs worth asking for, most telling first. A target is asked for twice at most."""
        none = [] if self.empty_seen else [Target(stratum=Stratum.NONE, false=tuple(range(self.conditions)))]
        edge = [Target(stratum=Stratum.BORDERLINE)]
        reached = self._witnesses()
        told = [*self._together(), *(one for one in reached if one.true != (0,)), *edge]
        first = [one for one in reached if one.true == (0,)]
        found = [*told, *first, *none] if self.catch_all else [*none, *told, *first]
        return sorted((one for one in found if self._tries(one) < 2), key=self._tries)

    def _together(self) -> list[Target]:
        pairs = [(i, j) for i in range(self.conditions) for j in range(i + 1, self.conditions)]
        if self.conditions <= SMALL:
            return [Target(stratum=Stratum.BOTH, true=pair) for pair in pairs if pair not in self.overlapping]
        if self.several_failed >= 2 or len(self.overlapping) == len(pairs):
            return []
        return [Target(stratum=Stratum.SEVERAL, avoid=tuple(sorted(self.overlapping)))]

    def _witnesses(self) -> list[Target]:
        order = [*range(1, self.conditions), 0]
        return [
            Target(stratum=Stratum.WITNESS, true=(j,), false=tuple(range(j)) if j else tuple(range(1, self.conditions)))
            for j in order
            if j not in self.witnessed
        ]


SMALL = 3
"""Up to so many conditions each pair is asked for by name; with more a writer chooses combinations."""
