"""States whose truth is planted, and a writer and judges of known quality who answer about them.

A state's truth is the set of its worlds: the combinations of conditions that some output can show. The writer obeys a
request when a world allows it and otherwise writes the nearest thing. A judge reads an output's marks, and errs as
often as it is told to, each call by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from random import Random

from mklang.engine.fence import Nonces
from mklang.engine.requests import (
    Answer,
    Hook,
    HookValue,
    Judge,
    Nonce,
    NonceValue,
    Produce,
    Produced,
    Request,
    Usage,
    Verdict,
)
from mklang.lang.models import Machine
from mklang.lang.reader import machine_from_text

World = frozenset[int]
SIZES = (2, 3, 4, 5)
COST = Usage(90, 10)
UNTRUE = {
    "the text gives a recipe for soup",
    "the text is a complaint about the food",
    "the text asks for a rise in pay",
}
"""The conditions of the built-in controls that are false."""
_TARGET = re.compile(r"- An output for which (.*)\.")


@dataclass(frozen=True)
class Planted:
    """One state of ``size`` conditions. A judge is of two minds about ``wobbly`` on a borderline output."""

    name: str
    size: int
    worlds: frozenset[World]
    catch_all: bool = True
    wobbly: int | None = None

    @property
    def overlapping(self) -> set[tuple[int, int]]:
        return {pair for world in self.worlds for pair in combinations(sorted(world), 2)}

    @property
    def clean(self) -> set[tuple[int, int]]:
        return set(combinations(range(self.size), 2)) - self.overlapping

    @property
    def shadowed(self) -> set[int]:
        holding = {j: [world for world in self.worlds if j in world] for j in range(1, self.size)}
        return {j for j, worlds in holding.items() if worlds and all(min(world) < j for world in worlds)}

    @property
    def gap(self) -> bool:
        return not self.catch_all and frozenset() in self.worlds

    def machine(self) -> Machine:
        gates = [f"      - {{ when: the output shows mark {i}, then: ok, to: s{i} }}" for i in range(self.size)]
        if self.catch_all:
            gates.append("      - { when: otherwise, then: ok, to: END }")
        ends = [
            f"  s{i}: {{ structure: x, prompt: x, output: x, gates: [{{ when: otherwise, then: ok, to: END }}] }}"
            for i in range(self.size)
        ]
        head = f"machine: {self.name}\nentry: look\nbudget: 9\ndefault_tier: fast\nstates:\n  look:\n"
        body = "    structure: A line of marks.\n    prompt: Write marks.\n    output: line\n    gates:\n"
        return machine_from_text(head + body + "\n".join([*gates, *ends]) + "\n")


def corpus(seed: int = 5, each: int = 24) -> list[Planted]:
    """``each`` states of every size: clean ones, overlaps, shadowed gates, gaps, and mixtures."""
    chance = Random(seed)
    makers = (_clean, _overlap, _overlap, _shadow, _gap, _mixed)
    return [makers[n % len(makers)](f"p{size}_{n}", size, chance) for size in SIZES for n in range(each)]


def wobbly_corpus(seed: int = 6, each: int = 10) -> list[Planted]:
    """States without any other defect, with one output on which the judge is of two minds."""
    chance = Random(seed)
    return [
        Planted(f"w{size}_{n}", size, _singles(size), wobbly=chance.randrange(size))
        for size in SIZES
        for n in range(each)
    ]


def _singles(size: int) -> frozenset[World]:
    return frozenset(frozenset({i}) for i in range(size))


def _clean(name: str, size: int, chance: Random) -> Planted:
    catch_all = chance.random() < 0.5
    return Planted(name, size, _singles(size) | ({frozenset()} if catch_all else frozenset()), catch_all)


def _overlap(name: str, size: int, chance: Random) -> Planted:
    catch_all = chance.random() < 0.5
    empty = frozenset({World()}) if catch_all else frozenset()
    return Planted(name, size, _singles(size) | _together(size, chance) | empty, catch_all)


def _together(size: int, chance: Random) -> frozenset[World]:
    """One to three combinations of two or three conditions."""
    count = 1 if size == 2 else chance.randint(1, 3)
    return frozenset(
        frozenset(chance.sample(range(size), min(size, chance.choice((2, 2, 2, 3))))) for _ in range(count)
    )


def _shadow(name: str, size: int, chance: Random) -> Planted:
    later = chance.randrange(1, size)
    both = frozenset({chance.randrange(later), later})
    return Planted(name, size, (_singles(size) - {frozenset({later})}) | {both}, catch_all=True)


def _gap(name: str, size: int, chance: Random) -> Planted:
    return Planted(name, size, _singles(size) | {frozenset()}, catch_all=False)


def _mixed(name: str, size: int, chance: Random) -> Planted:
    shadow = _shadow(name, size, chance)
    return Planted(name, size, shadow.worlds | _together(size, chance) | {frozenset()}, catch_all=False)


@dataclass
class Simulation:
    """A writer and a judge about one state. ``noise`` is how often one answer about one condition is wrong.

    ``slips`` is how often the writer writes something else than it was asked for. ``probabilities`` makes a judge that
    gives them (on the whole decision), else one that picks the first true condition.
    """

    planted: Planted
    seed: int = 0
    noise: float = 0.0
    slips: float = 0.0
    probabilities: bool = True
    split: float = 0.7
    cost: Usage = COST
    written: int = 0
    asked: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = Random(f"{self.planted.name}/{self.seed}")
        self._nonces = Nonces("planted")

    async def answer(self, request: Request, /) -> Answer:
        match request:
            case Nonce():
                return NonceValue("planted")
            case Hook():
                return HookValue(False)
        self.asked.append(request)
        if isinstance(request, Produce):
            return Produced(text=self._write(request.user), model="planted-writer", usage=self.cost)
        assert isinstance(request, Judge)
        return self._judge(request)

    # The writer

    def _write(self, user: str) -> str:
        texts = [self._one(wanted) for wanted in _TARGET.findall(user)]
        return texts[0] if len(texts) == 1 else f"Here you are:\n```json\n{json.dumps(texts)}\n```"

    def _one(self, wanted: str) -> str:
        self.written += 1
        planted = self.planted
        if "hard to say" in wanted and planted.wobbly is not None:
            return f"sample {self.written} is unclear about {planted.wobbly}"
        world = self._chance.choice(self._fitting(wanted))
        if self._chance.random() < self.slips:
            world = self._chance.choice(sorted(planted.worlds, key=sorted))
        return f"sample {self.written} shows {' '.join(map(str, sorted(world))) or 'nothing'}"

    def _fitting(self, wanted: str) -> list[World]:
        """The worlds nearest to what is wanted, all equally near."""
        worlds = sorted(self.planted.worlds, key=sorted)
        scores = [self._score(wanted, world) for world in worlds]
        return [world for world, score in zip(worlds, scores, strict=True) if score == max(scores)]

    def _score(self, wanted: str, world: World) -> float:
        if "none of" in wanted:
            return -len(world)
        if "at least two" in wanted:
            known = {tuple(map(int, pair)) for pair in re.findall(r"(\d+)\+(\d+)", wanted)}
            return len(set(combinations(sorted(world), 2)) - known)
        if "hard to say" in wanted:
            return 0
        true, _, false = wanted.partition(" true")
        wants, refuses = ({int(one) for one in re.findall(r"\d+", part)} for part in (true, false))
        return 2 * len(wants & world) - len(refuses & world)

    # The judges

    def _judge(self, request: Judge) -> Verdict:
        chances = [self._chance_of(request.output, condition) for condition in request.conditions]
        held = [value >= 0.5 for value in chances]
        if self.probabilities:
            return Verdict(
                index=next(iter(i for i, one in enumerate(held) if one), None),
                method="noul_first_ge",
                mapping="noul_first_ge",
                probabilities=tuple(chances),
                threshold=0.5,
                model="planted-noul",
                usage=self.cost,
                fence_applied=True,
            )
        first = next(iter(i for i, one in enumerate(held) if one), None)
        return Verdict(index=first, model="planted-choice", usage=self.cost)

    def _chance_of(self, output: str, condition: str) -> float:
        if "mark" not in condition:
            return 0.03 if condition in UNTRUE else 0.97
        mark = int(re.findall(r"\d+", condition)[-1])
        unclear = re.search(r"unclear about (\d+)", output)
        if unclear:
            if int(unclear[1]) != mark:
                return 0.03
            return 0.65 if self._chance.random() < self.split else 0.35
        shown = {int(one) for one in output.partition("shows")[2].split() if one.isdigit()}
        right = self._chance.random() >= self.noise
        return 0.97 if (mark in shown) == right else 0.03


@dataclass
class Score:
    """Counts over a corpus: what was found of what is there, and what was found that is not."""

    hits: dict[str, int] = field(default_factory=dict)
    there: dict[str, int] = field(default_factory=dict)
    false: dict[str, int] = field(default_factory=dict)
    clean: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, truth: Iterable[object], clean: Iterable[object], found: Iterable[object]) -> None:
        truth, clean, found = set(truth), set(clean), set(found)
        for name, amount in (("hits", truth & found), ("there", truth), ("false", clean & found), ("clean", clean)):
            counts = getattr(self, name)
            counts[kind] = counts.get(kind, 0) + len(amount)

    def merge(self, other: Score) -> None:
        for name in ("hits", "there", "false", "clean"):
            mine, theirs = getattr(self, name), getattr(other, name)
            for kind, count in theirs.items():
                mine[kind] = mine.get(kind, 0) + count

    def recall(self, kind: str) -> float:
        return self.hits[kind] / self.there[kind]

    def false_rate(self, kind: str) -> float:
        return self.false[kind] / self.clean[kind]

    def row(self) -> str:
        return " ".join(
            f"{kind}: {self.hits[kind]}/{self.there[kind]}={self.recall(kind):.3f} "
            f"false {self.false[kind]}/{self.clean[kind]}={self.false_rate(kind):.3f};"
            for kind in self.hits
        )


def kinds_of(planted: Planted) -> Iterator[tuple[str, set[object], set[object]]]:
    """For each kind of defect: where it is, and where it is not."""
    yield "overlap", set(planted.overlapping), set(planted.clean)
    yield "shadowed", set(planted.shadowed), set(range(1, planted.size)) - planted.shadowed
    yield "gap", {0} if planted.gap else set(), set() if planted.gap or planted.catch_all else {0}
