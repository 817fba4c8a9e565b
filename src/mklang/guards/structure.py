"""Structure every guard insists on, whatever else it says: one document, sound text, finite numbers, bounded size.

Nothing here has an opinion on content. A sound value costs one pass; only an unsound one is walked again for places.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec

from mklang.guards.failures import MOST, Code, Failure, pointer_of
from mklang.lang.values import Json, type_name

MAX_NODES = 1_000_000
MAX_DIGITS = 300
_MAX_BITS = math.ceil(MAX_DIGITS * math.log2(10))

_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


class Bounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How large a value may be. ``bytes`` of UTF-8 text, levels of nesting, entries of one list or map, characters of
    one text (None: only the bytes count)."""

    bytes: int = 1024 * 1024
    depth: int = 64
    items: int = 10_000
    string: int | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ValueError(f"'{name}' takes a whole number of 1 or more, not {value!r}")


DEFAULT_BOUNDS = Bounds()


class Doubled(dict[str, Any]):
    """A map in whose text a key was written twice. No value that passes holds one."""

    key: str


def decode(raw: bytes | str, bounds: Bounds) -> tuple[str, bytes] | Failure:
    """The text and its bytes, if they are few enough and sound."""
    if len(raw) > bounds.bytes:
        return _too_many(bounds)
    if isinstance(raw, str):
        try:
            data = raw.encode()
        except UnicodeEncodeError as error:
            return Failure(code=Code.HALF_CHARACTER, message=f"character {error.start} is half a surrogate pair")
        return _too_many(bounds) if len(data) > bounds.bytes else (raw, data)
    try:
        return raw.decode(), bytes(raw)
    except UnicodeDecodeError as error:
        return Failure(code=Code.NOT_UTF8, message=f"byte {error.start} is not UTF-8")


def _too_many(bounds: Bounds) -> Failure:
    return Failure(code=Code.TOO_MANY_BYTES, message=f"more than {bounds.bytes:,} bytes")


def parse_json(text: str, bounds: Bounds) -> Json | Failure:
    """Exactly one JSON document. Nesting is measured before anything recurses. Maps with a key written twice are
    ``Doubled``."""
    if text.count("[") + text.count("{") > bounds.depth and _nesting(text, bounds.depth) > bounds.depth:
        return too_deep(bounds)
    try:
        return _read_json(text)
    except json.JSONDecodeError as error:
        if error.msg.startswith("Extra data"):
            return Failure(code=Code.NOT_ONE_DOCUMENT, message=f"more follows the document at character {error.pos}")
        place = f"line {error.lineno}, column {error.colno}"
        return Failure(code=Code.UNREADABLE, message=f"not JSON: {error.msg} ({place})")
    except RecursionError:
        return too_deep(bounds)
    except ValueError:
        return Failure(code=Code.NUMBER_TOO_LONG, message=f"a number of more than {MAX_DIGITS} digits")


def parse_json_lines(text: str, bounds: Bounds) -> Json | Failure:
    """One JSON document a line, as a list; blank lines do not count."""
    lines: list[Json] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        one = parse_json(line, bounds)
        if isinstance(one, Failure):
            return msgspec.structs.replace(one, message=f"line {number}: {one.message}", pointer=f"/{len(lines)}")
        lines.append(one)
    return lines


def _map_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    doubled, seen = Doubled(made), set[str]()
    doubled.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # the idiom for "the first repeated"
    return doubled


_read_json: Callable[[str], Json] = json.JSONDecoder(object_pairs_hook=_map_of).decode


def _nesting(text: str, enough: int) -> int:
    """How deep brackets outside of texts go; counting stops behind ``enough``."""
    depth = deepest = 0
    for found in _BRACKETS.finditer(text):
        mark = found.group()
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > enough:
                break
        elif mark in "]}":
            depth -= 1
    return deepest


def too_deep(bounds: Bounds) -> Failure:
    """A value with too many levels."""
    return Failure(code=Code.TOO_DEEP, message=f"nested more than {bounds.depth} levels deep")


