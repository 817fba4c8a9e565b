"""Words for messages: near misses, lists of names, texts that say the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from mklang.analysis.trust import Step
from mklang.lang.findings import shorten
from mklang.lang.models import State
from mklang.lang.vocabulary import closest

_PUNCTUATION = re.compile(r"[\s.,;:!?'\"()]+")


class Names:
    """The names that would have been right, for hints such as ``did you mean 'END'?``.

    Comparing is slow, so only the first few mistakes get the full search, and among many names only those that begin
    alike are compared; a name that differs in case alone is always found.
    """

    SEARCHES = 50
    COMPARED = 400

    def __init__(self, names: Iterable[str]) -> None:
        """Hints come from ``names``, the first of them winning where two are as close; a set is sorted first."""
        self._folded: dict[str, str] = {}
        for name in sorted(names) if isinstance(names, Set) else names:
            self._folded.setdefault(name.casefold(), name)
        self._searches = 0

    def hint(self, word: str, otherwise: str = "") -> str:
        """``did you mean 'x'?`` for the name most likely meant, else ``otherwise``."""
        folded = word.casefold()
        meant = self._folded.get(folded)
        if meant is None and self._searches < self.SEARCHES:
            self._searches += 1
            meant = closest(word, self._candidates(folded))
        return f"did you mean '{shorten(meant)}'?" if meant else otherwise

    def _candidates(self, folded: str) -> list[str]:
        if len(self._folded) <= self.COMPARED:
            return list(self._folded.values())
        start = folded[:2]
        return [name for key, name in self._folded.items() if key.startswith(start)][: self.COMPARED]


def listed(names: Sequence[str], limit: int = 5) -> str:
    """Names for a message: ``a, b, c and 12 more``."""
    shown = ", ".join(f"'{shorten(name)}'" for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def way(steps: Sequence[Step], last: State) -> str:
    """A way that a judge decides on: the states, and the gate after which its word is all there is."""
    turning = max(
        (number for number, step in enumerate(steps) if step.judged and not _before(steps, number)), default=0
    )
    ids = [step.state.id for step in steps[turning:]]
    shown = ids if len(ids) <= 6 else [*ids[:3], "…", *ids[-2:]]
    gate = steps[turning].gate if steps else None
    decided = f" (gate {gate.index + 1} of '{ids[0]}')" if gate else ""
    return " → ".join([*shown, last.id]) + decided


def _before(steps: Sequence[Step], number: int) -> bool:
    return number > 0 and steps[number - 1].judged


def steps(number: int) -> str:
    """``1 step``, ``2 steps``."""
    return f"{number} step" if number == 1 else f"{number} steps"


def gist(text: str) -> str:
    """A text without what does not change its meaning: case, white space, punctuation."""
    return _PUNCTUATION.sub(" ", text.casefold()).strip()
