"""The lint's report as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mklang.measure.html import element, facts, page, shown, table, text

_META = (
    "provider", "generator_models", "judge_models", "tiers", "temperature", "mapping", "threshold", "samples",
    "repeats", "probes", "calls", "tokens", "usd", "budget_tokens", "estimate", "seed", "mklang", "date",
)  # fmt: skip


def lint_page(items: Sequence[Mapping[str, Any]], report: Mapping[str, Any]) -> str:
    """A page from the JSON form: ``items`` with ``path`` and ``llm_findings``, and the ``llm_report``."""
    return page("mklang lint --llm", [*_head(items, report), *_machines(items, report), *_foot(report)])


def _head(items: Sequence[Mapping[str, Any]], report: Mapping[str, Any]) -> Iterator[str]:
    count = sum(len(item.get("llm_findings", ())) for item in items)
    yield element("h1", "What a judge makes of the conditions")
    yield element("p", f"{count} finding{'' if count == 1 else 's'} in {len(report['machines'])} machines", "dim")
    yield f"<p>{text(report['limits'])}</p>"
    controls = report["controls"]
    if report["judge_unfit"]:
        told = f"The judge failed its controls ({controls['wrong']} of {controls['of']} wrong): findings mean little."
        yield element("p", told, "bad")
    elif controls["of"]:
        yield element("p", f"The judge passed its controls ({controls['wrong']} of {controls['of']} wrong).", "good")
    if report["stopped"]:
        yield element("p", f"Stopped early: {report['stopped']}. Not measured: {shown(report['not_measured'])}", "warn")


def _machines(items: Sequence[Mapping[str, Any]], report: Mapping[str, Any]) -> Iterator[str]:
    findings = {item["path"]: item.get("llm_findings", ()) for item in items}
    for machine in report["machines"]:
        yield element("h2", f"{machine['machine']} ({machine['path']})")
        for found in findings.get(machine["path"], ()):
            yield _card(found)
        if not findings.get(machine["path"]):
            yield element("p", "no finding", "dim")
        for state in machine["states"]:
            yield from _state(state)


def _card(found: Mapping[str, Any]) -> str:
    low, high = found["interval"]
    samples = "".join(f'<span class="sample">{text(one)}</span>' for one in found["examples"])
    doubt = '<p class="bad">from a judge that failed its controls</p>' if found.get("unfit_judge") else ""
    return (
        f'<div class="card"><span class="kind">{text(found["kind"])}</span>state <code>{text(found["state"])}</code>'
        f"<p>{text(found['message'])} <span class='dim'>({found['n']} of {found['of']}, 95 % interval "
        f"{low:.2f} to {high:.2f})</span></p><p>{text(found['suggestion'])}</p>{doubt}{samples}</div>"
    )


def _state(state: Mapping[str, Any]) -> Iterator[str]:
    note = " - under-sampled" if state["under_sampled"] else ""
    yield element("h3", f"state {state['state']}{note}")
    calls = f"{state['produce_calls']} calls to the writer, {state['judge_calls']} to the judge"
    yield element("p", f"{state['outputs']} outputs ({state['duplicates']} duplicates dropped); {calls}", "dim")
    gates = state["gates"]
    rows = [
        (sample["text"], sample["asked"], *[_belief(sample, gate) for gate in gates], shown(_routes(sample["routes"])))
        for sample in state["samples"]
    ]
    yield table(("output", "asked for", *[f"gate {gate}" for gate in gates], "fired"), rows, range(2, 2 + len(gates)))


def _belief(sample: Mapping[str, Any], gate: int) -> str:
    return f"{sample['holds'][gate]:.2f}" if sample["asked_about"][gate] else "-"


def _routes(routes: Sequence[int | None]) -> list[str]:
    return ["none" if route is None else str(route) for route in routes]


def _foot(report: Mapping[str, Any]) -> Iterator[str]:
    yield element("h2", "How this was measured")
    yield facts({name: report[name] for name in _META})
    yield element("h3", "Controls")
    yield table(("condition and answer",), [(one,) for one in report["controls"]["readings"]])
