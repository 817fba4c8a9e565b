"""Guards: what stands between a model's text and durable state. Code, never a model (S41, S46)."""

from __future__ import annotations

from mklang.errors import AlteredAfterCheck, GuardRefused
from mklang.guards.checked import Checked, Receipt, canonical
from mklang.guards.failures import Code, Failure
from mklang.guards.forbidden import DEFAULT_FORBIDDEN_SUBSTRINGS, Forbidden, Where
from mklang.guards.guard import Format, Guard
from mklang.guards.reading import SUFFIX, GuardReading, guard_in, lint_guard, load_guard, read_guard
from mklang.guards.structure import DEFAULT_BOUNDS, Bounds
from mklang.guards.writing import write_checked

__all__ = [
    "DEFAULT_BOUNDS",
    "DEFAULT_FORBIDDEN_SUBSTRINGS",
    "SUFFIX",
    "AlteredAfterCheck",
    "Bounds",
    "Checked",
    "Code",
    "Failure",
    "Forbidden",
    "Format",
    "Guard",
    "GuardReading",
    "GuardRefused",
    "Receipt",
    "Where",
    "canonical",
    "guard_in",
    "lint_guard",
    "load_guard",
    "read_guard",
    "write_checked",
]
