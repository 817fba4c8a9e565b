"""Somebody who watches requests to models while they are under way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from mklang.llm.signals import Delta, Retrying, Signal


@dataclass
class Watcher:
    """Somebody who watches."""

    signals: list[Signal] = field(default_factory=list)
    watching: bool = True
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self, signal: Signal, /) -> None:
        self.signals.append(signal)
        if isinstance(signal, Delta):
            self.heard.set()

    @property
    def shown(self) -> str:
        """The text on a screen that is wiped when an attempt is made again."""
        text = ""
        for signal in self.signals:
            if isinstance(signal, Retrying):
                text = ""
            elif isinstance(signal, Delta) and not signal.thought:
                text += signal.text
        return text
