"""Findings as the workflow commands that a code host's CI turns into annotations on a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mklang.cli.output import printable
from mklang.diagnostics import Diagnostic, Severity

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def as_annotations(diagnostics: Iterable[Diagnostic]) -> Iterator[str]:
    """One line for each finding: ``::error file=…,line=…,col=…,title=…::message``."""
    for found in diagnostics:
        properties = {"file": found.path}
        if found.span is not None:
            span = found.span
            properties |= {"line": str(span.line), "col": str(span.column), "endLine": str(span.end_line)}
            properties |= {"endColumn": str(span.end_column)} if span.end_line == span.line else {}
        properties["title"] = found.code
        named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        hint = f" ({found.hint})" if found.hint else ""
        where = f"{found.where}: " if found.where else ""
        yield f"::{_COMMANDS[found.severity]} {named}::{_message(where + found.message + hint)}"


def _message(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
