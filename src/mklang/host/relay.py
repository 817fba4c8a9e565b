"""Between a run, the models that answer it, and whoever watches: what models say while they write becomes events.

The kernel tells which request it puts to a model, and from which machine, state and run; a model only knows the
request's key. Here the two meet (L116, W62). Nothing of the run depends on it: an observer that raises is left alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypedDict, assert_never

from mklang.engine.events import (
    AnyEvent,
    LlmDelta,
    LlmDone,
    LlmError,
    LlmEvent,
    LlmRetry,
    LlmStart,
    ModelAsked,
    Observer,
)
from mklang.llm.signals import Broke, Delta, Finished, Retrying, Signal, Started

_LOG = logging.getLogger("mklang")


class _Who(TypedDict):
    machine: str
    depth: int
    run_id: str
    parent_run_id: str | None
    state: str
    key: str
    operation: str


class Relay:
    """A ``Watch`` for models that tells an observer. Without an observer nobody watches, and nothing is streamed."""

    def __init__(self, elapsed: Callable[[], float]) -> None:
        """``elapsed`` counts seconds and never goes back."""
        self._elapsed = elapsed
        self._observer: Observer | None = None
        self._asked: dict[str, ModelAsked] = {}
        self._since: dict[str, float] = {}

    @property
    def watching(self) -> bool:
        """Whether there is an observer."""
        return self._observer is not None

    @contextmanager
    def to(self, observer: Observer | None) -> Iterator[Observer | None]:
        """While this lasts, ``observer`` is told; what the kernel is to tell goes to the one that is given here."""
        self._observer = observer
        try:
            yield self._hear if observer is not None else None
        finally:
            self._observer = None
            self._asked.clear()
            self._since.clear()

    def __call__(self, signal: Signal, /) -> None:
        """Take note of what a model says."""
        if self._observer is not None and (asked := self._asked.get(signal.key)) is not None:
            self._tell(self._event(signal, asked))

    def _hear(self, event: AnyEvent) -> None:
        if isinstance(event, ModelAsked):
            self._asked[event.key] = event
        self._tell(event)

    def _tell(self, event: AnyEvent) -> None:
        if self._observer is None:
            return
        try:
            self._observer(event)
        except Exception:  # noqa: BLE001 - calling an observer: what it does is no business of the run
            _LOG.warning("an observer failed on %s", type(event).__name__, exc_info=True)

    def _event(self, signal: Signal, asked: ModelAsked) -> LlmEvent:
        who: _Who = {
            "machine": asked.machine,
            "depth": asked.depth,
            "run_id": asked.run_id,
            "parent_run_id": asked.parent_run_id,
            "state": asked.state,
            "key": asked.key,
            "operation": asked.operation,
        }
        match signal:
            case Started():
                self._since[signal.key] = self._elapsed()
                return LlmStart(model=signal.model, tier=asked.tier, **who)
            case Delta():
                kind = "reasoning" if signal.thought else "content"
                return LlmDelta(delta="" if signal.thought else signal.text, delta_kind=kind, **who)
            case Retrying():
                return LlmRetry(
                    model=signal.model,
                    attempt=signal.attempt,
                    cause=signal.cause,
                    status=signal.status,
                    pause=signal.pause,
                    **who,
                )
            case Finished():
                return LlmDone(
                    model=signal.model,
                    elapsed_ms=self._took(signal.key),
                    input_tokens=signal.usage.input_tokens,
                    output_tokens=signal.usage.output_tokens,
                    finish_reason=signal.finish_reason,
                    chars=signal.chars,
                    reasoning_chars=signal.thought_chars,
                    **who,
                )
            case Broke():
                return LlmError(model=signal.model, elapsed_ms=self._took(signal.key), error_type=signal.error, **who)
            case _:
                assert_never(signal)

    def _took(self, key: str) -> int:
        return round((self._elapsed() - self._since.get(key, self._elapsed())) * 1000)
