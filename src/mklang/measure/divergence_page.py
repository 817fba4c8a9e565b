"""The report of ``mklang divergence`` as an HTML page with plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mklang.measure.html import element, facts, page, table
from mklang.measure.plots import intervals, reliability_plot, threshold_plot

_RATES = ("accuracy", "signature_agreement_rate", "cross_provider_agreement", "intra_provider_agreement", "paraphrase")


def divergence_page(report: Mapping[str, Any]) -> str:
    """A page from the JSON form of the report."""
    body = [element("h1", "Gate divergence"), element("p", report["limits"]), *_judges(report)]
    body += [element("h2", "How this was measured"), facts(report["measured"])]
    return page("mklang divergence", body)


def _judges(report: Mapping[str, Any]) -> Iterator[str]:
    for judge in report["judges"]:
        yield element("h2", judge["provider"])
        yield from _ruling(judge)
        summary = judge["summary"]
        yield table(
            ("", "rate", "n", "of", "95 % interval"), [_rate(name, summary[name]) for name in _RATES], (1, 2, 3)
        )
        yield intervals("accuracy by purpose", summary["per_purpose"])
        if summary["per_family"]:
            yield intervals("accuracy under injection, by payload family", summary["per_family"], 0.95)
        yield from _calibration(judge["calibration"], judge["threshold"])
        if summary["gate_errors"]:
            yield element("h3", "Runs that did not end")
            yield table(("case and error",), [(one,) for one in summary["gate_errors"][:20]])


def _ruling(judge: Mapping[str, Any]) -> Iterator[str]:
    ruling = judge["ruling"]
    yield element("p", ruling["verdict"], "bad" if ruling["verdict"] == "STOP" else "warn")
    rows: Sequence[Sequence[object]] = [
        (bar["bar"], bar["required"], bar["standing"], f"{bar['n']} of {bar['of']}", _range(bar["interval"]))
        for bar in ruling["bars"]
    ]
    yield table(("bar", "required", "standing", "right", "95 % interval"), rows)


def _calibration(found: Mapping[str, Any] | None, threshold: float | None) -> Iterator[str]:
    if found is None:
        yield element("p", "A judge without probabilities has no calibration.", "dim")
        return
    yield element("h3", "Calibration")
    suggested = "none" if found["suggested_threshold"] is None else found["suggested_threshold"]
    told = f"Brier {found['brier']}, calibration error {found['calibration_error']}, suggested threshold {suggested}"
    yield element("p", f"{told} ({found['note']}).")
    yield reliability_plot("reliability", found["reliability"])
    yield threshold_plot("accuracy by threshold", found["accuracy_by_threshold"], threshold)


def _rate(name: str, found: Mapping[str, Any]) -> tuple[object, ...]:
    rate = "-" if found["rate"] is None else f"{found['rate']:.3f}"
    return (name.replace("_", " "), rate, found["n"], found["of"], _range(found["interval"]))


def _range(interval: Sequence[float]) -> str:
    return f"{interval[0]:.3f} to {interval[1]:.3f}"
