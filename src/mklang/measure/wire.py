"""The lint's report as data: what every form of it is made from (S13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mklang.measure.findings import Finding, shortened
from mklang.measure.llm_lint import LIMITS, LintReport, MachineReport, StateReport, provenance
from mklang.measure.statistics import wilson
from mklang.measure.stimuli import TEMPERATURE

JUDGE_TEMPERATURE = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a report's numbers come from: the provider, which model writes and which judges for each tier, and when."""

    provider: str
    generators: Mapping[str, str]
    judges: Mapping[str, str]
    mklang: str
    date: str
    mapping: str = "choice"


def report_to_wire(report: LintReport, origin: Origin) -> dict[str, Any]:
    """Everything but the findings, which go with their files."""
    setting, tally = report.setting, report.tally
    surveys = [state.survey for one in report.machines for state in one.states]
    thresholds = sorted({value for one in surveys for value in one.thresholds})
    tiers = sorted({(one.state.tier or one.machine.default_tier).value for one in surveys})
    return {
        "provider": origin.provider,
        "generator_models": dict(origin.generators),
        "judge_models": dict(origin.judges),
        "answered_by": {
            "generator": sorted({name for one in surveys for name in one.generators}),
            "judge": sorted({name for one in surveys for name in one.judges}),
        },
        "tiers": tiers,
        "temperature": {"generator": TEMPERATURE, "judge": JUDGE_TEMPERATURE},
        "mapping": sorted({name for one in surveys for name in one.mappings}) or [origin.mapping],
        "threshold": thresholds,
        "samples": setting.plan.samples,
        "repeats": setting.plan.repeats,
        "probes": "full" if setting.plan.full else "targeted",
        "seed": setting.seed,
        "calls": {"produce": tally.produce, "judge": tally.judge, "cached": tally.cached, "unread": tally.unread},
        "tokens": {"input": tally.usage.input_tokens, "output": tally.usage.output_tokens, "total": tally.usage.total},
        "usd": tally.usage.nano_usd / 1e9 if tally.usage.nano_usd else None,
        "budget_tokens": setting.max_tokens,
        "estimate": report.estimate.to_wire(),
        "controls": report.fitness.to_wire(),
        "judge_unfit": report.fitness.fit is False,
        "machines": [{**provenance(one.job), "states": states_to_wire(one)} for one in report.machines],
        "stopped": report.stopped or None,
        "not_measured": report.left_out,
        "mklang": origin.mklang,
        "date": origin.date,
        "limits": LIMITS,
    }


def findings_to_wire(report: MachineReport) -> list[dict[str, object]]:
    """A machine's findings."""
    return [one.to_wire() for one in report.findings]


def states_to_wire(report: MachineReport) -> list[dict[str, Any]]:
    """What was measured of each state, with or without findings."""
    return [_state(one) for one in report.states]


def _state(one: StateReport) -> dict[str, Any]:
    survey = one.survey
    numbers = survey.conditions.numbers
    judged = survey.judged
    routed = [output for output in judged if output.routes]
    none = sum(output.routes[0] is None for output in routed)
    return {
        "state": survey.state.id,
        "gates": list(numbers),
        "outputs": len(judged),
        "duplicates": survey.duplicates,
        "unusable": survey.unusable,
        "under_sampled": one.under_sampled,
        "produce_calls": survey.produce_calls,
        "judge_calls": survey.judge_calls,
        "unread": survey.unread,
        "none": {"n": none, "of": len(routed), "interval": wilson(none, len(routed)).to_wire()},
        "stopped": one.stopped or None,
        "strata": {name: sum(o.target.stratum.value == name for o in judged) for name in _strata(one)},
        "samples": [
            {
                "text": shortened(output.text),
                "asked": output.target.request(numbers) if output.target.stratum.value != "material" else "material",
                "holds": {numbers[place]: round(output.chance(place), 3) for place in range(len(numbers))},
                "asked_about": {numbers[place]: output.readings[place] for place in range(len(numbers))},
                "routes": [None if route is None else numbers[route] for route in output.routes],
                "signatures": sorted(set(output.signatures)),
            }
            for output in judged
        ],
    }


def _strata(one: StateReport) -> list[str]:
    return sorted({output.target.stratum.value for output in one.survey.judged})


def key_of(path: str, finding: Mapping[str, Any]) -> tuple[str, str, str, tuple[int, ...]]:
    """What makes two findings the same one, in two reports."""
    return (path, str(finding["kind"]), str(finding["state"]), tuple(finding["gates"]))


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """What is new since an earlier report, what is gone, and what stayed. Both are the JSON form of ``lint --llm``."""
    old, new = _keyed(before), _keyed(after)
    return {
        "new": [new[key] for key in sorted(new.keys() - old.keys())],
        "gone": [old[key] for key in sorted(old.keys() - new.keys())],
        "still": [new[key] for key in sorted(new.keys() & old.keys())],
    }


def _keyed(report: Mapping[str, Any]) -> dict[tuple[str, str, str, tuple[int, ...]], dict[str, Any]]:
    found = {}
    for item in report.get("items", ()):
        for finding in item.get("llm_findings", ()):
            found[key_of(item["path"], finding)] = {"path": item["path"], **finding}
    return found


def as_sarif(items: list[tuple[str, int, Finding]], origin: Origin) -> dict[str, Any]:
    """The findings as SARIF 2.1.0; every result is a note, for nothing here is an error. Items: path, line, finding."""
    kinds = sorted({finding.kind.value for _, _, finding in items})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "mklang lint --llm",
                        "version": origin.mklang,
                        "rules": [{"id": f"llm-{kind}", "defaultConfiguration": {"level": "note"}} for kind in kinds],
                    }
                },
                "properties": {"limits": LIMITS, "provider": origin.provider, "judges": dict(origin.judges)},
                "results": [
                    {
                        "ruleId": f"llm-{finding.kind.value}",
                        "level": "note",
                        "message": {"text": f"state {finding.state}: {finding.message}; {finding.suggestion}"},
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": {"uri": path},
                                    "region": {"startLine": max(1, line)},
                                }
                            }
                        ],
                        "properties": finding.to_wire(),
                    }
                    for path, line, finding in items
                ],
            }
        ],
    }
