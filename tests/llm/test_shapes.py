"""Whatever JSON an endpoint sends in place of its protocol, what comes of it is an answer or a failure with a name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mklang.engine.requests import Produced, Read
from mklang.errors import AnswerFailed, ProviderFailed, Refused
from mklang.llm import decisions, jev, logprob
from mklang.llm.anthropic import MessagesSpeech
from mklang.llm.base import Exchange
from mklang.llm.dialect import Dialect
from mklang.llm.endpoint import Received, Speech
from mklang.llm.failures import Origin
from mklang.llm.noul import Chances, NoulSettings, questions_of, verdict_of
from mklang.llm.openai_compat import ChatSpeech
from mklang.llm.retry import Transient
from mklang.llm.sse import Event
from mklang.llm.streams import BadEvent
from tests.llm.asking import decide

NAMES = st.sampled_from([
    "choices", "message", "delta", "content", "text", "type", "finish_reason", "native_finish_reason", "usage", "error",
    "code", "index", "reasoning_content", "refusal", "tool_calls", "prompt_tokens", "total_tokens", "input_tokens",
    "prompt_tokens_details", "cached_tokens", "thinking", "stop_reason", "content_block", "partial_json", "answers",
    "g0", "g1", "none", "noul", "name", "probability", "logprobs", "top_logprobs", "token", "logprob", "detail",
    "status", "cache_read_input_tokens",
])  # fmt: skip
WORDS = st.sampled_from([
    "", "text", "thinking", "tool_use", "noul", "predicate", "stop", "length", "error", "message_start",
    "content_block_start", "content_block_delta", "message_delta", "message_stop", "yes", "no", "429",
])  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers(-2, 10**30) | st.floats() | WORDS
JSONS = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4))
BODIES = st.dictionaries(NAMES, JSONS, max_size=5)
BLOCKS = st.fixed_dictionaries({}, optional={"type": WORDS, "text": JSONS, "thinking": JSONS, "input": JSONS})
DELTAS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("content", "text", "thinking", "partial_json", "refusal", "tool_calls"), JSONS)
)
CHOICES = st.fixed_dictionaries({}, optional={"index": JSONS, "delta": DELTAS | JSONS, "finish_reason": JSONS})
EVENTS = st.fixed_dictionaries(
    {"type": WORDS},
    optional={
        "index": JSONS,
        "delta": DELTAS | JSONS,
        "content_block": BLOCKS | JSONS,
        "message": BODIES | JSONS,
        "choices": st.lists(CHOICES, max_size=2) | JSONS,
        "usage": BODIES | JSONS,
        "error": JSONS,
    },
)
EXCHANGE = Exchange(key="1:s/produce", model="m", system="s", user="u", temperature=0.0)
QUESTIONS = questions_of(decide("a", "b"), ask_none=True)


def received(body: object, exchange: Exchange) -> Received:
    return Received(body=body, origin=Origin(endpoint="x", status=200), exchange=exchange, limit=None, wait=None)


@pytest.mark.parametrize("speech", [ChatSpeech(Dialect()), MessagesSpeech()], ids=["chat", "messages"])
@settings(max_examples=300, deadline=None)
@given(
    body=JSONS | st.fixed_dictionaries({"content": st.lists(BLOCKS | JSONS)}, optional={"stop_reason": JSONS}),
    choices=st.none() | st.just(2),
)
def test_a_body_of_any_shape_is_a_reply_or_a_failure(speech: Speech, body: object, choices: int | None) -> None:
    exchange = Exchange(key="k", model="m", system="s", user="u", temperature=0.0, choices=choices)
    try:
        produced = speech.read(received(body, exchange))
    except (ProviderFailed, Refused, Transient):
        return
    assert isinstance(produced, Produced)
    assert isinstance(produced.text, str)
    assert produced.usage.input_tokens >= 0
    assert produced.usage.output_tokens >= 0


@pytest.mark.parametrize("speech", [ChatSpeech(Dialect()), MessagesSpeech()], ids=["chat", "messages"])
@settings(max_examples=300, deadline=None)
@given(chunks=st.lists(EVENTS | BODIES, max_size=5))
def test_events_of_any_shape_are_a_reply_or_a_failure(speech: Speech, chunks: list[dict[str, Any]]) -> None:
    stream = speech.stream()
    try:
        for chunk in chunks:
            for piece in stream.take(Event("", json.dumps(chunk))):
                assert isinstance(piece.text, str)
        assert isinstance(stream.written, str)
        speech.read(received(stream.body(), EXCHANGE))
    except (BadEvent, ProviderFailed, Refused, Transient):
        return


@settings(max_examples=300, deadline=None)
@given(body=BODIES)
def test_answers_of_any_shape_are_probabilities_or_unread(body: dict[str, Any]) -> None:
    names = decisions.question_names(QUESTIONS)
    sent = QUESTIONS.evidence
    told = [
        jev.read_answers(body, QUESTIONS, model="m"),
        decisions.read_answers(body, names, QUESTIONS, model="m", sent=sent),
    ]
    for chances in told:
        verdict = verdict_of(QUESTIONS, chances, NoulSettings(), provider="p", sent=sent)
        assert (verdict.read is Read.UNREAD) is (verdict.probabilities is None)
        assert all(0.0 <= value <= 1.0 for value in verdict.probabilities or ())


@settings(max_examples=300, deadline=None)
@given(choices=JSONS)
def test_log_probabilities_of_any_shape_are_a_probability_or_none(choices: object) -> None:
    first = {"logprobs": {"content": [{"top_logprobs": choices}]}}
    for body in ({"choices": choices}, {"choices": [first]}):
        try:
            chance = logprob._chance(body, "x")
        except AnswerFailed:
            continue
        assert not 0.0 <= chance <= 1.0 or Chances(conditions=(chance,))
