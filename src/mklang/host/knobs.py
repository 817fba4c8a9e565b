"""The knobs of tools and plug-ins in a configuration file: what one file says, each with its place (L96).

A knob has a dotted name, as ``fs.write``; servers are ``mcp.NAME``. What several files and the environment make of it
together is settled in :mod:`mklang.host.configuration`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from yaml.nodes import ScalarNode, SequenceNode

from mklang.engine.options import Effect
from mklang.host.config_maps import by_name, fields_of, key_of
from mklang.lang.fields import Fields, below, describe, plain_value
from mklang.lang.vocabulary import Key, Shape
from mklang.lang.yaml_tree import Node
from mklang.source import Span

SEARCH = ("stub", "fake", "tavily")
KB = ("stub", "fake", "folder")
MAIL = ("stub", "fake", "smtp")
FS = ("local", "stub")
NOTHING = ("none", "off")
"""Other words for ``stub``."""
SECURITY = ("starttls", "tls", "none")


@dataclass(frozen=True, slots=True)
class Said:
    """What a file says about a knob, and where. The value has the type of the knob."""

    value: Any
    where: str
    span: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpEntry:
    """A server as configured: one that is started by ``command``, or asked at ``url``.

    ``env_from`` and ``headers_env`` name variables whose values it gets, as they are or as headers. ``effects`` are the
    host's words about tools, ``only`` the tools that are offered (None: all). Times are in seconds.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    env_from: tuple[str, ...] = ()
    headers_env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    effects: Mapping[str, Effect] = field(default_factory=lambda: MappingProxyType({}))
    only: frozenset[str] | None = None
    timeout: float = 60.0
    start_timeout: float = 30.0


_Reader = Callable[[Fields, str], Any]


def _text(fields: Fields, name: str) -> str | None:
    return fields.text(name)


def _word(fields: Fields, name: str) -> str | None:
    word = fields.choice(name)
    return "stub" if word in NOTHING else word


def _choice(fields: Fields, name: str) -> str | None:
    return fields.choice(name)


def _switch(fields: Fields, name: str) -> bool | None:
    return fields.boolean(name)


def _number(fields: Fields, name: str) -> int | None:
    return fields.integer(name)


