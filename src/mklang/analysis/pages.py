"""A rule's docstring as a page: what the rule finds, why that matters to a run, an example, its repair, the fix.

The docstring is the only copy; the documentation and ``mklang explain`` are made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import cleandoc

SECTIONS = ("Why", "Fires", "Repaired", "Fix")


@dataclass(frozen=True, slots=True)
class Page:
    """The parts of a rule's docstring.

    ``fires`` and ``repaired`` are YAML, without the top-level keys that do not matter; documents after ``---`` are
    callees. ``safe`` says whether the fix can be made without asking.
    """

    summary: str
    what: str
    why: str
    fires: str
    repaired: str
    safe: bool
    fix: str


def read_page(docstring: str) -> Page:
    """Take a docstring apart. Raises ``ValueError`` naming the section that is missing or empty."""
    parts: dict[str, list[str]] = {name: [] for name in ("What", *SECTIONS)}
    current = "What"
    for line in cleandoc(docstring).splitlines():
        head, colon, rest = line.partition(":")
        begins = bool(colon) and head in SECTIONS
        current = head if begins else current
        parts[current].append(rest.strip() if begins else line)
    texts = {name: cleandoc("\n".join(lines)).strip() for name, lines in parts.items()}
    missing = [name for name, text in texts.items() if not text]
    if missing:
        raise ValueError(f"a rule's docstring has no text under {', '.join(missing)}")
    summary, _, what = texts["What"].partition("\n")
    verdict, _, fix = texts["Fix"].partition(".")
    if verdict not in ("safe", "unsafe") or not fix.strip():
        raise ValueError("a rule's fix begins with 'safe.' or 'unsafe.' and goes on to say what to do")
    return Page(
        summary=summary,
        what=what.strip(),
        why=texts["Why"],
        fires=texts["Fires"],
        repaired=texts["Repaired"],
        safe=verdict == "safe",
        fix=fix.strip(),
    )
