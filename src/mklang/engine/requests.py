"""Every question a run can ask, and every answer it can get. Frozen; what an answer teaches travels in the answer.

A request's ``key`` is a path that is unique and the same in every run of the same machine on the same answers, whatever
order things finish in: ``3:draft/produce``, ``4:map[2]/call/1:read/tool``, ``7:review/ask``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias

import msgspec

from mklang.engine.options import Effect
from mklang.errors import AnswerFailed
from mklang.lang.models import Tier
from mklang.lang.values import Json


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens read and written by a model, and their price in billionths of a US dollar where it is known.

    ``estimated_tokens`` of them were not reported and are our estimate; ``cached_tokens`` of those read came from the
    provider's cache. Sums are exact: usage travels in answers and in failures, and is added once.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    nano_usd: int = 0
    estimated_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        if not other.input_tokens and not other.output_tokens and not other.nano_usd:
            return self
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.nano_usd + other.nano_usd,
            self.estimated_tokens + other.estimated_tokens,
            self.cached_tokens + other.cached_tokens,
        )

    @property
    def total(self) -> int:
        """Tokens in and out together."""
        return self.input_tokens + self.output_tokens

    def to_wire(self) -> dict[str, int]:
        """The published form of the tokens; what is an estimate and what came from a cache only where there is any."""
        wire = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        for name in ("estimated_tokens", "cached_tokens"):
            if value := getattr(self, name):
                wire[name] = value
        return wire


NO_USAGE = Usage()


def usage_of(failed: AnswerFailed) -> Usage:
    """What a request cost that could not be answered."""
    return Usage(
        failed.input_tokens, failed.output_tokens, failed.nano_usd, failed.estimated_tokens, failed.cached_tokens
    )


class Produce(msgspec.Struct, frozen=True, kw_only=True, tag="produce", tag_field="kind"):
    """Ask a model for text. ``system`` and ``user`` are complete messages; ``temperature`` is L44's."""

    key: str
    state: str
    tier: Tier
    system: str
    user: str
    reason: bool = False
    temperature: float = 0.4


class Judge(msgspec.Struct, frozen=True, kw_only=True, tag="judge", tag_field="kind"):
    """Ask a judge for the first true condition, or none.

    ``conditions`` are the author's texts in gate order. ``output``, ``reasoning`` and ``context`` (JSON text, at most
    4000 characters, L35) are evidence: whoever writes the judge's message puts each inside a fence marked ``nonce``
    (L60).
    """

    key: str
    state: str
    tier: Tier
    conditions: tuple[str, ...]
    output: str
    context: str
    nonce: str
    reasoning: str | None = None


class Hook(msgspec.Struct, frozen=True, kw_only=True, tag="hook", tag_field="kind"):
    """Ask a host predicate. ``context`` is the live blackboard and must not be changed (L58)."""

    key: str
    state: str
    name: str
    context: Mapping[str, Json]
    output: Json


class Tool(msgspec.Struct, frozen=True, kw_only=True, tag="tool", tag_field="kind"):
    """Call a host tool with one mapping (L55).

    ``effect`` says whether it changes something (L77). ``idempotency_key`` is the same whenever this very call is made
    again, after a crash included; no other call has it.
    """

    key: str
    state: str
    name: str
    input: dict[str, Json]
    effect: Effect
    idempotency_key: str


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag="ask", tag_field="kind"):
    """Ask a person (L82). ``state`` is the handler that runs next, ``asked_by`` the state whose gate escalated.

    ``question`` is the author's text, literal, or None; ``reply_to`` is the context path the reply goes to. ``about``
    is the escalating state's output as text: what the person is asked about. With ``choices`` the reply must be one of
    them.
    """

    key: str
    state: str
    asked_by: str
    reply_to: str
    about: str
    question: str | None = None
    choices: tuple[str, ...] = ()


class Nonce(msgspec.Struct, frozen=True, kw_only=True, tag="nonce", tag_field="kind"):
    """Ask the host for an unguessable string; every fence of the run is derived from it and the request's key."""

    key: str