def _seconds(fields: Fields, name: str) -> float | None:
    value = plain_value(fields.entries[name][1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not (0 < value < math.inf):
        fields.wrong_type(name, "a number of seconds above 0")
        return None
    return float(value)


def _texts(fields: Fields, name: str) -> tuple[str, ...] | None:
    """A list of texts; one text counts as a list of one."""
    node = fields.entries[name][1]
    items: list[Node] = node.value if isinstance(node, SequenceNode) else [node]
    found = [_one(fields, name, item) for item in items]
    return None if None in found else tuple(text for text in found if text is not None)


def _one(fields: Fields, name: str, item: Node) -> str | None:
    value = plain_value(item) if isinstance(item, ScalarNode) else None
    if isinstance(value, str) and value.strip():
        return value
    fields.problem("wrong-type", name, f"'{name}' takes texts, not {describe(item)}", hint="quote numbers")
    return None


def _text_map(fields: Fields, name: str) -> Mapping[str, str] | None:
    found: dict[str, str] = {}
    for key, (_, node) in (fields.mapping(name) or {}).items():
        value = plain_value(node) if isinstance(node, ScalarNode) else None
        if not isinstance(value, str):
            fields.problem("wrong-type", name, f"'{key}' takes text, not {describe(node)}", hint="quote numbers")
            return None
        found[key] = value
    return MappingProxyType(found)


def _effects(fields: Fields, name: str) -> Mapping[str, Effect] | None:
    texts = _text_map(fields, name) or {}
    allowed = {effect.value: effect for effect in Effect}
    for tool, word in texts.items():
        if word not in allowed:
            fields.problem("bad-value", name, f"'{tool}' takes {' or '.join(allowed)}, not '{word}'")
            return None
    return MappingProxyType({tool: allowed[word] for tool, word in texts.items()})


_SECTIONS: Mapping[str, Mapping[str, tuple[Key, _Reader]]] = {
    section: {key.name: (key, reader) for key, reader in keys}
    for section, keys in {
        "search": (
            (key_of("backend", Shape.CHOICE, words=(*SEARCH, *NOTHING)), _word),
            (key_of("api_key_env"), _text),
            (key_of("base_url"), _text),
        ),
        "kb": (
            (key_of("backend", Shape.CHOICE, words=(*KB, *NOTHING)), _word),
            (key_of("folder"), _text),
        ),
        "mail": (
            (key_of("backend", Shape.CHOICE, words=(*MAIL, *NOTHING)), _word),
            (key_of("host"), _text),
            (key_of("port", Shape.INTEGER), _number),
            (key_of("security", Shape.CHOICE, words=SECURITY), _choice),
            (key_of("from"), _text),
            (key_of("recipients", Shape.VALUES), _texts),
            (key_of("username"), _text),
            (key_of("password_env"), _text),
        ),
        "fs": (
            (key_of("backend", Shape.CHOICE, words=(*FS, *NOTHING)), _word),
            (key_of("workspace"), _text),
            (key_of("write", Shape.BOOLEAN), _switch),
        ),
        "http": (
            (key_of("hosts", Shape.VALUES), _texts),
            (key_of("methods", Shape.VALUES), _texts),
            (key_of("timeout", Shape.VALUES), _seconds),
        ),
    }.items()
}
_SERVER: Mapping[str, tuple[Key, _Reader]] = {
    key.name: (key, reader)
    for key, reader in (
        (key_of("command", Shape.VALUES), _texts),
        (key_of("args", Shape.VALUES), _texts),
        (key_of("url"), _text),
        (key_of("cwd"), _text),
        (key_of("env", Shape.VALUES), _text_map),
        (key_of("env_from", Shape.VALUES), _texts),
        (key_of("headers_env", Shape.VALUES), _text_map),
        (key_of("effects", Shape.VALUES), _effects),
        (key_of("tools", Shape.VALUES), _texts),
        (key_of("timeout", Shape.VALUES), _seconds),
        (key_of("start_timeout", Shape.VALUES), _seconds),
    )
}
_TOOLS = by_name(
    *[key_of(section, Shape.VALUES) for section in _SECTIONS],
    key_of("mcp", Shape.VALUES),
    key_of("structured", Shape.VALUES),
)


def read_knobs(root: Fields) -> Mapping[str, Said]:
    """What a file says about tools and plug-ins. Problems are noted in its findings."""
    found: dict[str, Said] = {}
    if "tools" in root:
        tools = fields_of(root.entries["tools"][1], _TOOLS, root.findings, "tools")
        if tools is not None:
            found.update(_read_tools(tools))
    if "plugins" in root:
        found.update(_read_one(root, "plugins", _texts, "plugins"))
    return MappingProxyType(found)


def _read_tools(tools: Fields) -> Iterator[tuple[str, Said]]:
    for section, keys in _SECTIONS.items():
        if section in tools:
            yield from _read_map(tools, section, keys)
    if "structured" in tools:
        yield from _read_one(tools, "structured", _texts, "structured")
    for name in tools.mapping("mcp") or () if "mcp" in tools else ():
        said = _read_server(tools, name)
        if said is not None:
            yield f"mcp.{name}", said


def _read_map(tools: Fields, section: str, keys: Mapping[str, tuple[Key, _Reader]]) -> Iterator[tuple[str, Said]]:
    where = below("tools", section)
    fields = fields_of(tools.entries[section][1], by_name(*[key for key, _ in keys.values()]), tools.findings, where)
    for name in fields.entries if fields is not None else ():
        if fields is not None and name in keys:
            yield from _read_one(fields, name, keys[name][1], f"{section}.{name}")


def _read_one(fields: Fields, name: str, reader: _Reader, knob: str) -> Iterator[tuple[str, Said]]:
    value = reader(fields, name)
    if value is not None:
        yield knob, Said(value, below(fields.where, name), fields.position(name).span)


def _read_server(tools: Fields, name: str) -> Said | None:
    servers = tools.mapping("mcp") or {}
    where = below("tools.mcp", name)
    keys = by_name(*[key for key, _ in _SERVER.values()])
    fields = fields_of(servers[name][1], keys, tools.findings, where, only="key of a server")
    if fields is None:
        return None
    said = {key: _SERVER[key][1](fields, key) for key in fields.entries if key in _SERVER}
    if ("command" in said) is ("url" in said):
        tools.problem("bad-value", "mcp", f"'{where}' needs 'command' or 'url', and not both")
        return None
    if "." in name or not name.strip():
        tools.problem("bad-value", "mcp", f"'{name}' is no name of a server: its tools are called NAME.TOOL")
        return None
    command = (*(said.pop("command", None) or ()), *(said.pop("args", None) or ()))
    only = said.pop("tools", None)
    given = {key: value for key, value in said.items() if value is not None}
    entry = McpEntry(command=command, only=None if only is None else frozenset(only), **given)
    return Said(entry, where, fields.at.span)
