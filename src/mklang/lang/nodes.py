"""What a node is: its tag, its scalar value, its entries as a map (L1). Problems go to ``Findings``."""

from __future__ import annotations

from collections.abc import Iterable

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from mklang.lang import scalars
from mklang.lang.findings import Findings, below, shorten
from mklang.lang.yaml_tree import MERGE, Entry, Node, Position, is_blank, merge_sources, merged
from mklang.source import Edit, Fix, Span

_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS = frozenset(_CORE + name for name in ("str", "int", "float", "bool", "null"))


def check_tag(node: Node, findings: Findings, where: str) -> bool:
    """Whether a node has no tag, or one of YAML's own that fits it; anything else is an error."""
    if not node.tag:
        return True
    if isinstance(node, ScalarNode):
        if node.tag in _SCALAR_TAGS and _tag_fits(node):
            return True
    elif node.tag == _CORE + ("map" if isinstance(node, MappingNode) else "seq"):
        return True
    shown = node.tag.replace(_CORE, "!!")
    hint = "write the value without a tag" if shown.startswith("!!") else "if it is meant as text, quote it"
    findings.add("yaml-tag", f"the tag '{shown}' cannot be used here", Position(node), where, hint=hint)
    return False


def _tag_fits(node: ScalarNode) -> bool:
    value = scalars.resolve(node.value)
    match node.tag.removeprefix(_CORE):
        case "str":
            return True
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "bool":
            return isinstance(value, bool)
        case _:
            return value is None


def plain_value(node: Node) -> object:
    """What a scalar means; a list or a map is returned as its node."""
    if not isinstance(node, ScalarNode):
        return node
    if not node.tag:
        return node.value if node.style else scalars.resolve(node.value)
    if node.tag == _CORE + "str":
        return node.value
    value = scalars.resolve(node.value)
    return float(value) if node.tag == _CORE + "float" and isinstance(value, int) else value


def describe(node: Node) -> str:
    """What stands there, for messages."""
    if isinstance(node, MappingNode):
        return "a map"
    if isinstance(node, SequenceNode):
        return "a list"
    value = plain_value(node)
    if value is None:
        return "null" if node.value else "nothing"
    if isinstance(value, str):
        return f"the text '{shorten(value)}'"
    return f"the {'boolean' if isinstance(value, bool) else 'number'} {shorten(node.value)}"


def read_map(
    node: Node, findings: Findings, where: str, expected: str, *, at: Position | None = None
) -> dict[str, Entry] | None:
    """The entries of a map by key. Merge keys are expanded (L1), a repeated key is an error (W40).

    ``expected`` begins the message for something that is no map; ``at`` is the node's place, if its key is known.
    """
    if not check_tag(node, findings, where):
        return None
    if not isinstance(node, MappingNode):
        hint = "delete the key, or write '{}' for an empty map" if is_blank(node) else ""
        findings.add("wrong-type", f"{expected}, not {describe(node)}", at or Position(node), where, hint=hint)
        return None
    entries: dict[str, Entry] = {}
    inherited: list[Node] = []
    for key, value in node.value:
        if key.__class__ is not ScalarNode or (key.tag and not check_tag(key, findings, where)):
            _odd_key(key, findings, where)
            continue
        name = key.value
        if name == MERGE and not key.style:
            inherited.extend(_merge_bases(value, findings, where))
        elif name in entries:
            first = entries[name][0].start_mark.line + 1
            message = f"the key '{shorten(name)}' is written twice, first on line {first}"
            fix = _delete(key, value) if _same(value, entries[name][1]) else None
            hint = "delete one of them"
            findings.add("duplicate-key", message, Position(key), below(where, name), hint=hint, fix=fix)
        else:
            entries[name] = (key, value)
    for base in inherited:
        entries = merged(base) | entries if isinstance(base, MappingNode) else entries
    return entries


def _delete(key: Node, value: Node) -> Fix | None:
    """The fix that takes an entry's lines away."""
    first, last = Position(key).span, Position(value, key).span
    if first is None or last is None:
        return None
    span = Span(first.line, first.column, last.end_line, last.end_column)
    return Fix("delete this one: both say the same", Edit(span, "", whole_lines=True))


def _same(node: Node, other: Node) -> bool:
    """Whether two nodes say the same; what is shared by an alias is the same without a look."""
    if node is other:
        return True
    if node.__class__ is not other.__class__ or node.tag != other.tag or len(node.value) != len(other.value):
        return False
    if isinstance(node, ScalarNode) and isinstance(other, ScalarNode):
        return node.value == other.value and bool(node.style) == bool(other.style)
    pairs = zip(_parts(node), _parts(other), strict=True)
    return all(_same(part, other_part) for part, other_part in pairs)


def _parts(node: Node) -> list[Node]:
    return [part for pair in node.value for part in pair] if isinstance(node, MappingNode) else list(node.value)


def _odd_key(key: Node, findings: Findings, where: str) -> None:
    if isinstance(key, ScalarNode):
        return  # its tag has been reported
    hint = 'put the whole text in double quotes: "{{ name }}"' if isinstance(key, MappingNode) else "quote the text"
    what = "a map" if isinstance(key, MappingNode) else "a list"
    findings.add("bad-key", f"a key must be text, and here {what} stands as a key", Position(key), where, hint=hint)


def _merge_bases(value: Node, findings: Findings, where: str) -> Iterable[Node]:
    bases = tuple(merge_sources(value))
    for base in bases:
        if not isinstance(base, MappingNode):
            message = f"'<<' merges maps, not {describe(base)}"
            findings.add("bad-merge", message, Position(base), where, hint="name an anchored map: '<<: *name'")
    return bases
