"""The arithmetic of evidence: shares with intervals, agreement, calibration. Pure functions, no dependency.

Nothing here is rounded. An interval is 95 % and two-sided unless it says otherwise; where there is nothing to count the
answer is the widest interval, never a guess.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random  # noqa: TID251 - seeded by the caller: the same numbers every time

Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Interval:
    """A share with the range that is compatible with what was counted."""

    low: float
    high: float

    def to_wire(self) -> list[float]:
        """Low and high, to four digits."""
        return [round(self.low, 4), round(self.high, 4)]


NOTHING_KNOWN = Interval(0.0, 1.0)


def wilson(hits: float, of: float, z: float = Z95) -> Interval:
    """Wilson's score interval of a share. Counts may be fractions: an effective sample size is one."""
    if of <= 0:
        return NOTHING_KNOWN
    share, squared = hits / of, z * z
    centre = (share + squared / (2 * of)) / (1 + squared / of)
    half = z / (1 + squared / of) * math.sqrt(share * (1 - share) / of + squared / (4 * of * of))
    low = 0.0 if hits <= 0 else max(0.0, centre - half)
    high = 1.0 if hits >= of else min(1.0, centre + half)
    return Interval(low, high)


def entropy(counts: Iterable[int]) -> float:
    """Shannon entropy in bits of what was counted: 0 when it is always the same."""
    seen = [count for count in counts if count > 0]
    total = sum(seen)
    return -sum(count / total * math.log2(count / total) for count in seen) if len(seen) > 1 else 0.0


def pair_agreement(labels: Sequence[Hashable]) -> tuple[int, int]:
    """How many unordered pairs of labels are equal, of how many."""
    total = len(labels) * (len(labels) - 1) // 2
    return sum(count * (count - 1) // 2 for count in Counter(labels).values()), total


def agreement(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """The share of places in which two raters say the same."""
    return sum(a == b for a, b in zip(first, second, strict=True)) / len(first) if first else 0.0


def kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Cohen's kappa: agreement beyond what the raters' habits alone would give.

    1 is full agreement, 0 what chance gives. Two raters who both always say the same one thing have nothing that chance
    could not explain: 0.
    """
    if not first:
        return 0.0
    seen, n = agreement(first, second), len(first)
    ours, theirs = Counter(first), Counter(second)
    chance = sum(ours[label] * theirs[label] for label in ours) / (n * n)
    return 0.0 if chance >= 1 else (seen - chance) / (1 - chance)


def binomial_tail(hits: int, of: int, rate: float) -> float:
    """How likely it is that a rate of false answers alone gives at least so many hits."""
    return math.fsum(math.comb(of, k) * rate**k * (1 - rate) ** (of - k) for k in range(hits, of + 1))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Each p-value adjusted for looking at all of them: the least false discovery rate at which it would count."""
    count, least = len(p_values), 1.0
    adjusted = [1.0] * count
    for rank, index in zip(range(count, 0, -1), sorted(range(count), key=lambda i: -p_values[i]), strict=True):
        least = min(least, p_values[index] * count / rank)
        adjusted[index] = least
    return adjusted


@dataclass(frozen=True, slots=True)
class Share:
    """A share of right answers whose interval respects that answers about one thing go together.

    ``design_effect`` is how much wider the clusters make it: ``of`` answers weigh like ``of / design_effect``.
    """

    hits: int
    of: int
    interval: Interval
    design_effect: float = 1.0

    @property
    def rate(self) -> float | None:
        """The share itself; None where nothing was counted."""
        return self.hits / self.of if self.of else None

    def to_wire(self) -> dict[str, object]:
        """The JSON form."""
        rate = self.rate
        return {
            "rate": None if rate is None else round(rate, 4),
            "n": self.hits,
            "of": self.of,
            "interval": self.interval.to_wire(),
            "design_effect": round(self.design_effect, 3),
        }


def clustered(outcomes: Iterable[tuple[Hashable, bool]]) -> Share:
    """The share of true outcomes, each given with its cluster.

    The variance between clusters gives the design effect (a ratio estimator's, never below 1), and Wilson's interval is
    taken of the effective number. A share of 0 or 1 shows no variance, and its interval is the plain one.
    """
    tally: dict[Hashable, list[int]] = {}
    for cluster, right in outcomes:
        counts = tally.setdefault(cluster, [0, 0])
        counts[0] += right
        counts[1] += 1
    hits, of = sum(one[0] for one in tally.values()), sum(one[1] for one in tally.values())
    effect = design_effect([(one[0], one[1]) for one in tally.values()])
    return Share(hits, of, wilson(hits / effect, of / effect), effect)


def design_effect(clusters: Sequence[tuple[int, int]]) -> float:
    """How much wider clustering makes an interval: the robust variance over the binomial one, at least 1."""
    hits, of, count = sum(c[0] for c in clusters), sum(c[1] for c in clusters), len(clusters)
    if count < 2 or hits in {0, of}:
        return 1.0
    share = hits / of
    robust = count / (count - 1) * sum((c[0] - share * c[1]) ** 2 for c in clusters) / (of * of)
    return max(1.0, robust / (share * (1 - share) / of))


def bootstrap(
    clusters: Mapping[Hashable, Sequence[float]], *, seed: int, draws: int = 2000, level: float = 0.95
) -> Interval:
    """A percentile interval of a mean from drawing whole clusters with replacement. The same for the same seed."""
    groups = [list(values) for values in clusters.values() if values]
    if not groups:
        return NOTHING_KNOWN
    chance = Random(seed)  # noqa: S311 - no secret
    means = []
    for _ in range(draws):
        drawn = [chance.choice(groups) for _ in groups]
        means.append(sum(map(sum, drawn)) / sum(map(len, drawn)))
    means.sort()
    cut = (1 - level) / 2
    return Interval(means[int(cut * draws)], means[min(draws - 1, int((1 - cut) * draws))])


Forecast = tuple[float, bool]
"""A probability, and whether what it was given for is true."""


def brier(forecasts: Sequence[Forecast]) -> float:
    """The mean squared distance of probabilities from the truth: 0 is perfect, 0.25 is always saying one half."""
    return math.fsum((p - held) ** 2 for p, held in forecasts) / len(forecasts) if forecasts else 0.0


@dataclass(frozen=True, slots=True)
class Bin:
    """Probabilities of one range: how many, their mean, and how often what they were given for is true."""

    low: float
    high: float
    count: int
    mean: float
    share: float


def reliability(forecasts: Sequence[Forecast], bins: int = 10) -> list[Bin]:
    """The non-empty ranges of a reliability diagram, from low to high; 1.0 belongs to the last."""
    sorted_in: dict[int, list[Forecast]] = {}
    for forecast in forecasts:
        sorted_in.setdefault(min(bins - 1, int(forecast[0] * bins)), []).append(forecast)
    return [
        Bin(
            low=index / bins,
            high=(index + 1) / bins,
            count=len(members),
            mean=math.fsum(p for p, _ in members) / len(members),
            share=sum(held for _, held in members) / len(members),
        )
        for index, members in sorted(sorted_in.items())
    ]


def calibration_error(forecasts: Sequence[Forecast], bins: int = 10) -> float:
    """The expected calibration error: how far the shares are from the probabilities, weighted by count."""
    found = reliability(forecasts, bins)
    return math.fsum(one.count * abs(one.share - one.mean) for one in found) / len(forecasts) if forecasts else 0.0
