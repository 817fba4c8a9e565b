"""What a provider's map says that an untrusted folder may not say: addresses, keys, and files that are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from mklang.diagnostics import Diagnostic, Severity
from mklang.lang.fields import Fields, below
from mklang.lang.yaml_tree import Entry, Node, Position, merged
from mklang.llm.addresses import is_loopback
from mklang.llm.local import EMBEDDED_NAME
from mklang.source import Span

KEYS = ("api_key_env", "api_key_file")


def untrusted(what: str, path: str, span: Span | None, where: str) -> Diagnostic:
    """One thing that takes no effect: what, where, and how to allow it."""
    return Diagnostic(
        code="untrusted",
        message=f"{what} takes no effect: this folder is not trusted",
        path=path,
        span=span,
        where=where,
        severity=Severity.WARNING,
        hint=f"read {path}; if it may, say: mklang trust {_folder(path)}",
    )


def _folder(path: str) -> str:
    """The project that a configuration or ``.env`` file belongs to, as a person here would write it."""
    folder = Path(path).parent
    project = folder.parent if folder.name == "config" else folder
    return str(project) if str(project) else "."


def guarded_in(provider: Fields, path: str) -> Iterator[Diagnostic]:
    """Every such thing in a provider's map. An address on this machine that gets no key is none."""
    yield from _addresses(provider.entries, provider.where, path)
    protocol = provider.entries.get("protocol")
    if protocol is not None and _text(protocol[1]) == "embedded" and "tiers" in provider:
        yield from _files(provider.entries["tiers"], below(provider.where, "tiers"), path)
    if "judge" in provider:
        yield from _judges(provider.entries["judge"], below(provider.where, "judge"), path)


def _judges(entry: Entry, where: str, path: str) -> Iterator[Diagnostic]:
    node = entry[1]
    if not isinstance(node, MappingNode):
        return
    entries = merged(node)
    yield from _addresses(entries, where, path)
    provider, model = entries.get("provider"), entries.get("model")
    if provider is not None and _text(provider[1]) == "local" and model is not None:
        yield from _files(model, below(where, "model"), path)
    for name, inner in entries.items():
        yield from _judges(inner, below(where, name), path)


def _addresses(entries: Mapping[str, Entry], where: str, path: str) -> Iterator[Diagnostic]:
    for name in KEYS:
        if name in entries:
            yield _found(f"the key '{_text(entries[name][1])}'", entries[name], below(where, name), path)
    address = entries.get("base_url")
    if address is not None and (not _is_here(_text(address[1])) or any(name in entries for name in KEYS)):
        yield _found(f"the address '{_text(address[1])}'", address, below(where, "base_url"), path)


def _files(entry: Entry, where: str, path: str) -> Iterator[Diagnostic]:
    """Model files, which the model's library reads with all rights."""
    node = entry[1]
    if isinstance(node, MappingNode):
        for name, inner in merged(node).items():
            yield from _files(inner, below(where, name), path)
    elif isinstance(node, SequenceNode):
        for item in node.value:
            yield from _files((entry[0], item), where, path)
    elif _text(node).casefold() != EMBEDDED_NAME.casefold():
        yield _found(f"the model file '{_text(node)}'", entry, where, path)


def _found(what: str, entry: Entry, where: str, path: str) -> Diagnostic:
    return untrusted(what, path, Position(entry[1], entry[0]).span, where)


def _text(node: Node) -> str:
    return node.value if isinstance(node, ScalarNode) else "…"


def _is_here(url: str) -> bool:
    try:
        return is_loopback(url)
    except ValueError:
        return False
