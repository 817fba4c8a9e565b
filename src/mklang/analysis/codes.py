"""Every code a document's problem can have, by family, without importing a single rule."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mklang.analysis.registry import AFTER, CHECK, LINT, RUN
from mklang.lang.problems import PROBLEMS

READING = "reading"
"""The family of what is wrong with a document before it is a machine."""


def _code(name: str) -> str:
    """A rule's code is its file's name."""
    return name.partition(".")[2].replace("_", "-")


FAMILY_OF: Mapping[str, str] = MappingProxyType(
    {_code(name): name.partition(".")[0] for name in (*CHECK, *LINT, *AFTER, *RUN)} | dict.fromkeys(PROBLEMS, READING)
)
"""Code → family."""

FAMILIES = frozenset(FAMILY_OF.values())

_LINT = frozenset(_code(name) for name in (*LINT, *AFTER))


def reported_by_lint(code: str) -> bool:
    """Whether only ``lint`` reports this code."""
    return code in _LINT
