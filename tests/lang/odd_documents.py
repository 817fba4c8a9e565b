"""Documents laid out in every odd way YAML allows and people use: what a formatter must keep and put in order."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

Piece: TypeAlias = Callable[[int], list[str]]
"""Takes the column of what it stands in and gives its first line, which follows a key or a dash, and the others."""

_WORDS = ["the", "note", "says", "that", "a", "line", "is", "short", "and", "every", "fact", "of", "it", "gets", "lost"]


class Scribbler:
    """Writes one machine, differently each time. ``comments`` are all the comments it wrote, in no order."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.comments: list[str] = []

    def document(self) -> str:
        """A whole document that is valid."""
        states = [f"s{number}" for number in range(self.random.randint(1, 3))]
        keys: dict[str, Piece] = {
            "machine": self._plain("odd"),
            "entry": self._plain("s0"),
            "budget": self._plain("9"),
            "context": lambda column: self._map({"topic": self._text, "free": self._free}, column),
            "states": lambda column: self._map({name: self._state(states) for name in states}, column),
        }
        if self.random.random() < 0.3:
            keys["tools"] = lambda column: self._list([self._gate_like({"name": "calc"})], column)
        head = [*self._comments(0), ""] if self.random.random() < 0.5 else []
        body = self._map(keys, -1)
        tail = self._comments(0)
        text = "\n".join([*head, *body, *tail]) + self.random.choice(["", "\n", "\n\n"])
        return text.replace("\n", "\r\n") if self.random.random() < 0.1 else text

    # Pieces

    def _state(self, states: list[str]) -> Piece:
        gates = [self._gate(states) for _ in range(self.random.randint(0, 2))]
        last = {"when": "otherwise", "then": "ok", "to": "END"}
        keys: dict[str, Piece] = {
            "structure": self._text,
            "prompt": self._text,
            "output": self._plain(self.random.choice(["o", '"o"', "'o'"])),
            "gates": lambda column: self._list([*gates, self._gate_like(last)], column),
        }
        if self.random.random() < 0.3:
            keys["execution"] = self._text
        return lambda column: self._map(keys, column)

    def _gate(self, states: list[str]) -> Piece:
        to = self.random.choice(states)
        policy = self.random.choice([{"then": "ok"}, {"repair": "2"}, {"escalate": "true"}])
        return self._gate_like({"when": f'"{self._words(3)}"', "to": to, **policy})

    def _gate_like(self, keys: dict[str, str]) -> Piece:
        names = self._shuffled(list(keys))
        if self.random.random() < 0.5:
            return lambda column: [self._braces([f"{name}: {keys[name]}" for name in names])]
        return lambda column: self._map({name: self._plain(keys[name]) for name in names}, column)

    def _braces(self, parts: list[str], signs: str = "{}") -> str:
        comma, pad = self.random.choice([",", ", ", " , "]), self.random.choice(["", " "])
        return f"{signs[0]}{pad}{comma.join(parts)}{pad}{signs[1]}"

    def _free(self, column: int) -> list[str]:
        kind = self.random.randint(0, 4)
        if kind == 0:
            return [self._braces(["a: 1", "b: two", '"c d": [1, x]'])]
        if kind == 1:
            step = " " * (column + self.random.randint(1, 4))
            return ["[", f"{step}one,{self._tag()}", f"{step}two", f"{step}]"]
        if kind == 2:
            return self._list([self._text, self._free], column)
        if kind == 3:
            return self._map({"z": self._text, "a": self._plain("1"), "m": self._text}, column)
        return [self._braces(["one", "'two'", "3"], "[]")]

    def _text(self, column: int) -> list[str]:
        deeper = " " * (column + self.random.randint(1, 4))
        lines = [self._words(self.random.randint(1, 4)) for _ in range(self.random.randint(1, 3))]
        match self.random.randint(0, 5):
            case 0:
                return [f'"{lines[0]}', *(f"{deeper}{line}" for line in lines[1:]), f'{deeper}end # no comment"']
            case 1:
                return [f"'it''s {lines[0]}'"]
            case 2 | 3:
                head = self.random.choice(["|", ">", "|-", ">+", "|+", ">-"])
                inner = [f"{deeper}{line}" for line in lines]
                inner.insert(self.random.randint(1, len(inner)), self.random.choice(["", f"{deeper}  deeper", deeper]))
                return [head + (self._tag() if self.random.random() < 0.3 else ""), *inner, ""]
            case 4:
                return [lines[0], *(f"{deeper}{line}" for line in lines[1:])]
            case _:
                return ["{{topic}}" if column < 0 else '"{{topic}}"']

    def _plain(self, text: str) -> Piece:
        return lambda column: [text]

    # Blocks

    def _map(self, keys: dict[str, Piece], column: int) -> list[str]:
        """A map below something at ``column``: an empty first line, then the entries; none for the document."""
        own = column + self.random.randint(1, 4) if column >= 0 else 0
        lines = [] if column < 0 else [""]
        for name in self._shuffled(list(keys)):
            lines += self._comments(own)
            first, *rest = keys[name](own)
            colon = f":{' ' * self.random.randint(1, 3)}" if first else ":"
            lines.append(f"{' ' * own}{name}{colon}{first}{self._end(first, rest)}")
            lines += rest
        return lines

    def _list(self, items: list[Piece], column: int) -> list[str]:
        own = column + self.random.randint(0, 4)
        lines = [""]
        for item in items:
            lines += self._comments(own)
            first, *rest = item(own)
            if not first and rest and self.random.random() < 0.7:
                compact = self._compact(own, rest)
                if compact:
                    lines += compact
                    continue
            lines.append(f"{' ' * own}- {first}{self._end(first, rest)}".rstrip())
            lines += rest
        return lines

    def _compact(self, own: int, rest: list[str]) -> list[str]:
        """An item whose map or list begins on the line of the dash, if nothing stands between."""
        if not rest[0].strip() or rest[0].lstrip().startswith("#"):
            return []
        gap = len(rest[0]) - len(rest[0].lstrip()) - own - 1
        return [f"{' ' * own}-{' ' * gap}{rest[0].lstrip()}", *rest[1:]] if gap > 0 else []

    # Comments

    def _end(self, first: str, rest: list[str]) -> str:
        """Sometimes a comment behind the first line, where one can stand."""
        whole = first.startswith(("{", "'")) or (first[:1] == '"' and first.count('"') == 2) or not first
        simple = not rest and not first.startswith(("|", ">", "["))
        return self._tag() if (whole or simple) and self.random.random() < 0.3 else ""

    def _comments(self, column: int) -> list[str]:
        found = []
        while self.random.random() < 0.25:
            found.append("" if self.random.random() < 0.5 else f"{' ' * column}{self._comment()}")
        return found

    def _tag(self) -> str:
        return f"{' ' * self.random.randint(1, 3)}{self._comment()}"

    def _comment(self) -> str:
        comment = f"# {self._words(2)} {len(self.comments)}"
        self.comments.append(comment)
        return comment

    def _words(self, count: int) -> str:
        return " ".join(self.random.choices(_WORDS, k=count))

    def _shuffled(self, names: list[str]) -> list[str]:
        self.random.shuffle(names)
        return names


def scribble(random: Random) -> tuple[str, list[str]]:
    """A document and its comments."""
    scribbler = Scribbler(random)
    text = scribbler.document()
    return text, scribbler.comments
