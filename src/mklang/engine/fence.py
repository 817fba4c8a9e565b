"""Fences: how text that is not the author's reaches a model without speaking for the author (L32, L60)."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

NONCE_DIGITS = 12


def derive_nonce(seed: str, key: str, texts: Iterable[str]) -> str:
    """A nonce for one request: unguessable without the run's seed, different for every key, absent from ``texts``.

    Derived, not drawn, so that a replayed run asks byte-identical questions.
    """
    fenced = tuple(texts)
    secret = seed.encode()[:64]
    attempt = 0
    while True:
        digest = blake2b(f"{key}#{attempt}".encode("utf-8", "surrogatepass"), key=secret, digest_size=NONCE_DIGITS // 2)
        nonce = digest.hexdigest()
        if not any(nonce in text for text in fenced):
            return nonce
        attempt += 1


def fence(text: str, nonce: str) -> str:
    """The text between its marks, unchanged."""
    return f"<data-{nonce}>\n{text}\n</data-{nonce}>"
