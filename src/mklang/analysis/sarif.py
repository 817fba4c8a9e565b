"""Findings as SARIF 2.1.0, the form in which code hosts and editors take the results of an analysis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from mklang import __version__
from mklang.analysis.codes import FAMILY_OF
from mklang.analysis.explain import Explanation, explain
from mklang.diagnostics import Diagnostic, Severity
from mklang.source import Edit, Span

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_Wire: TypeAlias = dict[str, object]
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def to_sarif(diagnostics: Sequence[Diagnostic], *, ok: bool) -> _Wire:
    """The log of one run. Every code that was found is described in it; columns count characters, from 1.

    ``ok`` says whether the command did what it was asked for; what it found does not matter to that.
    """
    codes = list(dict.fromkeys(found.code for found in diagnostics))
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "mklang",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "rules": [_rule(code) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": ok}],
                "results": [_result(found, codes.index(found.code)) for found in diagnostics],
            }
        ],
    }


def _rule(code: str) -> _Wire:
    if code not in FAMILY_OF:
        return {"id": code}
    about = explain(code)
    return {
        "id": code,
        "shortDescription": {"text": _plain(about.summary)},
        "fullDescription": {"text": _plain(f"{about.summary} {about.more}")},
        "help": {"text": _help(about)},
        "defaultConfiguration": {"level": about.severity},
        "properties": {"tags": [about.family]},
    }


def _help(about: Explanation) -> str:
    parts = [about.why and f"Why: {about.why}", about.fires and f"Fires:\n{about.fires}"]
    parts += [about.repaired and f"Repaired:\n{about.repaired}", about.fix]
    return "\n\n".join(part.replace("``", "'") for part in parts if part) or _plain(about.summary)


def _plain(text: str) -> str:
    return " ".join(text.replace("``", "'").replace("`", "'").split())


def _result(found: Diagnostic, index: int) -> _Wire:
    hint = f" ({found.hint})" if found.hint else ""
    location: _Wire = {"physicalLocation": {"artifactLocation": _artifact(found.path), **_region(found.span)}}
    if found.where:
        location["logicalLocations"] = [{"fullyQualifiedName": found.where}]
    result: _Wire = {
        "ruleId": found.code,
        "ruleIndex": index,
        "level": _LEVELS[found.severity],
        "message": {"text": found.message + hint},
        "locations": [location],
    }
    if found.fix is not None and not found.fix.edit.whole_lines:
        result["fixes"] = [_fix(found.fix.what, found.fix.edit, found.path)]
    return result


def _fix(what: str, edit: Edit, path: str) -> _Wire:
    replacement = {"deletedRegion": _of(edit.span), "insertedContent": {"text": edit.text}}
    return {
        "description": {"text": what},
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": [replacement]}],
    }


def _region(span: Span | None) -> _Wire:
    return {"region": _of(span)} if span else {}


def _of(span: Span) -> _Wire:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _artifact(path: str) -> _Wire:
    """A file as a URI: relative as it was named, so that the log means the same on another machine."""
    if Path(path).is_absolute():
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(Path(path).as_posix())}
