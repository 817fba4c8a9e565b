"""Decorators that tell the audit what a function is. At run time they do nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Marked = TypeVar("_Marked", bound=Callable[..., object])


def model_call(function: _Marked) -> _Marked:
    """The function returns what a model wrote."""
    return function


def guard(function: _Marked) -> _Marked:
    """The function checks what it is given, in code: it returns what passed, or raises."""
    return function


def sink(layer: str) -> Callable[[_Marked], _Marked]:
    """What the function is given becomes durable. ``layer``, which is read from the text, is log, proposal, knowledge,
    behaviour, control or evidence."""

    def mark(function: _Marked) -> _Marked:
        return function

    del layer  # for the reader of the text
    return mark
