"""The single-task test as a measurement (S47): the same labelled examples for a function and for a machine.

Structure is what code gets right every time; there, less than every time is a bug. Meaning is what code gets wrong and
a model gets right often enough. With fewer than ten examples nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec

from mklang.measure.statistics import wilson

LEAST = 10


class Verdict(Enum):
    """What the task turns out to be."""

    STRUCTURAL = "structural"
    """Code gets every example right: write code."""
    SEMANTIC = "semantic"
    """The machine is right often enough and code is not: ask a model."""
    NEITHER = "neither"
    """Neither is: the examples contradict themselves, the labels are wrong, or the task has to be split."""
    TOO_FEW = "too-few"


class Example(msgspec.Struct, frozen=True):
    """An input and what a person says is right for it."""

    input: Any
    label: Any


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """How both fared. ``same_bytes`` are inputs that occur with different labels: no function of the bytes can get
    those right. The range is Wilson's 95 % of the machine's share."""

    verdict: Verdict
    examples: int
    code_right: int
    machine_right: int
    low: float
    high: float
    same_bytes: int
    code_wrong: tuple[int, ...]
    machine_wrong: tuple[int, ...]
    why: str


def judge(
    examples: Sequence[Example], by_code: Sequence[Any], by_machine: Sequence[Any], *, threshold: float = 0.9
) -> Trial:
    """Compare the answers of a function and of a machine with the labels."""
    code_wrong = tuple(number for number, one in enumerate(examples) if not same(by_code[number], one.label))
    machine_wrong = tuple(number for number, one in enumerate(examples) if not same(by_machine[number], one.label))
    count, right = len(examples), len(examples) - len(machine_wrong)
    interval, twice = wilson(right, count), _same_bytes(examples)
    verdict, why = _verdict(count, len(code_wrong), right / count if count else 0.0, twice=twice, threshold=threshold)
    return Trial(
        verdict=verdict,
        examples=count,
        code_right=count - len(code_wrong),
        machine_right=right,
        low=interval.low,
        high=interval.high,
        same_bytes=twice,
        code_wrong=code_wrong,
        machine_wrong=machine_wrong,
        why=why,
    )


def same(answer: Any, label: Any) -> bool:
    """Whether an answer is the label; white space around a text and its case do not count."""
    if isinstance(answer, str) and isinstance(label, str):
        return answer.strip().casefold() == label.strip().casefold()
    if isinstance(answer, str) and isinstance(label, bool):
        return answer.strip().casefold() in ({"true", "yes"} if label else {"false", "no"})
    return isinstance(answer, bool) == isinstance(label, bool) and bool(answer == label)


def answers_of(code: Callable[[Any], Any], examples: Sequence[Example]) -> list[Any]:
    """What a function says to each example; one that raises is wrong there."""
    found = []
    for example in examples:
        try:
            found.append(code(example.input))
        except Exception as error:  # noqa: BLE001 - somebody's function: that it fails is what is measured
            found.append(error)
    return found


def _same_bytes(examples: Sequence[Example]) -> int:
    labels: dict[bytes, set[bytes]] = {}
    for one in examples:
        labels.setdefault(msgspec.json.encode(one.input), set()).add(msgspec.json.encode(one.label))
    return sum(len(found) > 1 for found in labels.values())


def _verdict(count: int, wrong: int, share: float, *, twice: int, threshold: float) -> tuple[Verdict, str]:
    if count < LEAST:
        return Verdict.TOO_FEW, f"{count} examples; {LEAST} are the least"
    if twice:
        return Verdict.NEITHER, f"{twice} inputs have two labels: what decides is not in the input; put it there"
    if not wrong:
        return Verdict.STRUCTURAL, "code gets every example right; a model would cost time and money and vary"
    if share >= threshold:
        return Verdict.SEMANTIC, f"code is wrong {wrong} times, the machine is right in {share:.0%}"
    return Verdict.NEITHER, f"code is wrong {wrong} times and the machine is right in {share:.0%} only: split the task"


def to_wire(found: Trial) -> Mapping[str, Any]:
    """The JSON form."""
    wire: Mapping[str, Any] = msgspec.to_builtins(found)
    return wire
