"""Fences around evidence for a judge, and the check that they hold (S26, L60).

Whoever writes a judge's message puts each untrusted text between marks that no such text contains. Whether that is so
is checked on the message itself, by the text: a message that was put together wrongly says so in the trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mklang.engine.fence import fence
from mklang.engine.requests import Judge
from mklang.llm.base import sendable

_TELLING = 40
"""A shorter text may stand outside a fence by chance; a longer one there is a leak."""


def evidence_of(request: Judge) -> Mapping[str, str]:
    """What is judged, by the name it is shown under, as it can be sent. All of it is untrusted."""
    named = {"OUTPUT": request.output, "REASONING": request.reasoning, "CONTEXT": request.context}
    return {name: sendable(text) for name, text in named.items() if text is not None}


def absent_nonce(nonce: str, texts: Iterable[str]) -> str:
    """The nonce, extended should it stand in a text: a fence has exactly one end."""
    known = list(texts)
    while any(nonce in text for text in known):
        nonce = f"{nonce}-{len(nonce):x}"
    return nonce


def fenced(parts: Mapping[str, str], nonce: str) -> str:
    """The evidence as a judge sees it: each text under its name, between its marks."""
    return "\n\n".join([f"{name}:\n{fence(text, nonce)}" for name, text in parts.items()])


def fences_hold(sent: str, texts: Iterable[str], nonce: str, *, authored: Iterable[str] = ()) -> bool:
    """Whether every untrusted text lies in what was sent exactly as fenced, and stands nowhere else.

    ``authored`` are the author's own texts in the message, which an untrusted one may repeat.
    """
    untrusted = list(texts)
    if any(nonce in text for text in untrusted):
        return False
    rest = sent
    for text in untrusted:
        before, marked, after = rest.partition(fence(text, nonce))
        if not marked:
            return False
        rest = f"{before}\n{after}"
    said = list(authored)
    return not any(
        len(text) > _TELLING and rest.count(text) > sum(own.count(text) for own in said) for text in untrusted
    )
