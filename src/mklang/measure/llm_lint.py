"""``lint --llm``: every state with two or more prose gates put before the judge, within what may be spent (ADR 0010).

What was measured is a report whatever happens: a limit, an outage or Ctrl-C end the measuring, not the report. It names
what was left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import msgspec

from mklang.engine.budget import Pool
from mklang.engine.level import Shared
from mklang.engine.options import RunOptions
from mklang.engine.oracle import Oracle
from mklang.engine.run import walk
from mklang.errors import AnswerFailed
from mklang.lang.models import Machine, State, Tier
from mklang.lang.semantics import semantic_hash
from mklang.measure.asking import AnswerCache, Asking, Tally
from mklang.measure.controls import CONTROLS, Fitness, check_judge
from mklang.measure.findings import Finding, findings_of
from mklang.measure.probes import Spent
from mklang.measure.stimuli import conditions_of, measurable, write_request
from mklang.measure.survey import Plan, Survey
from mklang.measure.targets import Stratum, Target

ENOUGH_OUTPUTS = 3
"""Fewer usable outputs than this, and a state is under-sampled."""
CHARS_A_TOKEN = 3.6
OUTPUT_TOKENS = 90
JUDGE_OVERHEAD = 200
"""Tokens of a judge's message besides the conditions and the output, and of its reply."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The most an invocation may take, before anything is spent."""

    states: int = 0
    produce_calls: int = 0
    judge_calls: int = 0
    control_calls: int = 0
    tokens: int = 0

    def to_wire(self) -> dict[str, int]:
        """The JSON form."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


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


def estimate(jobs: Sequence[Job], setting: Setting) -> Estimate:
    """The most calls and tokens that measuring these machines can take."""
    plan, found = setting.plan, Estimate()
    tiers: set[Tier] = set()
    for job in jobs:
        for state in measurable(job.machine):
            tiers.add(state.tier or job.machine.default_tier)
            found = _with_state(found, job.machine, state, plan)
    if setting.controls and found.states:
        calls = 2 * len(CONTROLS) * len(tiers) + len(CONTROLS) * len(tiers)
        found = replace(found, control_calls=calls, tokens=found.tokens + calls * (JUDGE_OVERHEAD + 60))
    return found


def _with_state(found: Estimate, machine: Machine, state: State, plan: Plan) -> Estimate:
    conditions = conditions_of(state)
    written = write_request(machine, state, [Target(stratum=Stratum.BORDERLINE)], key="")
    asked = ceil(len(written.system + written.user) / CHARS_A_TOKEN)
    shown = ceil(sum(len(gate.when) for gate in conditions.gates) / CHARS_A_TOKEN)
    context = ceil(sum(len(repr(value)) + len(key) for key, value in machine.context.items()) / CHARS_A_TOKEN)
    judge_calls = plan.judge_calls(len(conditions))
    outputs = plan.samples + len(conditions) // 2
    tokens = plan.samples * asked + outputs * OUTPUT_TOKENS
    tokens += judge_calls * (shown + 2 * OUTPUT_TOKENS + min(context, 1200) + JUDGE_OVERHEAD)
    return replace(
        found,
        states=found.states + 1,
        produce_calls=found.produce_calls + plan.samples,
        judge_calls=found.judge_calls + judge_calls,
        tokens=found.tokens + tokens,
    )


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
            estimate=estimate(jobs, self._setting),
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
