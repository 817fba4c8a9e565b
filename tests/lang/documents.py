"""Documents for the reader's tests, and what the reader says about them in a form that fits on a line."""

from __future__ import annotations

from mklang.lang.models import Machine
from mklang.lang.reader import Reading, machine_from_text, read_machine
from mklang.source import Source

SMALLEST = """\
machine: m
entry: a
budget: 5
states:
  a:
    structure: One line.
    prompt: Say hello.
    output: o
    gates:
      - when: otherwise
        then: ok
        to: END
"""


def smallest(old: str = "", new: str = "") -> str:
    """The smallest machine with one piece replaced."""
    assert SMALLEST.count(old) == 1 or not old
    return SMALLEST.replace(old, new) if old else SMALLEST


def with_context(value: str) -> str:
    """The smallest machine with a context on line 1."""
    return f"context: {value}\n{SMALLEST}"


def with_gate(gate: str) -> str:
    """The smallest machine with another gate, in flow style: the gate's text begins at 10:9."""
    before = SMALLEST.partition("      - when")[0]
    return f"{before}      - {gate}\n"


def with_state(lines: str) -> str:
    """The smallest machine whose state holds other lines, from 6:5 on."""
    before = SMALLEST.partition("    structure")[0]
    return before + "".join(f"    {line}\n" for line in lines.splitlines())


def read(text: str, *, lenient: bool = False) -> Reading:
    return read_machine(Source("m.mkl", text), lenient=lenient)


def machine(text: str) -> Machine:
    return machine_from_text(text)


def problems(text: str, *, lenient: bool = False) -> list[str]:
    """Every problem as ``code line:column``, in reading order; a warning begins with ``~``."""
    found = []
    for one in read(text, lenient=lenient).diagnostics:
        mark = "" if one.severity.value == "error" else "~"
        place = f" {one.span.line}:{one.span.column}" if one.span else ""
        found.append(f"{mark}{one.code}{place}")
    return found


def hint(text: str) -> str:
    """The hint of the first problem."""
    return read(text).diagnostics[0].hint


def message(text: str) -> str:
    """The message of the first problem."""
    return read(text).diagnostics[0].message
