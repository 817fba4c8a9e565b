"""Every end means something: the known words, their relations, and words nobody has seen yet (P-06, P-10, P-15)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.engine.requests import Usage
from mklang.errors import ProviderFailed
from mklang.llm.endings import Ending, ending_of, worse
from mklang.llm.failures import Origin
from mklang.llm.replies import read_completion, reported, split_thought, usage_or_estimate

WORDS = {
    Ending.WHOLE: [
        None, "", "stop", "STOP", "end_turn", "eos", "stop_sequence", "completed", "done", "normal", "finished",
    ],
    Ending.CUT: [
        "length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length", "token_limit", "Max Tokens",
        "model_context_window_exceeded", "context_length_exceeded", "incomplete", "truncated", "length_capped",
        "max_new_tokens", "pause_turn",
    ],
    Ending.FILTERED: [
        "content_filter", "content_filtered", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION",
        "sensitive", "guardrail_intervened", "moderation", "IMAGE_SAFETY", "policy_violation", "unsafe",
    ],
    Ending.REFUSED: ["refusal", "refused", "model_refusal", "declined"],
    Ending.BROKEN: [
        "error", "network_error", "insufficient_system_resource", "abort", "aborted", "cancelled", "timeout",
        "overloaded", "server_error", "interrupted", "upstream_unavailable", "rate_limit", "engine_failed",
    ],
    Ending.TOOL: ["tool_calls", "tool_use", "function_call", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"],
}  # fmt: skip


@pytest.mark.parametrize(("ending", "word"), [(ending, word) for ending, words in WORDS.items() for word in words])
def test_a_word_for_an_end_is_sorted_by_what_it_speaks_of(ending: Ending, word: str | None) -> None:
    assert ending_of(word) is ending


@given(st.text(max_size=40))
def test_no_word_makes_it_raise(word: str) -> None:
    assert ending_of(word) in Ending


def test_of_two_reasons_the_worse_one_tells() -> None:
    assert worse("stop", "network_error") == (Ending.BROKEN, "network_error")
    assert worse("stop", "MAX_TOKENS") == (Ending.CUT, "MAX_TOKENS")
    assert worse("length", "stop") == (Ending.CUT, "length")
    assert worse("stop", "STOP") == (Ending.WHOLE, "stop")
    assert worse(None, None) == (Ending.WHOLE, None)


ORIGIN = Origin(endpoint="here")


@pytest.mark.parametrize("message", [{"content": "let me see"}, {"content": None}, {}])
def test_a_tool_call_nobody_offered_is_no_reply(message: dict[str, object]) -> None:
    body = {"choices": [{"message": {**message, "tool_calls": [{"id": "1"}]}, "finish_reason": "tool_calls"}]}
    with pytest.raises(ProviderFailed, match="called a tool, and none was offered"):
        read_completion(body, ORIGIN, model="m")


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("<think>two and two</think>\n\nfour", "two and two", "four"),
        ("\n<think>\nhm\n</think>\nfour", "hm", "four"),
        ("<think></think>\nfour", "", "four"),
        ("[THINK]hm[/THINK]\nfour", "hm", "four"),
        ("<think>\nhm</think>four", "hm", "four"),
        ("<think>never ended", "never ended", ""),
        ("<think>only this</think>", "only this", ""),
        ("<think>a</think>\n<think>b</think>\nfour", "a", "<think>b</think>\nfour"),
        ("<think> and </think> are the marks", "", "<think> and </think> are the marks"),
        ("Use <think>x</think>\nlike this", "", "Use <think>x</think>\nlike this"),
        ("no marks\n</think>\nat all", "", "no marks\n</think>\nat all"),
        ("<thinking>x</thinking>\nfour", "", "<thinking>x</thinking>\nfour"),
    ],
)
def test_thinking_is_taken_out_at_the_beginning_and_marks_in_the_answer_stay(
    text: str, thought: str, answer: str
) -> None:
    assert split_thought(text) == (thought, answer)


@given(st.text(alphabet="<>/think[]THINK \nab", max_size=60))
def test_no_text_is_lost_between_thinking_and_answer(text: str) -> None:
    thought, answer = split_thought(text)
    assert text.endswith(answer)
    assert thought in text


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (None, Usage(3, 2, estimated_tokens=5)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(0, 0)),
        ({"total_tokens": 9}, Usage(0, 9)),
        ({"prompt_tokens": 4}, Usage(4, 0)),
    ],
)
def test_zeros_are_counted_and_what_is_absent_is_estimated(usage: object, counted: Usage) -> None:
    assert usage_or_estimate(usage, prompt=10, written="12345") == counted


NAMES = ["prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "cached_tokens"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given(st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from(NAMES), inner), max_leaves=6))
def test_no_usage_makes_the_reader_raise_or_count_below_nothing(usage: object) -> None:
    found = reported(usage)
    if found is not None:
        assert found.input_tokens >= found.cached_tokens >= 0
        assert found.output_tokens >= 0
