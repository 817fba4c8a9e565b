"""What a change is worth, decided in code by what it would change: never by who wants it (I15, S43)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType


class Stake(IntEnum):
    """What a path holds, the least first. From ``BEHAVIOUR`` on a person decides; a judge can only stop a change."""

    LOG = 0
    PROPOSAL = 1
    KNOWLEDGE = 2
    BEHAVIOUR = 3
    CONTROL = 4
    EVIDENCE = 5

    @property
    def needs_person(self) -> bool:
        """Whether only a person may let a change pass."""
        return self >= Stake.BEHAVIOUR


GLOBS: Mapping[Stake, Sequence[str]] = MappingProxyType(
    {
        Stake.LOG: ("**/*.log", "**/*.jsonl", "**/logs/**"),
        Stake.PROPOSAL: ("**/proposals/**",),
        Stake.BEHAVIOUR: (
            *("**/CLAUDE.md", "**/AGENTS.md", "**/GEMINI.md", "**/.cursorrules", "**/.cursor/rules/**", "**/rules/**"),
            *("**/skills/**", "**/agents/**", "**/identity/**", "**/prompts/**", "**/*.mkl", "**/*.mk"),
        ),
        Stake.CONTROL: (
            *(
                "**/.claude/settings*.json",
                "**/hooks/**",
                "**/.git/**",
                "**/crontab",
                "**/*.guard.yaml",
                "**/guards.yaml",
            ),
            *("**/runtime.yaml", "**/.env", "**/.env.*"),
        ),
        Stake.EVIDENCE: (
            *("**/tests/**", "**/test_*.py", "**/*.test.yaml", "**/fixtures/**", "**/conformance/**"),
            *("**/.github/workflows/**", "**/.ci/**", "**/pyproject.toml", "**/package.json", "**/*.lock"),
        ),
    }
)
"""Which paths hold what; a path in several is what matters most, one in none is knowledge."""


def stake_of(path: str, globs: Mapping[Stake, Sequence[str]] = GLOBS) -> Stake:
    """What a change of the file at ``path`` is worth. ``..`` and doubled slashes are resolved, case is ignored; links
    are not followed: give the path they lead to."""
    clean = posixpath.normpath(path.replace("\\", "/")).casefold().lstrip("/")
    matching = [stake for stake, patterns in globs.items() if any(_regex(one).fullmatch(clean) for one in patterns)]
    return max(matching, default=Stake.KNOWLEDGE)


def _regex(glob: str) -> re.Pattern[str]:
    pattern = re.escape(glob.casefold()).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.compile(pattern, re.DOTALL)
