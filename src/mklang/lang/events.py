"""What the parser tells besides the values: where everything begins and ends, anchors, the dashes of lists."""

from __future__ import annotations

from collections import Counter

from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stub imports it without exporting it
from yaml.events import AliasEvent, Event, NodeEvent
from yaml.tokens import BlockEntryToken, KeyToken, Token


def start_of(part: Event | Token) -> int:
    """The offset at which something begins."""
    assert part.start_mark is not None
    return int(part.start_mark.index)


def end_of(part: Event | Token) -> int:
    """The offset at which something ends."""
    assert part.end_mark is not None
    return int(part.end_mark.index)


def signs(text: str) -> Counter[str]:
    """Every anchor and every alias of a document."""
    named = [(event.anchor, isinstance(event, AliasEvent)) for event in events_of(text) if isinstance(event, NodeEvent)]
    return Counter(f"{'*' if alias else '&'}{anchor}" for anchor, alias in named if anchor)


def events_of(text: str) -> list[Event]:
    """The parser's events from the start of the document on; raises ``YAMLError`` for what is no YAML."""
    parser = CParser(text)
    found: list[Event] = []
    try:
        while (event := parser.get_event()) is not None:
            found.append(event)
    finally:
        parser.dispose()
    return found[1:]


def dashes_of(text: str) -> list[int]:
    """Where each item of a block list begins, in order; raises ``ValueError`` for a key marked with ``?``."""
    parser = CParser(text)
    found: list[int] = []
    try:
        token: Token | None
        while (token := parser.get_token()) is not None:
            if isinstance(token, BlockEntryToken):
                found.append(start_of(token))
            elif isinstance(token, KeyToken) and text[start_of(token) : end_of(token)] == "?":
                raise ValueError(f"line {text.count(chr(10), 0, start_of(token)) + 1} marks a key with '?'")
    finally:
        parser.dispose()
    return found
