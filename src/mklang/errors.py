"""The exception tree, grouped by who must act.

::

    MklangError
    ├── DocumentError            the author: a document could not be read; carries every diagnostic
    ├── HostError                whoever embeds or calls mklang
    │   ├── UsageError           a call, a flag or an input that makes no sense
    │   ├── ConfigError          the runtime configuration is wrong or incomplete
    │   ├── MissingExtra         an optional dependency is not installed
    │   ├── RunStoreError        a stored run cannot be read, written, locked or continued
    │   └── KnowledgeError       a file of the knowledge cycle cannot be read, written or changed
    │       ├── Sealed           the knowledge is not in order, and nothing is written until a person has looked
    │       └── NotApproved      a change of behaviour that no person has approved as it is
    ├── AnswerFailed             an oracle could not answer; the run ends in a value that says so
    │   ├── ProviderFailed       the model's provider: outage, quota, a reply that is none
    │   ├── Refused              the model declined
    │   ├── Cancelled            the host called the run off
    │   ├── TimeExhausted        the run's time limit has passed
    │   ├── CostExhausted        the request would pass the run's limit of tokens or money
    │   ├── ReplayMismatch       a recorded answer belongs to another question
    │   └── StateFailed          the state cannot be executed as written
    │       ├── UnknownTool  UnknownHook  UnknownTier
    │       ├── ToolFailed  HookFailed
    │       └── ScriptFailed     a scripted test ran out of answers or has none for this request
    ├── GuardRefused             a value did not pass its guard; carries every failure
    ├── AlteredAfterCheck        a value was changed after its guard had passed it
    └── InternalError            us
"""

from __future__ import annotations

from collections.abc import Iterable

from mklang.diagnostics import Diagnostic, in_order


class MklangError(Exception):
    """Everything mklang raises on purpose."""


class DocumentError(MklangError):
    """A document could not be turned into a machine. ``diagnostics`` holds every problem found, in reading order."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = in_order(diagnostics)
        super().__init__("\n".join(found.render() for found in self.diagnostics))


class HostError(MklangError):
    """The embedding program, or the person at the command line, must change something."""


class UsageError(HostError):
    """A call, a flag or an input value that makes no sense."""


class ConfigError(HostError):
    """The runtime configuration is wrong or incomplete."""


class MissingExtra(HostError):
    """An optional dependency is needed and not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{purpose} needs the optional extra '{extra}': pip install 'mklang[{extra}]'")


class RunStoreError(HostError):
    """A stored run cannot be read, written, locked or continued."""


class KnowledgeError(HostError):
    """A file of the knowledge cycle cannot be read, written or changed."""


class Sealed(KnowledgeError):
    """The knowledge is not in order: it reads as empty, and nothing is written until a person has looked."""


class NotApproved(KnowledgeError):
    """A change of behaviour that no person has approved as it is; nothing was changed."""


class AnswerFailed(MklangError):
    """An oracle could not answer a request. The run turns it into a halt; nobody else needs to catch it.

    What a failed request cost all the same is on it and is charged like an answer's cost: tokens in and out, billionths
    of a US dollar, and how many of the tokens are an estimate, how many were read from a cache.
    """

    def __init__(
        self,
        message: str = "",
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        nano_usd: int = 0,
        estimated_tokens: int = 0,
        cached_tokens: int = 0,
    ) -> None:
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.nano_usd = nano_usd
        self.estimated_tokens = estimated_tokens
        self.cached_tokens = cached_tokens
        super().__init__(message)


class ProviderFailed(AnswerFailed):
    """The model's provider failed: an outage, a refused key, a malformed or empty reply.

    ``cause`` is one word for what happened and ``status`` the HTTP status, where the one who raises knows them; a
    host's rules for other models (``on: [429, timeout]``) look at these and never at the message.
    """

    def __init__(self, message: str = "", *, cause: str = "", status: int | None = None, **spent: int) -> None:
        self.cause = cause
        self.status = status
        super().__init__(message, **spent)


class Refused(AnswerFailed):
    """The model declined to produce the text."""


class Cancelled(AnswerFailed):
    """The host called the run off."""


class TimeExhausted(AnswerFailed):
    """The run's time limit has passed; nothing more is asked."""


class CostExhausted(AnswerFailed):
    """A request can cost more than is left of the run's limit; or in a replay, the recorded run never made it for that
    reason."""


class ReplayMismatch(AnswerFailed):
    """A recording has no answer for this request, or one that was given to another question."""


class StateFailed(AnswerFailed):
    """The state cannot be executed as written; halts as ``state-error: <message>``."""


class UnknownTool(StateFailed):
    """No tool of that name is registered."""

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name = name
        super().__init__(f"tool: unknown tool '{name}'{_known(known)}")


class UnknownHook(StateFailed):
    """No hook of that name is registered; a predicate that cannot answer is not false (L58)."""

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name = name
        super().__init__(f"hook: unknown hook '{name}'{_known(known)}")


class UnknownTier(StateFailed):
    """No model is configured for a tier."""

    def __init__(self, tier: str, known: Iterable[str] = ()) -> None:
        super().__init__(f"tier '{tier}' not configured{_known(known)}")


class ToolFailed(StateFailed):
    """A tool raised; the message says which and what."""


class HookFailed(StateFailed):
    """A hook raised; the message says which and what."""


class ScriptFailed(StateFailed):
    """A scripted test has no answer for this request."""


class GuardRefused(MklangError):
    """A value did not pass its guard, whole or not at all. ``failures`` has every reason, each with its place."""

    def __init__(self, guard: str, failures: Iterable[object]) -> None:
        self.guard = guard
        self.failures = tuple(failures)
        shown = "; ".join(str(failure) for failure in self.failures[:3])
        more = f"; and {len(self.failures) - 3} more" if len(self.failures) > 3 else ""
        super().__init__(f"guard '{guard}' refused the value: {shown}{more}")


class AlteredAfterCheck(MklangError):
    """A value was changed after its guard had passed it; nothing was written."""


class InternalError(MklangError):
    """A bug in mklang or in an extension that broke its contract."""


def _known(names: Iterable[str]) -> str:
    listed = ", ".join(sorted(names))
    return f" (registered: {listed})" if listed else ""
