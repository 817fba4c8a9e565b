"""What one endpoint takes for one model: which optional parameters, and which form for a judge's reply.

Endpoints that call themselves compatible differ in small ways and say so with a 400. A dialect is learned from such
refusals, one parameter at a time. Only what mklang added by itself is ever left out: what a host configured is sent or
the endpoint's refusal is reported (W66), never dropped in silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from mklang.lang.values import Json
from mklang.llm.base import Exchange, Params, choice_schema, messages_of, seed_of

REFUSALS = frozenset({400, 404, 415, 422, 501})
"""Statuses with which endpoints refuse a parameter."""

PRODUCE_TOKENS = 4096
"""The output limit when the tier sets none (L103)."""
JUDGE_TOKENS = 2048
"""The output limit of a judge's reply: a number, and room for a model that thinks first."""

_LIMITS = ("max_tokens", "max_completion_tokens")
_WINDOW = re.compile("too large|context length|maximum context|exceed", re.IGNORECASE)
_FORM = re.compile(r"response_format|json_schema|json_object|structured output|guided|grammar", re.IGNORECASE)


class Form(IntEnum):
    """How a judge's reply is held to its form, from the strictest on."""

    SCHEMA = 0
    JSON = 1
    FREE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What is known or has been learned so far.

    ``limit`` is the endpoint's name for the output limit, None when it takes no such. ``thinking`` are the parameters
    that make the model show its thinking, None where there are no such; ``thinks`` says that it was seen to think
    unasked.
    """

    form: Form = Form.SCHEMA
    temperature: bool = True
    limit: str | None = "max_tokens"
    streams: bool = True
    stream_usage: bool = True
    thinking: Params | None = None
    thinks: bool = False

    def body(self, exchange: Exchange, *, streamed: bool = False) -> dict[str, Json]:
        """The request's body. The host's parameters stand over ours, except those that make it the request it is."""
        params = dict(exchange.params)
        body: dict[str, Json] = dict(self.thinking or {}) if exchange.reason else {}
        given = next((name for name in _LIMITS if name in params), None)
        if given:
            body[_LIMITS[1] if self.limit == _LIMITS[1] else given] = params.pop(given)
        elif self.limit:
            body[self.limit] = PRODUCE_TOKENS if exchange.choices is None else JUDGE_TOKENS
        if self.temperature:
            body["temperature"] = exchange.temperature
        body |= params
        seed = params.get("seed")
        if isinstance(seed, int):
            body["seed"] = seed_of(exchange, seed)
        body = {name: value for name, value in body.items() if value is not None}
        if exchange.choices is not None and self.form is not Form.FREE:
            body["response_format"] = _form(self.form, exchange.choices)
        if streamed and self.streams:
            body["stream"] = True
            if self.stream_usage:
                body["stream_options"] = {"include_usage": True}
        body["model"] = exchange.model
        body["messages"] = messages_of(exchange)
        return body

    def learn(self, exchange: Exchange, message: str, *, streamed: bool = False) -> Dialect | None:
        """The dialect to try after a refusal with this message; None when it names nothing that we could change."""
        if streamed and self.streams and self.stream_usage and _names(message, "stream_options"):
            return replace(self, stream_usage=False)
        if streamed and self.streams and (_names(message, "stream") or _names(message, "streaming")):
            return replace(self, streams=False)
        if exchange.reason and self.thinking and any(_names(message, name) for name in self.thinking):
            return replace(self, thinking=None)
        if exchange.choices is not None and self.form is not Form.FREE and _FORM.search(message):
            return replace(self, form=Form(self.form + 1))
        if self.limit and _names(message, self.limit):
            renamed = _names(message, _LIMITS[1]) and not _WINDOW.search(message)
            if renamed and self.limit != _LIMITS[1]:
                return replace(self, limit=_LIMITS[1])
            if not any(name in exchange.params for name in _LIMITS):
                return replace(self, limit=None)
        if self.temperature and "temperature" not in exchange.params and _names(message, "temperature"):
            return replace(self, temperature=False)
        return None


def output_limit(body: Mapping[str, Json]) -> int | None:
    """The output limit a body asks for."""
    limits = [value for name in _LIMITS if isinstance(value := body.get(name), int)]
    return limits[0] if limits else None


def _form(form: Form, choices: int) -> dict[str, Json]:
    if form is Form.JSON:
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": choice_schema(choices)},
    }


def _names(message: str, parameter: str) -> bool:
    return re.search(rf"\b{parameter}\b", message) is not None
