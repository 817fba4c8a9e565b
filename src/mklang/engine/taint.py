"""Provenance: who put each value on the blackboard, known by what happened, not by comparing values (L30, L31, L75).

A mark stands on a path, not only on a top-level key: an input placed inside an author's map taints that path, and every
reader of the path or of anything around or below it sees the mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from mklang.engine.options import Effect
from mklang.lang.effects import READ_TOOLS, keys_read
from mklang.lang.template import Placeholder


class Mark:
    """What is known about a value's origin, as bits of a plain int: marks are combined on every step of a run."""

    NONE: Final = 0
    """An author's literal, or a value the host vouches for."""
    TAINTED: Final = 1
    """Not the author's: fenced in every prompt (L32)."""
    EXTERNAL: Final = 2
    """Holds, or was made from, data from outside the run (L75)."""
    DEPOSITED: Final = 4
    """Written by a state during the run, not supplied by the host."""
    HOST_INPUT: Final = TAINTED | EXTERNAL
    """A value the host supplied and does not vouch for."""


Marks: TypeAlias = int
"""Bits of :class:`Mark`."""


def effect_of(tool: str, overrides: Mapping[str, Effect]) -> Effect:
    """A tool's effect class: the host's word, else the table, else ``effect`` (L77)."""
    return overrides.get(tool) or (Effect.READ if tool in READ_TOOLS else Effect.EFFECT)


class Provenance:
    """The marks of one blackboard. ``external`` is true once anything external was ever placed (L76)."""

    __slots__ = ("_inner", "_whole", "external")

    def __init__(self) -> None:
        self._whole: dict[str, Marks] = {}
        self._inner: dict[str, dict[tuple[str, ...], Marks]] = {}
        self.external = False

    def place(self, path: tuple[str, ...], mark: Marks) -> None:
        """Record that a value with this origin now stands at ``path``; what stood below it is gone."""
        root, rest = path[0], path[1:]
        if mark & Mark.EXTERNAL:
            self.external = True
        if not rest:
            self._whole[root] = mark
            self._inner.pop(root, None)
            return
        inner = self._inner.setdefault(root, {})
        for below in [known for known in inner if known[: len(rest)] == rest]:
            del inner[below]
        inner[rest] = mark

    def deposit(self, key: str, mark: Marks) -> None:
        """Record a state's output at a top-level key. A key that ever held external data stays external (L75)."""
        known = self._whole.get(key, Mark.NONE)
        for inside in self._inner.pop(key, {}).values():
            known |= inside
        self._whole[key] = mark | Mark.TAINTED | Mark.DEPOSITED | (known & Mark.EXTERNAL)
        if mark & Mark.EXTERNAL:
            self.external = True

    def at(self, path: tuple[str, ...]) -> Marks:
        """The marks of the value at ``path``: those on it, around it and inside it."""
        root = path[0]
        found = self._whole.get(root, Mark.NONE)
        if root in self._inner:
            rest = path[1:]
            for place, mark in self._inner[root].items():
                shared = min(len(place), len(rest))
                if place[:shared] == rest[:shared]:
                    found |= mark
        return found

    def of(self, placeholders: Iterable[Placeholder]) -> Marks:
        """The marks of everything these placeholders read."""
        found = Mark.NONE
        for placeholder in placeholders:
            found |= self.at(placeholder.keys)
        return found

    def branch(self, own: Mapping[str, Marks]) -> Provenance:
        """A copy for the branches of a fan-out, with the marks of the variables that are their own."""
        copy = Provenance()
        copy._whole = dict(self._whole)
        copy._inner = dict(self._inner)
        copy.external = self.external
        for name, mark in own.items():
            copy.place((name,), mark)
        return copy

    def tainted_paths(self) -> list[str]:
        """Every marked path, dotted and sorted, for reports."""
        whole = [root for root, mark in self._whole.items() if mark]
        inner = [".".join((root, *rest)) for root, marks in self._inner.items() for rest, mark in marks.items() if mark]
        return sorted(whole + inner)


def hook_confirms(name: str, provenance: Provenance, output_key: str) -> bool:
    """Whether a hook's yes breaks the chain of untrusted control (L76).

    A host's own predicate does. A built-in one that only looks at a value some state wrote from outside data does not:
    the text would be vouching for itself.
    """
    vouches_for_itself = Mark.EXTERNAL | Mark.DEPOSITED
    return not any(
        provenance.at((key,)) & vouches_for_itself == vouches_for_itself for key in keys_read(name, output_key) or ()
    )
