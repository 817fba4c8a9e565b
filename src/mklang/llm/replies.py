"""From a chat completion, or whatever an endpoint sent instead, to a reply or the reason why there is none.

Never trusts a shape: an error inside a success, a list that is null, a text that is missing are all named, with the
status, the keys and the beginning of the body, so that the person who runs the endpoint can find the cause. Every
failure carries what it cost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import asdict

from mklang.engine.requests import NO_USAGE, Produced, Usage
from mklang.errors import ProviderFailed, Refused
from mklang.llm.base import sendable
from mklang.llm.endings import Ending, worse
from mklang.llm.failures import Cause, Origin, failure_of
from mklang.llm.retry import Transient

BYTES_PER_TOKEN = 4
"""What a token is taken to be where nobody counted."""
_THOUGHT = re.compile(
    r"\s*(?:<think>|\[THINK\])(\s*)(.*?)(?:(?:</think>|\[/THINK\])([^\S\n]*(?:\n\s*|\Z)|)|\Z)", re.DOTALL
)


def read_completion(
    body: object, origin: Origin, *, model: str, limit: int | None = None, wait: float | None = None, prompt: int = 0
) -> Produced:
    """The reply in a chat completion's body.

    ``limit`` is the number of output tokens that was asked for, ``wait`` the pause the endpoint asks for should this be
    an error, ``prompt`` the prompt's length in bytes, for an estimate where no usage is given.

    Raises ``ProviderFailed``, ``Refused`` or ``Transient``. The text may be empty: who needs one, asks
    ``require_text``.
    """
    if not isinstance(body, dict):
        what = origin.no_api("the reply is not a chat completion", body)
        raise ProviderFailed(what, cause=Cause.MALFORMED, status=origin.status)
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    error = body.get("error") or (choice.get("error") if isinstance(choice, dict) else None)
    if error:
        raise failure_of(body, origin, error=error, wait=wait, usage=reported(body.get("usage")) or NO_USAGE)
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        usage = reported(body.get("usage")) or NO_USAGE
        tell = origin.failure if "choices" in body else origin.no_api
        what = tell("the reply holds no message", body)
        raise ProviderFailed(what, cause=Cause.MALFORMED, status=origin.status, **asdict(usage))
    text, reasoning = _texts(message)
    usage = usage_or_estimate(body.get("usage"), prompt=prompt, written=text + reasoning)
    finish = _word(choice.get("finish_reason"))
    ending, reason = worse(finish, _word(choice.get("native_finish_reason")))
    check_ending(ending, reason, origin, usage, refusal=_word(message.get("refusal")))
    if message.get("tool_calls") and not text.strip():
        raise no_tool_was_offered(origin, usage)
    return Produced(
        text=text,
        reasoning=reasoning or None,
        usage=usage,
        model=model,
        finish_reason=reason,
        truncated=ending is Ending.CUT or reaches(limit, usage),
    )


def require_text(produced: Produced, origin: Origin) -> Produced:
    """The reply if it has text; an empty one is a failure, never a result (P-11)."""
    if produced.text.strip():
        return produced
    spent = produced.usage.output_tokens
    if produced.truncated:
        on, cause = ("on thinking", Cause.THINKING) if produced.reasoning else ("before any text", Cause.TRUNCATED)
        what = f"the model spent its whole output limit ({spent} tokens) {on}; raise the tier's max_tokens"
    else:
        cause = Cause.EMPTY
        ended = f", finish reason '{produced.finish_reason}'" if produced.finish_reason else ""
        what = f"the model wrote no text ({spent} tokens{ended})"
    raise ProviderFailed(origin.failure(what), cause=cause, **asdict(produced.usage))


def check_ending(ending: Ending, reason: str | None, origin: Origin, usage: Usage, *, refusal: str | None) -> None:
    """Raise where an end means that there is no reply, whatever text came before it."""
    if refusal and refusal.strip():
        raise Refused(sendable(refusal), **asdict(usage))
    match ending:
        case Ending.REFUSED:
            raise Refused("the model declined to answer", **asdict(usage))
        case Ending.FILTERED:
            what = f"filtered by the provider (finish reason '{reason}')"
            raise ProviderFailed(origin.failure(what), cause=Cause.FILTERED, **asdict(usage))
        case Ending.BROKEN:
            what = f"the reply ended in an error ('{reason}')"
            raise Transient(origin.failure(what), cause=Cause.ERROR, usage=usage)
        case Ending.TOOL:
            raise no_tool_was_offered(origin, usage)
        case Ending.WHOLE | Ending.CUT:
            return


def no_tool_was_offered(origin: Origin, usage: Usage) -> ProviderFailed:
    """For a model that calls a tool instead of writing."""
    what = "the model called a tool, and none was offered"
    return ProviderFailed(origin.failure(what), cause=Cause.MALFORMED, **asdict(usage))


def usage_or_estimate(usage: object, *, prompt: int, written: str) -> Usage:
    """Tokens as reported, zeros included; where nothing is, an estimate that says it is one (P-25)."""
    found = reported(usage)
    if found is not None:
        return found
    read, wrote = _tokens(prompt), _tokens(len(written.encode("utf-8", "replace")))
    return Usage(read, wrote, 0, read + wrote)


def reported(usage: object) -> Usage | None:
    """The tokens a reply says it cost; what its total has beyond prompt and completion is output too (thinking, P-11).

    None when it says nothing that can be understood.
    """
    if not isinstance(usage, dict):
        return None
    names = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"), ("total_tokens",))
    read, written, total = (_first_count(usage, *alike) for alike in names)
    if read is None and written is None and total is None:
        return None
    read = read or 0
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    cached = _first_count(details, "cached_tokens") if isinstance(details, dict) else None
    if cached is None:
        cached = _first_count(usage, "prompt_cache_hit_tokens")
    return Usage(read, max(written or 0, (total or 0) - read), 0, 0, min(cached or 0, read))


def reaches(limit: int | None, usage: Usage) -> bool:
    """Whether as much was written as was allowed. A proxy may hide the cut: such a reply counts as cut (P-10)."""
    return limit is not None and usage.output_tokens >= limit and not usage.estimated_tokens


def split_thought(text: str) -> tuple[str, str]:
    """Thinking that stands before the answer between marks, and the answer.

    Only at the very beginning, only once, and only where the marks stand on lines of their own in one way or another:
    an answer may speak of the marks. Thinking that never ends leaves no answer.
    """
    found = _THOUGHT.match(text)
    if found is None:
        return "", text
    opened, thought, closed = found[1], found[2], found[3]
    rest = text[found.end() :]
    if rest and closed == "" and "\n" not in opened:
        return "", text
    return thought.strip(), rest


def _texts(message: Mapping[str, object]) -> tuple[str, str]:
    """The text and the reasoning, wherever the endpoint put them."""
    content = message.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    text = content if isinstance(content, str) else "".join([_part(part, "text") for part in parts])
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if not isinstance(reasoning, str):
        reasoning = "".join([_part(part, "thinking") for part in parts])
    if not reasoning:
        reasoning, text = split_thought(text)
    return sendable(text), sendable(reasoning)


def _part(part: Mapping[str, object], kind: str) -> str:
    value = part.get(kind)
    if part.get("type") == kind and isinstance(value, list):
        return "".join([_part(inner, "text") for inner in value if isinstance(inner, dict)])
    return value if part.get("type") == kind and isinstance(value, str) else ""


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _first_count(usage: Mapping[str, object], *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)