def sound_texts(value: Json, bounds: Bounds) -> list[str] | None:
    """Every text and key of a value that is sound; None when something might be wrong, and ``faults`` says what."""
    texts: list[str] = []
    level: list[Any] = [value]
    nodes = depth = 0
    while level:
        deeper: list[Any] = []
        nodes += len(level)
        for item in level:
            kind = item.__class__
            if kind is str:
                texts.append(item)
            elif kind is dict or kind is list:
                if depth >= bounds.depth or len(item) > bounds.items or nodes + len(deeper) > MAX_NODES:
                    return None
                if kind is list:
                    deeper += item
                else:
                    texts += item
                    deeper += item.values()
            elif not _sound_scalar(item, kind):
                return None
        level = deeper
        depth += 1
    return texts if _sound_together(texts, bounds) else None


def _sound_scalar(item: Any, kind: type) -> bool:
    if kind is float:
        return math.isfinite(item)
    if kind is int:
        return bool(item.bit_length() <= _MAX_BITS)
    return item is None or kind is bool


def _sound_together(texts: list[str], bounds: Bounds) -> bool:
    if bounds.string is not None and texts and max(map(len, texts)) > bounds.string:
        return False
    try:
        joined = "".join(texts)
        return joined.isascii() or bool(joined.encode())
    except (TypeError, UnicodeEncodeError):
        return False


def faults(value: Any, bounds: Bounds) -> list[Failure]:
    """What is unsound about a value, each thing with its place; at most a hundred, of the first million nodes."""
    return list(islice(_faults(value, bounds), MOST))


def _faults(value: Any, bounds: Bounds) -> Iterator[Failure]:
    for number, (path, item) in enumerate(walk(value, bounds.depth)):
        if number >= MAX_NODES:
            yield Failure(code=Code.TOO_MANY_ITEMS, message=f"more than {MAX_NODES:,} values")
            return
        yield from _faults_of(item, path, bounds)


def _faults_of(item: Any, path: tuple[str | int, ...], bounds: Bounds) -> Iterator[Failure]:
    place = pointer_of(path)
    if isinstance(item, dict | list):
        yield from _faults_of_container(item, place, bounds, deep=len(path) >= bounds.depth)
    elif isinstance(item, str):
        yield from _faults_of_text(item, place, bounds, "text")
    elif isinstance(item, float) and not math.isfinite(item):
        yield Failure(code=Code.NOT_FINITE, message="the number is not finite", pointer=place)
    elif isinstance(item, int) and item.bit_length() > _MAX_BITS:
        yield Failure(code=Code.NUMBER_TOO_LONG, message=f"a number of more than {MAX_DIGITS} digits", pointer=place)
    elif item is not None and not isinstance(item, int | float):
        yield Failure(code=Code.NOT_JSON, message=f"a value of type {type(item).__name__}", pointer=place)


def _faults_of_container(
    item: dict[Any, Any] | list[Any], place: str, bounds: Bounds, *, deep: bool
) -> Iterator[Failure]:
    if isinstance(item, Doubled):
        shown = json.dumps(item.key if len(item.key) <= 60 else item.key[:59] + "…")
        yield Failure(code=Code.KEY_TWICE, message=f"the key {shown} is written twice", pointer=place)
    if deep:
        yield msgspec.structs.replace(too_deep(bounds), pointer=place)
    if len(item) > bounds.items:
        message = f"{len(item):,} entries, allowed are {bounds.items:,}"
        yield Failure(code=Code.TOO_MANY_ITEMS, message=message, pointer=place)
    for key in item if isinstance(item, dict) else ():
        if not isinstance(key, str):
            message = f"a key of type {type_name(key)}"
            yield Failure(code=Code.NOT_JSON, message=message, pointer=place)
        else:
            yield from _faults_of_text(key, place, bounds, "key")


def _faults_of_text(text: str, place: str, bounds: Bounds, what: str) -> Iterator[Failure]:
    if bounds.string is not None and len(text) > bounds.string:
        message = f"a {what} of {len(text):,} characters, allowed are {bounds.string:,}"
        yield Failure(code=Code.TEXT_TOO_LONG, message=message, pointer=place)
    try:
        text.encode()
    except UnicodeEncodeError:
        yield Failure(code=Code.HALF_CHARACTER, message=f"the {what} holds half a surrogate pair", pointer=place)


def walk(value: Any, depth: int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every part of a value with its path, in order, containers before what is in them; not below ``depth`` levels."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while stack:
        path, item = stack.pop()
        yield path, item
        if len(path) >= depth:
            continue
        if isinstance(item, dict):
            stack += [((*path, str(key)), inner) for key, inner in reversed(item.items())]
        elif isinstance(item, list):
            stack += [((*path, index), item[index]) for index in range(len(item) - 1, -1, -1)]
