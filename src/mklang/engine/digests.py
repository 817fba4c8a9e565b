"""What a request asks, in a few bytes: a recorded answer is used again only for the very same question."""

from __future__ import annotations

from hashlib import blake2b, sha256

import msgspec

from mklang.engine.requests import Hook, Request

_encode = msgspec.json.Encoder(order="deterministic").encode


def content_hash(text: str) -> str:
    """The first sixteen hex digits of a text's SHA-256, as ``sha256sum`` gives it for the same bytes in UTF-8."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def digest_of(request: Request) -> str:
    """Sixteen hex digits over all the request says, but for a hook's live context: earlier answers fix that."""
    asked: object = [request.key, request.state, request.name, request.output] if isinstance(request, Hook) else request
    try:
        content = _encode(asked)
    except UnicodeEncodeError:
        content = repr(asked).encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=8).hexdigest()
