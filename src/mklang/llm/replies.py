"""From a chat completion, or whatever an endpoint sent instead, to a reply or the reason why there is none.

Never trusts a shape: an error inside a success, a list that is null, a text that is missing are all named, with the
status, the keys and the beginning of the body, so that the person who runs the endpoint can find the cause.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mklang.engine.requests import NO_USAGE, Produced, Usage
from mklang.errors import ProviderFailed, Refused
from mklang.llm.base import sendable
from mklang.llm.failures import Origin, failure_of

CUT_OFF = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
"""Finish reasons of a text that was cut off (L48)."""
_FILTERED = frozenset({"content_filter", "content_filtered", "safety"})
_THOUGHT = re.compile(r"\s*<think>(.*?)(?:</think>\s*|\Z)", re.DOTALL)


def read_completion(
    body: object, origin: Origin, *, model: str, limit: int | None = None, wait: float | None = None
) -> Produced:
    """The reply in a chat completion's body. ``limit`` is the number of output tokens that was asked for, ``wait`` the
    pause the endpoint asks for should this be an error.

    Raises ``ProviderFailed``, ``Refused`` or ``Transient``. The text may be empty: who needs one, asks
    ``require_text``.
    """
    if not isinstance(body, dict):
        raise ProviderFailed(origin.failure("the reply is not a chat completion", body))
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    error = body.get("error") or (choice.get("error") if isinstance(choice, dict) else None)
    if error:
        raise failure_of(body, origin, error=error, wait=wait)
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ProviderFailed(origin.failure("the reply holds no message", body))
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else None
    _check_end(finish, choice, message, origin)
    text, reasoning = _texts(message)
    usage = _usage(body.get("usage"))
    return Produced(
        text=text,
        reasoning=reasoning or None,
        usage=usage,
        model=model,
        finish_reason=finish,
        truncated=_cut_off(finish, usage, limit),
    )


def require_text(produced: Produced, origin: Origin) -> Produced:
    """The reply if it has text; an empty one is a failure, never a result (P-11)."""
    if produced.text.strip():
        return produced
    spent = produced.usage.output_tokens
    if produced.truncated:
        on = "on thinking" if produced.reasoning else "before any text"
        what = f"the model spent its whole output limit ({spent} tokens) {on}; raise the tier's max_tokens"
    else:
        ended = f", finish reason '{produced.finish_reason}'" if produced.finish_reason else ""
        what = f"the model wrote no text ({spent} tokens{ended})"
    raise ProviderFailed(origin.failure(what))


def _check_end(finish: str | None, choice: Mapping[str, object], message: Mapping[str, object], origin: Origin) -> None:
    ended = (finish or "").lower()
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        raise Refused(sendable(refusal))
    if ended == "refusal":
        raise Refused("the model declined to answer")
    if ended in _FILTERED:
        raise ProviderFailed(origin.failure(f"filtered by the provider (finish reason '{finish}')"))
    native = choice.get("native_finish_reason")
    if ended == "error" or (isinstance(native, str) and "error" in native.lower()):
        raise ProviderFailed(origin.failure(f"the reply ended in an error ('{native or finish}')", choice))


def _texts(message: Mapping[str, object]) -> tuple[str, str]:
    """The text and the reasoning, wherever the endpoint put them."""
    content = message.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    text = content if isinstance(content, str) else "".join([_part(part, "text") for part in parts])
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if not isinstance(reasoning, str):
        reasoning = "".join([_part(part, "thinking") for part in parts])
    if not reasoning and (thought := _THOUGHT.match(text)):
        reasoning, text = thought[1].strip(), text[thought.end() :]
    return sendable(text), sendable(reasoning)


def _part(part: Mapping[str, object], kind: str) -> str:
    value = part.get(kind)
    if part.get("type") == kind and isinstance(value, list):
        return "".join([_part(inner, "text") for inner in value if isinstance(inner, dict)])
    return value if part.get("type") == kind and isinstance(value, str) else ""


def _usage(usage: object) -> Usage:
    """Tokens as reported; what the total has beyond prompt and completion is output too (thinking, P-11)."""
    if not isinstance(usage, dict):
        return NO_USAGE
    read, written, total = (_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    return Usage(read, max(written, total - read))


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _cut_off(finish: str | None, usage: Usage, limit: int | None) -> bool:
    """Whether the text was cut off. A proxy may hide it: a reply exactly as long as the limit counts as cut (P-10)."""
    ended = (finish or "stop").lower()
    return ended in CUT_OFF or (ended == "stop" and limit is not None and usage.output_tokens >= limit)
