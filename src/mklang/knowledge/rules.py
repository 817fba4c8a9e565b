"""Rules of layer 3 that came out of the cycle: one line each in a file that is loaded, with their name beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mklang.errors import UsageError
from mklang.knowledge.patterns import pattern_id

_LINE = re.compile(r"^- (?P<text>.+?) <!-- akc (?P<id>[0-9a-f]{12}) -->$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and its name, which its text decides."""

    id: str
    text: str

    @property
    def line(self) -> str:
        """As it stands in a file. The comment is what the rule is found by again."""
        return f"- {self.text} <!-- akc {self.id} -->"


def make_rule(text: str) -> Rule:
    """A rule from a sentence. Raises ``UsageError`` for one that cannot be one line of a Markdown list."""
    line = " ".join(text.split())
    if not line or "<!--" in line or "-->" in line:
        raise UsageError("a rule is one sentence, without comment marks")
    return Rule(pattern_id(line), line)


def rules_in(content: str) -> list[Rule]:
    """The rules of the cycle in a file, in order."""
    return [Rule(found["id"], found["text"]) for found in _LINE.finditer(content)]


def with_rule(content: str, rule: Rule) -> str:
    """The file with one more rule at its end. Raises ``UsageError`` when it is there."""
    if any(known.id == rule.id for known in rules_in(content)):
        raise UsageError(f"rule {rule.id} is in the file already")
    gap = "" if not content else "\n" if content.endswith("\n") else "\n\n"
    if rules_in(content) and content.endswith("-->\n"):
        gap = ""
    return f"{content}{gap}{rule.line}\n"


def without_rule(content: str, rule: str) -> str:
    """The file without the rule called ``rule``. Raises ``UsageError`` when it is not there as it was written."""
    found = next((one for one in rules_in(content) if one.id == rule), None)
    if found is None:
        raise UsageError(f"rule {rule} is not in the file as it was written; take it out by hand, in a proposal")
    lines = content.splitlines(keepends=True)
    kept = [line for line in lines if line.rstrip("\n") != found.line]
    return "".join(kept).rstrip("\n") + "\n" if "".join(kept).strip() else ""
