"""A report as one page that opens anywhere: no script, no address, every foreign text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--dim:#5d6670;--line:#d8dde2;--back:#fff;--soft:#f5f7f9;--warn:#9a5b00;
--bad:#b3261e;--good:#1d7a3f}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--dim:#9aa4ae;--line:#363c43;--back:#16191d;--soft:#1e2227;
--warn:#e3a44a;--bad:#f2877f;--good:#6cc58e}}
body{margin:0 auto;padding:2rem 1.2rem 4rem;max-width:62rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--back)}
h1{font-size:1.6rem;margin:0 0 .3rem}h2{font-size:1.2rem;margin:2.2rem 0 .6rem}h3{font-size:1rem;margin:1.4rem 0 .4rem}
p{margin:.4rem 0}.dim{color:var(--dim)}.warn{color:var(--warn)}.bad{color:var(--bad)}.good{color:var(--good)}
table{border-collapse:collapse;width:100%;margin:.6rem 0;font-size:.92rem}
th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--dim);font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.card{border:1px solid var(--line);border-radius:8px;padding:.7rem 1rem;margin:.7rem 0;background:var(--soft)}
.kind{display:inline-block;font-weight:600;margin-right:.6rem}code,.sample{font-family:ui-monospace,monospace;
font-size:.86rem;overflow-wrap:anywhere}.sample{display:block;border-left:3px solid var(--line);padding-left:.7rem;
margin:.3rem 0;color:var(--dim)}figure{margin:1rem 0}
figure svg{max-width:100%;height:auto;background:#fff;border-radius:8px}
.scroll{overflow-x:auto}
"""


def page(title: str, body: Iterable[str]) -> str:
    """A whole page. The pieces of the body are HTML already."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{text(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def text(value: object) -> str:
    """Foreign text as HTML text."""
    return escape(str(value))


def element(name: str, content: object, css: str = "") -> str:
    """An element with text in it."""
    mark = f' class="{css}"' if css else ""
    return f"<{name}{mark}>{text(content)}</{name}>"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: Iterable[int] = ()) -> str:
    """A table; ``numbers`` are the columns that are set right."""
    right = set(numbers)
    mark = [' class="n"' if index in right else "" for index in range(len(head))]
    top = "".join(f"<th{mark[index]}>{text(cell)}</th>" for index, cell in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f"<td{mark[index]}>{text(cell)}</td>" for index, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def facts(values: Mapping[str, Any]) -> str:
    """Names and values, one a row."""
    return table(("", ""), [(name.replace("_", " "), shown(value)) for name, value in values.items()])


def shown(value: Any) -> str:
    """A value of the wire form, for reading."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {shown(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(shown(inner) for inner in value) or "-"
    if value is None or value == "":
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)
