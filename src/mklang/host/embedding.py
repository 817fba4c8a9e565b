"""The shortest way to a machine from a program: one call each. :class:`mklang.Runtime` is for more than one run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from mklang.diagnostics import Diagnostic
from mklang.engine.outcome import Outcome
from mklang.host.inspection import Inspector, Looking
from mklang.host.runtime import MachineLike, Runtime
from mklang.host.session import Loaded
from mklang.host.session import load as load_machine
from mklang.lang.values import Json


def load(machine: str | os.PathLike[str], *, strict: bool = False) -> Loaded:
    """Read and check a machine, by its file or name, with everything it can call.

    ``strict`` refuses a language version that is not supported. Raises ``DocumentError`` with every problem.
    """
    return load_machine(os.fspath(machine), strict=strict)


def check(machine: str | os.PathLike[str], *, lint: bool = False) -> tuple[Diagnostic, ...]:
    """Every problem of a machine file and of what it calls, without a model; with ``lint`` what is suspicious too.

    Raises nothing for what is wrong with the file: that is what it returns.
    """
    return Inspector(Looking(lint=lint)).inspect(machine).diagnostics


def run(machine: MachineLike, inputs: Mapping[str, Json] | None = None, **settings: Any) -> Outcome:
    """Run a machine to its end. ``settings`` are the fields of :class:`mklang.Runtime`."""
    return Runtime(**settings).run(machine, inputs)


async def arun(machine: MachineLike, inputs: Mapping[str, Json] | None = None, **settings: Any) -> Outcome:
    """:func:`run` in a program that is asynchronous."""
    return await Runtime(**settings).arun(machine, inputs)
