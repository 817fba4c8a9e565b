"""The picture in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mklang.charts.chart import Arrow, Box, Chart, Shape
from mklang.charts.text import wrapped

FONT = "Verdana"
_SHAPES: Mapping[Shape, str] = {
    Shape.GENERATIVE: 'shape=box style="rounded,filled" fillcolor="#e8f0fe" color="#3b6fb6"',
    Shape.CALL: 'shape=box peripheries=2 style="filled" fillcolor="#efe7fb" color="#7a4fb5"',
    Shape.TOOL: 'shape=hexagon style="filled" fillcolor="#fdf0dc" color="#b9770e" margin="0.02,0.02"',
    Shape.END: 'shape=doublecircle style="filled" fillcolor="#333333" color="#333333" fontcolor="white" width=0.45 '
    "fixedsize=true fontsize=9",
    Shape.FAIL: 'shape=octagon style="filled" fillcolor="#fbe4e4" color="#b3261e" fontcolor="#b3261e" fontsize=9 '
    'width=0.3 height=0.25 margin="0.04,0.02"',
    Shape.START: 'shape=circle style="filled" fillcolor="#333333" color="#333333" width=0.16 fixedsize=true',
    Shape.MACHINE: 'shape=box3d style="filled" fillcolor="#efe7fb" color="#7a4fb5"',
    Shape.MISSING: 'shape=box style="dashed" color="#b3261e" fontcolor="#b3261e"',
}
_POLICIES: Mapping[str, str] = {
    "ok": 'color="#444444"',
    "repair": 'color="#b9770e" fontcolor="#8a5a0b" style=dashed',
    "escalate": 'color="#7a4fb5" fontcolor="#5b3a8a" style=bold',
    "fail": 'color="#b3261e" fontcolor="#b3261e" arrowsize=0.6',
    "call": 'color="#7a4fb5" style=dotted arrowhead=open constraint=false',
    "start": 'color="#333333"',
}
_TAKEN = "#0b7a53"
_FADED = 'color="#c9c9c9" fontcolor="#9a9a9a"'
_LINES = 4
"""How many conditions one arrow shows."""


def to_dot(chart: Chart) -> str:
    """The text of a ``.gv`` file."""
    lines = [
        f"digraph {_quoted(chart.title)} {{",
        f'  graph [fontname="{FONT}" fontsize=12 labelloc=t nodesep=0.35 ranksep=0.45 label={_quoted(chart.title)}]',
        f'  node [fontname="{FONT}" fontsize=11 margin="0.12,0.06"]',
        f'  edge [fontname="{FONT}" fontsize=9 color="#444444" fontcolor="#333333"]',
        *_content(chart, "  "),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _content(chart: Chart, indent: str) -> Iterator[str]:
    yield from (f"{indent}{_box(box, chart.route)}" for box in chart.boxes)
    for callee in chart.callees:
        yield f"{indent}subgraph cluster_{callee.key} {{"
        yield f'{indent}  graph [label={_quoted(callee.title)} style="rounded" color="#b8a6d6" fontcolor="#5b3a8a"]'
        yield from _content(callee, f"{indent}  ")
        yield f"{indent}}}"
    yield from (f"{indent}{_arrow(arrow, chart.route)}" for arrow in chart.arrows)


def _box(box: Box, route: bool) -> str:
    style = _SHAPES[box.shape]
    if route and box.visits:
        style += f' penwidth=2.5 color="{_TAKEN}"'
    elif route and box.shape not in (Shape.START, Shape.END):
        style += ' fillcolor="#f4f4f4" color="#c9c9c9" fontcolor="#8a8a8a"'
    elif not box.reachable:
        style += ' style="dashed" color="#9a9a9a" fontcolor="#8a8a8a"'
    return f"{box.key} [label={_node_label(box)} {style}]"


def _node_label(box: Box) -> str:
    if box.shape is Shape.START:
        return '""'
    visits = f" ×{box.visits}" if box.visits > 1 else ""
    if not box.details:
        return _quoted(box.label + visits)
    details = "".join(f'<BR/><FONT POINT-SIZE="9">{_html(detail)}</FONT>' for detail in box.details)
    return f"<{_html(box.label + visits)}{details}>"


def _arrow(arrow: Arrow, route: bool) -> str:
    style = _POLICIES[arrow.policy]
    if arrow.taken:
        style += f' color="{_TAKEN}" fontcolor="{_TAKEN}" penwidth=2.2'
    elif (route and arrow.policy not in ("start", "call")) or not arrow.live:
        style += f" {_FADED}"
    if not arrow.live:
        style += ' style="dotted"'
    label = "".join(f"\u00a0{_escaped(line)}\u00a0\\l" for line in _lines(arrow))
    return f'{arrow.source} -> {arrow.target} [label="{label}" {style}]'


def _lines(arrow: Arrow) -> Iterator[str]:
    """The conditions, the first few of many, and the steps of the run that went this way."""
    for label in arrow.labels[:_LINES]:
        yield from wrapped(label)
    if len(arrow.labels) > _LINES:
        yield f"… {len(arrow.labels) - _LINES} more"
    if arrow.taken:
        yield steps(arrow.taken)


def steps(taken: tuple[int, ...]) -> str:
    """Steps of a run in words: ``step 2, 5, 7 … (12)``."""
    shown = ", ".join(map(str, taken[:6]))
    return f"step {shown}" + (f" … ({len(taken)})" if len(taken) > 6 else "")


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Graphviz reads backslashes and HTML entities in a label; neither is meant."""
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
