"""What ``check`` and ``lint`` found, as text and as JSON (L109, L110)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mklang.analysis.codes import reported_by_lint
from mklang.analysis.runner import strict_codes
from mklang.cli.excerpts import draw
from mklang.cli.output import Output, envelope, one_line
from mklang.diagnostics import Diagnostic, Severity
from mklang.host.inspection import Inspected


def tell(inspected: Sequence[Inspected], out: Output) -> None:
    """Every problem with its source line, ``ok`` for a file without any, and the count at the end."""
    for one in inspected:
        for line in draw(one.diagnostics, out.ink):
            out.say(line)
        if not one.diagnostics:
            out.say(f"{one_line(one.path)}: {out.ink('ok', 'green')}")
    out.say(summary(inspected))


def summary(inspected: Sequence[Inspected]) -> str:
    """One line: how many files, how many problems of each severity; notes only when there are some."""
    severities = Counter(found.severity for one in inspected for found in one.diagnostics)
    counts = [(severities[Severity.ERROR], "error"), (severities[Severity.WARNING], "warning")]
    if severities[Severity.NOTE]:
        counts.append((severities[Severity.NOTE], "note"))
    problems = ", ".join(counted(number, word) for number, word in counts)
    return f"{counted(len(inspected), 'file')} checked: {problems}"


def counted(number: int, word: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def to_wire(
    command: str, inspected: Sequence[Inspected], *, ok: bool, repaired: int | None = None
) -> dict[str, object]:
    """The JSON form (L109). ``repaired`` counts the fixes that were made, None without ``--fix``."""
    lint = command == "lint"
    items = [_lint_item(one) if lint else _check_item(one) for one in inspected]
    counts: dict[str, object] = {"files": len(inspected)}
    if lint:
        counts["findings"] = sum(len(_findings(one.diagnostics)) for one in inspected)
    if repaired is not None:
        counts["repaired"] = repaired
    return envelope(command, ok=ok, items=items, summary=counts)


def _check_item(one: Inspected) -> dict[str, object]:
    errors, warnings = (_of(one.diagnostics, severity) for severity in (Severity.ERROR, Severity.WARNING))
    status = "error" if errors else "warning" if warnings else "ok"
    return _item(one, status, errors, warnings) | {"diagnostics": [found.to_wire() for found in one.diagnostics]}


def _lint_item(one: Inspected) -> dict[str, object]:
    """The status is ``warning`` for findings only, and a finding of ``check`` stands in both lists, as elsewhere."""
    errors, warnings = (_of(one.diagnostics, severity) for severity in (Severity.ERROR, Severity.WARNING))
    findings = _findings(one.diagnostics)
    only_lint = {id(found) for found in findings if reported_by_lint(found.code)}
    warnings = [found for found in warnings if id(found) not in only_lint]
    status = "error" if errors else "warning" if any(found.severity is Severity.WARNING for found in findings) else "ok"
    return _item(one, status, errors, warnings) | {
        "findings": [("note: " if found.severity is Severity.NOTE else "") + found.render() for found in findings],
        "llm_findings": [],
        "diagnostics": [found.to_wire() for found in one.diagnostics],
    }


def _item(
    one: Inspected, status: str, errors: Iterable[Diagnostic], warnings: Iterable[Diagnostic]
) -> dict[str, object]:
    return {
        "path": one.path,
        "status": status,
        "errors": [found.render() for found in errors],
        "warnings": [found.render() for found in warnings],
    }


def _of(diagnostics: Iterable[Diagnostic], severity: Severity) -> list[Diagnostic]:
    return [found for found in diagnostics if found.severity is severity]


def _findings(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    strict = strict_codes()
    return [
        found
        for found in diagnostics
        if found.severity is not Severity.ERROR and (found.code in strict or reported_by_lint(found.code))
    ]
