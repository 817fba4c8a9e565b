"""The page about ``import mklang``, from the docstrings of its public names."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import get_args

import mklang

ORDER = ("load", "check", "run", "arun", "Runtime", "Stream", "tool", "HostTool", "hook", "HostHook", "Loaded")
"""The names that are told in full, in reading order; the rest follow in one table."""
_ROLE = re.compile(r":(?:class|meth|func|mod):`~?([^`]+)`")


def api_page() -> str:
    """The page as Markdown."""
    rest = [name for name in mklang.__all__ if name not in ORDER and not name.startswith("__")]
    lines = [
        "# import mklang",
        "",
        "What programs use; the [guide](../guides/embedding.md) shows it at work. Names that are not listed here may",
        "change without notice.",
        "",
    ]
    for name in ORDER:
        lines += [f"## {name}", "", *_told(name, getattr(mklang, name))]
    lines += ["## Further names", "", "| name | |", "|---|---|"]
    lines += [f"| `{name}` | {_first(getattr(mklang, name))} |" for name in rest]
    return "\n".join([*lines, ""])


def _told(name: str, thing: object) -> Iterator[str]:
    if not inspect.isclass(thing):
        yield from _call(name, thing)
        return
    yield from [*_text(thing), ""]
    if dataclasses.is_dataclass(thing):
        fields = [field for field in dataclasses.fields(thing) if field.init]
        yield from ["Fields: " + ", ".join(f"`{field.name}`" for field in fields) + ".", ""]
    for method, value in vars(thing).items():
        if method.startswith("_") or not (inspect.isfunction(value) or isinstance(value, property)):
            continue
        if isinstance(value, property):
            yield from [f"**`.{method}`** {' '.join(_text(value))}", ""]
        else:
            yield from _call(f".{method}", value)


def _call(name: str, function: object) -> Iterator[str]:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    shown = [str(one).partition(":")[0].partition(" =")[0].partition("=")[0] for one in signature.parameters.values()]
    named = [one.name for one in signature.parameters.values() if one.kind is one.KEYWORD_ONLY]
    first = next((place for place, one in enumerate(shown) if one in named), None)
    if first is not None:
        shown.insert(first, "*")
    shown = [one for one in shown if one != "self"]
    yield from [f"**`{name}({', '.join(shown)})`**", "", *_text(function), ""]


def _text(thing: object) -> list[str]:
    text = inspect.cleandoc(getattr(thing, "__doc__", "") or "")
    return _ROLE.sub(lambda found: f"`{found[1].removeprefix('mklang.')}`", text).replace("``", "`").splitlines()


def _first(thing: object) -> str:
    """The first paragraph; of a union its members."""
    if get_args(thing):
        return " or ".join(f"`{one.__name__}`" for one in get_args(thing))
    lines = _text(thing)
    return " ".join(lines[: lines.index("")] if "" in lines else lines)
