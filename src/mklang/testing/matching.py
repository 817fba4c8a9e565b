"""Whether a run ended as expected, and if not, where it differs (L92). Mismatches are values; their text is a view."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mklang.engine.outcome import Done, Outcome, status_of, to_wire
from mklang.testing.scenario import UNSET, Expectation

SHOWN_CHARS = 400
"""How much of one value a mismatch shows."""


@dataclass(frozen=True, slots=True)
class Differs:
    """One value is not what was expected. ``note`` explains what the two values do not."""

    key: str
    expected: object
    actual: object
    note: str = ""

    def __str__(self) -> str:
        expected, actual = _shown(self.expected, self.actual)
        note = f" ({self.note})" if self.note else ""
        return f"{self.key}: expected {expected}, got {actual}{note}"


@dataclass(frozen=True, slots=True)
class NeverAsked:
    """The run did not ask for everything that is scripted."""

    what: str
    count: int
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        one = self.count == 1
        named = f": {', '.join(self.names)}" if self.names else ""
        return (
            f"{self.count} scripted {self.what}{'' if one else 's'} {'was' if one else 'were'} never asked for{named}"
        )


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The run asked something the script does not answer."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class NotPlayed:
    """The scenario could not be played at all, or not to an end."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Ended:
    """How the run really ended; it closes every list of mismatches (W55)."""

    status: str
    error: str | None
    at: str | None
    message: str = ""

    def __str__(self) -> str:
        error = f", error {_json(self.error)}" if self.error is not None else ""
        at = f", at state {_json(self.at)}" if self.at is not None else ""
        return f"the run ended: status {_json(self.status)}{error}{at}{f' ({self.message})' if self.message else ''}"


Mismatch: TypeAlias = Differs | NeverAsked | Unanswered | NotPlayed | Ended


def differences(expect: Expectation, outcome: Outcome) -> list[Differs]:
    """Everything in which an outcome differs from the expectation, in the published order (L92)."""
    return [*_ending(expect, to_wire(outcome)), *_context(expect, outcome), *_trace(expect, outcome)]


def how_it_ended(outcome: Outcome, told: Iterable[str] = ()) -> Ended:
    """The facts a person needs first. A text that was ``told`` already is not repeated inside the error."""
    if isinstance(outcome, Done):
        return Ended("done", None, None)
    error = outcome.error
    for text in told:
        error = error.replace(text, "the script has no answer, see above")
    return Ended(status_of(outcome), error, outcome.at, outcome.message)


def same(expected: object, actual: object) -> bool:
    """Deep equality of JSON values: ``1`` equals ``1.0``, and true equals no number."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return expected.keys() == actual.keys() and all(same(expected[key], actual[key]) for key in expected)
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return len(expected) == len(actual) and all(map(same, expected, actual))
    return expected == actual


def _ending(expect: Expectation, wire: Mapping[str, object]) -> Iterator[Differs]:
    equal = {"status": expect.status, "error": expect.error}
    yield from _compared(equal, wire)
    error = wire.get("error")
    if expect.error_prefix is not UNSET and not (isinstance(error, str) and error.startswith(expect.error_prefix)):
        yield Differs("error_prefix", expect.error_prefix, error)
    yield from _compared({name: getattr(expect, name) for name in ("result", "at", "ask", "reply_to")}, wire)


def _compared(expected: Mapping[str, object], wire: Mapping[str, object]) -> Iterator[Differs]:
    for name, value in expected.items():
        if value is not UNSET and not same(value, wire.get(name)):
            yield Differs(name, value, wire.get(name))


def _context(expect: Expectation, outcome: Outcome) -> Iterator[Differs]:
    for name, value in expect.context.items():
        actual = outcome.context.get(name)
        if not same(value, actual):
            yield Differs(f"context.{name}", value, actual)


def _trace(expect: Expectation, outcome: Outcome) -> Iterator[Differs]:
    if expect.trace is UNSET:
        return
    steps = [step.to_wire() for step in outcome.trace]
    if len(steps) != len(expect.trace):
        visited = ", ".join(step.state for step in outcome.trace) or "none"
        yield Differs("trace.length", len(expect.trace), len(steps), f"states visited: {visited}")
    for index, (expected, step) in enumerate(zip(expect.trace, steps, strict=False)):
        for name, value in expected.items():
            if not same(value, step.get(name)):
                note = "a step does not show a flag that is not set; null matches that" if value is False else ""
                yield Differs(f"trace[{index}].{name}", value, step.get(name), note)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shown(expected: object, actual: object) -> tuple[str, str]:
    """Both values as JSON; where they are long, the part around their first difference."""
    texts = _json(expected), _json(actual)
    if max(map(len, texts)) <= SHOWN_CHARS:
        return texts
    first = next((i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, first - SHOWN_CHARS // 4)
    return _window(texts[0], start), _window(texts[1], start)


def _window(text: str, start: int) -> str:
    end = start + SHOWN_CHARS
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
