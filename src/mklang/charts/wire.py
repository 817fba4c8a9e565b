"""The picture as JSON, for other programs that draw."""

from __future__ import annotations

from mklang.charts.chart import Chart


def to_wire(chart: Chart) -> dict[str, object]:
    """States, gates and callees. Keys of boxes are unique in the whole document, and arrows name them."""
    return {
        "machine": chart.title,
        "boxes": [
            {
                "key": box.key,
                "kind": box.shape.value,
                "label": box.label,
                "details": list(box.details),
                "reachable": box.reachable,
                "visits": box.visits,
            }
            for box in chart.boxes
        ],
        "arrows": [
            {
                "source": arrow.source,
                "target": arrow.target,
                "policy": arrow.policy,
                "labels": list(arrow.labels),
                "gates": list(arrow.gates),
                "live": arrow.live,
                "taken": list(arrow.taken),
            }
            for arrow in chart.arrows
        ],
        "callees": [to_wire(callee) for callee in chart.callees],
    }
