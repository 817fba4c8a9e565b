"""Choosing scenarios by an expression: words of their names, joined by ``and``, ``or``, ``not`` and brackets."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from mklang.errors import UsageError

Choice: TypeAlias = Callable[[str], bool]
"""Whether a name is chosen."""

_TOKEN = re.compile(r"""\s*(?:([()])|"([^"]*)"|'([^']*)'|([^\s()"']+))""")


def parse_choice(expression: str) -> Choice:
    """The choice an expression makes. A word is found anywhere in a name, in any case; words side by side must all be.

    Raises ``UsageError`` for an expression that cannot be read.
    """
    parser = _Parser(expression)
    choice = parser.any_of()
    if parser.rest:
        raise UsageError(f"-k {expression}: '{parser.rest[0]}' cannot stand there")
    return choice


class _Parser:
    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.rest: list[str] = []
        position = 0
        while position < len(expression.rstrip()):
            found = _TOKEN.match(expression, position)
            if found is None:
                raise UsageError(f"-k {expression}: a quote is never closed")
            bracket, double, single, word = found.groups()
            quoted = double if double is not None else single
            self.rest.append(bracket or word or f'"{quoted}')
            position = found.end()

    def any_of(self) -> Choice:
        choices = [self.all_of()]
        while self._take("or"):
            choices.append(self.all_of())
        return lambda name: any(choice(name) for choice in choices)

    def all_of(self) -> Choice:
        choices = [self.one()]
        while self.rest and self.rest[0].lower() not in ("or", ")"):
            self._take("and")
            choices.append(self.one())
        return lambda name: all(choice(name) for choice in choices)

    def one(self) -> Choice:
        if self._take("not"):
            choice = self.one()
            return lambda name: not choice(name)
        if self._take("("):
            choice = self.any_of()
            if not self._take(")"):
                raise UsageError(f"-k {self.expression}: a bracket is never closed")
            return choice
        if not self.rest or self.rest[0].lower() in ("and", "or", ")"):
            raise UsageError(f"-k {self.expression}: a word is missing")
        word = self.rest.pop(0).removeprefix('"').casefold()
        return lambda name: word in name.casefold()

    def _take(self, word: str) -> bool:
        if self.rest and self.rest[0].lower() == word:
            self.rest.pop(0)
            return True
        return False
