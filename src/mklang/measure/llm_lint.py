"""``lint --llm``: every state with two or more prose gates put before the judge, within what may be spent (ADR 0010).

What was measured is a report whatever happens: a limit, an outage or Ctrl-C end the measuring, not the report. It names
what was left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from mklang.engine.budget import Pool
from mklang.engine.level import Shared
from mklang.engine.options import RunOptions
from mklang.engine.oracle import Oracle
from mklang.engine.run import walk
from mklang.errors import AnswerFailed
from mklang.lang.models import Machine, Tier
from mklang.lang.semantics import semantic_hash
from mklang.measure.asking import AnswerCache, Asking, Tally
from mklang.measure.controls import Fitness, check_judge
from mklang.measure.estimate import Estimate, estimate
from mklang.measure.findings import Finding, findings_of
from mklang.measure.probes import Spent
from mklang.measure.stimuli import measurable
from mklang.measure.survey import Plan, Survey

ENOUGH_OUTPUTS = 3
"""Fewer usable outputs than this, and a state is under-sampled."""
LIMITS = (
    "A finding is a signal to look, not a verdict. Only what the sampled outputs happened to show can be found: "
    "absence of a finding is not proof that the gates are clear. Numbers depend on the models, the tier and the "
    "temperature, and a difference between two runs is expected. Nothing here says how the interpreter routes."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A machine to be measured. ``material`` are the author's own outputs, by state."""

    path: str
    machine: Machine
    material: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How an invocation measures. ``seed`` makes the fences' nonces; ``max_tokens`` None means no limit."""

    plan: Plan = field(default_factory=Plan)
    max_tokens: int | None = None
    seed: str = "measure"
    options: RunOptions = field(default_factory=RunOptions)
    controls: bool = True


@dataclass(frozen=True, slots=True)
class StateReport:
    """What came of one state. ``stopped`` says why it is not complete; empty when it is."""

    survey: Survey
    findings: tuple[Finding, ...]
    stopped: str = ""

    @property
    def under_sampled(self) -> bool:
        """Whether there were too few usable outputs to say much."""
        return len(self.survey.judged) < ENOUGH_OUTPUTS


@dataclass(frozen=True, slots=True)
class MachineReport:
    """One machine's states, and the names of those that nobody got to."""

    job: Job
    states: tuple[StateReport, ...]
    left_out: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings of the machine."""
        return tuple(one for state in self.states for one in state.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """An invocation. ``stopped`` says why it ended early; ``interrupted`` when a person said so."""

    machines: tuple[MachineReport, ...]
    fitness: Fitness
    tally: Tally
    setting: Setting
    estimate: Estimate
    stopped: str = ""
    interrupted: bool = False

    @property
    def left_out(self) -> list[str]:
        """Every state that was not measured to the end, as ``machine.state``."""
        return [
            f"{one.job.machine.name}.{name}"
            for one in self.machines
            for name in (*(state.survey.state.id for state in one.states if state.stopped), *one.left_out)
        ]


def expected(jobs: Sequence[Job], setting: Setting) -> Estimate:
    """The most that measuring these machines can take."""
    return estimate([job.machine for job in jobs], setting.plan, controls=setting.controls)


class Linter:
    """One invocation. ``who`` names the models that answer, for the cache; ``watch`` sees every answer."""

    def __init__(
        self,
        oracle: Oracle,
        setting: Setting,
        *,
        who: str,
        cache: AnswerCache | None = None,
        watch: Callable[[Tally], None] | None = None,
    ) -> None:
        self._setting = setting
        self._pool = Pool(setting.max_tokens, None)
        self._asking = Asking(oracle, self._pool, who, cache, watch or (lambda _tally: None))
        self._fitness = Fitness(0, 0)
        self._stopped = ""
        self._interrupted = False

    async def measure(self, jobs: Sequence[Job]) -> LintReport:
        """Measure the machines, one state after the other."""
        if self._setting.controls:
            await self._check_judges(jobs)
        found = [await self._machine(job) for job in jobs]
        if self._fitness.fit is False:
            found = [_doubted(one) for one in found]
        return LintReport(
            machines=tuple(found),
            fitness=self._fitness,
            tally=self._asking.tally,
            setting=self._setting,
            estimate=expected(jobs, self._setting),
            stopped=self._stopped,
            interrupted=self._interrupted,
        )

    def _shared(self) -> Shared:
        """What the engine needs to decide; the pool is the invocation's own."""
        options = msgspec.structs.replace(self._setting.options, max_tokens=self._setting.max_tokens, concurrency=None)
        shared = Shared(self._asking, {}, options, seed=self._setting.seed, observer=None, walk=walk)
        shared.pool = self._pool
        return shared

    async def _check_judges(self, jobs: Sequence[Job]) -> None:
        tiers = {state.tier or job.machine.default_tier for job in jobs for state in measurable(job.machine)}
        for tier in sorted(tiers, key=lambda one: one.value):
            await self._guarded(self._check_tier(tier))

    async def _check_tier(self, tier: Tier) -> None:
        self._fitness += await check_judge(self._shared(), tier)

    async def _machine(self, job: Job) -> MachineReport:
        states, left_out = [], []
        for state in measurable(job.machine):
            if self._stopped:
                left_out.append(state.id)
                continue
            material = job.material.get(state.id, ())
            survey = Survey(job.machine, state, self._shared(), self._setting.plan, material)
            stopped = await self._guarded(survey.measure())
            states.append(StateReport(survey, tuple(findings_of(survey)), stopped))
        return MachineReport(job, tuple(states), tuple(left_out))

    async def _guarded(self, work: Awaitable[None]) -> str:
        """Do some of the measuring; why it ended early, which ends all of it."""
        try:
            await work
        except Spent as spent:
            self._stopped = f"the token limit was reached: {spent}"
        except AnswerFailed as failed:
            self._stopped = f"{type(failed).__name__}: {failed}"
        except asyncio.CancelledError:
            self._stopped, self._interrupted = "interrupted", True
        else:
            return ""
        return self._stopped


def _doubted(report: MachineReport) -> MachineReport:
    """The same findings, marked as those of an unfit judge."""
    states = tuple(
        replace(one, findings=tuple(replace(found, doubtful=True) for found in one.findings)) for one in report.states
    )
    return replace(report, states=states)


def provenance(job: Job) -> dict[str, str]:
    """Which machine was measured, so that a report can be told from one about another version."""
    return {"machine": job.machine.name, "path": job.path, "hash": semantic_hash(job.machine)}
