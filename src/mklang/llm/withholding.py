"""A secret that a model echoes can arrive in parts: what could be the beginning of one waits for the rest."""

from __future__ import annotations

from mklang.llm.streams import Piece


class Withheld:
    """Pieces of a reply on their way to whoever watches, the secret replaced wherever the pieces were cut."""

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
            text = f"{self._kept}{piece.text}".replace(self._secret, "[key]")
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
