"""The report of ``lint --llm`` as text for a person."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mklang.cli import findings
from mklang.cli.output import one_line


def told(wire: dict[str, Any]) -> Iterator[str]:
    """The report for a person."""
    report = wire["llm_report"]
    for item in wire["items"]:
        for found in item["llm_findings"]:
            yield from _told_finding(item["path"], found)
    for machine in report["machines"]:
        for state in machine["states"]:
            if state["under_sampled"]:
                yield (
                    f"{machine['path']}: state {state['state']}: under-sampled: {state['outputs']} usable outputs, "
                    f"{state['duplicates']} duplicates, {state['unusable']} unusable, {state['unread']} unread verdicts"
                )
    yield from _told_changes(wire.get("llm_changes"))
    yield from _told_end(wire, report)


def _told_finding(path: str, found: dict[str, Any]) -> Iterator[str]:
    low, high = found["interval"]
    doubt = " [judge unfit]" if found.get("unfit_judge") else ""
    yield f"{one_line(path)}: {found['kind']}{doubt}: state {one_line(found['state'])}: {one_line(found['message'])}"
    yield f"  {found['n']} of {found['of']}, 95 % interval {low:.2f} to {high:.2f}"
    for text in found["examples"][:2]:
        yield f"  e.g. {json.dumps(one_line(text), ensure_ascii=False)}"
    yield f"  {found['suggestion']}"


def _told_changes(changed: dict[str, list[dict[str, Any]]] | None) -> Iterator[str]:
    if changed is None:
        return
    yield "since the baseline: " + ", ".join(f"{len(found)} {word}" for word, found in changed.items())
    for word in ("new", "gone"):
        for found in changed[word]:
            yield f"  {word}: {one_line(found['path'])}: {found['kind']}: {one_line(found['message'])}"


def _told_end(wire: dict[str, Any], report: dict[str, Any]) -> Iterator[str]:
    count = sum(len(item["llm_findings"]) for item in wire["items"])
    calls, tokens, controls = report["calls"], report["tokens"], report["controls"]
    money = f", ${report['usd']:.6f}" if report["usd"] else ""
    yield (
        f"{findings.counted(count, 'finding')} by {', '.join(dict.fromkeys(report['judge_models'].values()))} "
        f"({', '.join(report['mapping'])}, tier {', '.join(report['tiers'])}): {calls['produce']} written, "
        f"{calls['judge']} judged, {calls['cached']} from the cache, {tokens['total']:,} tokens{money}"
    )
    if report["judge_unfit"]:
        yield f"the judge is unfit: {controls['wrong']} of {controls['of']} answers about the controls are wrong"
    if report["stopped"]:
        yield f"stopped early: {one_line(report['stopped'])}"
        yield f"  not measured: {', '.join(report['not_measured']) or '-'}"
    yield report["limits"]
