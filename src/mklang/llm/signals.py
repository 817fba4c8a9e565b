"""What a request to a model says while it is under way, for whoever watches (L116). No result depends on any of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from mklang.engine.requests import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A model is asked."""

    key: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A bit of its text, or of its thinking, as it comes. After a ``Retrying`` the text begins anew."""

    key: str
    text: str
    thought: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """An attempt failed and the request is made again, after ``pause`` seconds, of ``model``.

    ``attempt`` counts the attempts that failed; ``cause`` is one word, ``status`` an HTTP status where there was one.
    """

    key: str
    model: str
    attempt: int
    cause: str
    status: int | None = None
    pause: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The reply is there. ``chars`` and ``thought_chars`` are its lengths."""

    key: str
    model: str
    usage: Usage
    finish_reason: str | None = None
    chars: int = 0
    thought_chars: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Broke:
    """There is no reply and no further attempt; ``error`` names the kind of failure."""

    key: str
    model: str
    error: str


Signal: TypeAlias = Started | Delta | Retrying | Finished | Broke


class Watch(Protocol):
    """Somebody who may be watching."""

    @property
    def watching(self) -> bool:
        """Whether anybody is: without, nothing is streamed."""
        ...

    def __call__(self, signal: Signal, /) -> None:
        """Take note of a signal."""
        ...
