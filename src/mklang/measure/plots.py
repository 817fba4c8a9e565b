"""Plots for a report, as SVG text. The plotting library is the extra ``measure`` and is loaded when a plot is drawn."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from mklang.errors import MissingExtra

_INK, _SOFT, _BAR = "#2b5d8a", "#b9cfe4", "#b3261e"


def require_plots() -> None:
    """Raise ``MissingExtra`` where no plots can be drawn, before anything is spent."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("a report with plots", "measure")


def intervals(title: str, shares: Mapping[str, Mapping[str, Any]], bar: float | None = None) -> str:
    """Shares with their intervals, one line each, from 0 to 1; ``bar`` is drawn across."""
    figure, axes = _figure(0.34 * len(shares) + 1.1)
    names = list(shares)[::-1]
    for place, name in enumerate(names):
        rate, (low, high) = shares[name]["rate"], shares[name]["interval"]
        axes.plot([low, high], [place, place], color=_SOFT, linewidth=5, solid_capstyle="butt")
        axes.plot([rate], [place], "o", color=_INK, markersize=5)
    axes.set_yticks(range(len(names)), [f"{name} (n={shares[name]['of']})" for name in names])
    axes.set_xlim(-0.02, 1.02)
    if bar is not None:
        axes.axvline(bar, color=_BAR, linewidth=1, linestyle="--")
    return _svg(figure, axes, title)


def reliability_plot(title: str, bins: Sequence[Mapping[str, Any]]) -> str:
    """How often what a probability was given for is true, by the probability."""
    figure, axes = _figure(3.6)
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1, linestyle="--")
    axes.bar(
        [one["low"] for one in bins],
        [one["share"] for one in bins],
        width=[0.97 * (one["high"] - one["low"]) for one in bins],
        align="edge",
        color=_SOFT,
    )
    axes.plot([one["mean"] for one in bins], [one["share"] for one in bins], "o-", color=_INK, markersize=4)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="probability", ylabel="share that is true")
    return _svg(figure, axes, title)


def threshold_plot(title: str, rows: Sequence[Mapping[str, Any]], used: float | None) -> str:
    """Accuracy by threshold, with its interval as a band; ``used`` is the threshold that was used."""
    figure, axes = _figure(3.2)
    places = [one["threshold"] for one in rows]
    axes.fill_between(places, *zip(*[one["interval"] for one in rows], strict=True), color=_SOFT, linewidth=0)
    axes.plot(places, [one["rate"] for one in rows], color=_INK)
    if used is not None:
        axes.axvline(used, color=_BAR, linewidth=1, linestyle="--")
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="threshold", ylabel="accuracy")
    return _svg(figure, axes, title)


def _figure(height: float) -> tuple[Any, Any]:
    require_plots()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _svg(figure: Any, axes: Any, title: str) -> str:
    axes.set_title(title, fontsize=10, loc="left")
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    return f"<figure>{text[text.index('<svg') :]}</figure>"
