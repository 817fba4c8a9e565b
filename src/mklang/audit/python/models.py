"""The data files that say which calls ask a model, which check a value, and which make it durable."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import msgspec
import yaml


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of a call. ``call`` is a dotted name, or the end of an attribute chain when it begins with a dot.

    A chain can ask for more before it counts: one of ``keywords`` among the arguments, a ``receiver`` whose name fits a
    pattern, the library's import in the same file (``imported``), a text in the first argument (``text``), a file
    opened for writing (``file``). ``value`` names the arguments that matter by position or keyword, ``place`` the one
    that says where to (``.`` is the receiver).
    """

    call: str
    keywords: tuple[str, ...] = ()
    receiver: str = ""
    text: str = ""
    imported: bool = False
    file: bool = False
    style: str = ""
    weak: bool = False
    schema: int | None = None
    value: tuple[int | str, ...] = (0,)
    place: int | str = ""
    effect: str = "write"
    layer: str = ""
    role: str = ""
    libraries: tuple[str, ...] = ()


class Library(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One data file."""

    library: str
    about: str = ""
    imports: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()
    enums: tuple[str, ...] = ()
    sources: tuple[Rule, ...] = ()
    guards: tuple[Rule, ...] = ()
    sinks: tuple[Rule, ...] = ()
    cuts: tuple[str, ...] = ()
    quiet_attributes: tuple[str, ...] = ()
    words: dict[str, tuple[str, ...]] = {}


@dataclass(frozen=True)
class Models:
    """All rules, by the last word of the call."""

    rules: Mapping[str, tuple[Rule, ...]]
    clients: frozenset[str]
    schemas: frozenset[str]
    enums: frozenset[str]
    cuts: frozenset[str]
    quiet: frozenset[str]
    words: Mapping[str, frozenset[str]]
    patterns: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    asking: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()

    @property
    def guards(self) -> frozenset[str]:
        """The functions that check what they are given, by their full names."""
        every = (rule for group in self.rules.values() for rule in group)
        return frozenset(one.call for one in every if one.role == "guard" and one.call[0] != "." and not one.weak)

    def may_ask(self, words: Set[str], modules: Set[str]) -> bool:
        """Whether a file with these words, importing from modules with these names, may have a call to a model."""
        return any(chain <= words and (not roots or _imported(modules, roots)) for chain, roots in self.asking)

    def find(self, name: str) -> tuple[Rule, ...]:
        """The rules for calls whose last word is ``name``."""
        return self.rules.get(name, ())


def _imported(modules: Set[str], roots: Set[str]) -> bool:
    return any(name == root or name.startswith(f"{root}_") for name in modules for root in roots)


def collect(libraries: Iterable[Library]) -> Models:
    """One table from many files."""
    rules: dict[str, list[Rule]] = {}
    words: dict[str, set[str]] = defaultdict(set)
    sets: dict[str, set[str]] = {name: set() for name in ("clients", "schemas", "enums", "cuts", "quiet_attributes")}
    for one in libraries:
        for role, group in (("source", one.sources), ("guard", one.guards), ("sink", one.sinks)):
            for rule in group:
                last = rule.call.rpartition(".")[2]
                rules.setdefault(last, []).append(
                    msgspec.structs.replace(rule, role=role, libraries=one.imports or (one.library,))
                )
        for name, given in one.words.items():
            words[name].update(given)
        for name, gathered in sets.items():
            gathered.update(getattr(one, name))
    patterns = {
        text: re.compile(text, re.I) for group in rules.values() for r in group for text in (r.receiver, r.text)
    }
    return Models(
        rules={name: tuple(group) for name, group in rules.items()},
        clients=frozenset(sets["clients"]),
        schemas=frozenset(sets["schemas"]),
        enums=frozenset(sets["enums"]),
        cuts=frozenset(sets["cuts"]),
        quiet=frozenset(sets["quiet_attributes"]),
        words={name: frozenset(given) for name, given in words.items()},
        patterns=patterns,
        asking=tuple(
            dict.fromkeys(_asking(rule) for group in rules.values() for rule in group if rule.role == "source")
        ),
    )


def _asking(rule: Rule) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a call that asks a model, and the libraries of which the file must import one, if it must."""
    roots = (one.partition(".")[0] for one in rule.libraries) if rule.imported else ()
    return frozenset(rule.call.strip(".").split(".")), frozenset(roots)


def library_texts() -> dict[str, str]:
    """The data files that ship, by name."""
    folder = resources.files("mklang.audit") / "models"
    files = sorted((one for one in folder.iterdir() if one.name.endswith(".yaml")), key=lambda one: one.name)
    return {one.name: one.read_text(encoding="utf-8") for one in files}


@cache
def shipped() -> tuple[Library, ...]:
    """The data files that ship, read once."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return tuple(msgspec.convert(yaml.load(text, loader), Library) for text in library_texts().values())  # noqa: S506
