"""What an endpoint says when it has no reply: the exception for it, and a message its operator can work with."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum

from msgspec.structs import asdict

from mklang.engine.requests import NO_USAGE, Usage
from mklang.errors import AnswerFailed, ProviderFailed
from mklang.llm.retry import RETRIED, Transient


class Cause(StrEnum):
    """What happened instead of an answer. The value is what ``ProviderFailed.cause`` says, and what a trace shows."""

    STATUS = "status"
    """The endpoint answered with an error status, or with an error inside a success that names one."""
    ERROR = "error"
    """An error inside a success that names no status, or an end that speaks of one."""
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    """No answer came at all."""
    CUT = "cut"
    """The answer broke off: a stream ended without an end."""
    MALFORMED = "malformed"
    """An answer that is no reply."""
    FILTERED = "filtered"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    """The whole output limit was spent, and there is no text."""
    THINKING = "thinking"
    """The same, spent on thinking."""
    EMPTY = "empty"
    """The model ended of its own accord and wrote nothing."""


BODY_BYTES = 200
"""How much of a body a message shows."""
MESSAGE_CHARS = 600
_FILTERED = "filtered by the provider"
_NOT_THERE = frozenset({404, 405})

_PERMANENT = re.compile(
    "exceed_context_size|context_length_exceeded|insufficient_quota|content_filter|raise_exception|too large to process"
)
"""Signs in a body that the same request would fail the same way, whatever the status (P-16, P-20, P-21)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a body came from, for messages. ``status`` is None when no HTTP was involved, ``text`` is the body.

    ``path`` is where below ``endpoint`` the request went.
    """

    endpoint: str
    status: int | None = None
    text: str = ""
    path: str = ""

    def failure(self, what: str, body: object = None) -> str:
        """A message: the endpoint, the status, what happened, and what the body looks like."""
        start = self.text.encode("utf-8", "replace")[:BODY_BYTES].decode("utf-8", "ignore")
        shape = [_keys(body), f"body begins: {' '.join(start.split())}" if start else ""]
        return self._line(what, "; ".join(filter(None, shape)))

    def no_api(self, what: str, body: object = None) -> str:
        """A message about an answer that the API does not give: most often another address was meant."""
        return f"{self.failure(what, body)}; {self.asked_there}"

    @property
    def asked_there(self) -> str:
        """Where the request went, for somebody who may have meant another address."""
        return f"requests go to {self.endpoint}{self.path}: is base_url right?"

    def error(self, said: str, body: object) -> str:
        """A message with the endpoint's own words, which make the body's beginning superfluous."""
        return self._line(said[:MESSAGE_CHARS], _keys(body))

    def _line(self, what: str, shape: str) -> str:
        status = f" answered HTTP {self.status}" if self.status is not None else ""
        return f"{self.endpoint}{status}: {what}{f' ({shape})' if shape else ''}"


def parse_body(text: str) -> object:
    """A body as JSON, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def failure_of(
    body: object, origin: Origin, *, error: object = None, wait: float | None = None, usage: Usage = NO_USAGE
) -> Exception:
    """The exception for an error body: ``Transient`` where trying again can help, ``ProviderFailed`` where not.

    Inside a success the error's own code counts as its status. ``wait`` is the pause the endpoint asks for, ``usage``
    what it charged all the same.
    """
    said = error_message(body, error)
    found = error if error is not None else _error_in(body)
    hint = _hint(found, said)
    message = origin.error(hint, body) if said else origin.failure("an error without a message", body)
    if origin.status is not None and 300 <= origin.status < 400:
        message = f"{message}; it points elsewhere, which is not followed; {origin.asked_there}"
    if origin.status in _NOT_THERE and "model" not in said:
        message = f"{message}; {origin.asked_there}"
    status = _status(origin, found)
    filtered = "content_filter" in origin.text or hint.startswith(_FILTERED)
    cause = Cause.FILTERED if filtered else Cause.ERROR if status is None or status < 400 else Cause.STATUS
    if status in RETRIED and not _PERMANENT.search(origin.text):
        return Transient(message, wait, cause=cause, status=status, usage=usage)
    return ProviderFailed(message, cause=cause, status=status, **asdict(usage))


def error_message(body: object, error: object = None) -> str:
    """What an error body says, in one line; empty when it says nothing readable (P-21 to P-23)."""
    found = error if error is not None else _error_in(body)
    if isinstance(found, str):
        inner = parse_body(found)
        return error_message(inner) if isinstance(inner, dict) else " ".join(found.split())
    if isinstance(found, dict):
        said = found.get("message") or found.get("type") or found.get("code")
        return " ".join(str(said).split()) if said else ""
    return ""


def as_answer_failed(failed: Exception) -> AnswerFailed:
    """For back-ends that retry nothing: every failure is final."""
    if isinstance(failed, Transient):
        return ProviderFailed(str(failed), cause=failed.cause, status=failed.status, **asdict(failed.usage))
    return failed if isinstance(failed, AnswerFailed) else ProviderFailed(str(failed))


def _error_in(body: object) -> object:
    return (body.get("error") or body.get("detail") or body.get("message")) if isinstance(body, dict) else None


def _status(origin: Origin, error: object) -> int | None:
    """The status an error speaks of: HTTP's own, or inside a success the error's code, or what its type stands for."""
    if origin.status is not None and origin.status >= 400:
        return origin.status
    if not isinstance(error, dict):
        return origin.status
    for code in (error.get("code"), error.get("status"), error.get("status_code")):
        if (isinstance(code, int) and not isinstance(code, bool)) or (isinstance(code, str) and code.isdecimal()):
            return int(str(code)[:9])
    return _STATUS_OF_TYPE.get(str(error.get("type")), origin.status)


_STATUS_OF_TYPE = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "provider_unavailable": 503,
}
"""Errors that come inside a success and are known by a word only."""


def _hint(error: object, said: str) -> str:
    """The endpoint's words, or better ones where we know what they mean."""
    if isinstance(error, str) and isinstance(inner := parse_body(error), dict):
        return _hint(_error_in(inner), said)
    if isinstance(error, dict):
        if error.get("code") == "content_filter":
            return f"{_FILTERED}: {said}"
        needed, window = error.get("n_prompt_tokens"), error.get("n_ctx")
        if isinstance(needed, int) and isinstance(window, int):
            return f"the prompt has {needed} tokens and the model's window {window}: shorten what the state is given"
    return said


def _keys(body: object) -> str:
    return f"body keys: {', '.join(map(str, body)) or 'none'}" if isinstance(body, dict) else ""
