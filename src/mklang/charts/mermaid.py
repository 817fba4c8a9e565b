"""The picture as a Mermaid flowchart, for Markdown that draws it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mklang.charts.chart import Arrow, Box, Chart, Shape
from mklang.charts.dot import steps
from mklang.charts.text import wrapped

_BRACKETS: Mapping[Shape, tuple[str, str]] = {
    Shape.GENERATIVE: ("(", ")"),
    Shape.CALL: ("[[", "]]"),
    Shape.TOOL: ("{{", "}}"),
    Shape.END: ("(((", ")))"),
    Shape.FAIL: ("[/", "\\]"),
    Shape.START: ("((", "))"),
    Shape.MACHINE: ("[[", "]]"),
    Shape.MISSING: ("[", "]"),
}
_LINKS: Mapping[str, str] = {"repair": "-.->", "escalate": "==>", "call": "-.->"}
_CLASSES = {
    "generative": "fill:#e8f0fe,stroke:#3b6fb6,color:#111",
    "call": "fill:#efe7fb,stroke:#7a4fb5,color:#111",
    "machine": "fill:#efe7fb,stroke:#7a4fb5,color:#111",
    "tool": "fill:#fdf0dc,stroke:#b9770e,color:#111",
    "end": "fill:#333,stroke:#333,color:#fff",
    "fail": "fill:#fbe4e4,stroke:#b3261e,color:#b3261e",
    "start": "fill:#333,stroke:#333,color:#fff",
    "missing": "fill:#fff,stroke:#b3261e,color:#b3261e,stroke-dasharray:4",
    "unreachable": "fill:#fff,stroke:#9a9a9a,color:#8a8a8a,stroke-dasharray:4",
    "untaken": "fill:#f4f4f4,stroke:#c9c9c9,color:#8a8a8a",
    "taken": "stroke:#0b7a53,stroke-width:3px",
}
_PREFIX = "k_"
"""Before every class's name, because Mermaid has words of its own: ``end``, ``call``."""
_STROKES = {
    "repair": "stroke:#b9770e",
    "escalate": "stroke:#7a4fb5",
    "fail": "stroke:#b3261e",
    "call": "stroke:#7a4fb5",
}
_SPECIAL = re.compile(r"""["#;<>&\\`*_~|(){}\[\]]""")


def to_mermaid(chart: Chart) -> str:
    """The text of a Mermaid diagram."""
    arrows = [arrow for part in chart.every for arrow in part.arrows]
    used = {name for part in chart.every for box in part.boxes for name in _classes(box, part.route)}
    lines = [
        "flowchart TD",
        *_content(chart, "  "),
        *(f"  {_arrow(arrow)}" for arrow in arrows),
        *(f"  linkStyle {number} {style}" for number, arrow in enumerate(arrows) if (style := _stroke(arrow, chart))),
        *(f"  classDef {_PREFIX}{name} {style}" for name, style in _CLASSES.items() if name in used),
    ]
    return "\n".join(lines) + "\n"


def _content(chart: Chart, indent: str) -> Iterator[str]:
    yield from (f"{indent}{_box(box, chart.route)}" for box in chart.boxes)
    for callee in chart.callees:
        yield f'{indent}subgraph {callee.key}["{_escaped(callee.title)}"]'
        yield from _content(callee, f"{indent}  ")
        yield f"{indent}end"


def _box(box: Box, route: bool) -> str:
    opened, closed = _BRACKETS[box.shape]
    label = _escaped(box.label + (f" ×{box.visits}" if box.visits > 1 else "")) or " "
    details = "".join(f"<br/><small>{_escaped(detail)}</small>" for detail in box.details)
    classes = "".join(f":::{_PREFIX}{name}" for name in _classes(box, route)[:1])
    extra = "".join(f"\n  class {box.key} {_PREFIX}{name}" for name in _classes(box, route)[1:])
    return f'{box.key}{opened}"{label}{details}"{closed}{classes}{extra}'


def _classes(box: Box, route: bool) -> list[str]:
    if route and not box.visits and box.shape not in (Shape.START, Shape.END):
        return ["untaken"]
    if not box.reachable:
        return ["unreachable"]
    return [box.shape.value, *(["taken"] if box.visits else [])]


def _arrow(arrow: Arrow) -> str:
    link = _LINKS.get(arrow.policy, "-->")
    lines = [line for label in arrow.labels[:4] for line in wrapped(label)]
    if len(arrow.labels) > 4:
        lines.append(f"… {len(arrow.labels) - 4} more")
    if arrow.taken:
        lines.append(steps(arrow.taken))
    label = f'|"{"<br/>".join(map(_escaped, lines))}"|' if lines else ""
    return f"{arrow.source} {link}{label} {arrow.target}"


def _stroke(arrow: Arrow, chart: Chart) -> str:
    if arrow.taken:
        return "stroke:#0b7a53,stroke-width:3px"
    if not arrow.live or (chart.route and arrow.policy not in ("start", "call")):
        return "stroke:#c9c9c9"
    return _STROKES.get(arrow.policy, "")


def _escaped(text: str) -> str:
    """Every character that Mermaid, its Markdown or HTML would read as a sign becomes a numbered entity."""
    return _SPECIAL.sub(lambda found: f"#{ord(found.group())};", text)
