"""A key that an endpoint sends back is shown to nobody: in no message, in no reply, in no pieces of one."""

from __future__ import annotations

from dataclasses import dataclass, field

from mklang.llm.streams import Piece

SHOWN_AS = "[key]"
LEAST_CHARS = 12
"""A shorter key is a word that servers without keys are given, such as ``none``, and may stand in any text."""


@dataclass(frozen=True, slots=True)
class Secret:
    """The key that is sent to one address, None where none is. It appears in no ``repr``."""

    key: str | None = field(repr=False)

    def out_of(self, message: str) -> str:
        """A message without the key."""
        return message.replace(self.key, SHOWN_AS) if self.key else message

    def out_of_reply(self, text: str) -> str:
        """What an endpoint sent without the key; a key that is only a word changes no text."""
        return self.out_of(text) if self.key and len(self.key) >= LEAST_CHARS else text

    def withheld(self) -> Withheld:
        """For one reply that comes in pieces."""
        return Withheld(self.key if self.key and len(self.key) >= LEAST_CHARS else None)


class Withheld:
    """Pieces of a reply on their way to whoever watches, the secret replaced wherever the pieces were cut.

    What could be the beginning of it waits for the rest.
    """

    def __init__(self, secret: str | None) -> None:
        self._secret = secret
        self._kept = ""
        self._thought = False

    def through(self, pieces: list[Piece]) -> list[Piece]:
        """What may be shown now."""
        if not self._secret:
            return pieces
        shown: list[Piece] = []
        for piece in pieces:
            if piece.thought is not self._thought:
                shown += self.rest()
                self._thought = piece.thought
            text = f"{self._kept}{piece.text}".replace(self._secret, SHOWN_AS)
            cut = len(text) - _begun(text, self._secret)
            self._kept = text[cut:]
            if cut:
                shown.append(Piece(text[:cut], thought=piece.thought))
        return shown

    def rest(self) -> list[Piece]:
        """What waited for more, once there is no more."""
        kept, self._kept = self._kept, ""
        return [Piece(kept, thought=self._thought)] if kept else []


def _begun(text: str, secret: str) -> int:
    """How many characters at the end of the text could be the beginning of the secret."""
    longest = min(len(text), len(secret) - 1)
    return next((size for size in range(longest, 0, -1) if secret.startswith(text[-size:])), 0)