Request: TypeAlias = Produce | Judge | Hook | Tool | Ask | Nonce


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model that was asked before the one whose answer counts: why it does not count, and what it cost.

    ``cause`` is one word, as in ``ProviderFailed.cause``; ``message`` is for people.
    """

    model: str
    cause: str
    message: str = ""
    usage: Usage = NO_USAGE


class Produced(msgspec.Struct, frozen=True, kw_only=True, tag="produced", tag_field="kind", omit_defaults=True):
    """A model's text. ``truncated`` when the model was cut off, ``finish_reason`` as the provider says it.

    ``seconds`` is how long the answer took, here and in the other answers; 0 when nobody measured. ``attempts`` are the
    models asked before this one; ``usage`` has their cost in it.
    """

    text: str
    reasoning: str | None = None
    usage: Usage = NO_USAGE
    model: str = ""
    finish_reason: str | None = None
    truncated: bool = False
    seconds: float = 0.0
    attempts: tuple[Attempt, ...] = ()


class Read(Enum):
    """How a judge's reply was understood."""

    CLEAN = "clean"
    LENIENT = "lenient"
    UNREAD = "unread"


class Verdict(msgspec.Struct, frozen=True, kw_only=True, tag="verdict", tag_field="kind", omit_defaults=True):
    """A judge's answer: ``index`` of the first true condition, or None when none is true.

    When ``read`` is UNREAD there is no verdict and ``index`` means nothing; ``raw`` holds the start of the reply.
    ``method`` says how the reply was read (``json`` is the clean form, L61). ``forced`` marks a judge that could not
    say none (L62).

    A judge with probabilities (``mapping`` ``noul_first_ge``, ADR 0037) gives one per condition in order, the
    ``threshold`` a condition must reach, the ``band`` around it that counts as doubtful, and the probability that none
    holds where it asked for one. ``index`` is then the first condition that reaches the threshold, for the record: the
    kernel walks the probabilities itself. ``fence_applied`` is the result of a check, None when nobody checked.
    ``attempts`` are the models asked before this one; ``usage`` has their cost in it.
    """

    index: int | None
    read: Read = Read.CLEAN
    method: str = "json"
    raw: str | None = None
    forced: bool = False
    usage: Usage = NO_USAGE
    model: str = ""
    provider: str = ""
    mapping: str = "choice"
    probabilities: tuple[float, ...] | None = None
    none_probability: float | None = None
    threshold: float | None = None
    band: float = 0.0
    fence_applied: bool | None = None
    seconds: float = 0.0
    attempts: tuple[Attempt, ...] = ()


class HookValue(msgspec.Struct, frozen=True, tag="hook-value", tag_field="kind"):
    """Whether a predicate holds."""

    holds: bool


class Observation(msgspec.Struct, frozen=True, tag="observation", tag_field="kind", omit_defaults=True):
    """What a tool returned, as text, and what the call cost, in money only."""

    text: str
    seconds: float = 0.0
    usage: Usage = NO_USAGE


class Reply(msgspec.Struct, frozen=True, kw_only=True, tag="reply", tag_field="kind", omit_defaults=True):
    """What a person answered: a value for each context path, the question's own ``reply_to`` among them.

    ``confirms`` is the host's decision that this reply says yes (L80). ``expired`` marks a question nobody answered in
    time: the handler runs without a reply, and nothing is confirmed.
    """

    values: dict[str, Json]
    confirms: bool = False
    expired: bool = False


class NotYet(msgspec.Struct, frozen=True, kw_only=True, tag="not-yet", tag_field="kind", omit_defaults=True):
    """Nobody has answered yet: the run suspends. A value, not an error, so that no error route can swallow it.

    ``choices`` lists the answers that are possible where only some are.
    """

    question: str
    choices: tuple[str, ...] = ()


class NonceValue(msgspec.Struct, frozen=True, tag="nonce-value", tag_field="kind"):
    """An unguessable string from the host."""

    text: str


Answer: TypeAlias = Produced | Verdict | HookValue | Observation | Reply | NotYet | NonceValue
