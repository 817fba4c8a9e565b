"""Fences: how text that is not the author's reaches a model without speaking for the author (L32, L60)."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

NONCE_DIGITS = 12


class Nonces:
    """A run's nonces: unguessable without its seed, and different for every request key.

    Derived, not drawn, so that a replayed run asks byte-identical questions.
    """

    __slots__ = ("_keyed",)

    def __init__(self, seed: str) -> None:
        self._keyed = blake2b(key=seed.encode("utf-8", "surrogatepass")[:64], digest_size=NONCE_DIGITS // 2)

    def derive(self, key: str, texts: Iterable[str] = ()) -> str:
        """The nonce of one request; another one when it should stand in one of the texts it has to fence."""
        hasher = self._keyed.copy()
        hasher.update(key.encode("utf-8", "surrogatepass"))
        nonce = hasher.hexdigest()
        for text in texts:
            if nonce in text:
                return self.derive(f"{key}#", texts)
        return nonce


def fence(text: str, nonce: str) -> str:
    """The text between its marks, unchanged."""
    return f"<data-{nonce}>\n{text}\n</data-{nonce}>"
