"""YAML for guards: the strict reading that machines get, and of that only what is JSON (L1)."""

from __future__ import annotations

from mklang.guards.failures import Code, Failure
from mklang.guards.structure import Bounds, too_deep
from mklang.lang.findings import Findings
from mklang.lang.free_values import read_value
from mklang.lang.values import Json, thaw
from mklang.lang.yaml_tree import compose
from mklang.source import Source

_CODES = {"duplicate-key": Code.KEY_TWICE, "yaml-documents": Code.NOT_ONE_DOCUMENT}


def parse_yaml(text: str, bounds: Bounds) -> Json | Failure:
    """Exactly one YAML document that holds JSON data."""
    root, problems = compose(Source("", text))
    if problems:
        first = problems[0]
        if first.code == "yaml-depth":
            return too_deep(bounds)
        return Failure(code=_CODES.get(first.code, Code.UNREADABLE), message=f"not safe YAML: {first.message}")
    if root is None:
        return Failure(code=Code.NOT_ONE_DOCUMENT, message="the document is empty")
    findings = Findings("")
    value = read_value(root, findings, "")
    errors = [found for found in findings.everything() if found.severity.value == "error"]
    if errors:
        first = errors[0]
        return Failure(code=_CODES.get(first.code, Code.NOT_JSON), message=first.message)
    return thaw(value)
