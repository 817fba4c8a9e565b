"""Measuring planted states, and holding what was found against what is there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from mklang.engine.level import Shared
from mklang.engine.options import RunOptions
from mklang.engine.run import walk
from mklang.lang.models import Tier
from mklang.measure.findings import Finding, Kind, findings_of
from mklang.measure.survey import Plan, Survey
from tests.measure.planted import Planted, Score, Simulation, kinds_of

NOUL = RunOptions(whole_decisions=frozenset(Tier))


def survey(simulation: Simulation, plan: Plan | None = None) -> Survey:
    """One planted state, measured."""
    machine = simulation.planted.machine()
    options = NOUL if simulation.probabilities else RunOptions()
    shared = Shared(simulation, {}, options, seed="planted", observer=None, walk=walk)
    found = Survey(machine, machine.states["look"], shared, plan or Plan())
    asyncio.run(found.measure())
    return found


def found_in(findings: Iterable[Finding]) -> dict[str, set[object]]:
    """What was found, in the terms of the planted truth."""
    found: dict[str, set[object]] = {"overlap": set(), "shadowed": set(), "gap": set()}
    for one in findings:
        match one.kind:
            case Kind.OVERLAP:
                found["overlap"].add(one.gates)
            case Kind.SHADOWED:
                found["shadowed"].add(one.gates[-1])
            case Kind.GAP:
                found["gap"].add(0)
    return found


def score(states: Iterable[Planted], plan: Plan | None = None, **quality: object) -> Score:
    """A whole corpus. Every state stays within its calls."""
    plan, result = plan or Plan(), Score()
    for planted in states:
        simulation = Simulation(planted, **quality)  # type: ignore[arg-type]
        measured = survey(simulation, plan)
        assert measured.produce_calls <= plan.samples
        assert measured.judge_calls <= plan.judge_calls(planted.size)
        assert measured.produce_calls + measured.judge_calls == len(simulation.asked)
        found = found_in(findings_of(measured))
        for kind, truth, clean in kinds_of(planted):
            result.add(kind, truth, clean, found[kind])
    return result
