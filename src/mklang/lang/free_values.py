"""Reading free values: context literals and the ``input`` of calls and tools. Plain JSON, no surprises (L2, L28)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from mklang.diagnostics import Severity
from mklang.lang import scalars
from mklang.lang.findings import Findings, below, rewrite
from mklang.lang.nodes import check_tag, plain_value, read_map
from mklang.lang.values import Frozen
from mklang.lang.yaml_tree import Entry, Node, Position, is_blank


def read_values(entries: Mapping[str, Entry], findings: Findings, where: str) -> dict[str, Frozen]:
    """Free values by key."""
    return {name: read_value(value, findings, below(where, name)) for name, (_, value) in entries.items()}


def read_value(node: Node, findings: Findings, where: str) -> Frozen:
    """A free value: plain JSON, frozen. What other YAML readers would take for something else is pointed out."""
    if isinstance(node, MappingNode):
        entries = read_map(node, findings, where, "")
        if entries is not None and node.flow_style:
            _warn_braces(node, findings, where)
        return MappingProxyType(read_values(entries or {}, findings, where))
    if not check_tag(node, findings, where):
        return None
    if isinstance(node, SequenceNode):
        return tuple(read_value(item, findings, below(where, index)) for index, item in enumerate(node.value))
    value = plain_value(node)
    if isinstance(value, scalars.BadNumber):
        findings.add("not-json", f"this number {value.reason}", Position(node), where, hint="quote it")
        return None
    if isinstance(value, str) and not node.style and not node.tag:
        _ambiguous(value, node, findings, where)
    return value  # type: ignore[return-value]  # what a scalar resolves to, minus the number refused above


def _ambiguous(text: str, node: Node, findings: Findings, where: str) -> None:
    at = Position(node)
    if scalars.is_not_json(text):
        findings.add("not-json", f"'{text}' is not a JSON value", at, where, hint="quote it if it is meant as text")
    elif scalars.is_old_boolean(text):
        truth = "true" if text.lower() in {"yes", "on"} else "false"
        message = f"'{text}' is text here and a boolean to many YAML readers"
        findings.add("ambiguous-scalar", message, at, where, hint=f'write {truth}, or quote it: "{text}"')
    elif scalars.is_old_number(text):
        message = f"'{text}' is text here and a number to many YAML readers"
        hint = f'quote it: "{text}", or write a plain decimal number'
        fix = rewrite(f'write "{text}"', at, f'"{text}"')
        findings.add("ambiguous-scalar", message, at, where, hint=hint, severity=Severity.WARNING, fix=fix)


def _warn_braces(node: MappingNode, findings: Findings, where: str) -> None:
    for key, value in node.value:
        if isinstance(key, ScalarNode) and not key.style and is_blank(value):
            message = f"'{{{key.value}}}' is a map whose key has no value"
            hint = "quote it if it is meant as text; otherwise write a ':' and a space after the key"
            findings.add("unquoted-braces", message, Position(node), where, hint=hint, severity=Severity.WARNING)
            return
