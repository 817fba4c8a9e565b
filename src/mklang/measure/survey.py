"""One state, measured: outputs are written, looked at once, and then asked about again where it tells something.

The whole costs at most K calls to a writer and K*R to the judge (S11); probes of every single condition may cost K*N
more, when that was asked for. What comes next depends on what is known: a pair already seen is not asked for again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import TypeAlias

from mklang.engine.level import Shared, StateHalt
from mklang.engine.requests import Produced, Read
from mklang.lang.models import Machine, State
from mklang.measure.evidence import Output, weight
from mklang.measure.probes import Heard, Said, Spent, decide, only
from mklang.measure.stimuli import Conditions, conditions_of, likeness, read_outputs, usable, write_request
from mklang.measure.targets import OpenQuestions, Stratum, Target
from mklang.measure.worth import ENOUGH, Doubts

_Step: TypeAlias = tuple[float, Callable[[], Awaitable[bool]]]
STEADY = 6
"""So many times a borderline output is put before the judge, unless its answers differ before."""
_CLEAR = 1.5
"""A probability so far from the threshold, in log-odds, needs no repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is spent on a state: K calls to the writer, K*R to the judge, K*N more with ``full``."""

    samples: int = 5
    repeats: int = 3
    full: bool = False

    def judge_calls(self, conditions: int) -> int:
        """The most judge calls a state may take."""
        return self.samples * self.repeats + (self.samples * conditions if self.full else 0)


@dataclass(slots=True)
class Survey:
    """A state being measured, and all that was learnt, complete or not. ``stopped`` says why it is not complete."""

    machine: Machine
    state: State
    shared: Shared
    plan: Plan
    material: Sequence[str] = ()
    outputs: list[Output] = field(default_factory=list)
    asked: Counter[Target] = field(default_factory=Counter)
    produce_calls: int = 0
    judge_calls: int = 0
    duplicates: int = 0
    unusable: int = 0
    unread: int = 0
    stopped: str = ""
    generators: set[str] = field(default_factory=set)
    judges: set[str] = field(default_factory=set)
    mappings: set[str] = field(default_factory=set)
    thresholds: set[float] = field(default_factory=set)
    band: float = 0.0
    _several_failed: int = 0

    @property
    def conditions(self) -> Conditions:
        """The state's conditions that can be measured."""
        return conditions_of(self.state)

    @property
    def judged(self) -> list[Output]:
        """The outputs that some readable answer is about."""
        return [one for one in self.outputs if one.judged]

    @property
    def probable(self) -> bool:
        """Whether the judge gives probabilities, so that one call tells of every condition."""
        return any(one.chances for one in self.outputs)

    async def measure(self) -> None:
        """Spend what the plan allows. Raises ``Spent`` and what a model or judge raises; what was learnt is kept."""
        for text in self.material[: self.plan.samples // 2]:
            if self._take(text, Target(stratum=Stratum.MATERIAL)):
                await self._look(self.outputs[-1])
        for call in range(self.plan.samples):
            targets = self._next_targets(self.plan.samples - call)
            if not targets:
                break
            for output in await self._written(targets):
                await self._look(output)
        await self._settle()
        await self._steady()
        await self._repeat()

    def _next_targets(self, calls_left: int) -> list[Target]:
        most = self.plan.samples + (len(self.conditions) - 1) // 2
        room = min(most - len(self.outputs), self._left - self._reserve)
        open_targets = self._open().targets()
        return open_targets[: max(0, ceil(min(room, len(open_targets)) / calls_left))]

    @property
    def _left(self) -> int:
        return self.plan.judge_calls(len(self.conditions)) - self.judge_calls

    @property
    def _reserve(self) -> int:
        """Calls kept for repeats on a borderline output; clear probabilities need none."""
        if self.probable:
            unclear = any(self._unclear(one) for one in self.judged)
            return self.plan.samples if unclear else 0
        edge = next((one for one in self.outputs if one.target.stratum is Stratum.BORDERLINE), None)
        asked = len(edge.routes) if edge else 0
        return max(0, STEADY - max(1, asked)) if edge is None or len(set(edge.routes)) < 2 else 0

    def _open(self) -> OpenQuestions:
        count = len(self.conditions)
        return OpenQuestions(
            conditions=count,
            overlapping=frozenset(pair for one in self.outputs for pair in one.both),
            witnessed=frozenset(j for j in range(count) if any(one.witnesses(j) for one in self.outputs)),
            empty_seen=any(one.empty for one in self.judged),
            catch_all=self.conditions.catch_all,
            asked=self.asked,
            several_failed=self._several_failed,
        )

    async def _written(self, targets: Sequence[Target]) -> list[Output]:
        key = f"{self.state.id}/write[{self.produce_calls}]"
        request = write_request(self.machine, self.state, targets, key=key)
        try:
            pending = self.shared.ask_model(request)
        except StateHalt as halt:
            raise Spent(halt.message) from None
        self.produce_calls += 1
        answer = await pending
        if not isinstance(answer, Produced):
            raise TypeError(f"{key}: an oracle answered a produce request with {type(answer).__name__}")
        self.shared.pool.charge(answer.usage)
        self.generators.add(answer.model)
        self.asked.update(targets)
        texts = [] if answer.truncated and len(targets) > 1 else read_outputs(answer.text, len(targets))
        return [self.outputs[-1] for text, target in zip(texts, targets, strict=False) if self._take(text, target)]

    def _take(self, text: str, target: Target) -> bool:
        """Keep an output that is new and that a run could have."""
        if not usable(self.state, text):
            self.unusable += 1
            return False
        same = likeness(text)
        if any(likeness(one.text) == same for one in self.outputs):
            self.duplicates += 1
            return False
        self.outputs.append(Output.fresh(text, target, len(self.conditions)))
        return True

    async def _look(self, output: Output) -> None:
        """The engine's own call, once."""
        before = len(self._open().overlapping)
        await self._fused(output)
        if output.target.stratum is Stratum.SEVERAL:
            if not output.chances:
                await self._after_pick(output)
            grown = len(self._open().overlapping) > before
            self._several_failed = 0 if grown else self._several_failed + 1
        elif output.target.stratum in {Stratum.BOTH, Stratum.WITNESS} and not output.chances:
            await self._partner(output)

    async def _partner(self, output: Output) -> None:
        """A condition that should be true and that the pick did not show is asked about alone."""
        wanted = [one for one in output.target.true if output.odds[one] < 2.0]
        if wanted:
            await self._alone(output, wanted[-1])

    async def _steady(self) -> None:
        """Repeats where the answer may change: on the borderline output, or else where the judge was least sure."""
        edge = [one for one in self.judged if self._unclear(one)]
        edge += [one for one in self.judged if one.target.stratum is Stratum.BORDERLINE]
        for output in edge[:1]:
            most = 2 * STEADY if self._unclear(output) else STEADY
            while len(output.routes) < most and len(set(output.routes)) < 2 and not output.unread:
                if not await self._fused(output):
                    return

    async def _settle(self) -> None:
        """Spend calls where they are worth most."""
        while self._left > self._reserve and (step := self._best_step()) is not None:
            if not await step():
                return

    async def _repeat(self) -> None:
        """Spend what is left on repeats where they can tell something."""
        for _ in range(self.plan.repeats):
            for output in sorted(self.judged, key=lambda one: len(one.routes)):
                if self._worth_repeating(output) and not await self._fused(output):
                    return

    @staticmethod
    def _unclear(output: Output) -> bool:
        """Whether one reading gave a probability that says little."""
        return any(abs(weight(p, 0.5)) < _CLEAR for one in output.chances for p in one.values())

    def _worth_repeating(self, output: Output) -> bool:
        if len(output.routes) >= self.plan.repeats or output.unread > 1:
            return False
        return not output.chances or self._unclear(output)

    def _best_step(self) -> Callable[[], Awaitable[bool]] | None:
        """The call that teaches most, or None when none is worth its price."""
        doubts = Doubts(self.judged, len(self.conditions), self.conditions.catch_all)
        best, chosen = ENOUGH, None
        for output in self.judged:
            if output.unread > 1:
                continue
            for value, step in self._steps(output, doubts):
                if value > best:
                    best, chosen = value, step
        return chosen

    def _steps(self, output: Output, doubts: Doubts) -> list[_Step]:
        worth = [doubts.worth(output, one) for one in range(len(self.conditions))]
        if output.chances:
            return [(sum(worth), partial(self._fused, output))]
        found: list[_Step] = [(value, partial(self._alone, output, one)) for one, value in enumerate(worth)]
        pick = output.routes[0] if output.routes else None
        if pick is None and output.routes:
            found.append((sum(worth), partial(self._fused, output)))
        last = -1 if pick is None else pick
        if 0 <= last < len(worth) - 2 and not any(output.readings[one] for one in range(last + 1, len(worth))):
            found.append((0.7 * sum(worth[last + 1 :]), partial(self._after_pick, output)))
        return found

    async def _fused(self, output: Output) -> bool:
        """One decision of the whole state, as in a run. False when there are not enough calls left."""
        heard = await self._decide(output, self.state)
        if heard is None:
            return False
        if heard.unread:
            return True
        places = {gate.index: place for place, gate in enumerate(self.conditions.gates)}
        output.routes.append(None if heard.fired is None else places.get(heard.fired))
        output.signatures.append(heard.signature)
        for said in heard.said:
            self._learn(output, said, [places[index] for index in said.gates if index in places])
        return True

    async def _after_pick(self, output: Output) -> bool:
        """The conditions after the picked one, by themselves: which of them is true as well?"""
        last = output.routes[0] if output.routes else None
        if last is None or last + 1 >= len(self.conditions):
            return True
        known = self._open().overlapping
        later = range(last + 1, len(self.conditions))
        rest = [one for one in later if (last, one) not in known] or list(later)
        if len(rest) == 1:
            return await self._alone(output, rest[0])
        heard = await self._decide(output, only(self.state, [self.conditions.gates[one] for one in rest]))
        if heard is None:
            return False
        for said in [] if heard.unread else heard.said:
            self._learn(output, said, rest)
        return True

    async def _alone(self, output: Output, place: int) -> bool:
        """One condition by itself."""
        heard = await self._decide(output, only(self.state, [self.conditions.gates[place]]))
        if heard is None:
            return False
        if not heard.unread:
            output.take_alone(place, heard.fired is not None)
        return True

    async def _decide(self, output: Output, state: State) -> Heard | None:
        if self._left < min(self.conditions.batches, self.plan.samples * self.plan.repeats):
            return None
        key = f"{self.state.id}/look[{self.judge_calls}]"
        heard = await decide(self.machine, state, output.text, shared=self.shared, key=key)
        self.judge_calls += len(heard.said)
        for said in heard.said:
            self._note(said, output)
        return heard

    def _note(self, said: Said, output: Output) -> None:
        verdict = said.verdict
        self.judges.add(verdict.model)
        self.mappings.add(verdict.mapping)
        self.band = max(self.band, verdict.band)
        if verdict.threshold is not None:
            self.thresholds.add(verdict.threshold)
        if verdict.read is Read.UNREAD:
            self.unread += 1
            output.unread += 1

    @staticmethod
    def _learn(output: Output, said: Said, places: Sequence[int]) -> None:
        verdict = said.verdict
        if verdict.probabilities is not None and verdict.threshold is not None:
            output.take_probabilities(places, verdict.probabilities, verdict.threshold)
            output.chances.append(dict(zip(places, verdict.probabilities, strict=True)))
        else:
            output.take_pick(places, said.pick)
