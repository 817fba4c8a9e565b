"""The blackboard: the run's values, how a path reads them, how they become text, and where they came from."""

from __future__ import annotations

from collections.abc import Mapping

from mklang.engine.excerpt import dump, ends, quote
from mklang.engine.taint import Mark, Marks, Provenance
from mklang.lang.template import Placeholder
from mklang.lang.values import Frozen, Json, thaw

TRUNCATED = "…[truncated]"
VALUE_CHARS = 20_000
EVIDENCE_CHARS = 4000
_EVIDENCE_CUT = "…[context_truncated]…"


class Blackboard:
    """Top-level keys and their JSON values, with the provenance of each.

    Literals come first in alphabetical order, so that re-ordering a document changes nothing a model is shown.
    """

    __slots__ = ("_rendered", "_tails", "provenance", "values")

    def __init__(self, literals: Mapping[str, Frozen]) -> None:
        self.values: dict[str, Json] = {key: thaw(literals[key]) for key in sorted(literals)}
        self.provenance = Provenance()
        self._rendered: dict[str, str] = {}
        self._tails: dict[str, str] = {}

    def place(self, path: tuple[str, ...], value: Json, mark: Marks) -> None:
        """Put a value at a path, making maps on the way; a non-map in the way is replaced (L112)."""
        into = self.values
        for key in path[:-1]:
            inner = into.get(key)
            if not isinstance(inner, dict):
                inner = {}
                into[key] = inner
            into = inner
        into[path[-1]] = value
        self.provenance.place(path, mark)
        self._rendered.pop(path[0], None)

    def deposit(self, key: str, value: Json, mark: Marks, *, accumulate: bool = False) -> None:
        """Write a state's output (L39). Accumulating appends; an absent, null or empty-text value starts a new list."""
        if accumulate:
            present = self.values.get(key)
            if isinstance(present, list):
                present.append(value)
            else:
                self.values[key] = [value] if present is None or present == "" else [present, value]
        else:
            self.values[key] = value
        self.provenance.deposit(key, mark)
        self._rendered.pop(key, None)

    def read(self, placeholder: Placeholder) -> Json:
        """The value at a placeholder's path; None when it is not there (L24)."""
        keys = placeholder.keys
        value = self.values.get(keys[0])
        if len(keys) == 1:
            return value
        for key in keys[1:]:
            if not isinstance(value, dict):
                return None
            value = value.get(key)
        return value

    def branches(self, count: int) -> list[Blackboard]:
        """A copy for each branch of a fan-out over the same context, with its ``index`` (L29, L50)."""
        provenance = self.provenance.branch({"index": Mark.NONE})
        return [self._branch({"index": index}, provenance) for index in range(count)]

    def branches_over(self, items: list[Json], mark: Marks) -> list[Blackboard]:
        """A copy for each branch of a fan-out over a list with this mark, with its ``index`` and ``item``."""
        provenance = self.provenance.branch({"index": Mark.NONE, "item": mark})
        return [self._branch({"index": index, "item": item}, provenance) for index, item in enumerate(items)]

    def _branch(self, own: dict[str, Json], provenance: Provenance) -> Blackboard:
        """A copy with a branch's own values. Branches share one provenance: they only read."""
        copy = Blackboard.__new__(Blackboard)
        copy.values = {**self.values, **own}
        copy.provenance = provenance
        copy._rendered = {}
        copy._tails = {}
        return copy

    def evidence(self) -> str:
        """The whole blackboard as JSON for a judge, at most 4000 characters (L35).

        What is too long keeps its head and its tail. A value is rendered once after it changes, and of a long one only
        the ends are kept, so that it costs nothing in later decisions.
        """
        rendered = self._rendered
        entries = [rendered.get(key) or self._render(key) for key in self.values]
        if not self._tails:
            text = f"{{{', '.join(entries)}}}"
            if len(text) <= EVIDENCE_CHARS:
                return text
        room = EVIDENCE_CHARS - len(_EVIDENCE_CUT)
        first = room // 2
        return f"{{{self._front(first)}"[:first] + _EVIDENCE_CUT + f"{self._back(room - first)}}}"[first - room :]

    def _render(self, key: str) -> str:
        """An entry's text, or as much of its beginning as could ever be shown; the end of such a one is kept apart."""
        head, tail, cut = ends(self.values[key], EVIDENCE_CHARS)
        if cut:
            self._tails[key] = tail
        else:
            self._tails.pop(key, None)
        self._rendered[key] = entry = f"{quote(key)}: {head}"
        return entry

    def _front(self, room: int) -> str:
        """Entries from the first on, as many as it takes to fill ``room`` characters."""
        text = ""
        for key in self.values:
            text += f", {self._rendered[key]}" if text else self._rendered[key]
            if len(text) > room:
                break
        return text

    def _back(self, room: int) -> str:
        """Entries up to the last, as many as it takes to fill ``room`` characters."""
        text = ""
        for key in reversed(self.values):
            entry = self._tails.get(key) or self._rendered[key]
            text = f"{entry}, {text}" if text else entry
            if len(text) > room:
                break
        return text


def format_value(value: Json) -> str:
    """A value as prompt text (L26): text as is, a list numbered line by line, everything else JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(f"{number}. {format_value(item)}" for number, item in enumerate(value, 1))
    return dump(value)


def capped(text: str, limit: int = VALUE_CHARS) -> str:
    """Text cut to ``limit`` characters, the cut marked; 0 means no limit (L27)."""
    if not limit or len(text) <= limit:
        return text
    return (text[: limit - len(TRUNCATED)] + TRUNCATED) if limit > len(TRUNCATED) else TRUNCATED[:limit]
