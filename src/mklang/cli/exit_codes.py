"""What the shell learns from a command (L107): the one place that knows the numbers."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    """Everything is in order; warnings do not change that."""
    FAILED = 1
    """The command worked and the answer is no: a run halted, a document has errors, a test failed."""
    UNUSABLE = 2
    """The command could not be carried out: bad flags, bad input, a run that could not be prepared, a bug of ours."""
    SUSPENDED = 3
    """The run waits for a person."""
    INTERRUPTED = 130
    """Ctrl-C."""
