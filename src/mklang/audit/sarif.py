"""Findings as SARIF 2.1.0, which code hosts and editors show beside the lines."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from mklang.audit.findings import TITLES, AuditFinding, Point
from mklang.diagnostics import Severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def to_sarif(findings: Iterable[AuditFinding], *, version: str) -> dict[str, object]:
    """One run of one tool. ``version`` is mklang's."""
    results = [_result(finding) for finding in findings]
    rules = [
        {"id": code, "shortDescription": {"text": title}, "defaultConfiguration": {"level": _LEVELS[severity]}}
        for code, (severity, title) in TITLES.items()
    ]
    driver = {"name": "mklang audit", "version": version, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def fingerprint(finding: AuditFinding) -> str:
    """What stays the same when lines move: code, file, place in the document's own terms, message."""
    text = "\n".join((finding.code, finding.path, finding.where, finding.message))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _result(finding: AuditFinding) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}. {finding.hint}".strip() if finding.hint else finding.message},
        "locations": [_location(Point(finding.path, finding.line, finding.column))],
        "partialFingerprints": {"mklang/v1": fingerprint(finding)},
    }
    if finding.trace:
        stations = [{"location": _location(point)} for point in finding.trace]
        result["codeFlows"] = [{"threadFlows": [{"locations": stations}]}]
    return result


def _location(point: Point) -> dict[str, object]:
    physical: dict[str, object] = {"artifactLocation": {"uri": point.path.replace("\\", "/")}}
    if point.line:
        physical["region"] = {"startLine": point.line, "startColumn": max(1, point.column)}
    location: dict[str, object] = {"physicalLocation": physical}
    return location | {"message": {"text": point.note}} if point.note else location
