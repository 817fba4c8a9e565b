"""A streamed reply and a plain one are the same reply, however the stream is cut (T1 to T7, P-02 to P-06)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mklang.engine.requests import Produced, Usage
from mklang.errors import AnswerFailed, ProviderFailed, Refused
from mklang.llm.signals import Delta, Retrying
from mklang.llm.sse import Event, EventDecoder
from mklang.llm.streams import BadEvent, Completion
from tests.llm.asking import Slept, endpoint, write
from tests.llm.stub_server import Asked, Scripted, StubServer, chunk, completion, streamed
from tests.llm.watching import Watcher

TEXT = "Grüße, 東京 🙂: three\u2028lines\nhere."
USAGE = {"prompt_tokens": 7, "completion_tokens": 9, "total_tokens": 16}


def recorded() -> bytes:
    """One stream with everything that breaks readers: a mark, comments, line ends of three kinds, missing spaces,
    names of events, leading and trailing chunks without choices, several kinds of numbers and characters."""

    def raw(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    leading = {"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}
    parts = [
        "\ufeff: OPENROUTER PROCESSING\n\n",
        f"data: {raw(leading)}\r\n\r\n",
        "retry: 3000\r\rid: 7\r",
        f"event: message\ndata:{raw(chunk('', role='assistant'))}\n\n",
        f"data:{raw(chunk(reasoning_content='hm 東'))}\n: ping\n\n",
        *[f"data: {raw(chunk(TEXT[start : start + 5]))}\r\n\r\n" for start in range(0, len(TEXT), 5)],
        f"data: {raw({'id': 'r', 'object': 'ping'})}\n\n: still here\r\n\r\n",
        f"data: {raw(chunk('', finish='stop'))}\n\n",
        f"data: {raw(chunk(usage=USAGE))}\r\r",
        "data: [DONE]\n\n",
    ]
    return "".join(parts).encode()


def put_together(pieces: Iterable[bytes]) -> tuple[dict[str, object], bool, str]:
    """The body, whether it is complete, and the text that somebody watching saw."""
    decoder, whole, seen = EventDecoder(), Completion(), []
    events = [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()
    for event in events:
        seen += [piece.text for piece in whole.take(event) if not piece.thought]
    return whole.body(), whole.complete, "".join(seen)


@pytest.mark.rule("L103")
def test_a_stream_cut_at_any_byte_gives_the_same_reply() -> None:
    stream = recorded()
    whole = put_together([stream])
    assert whole[0]["choices"][0]["message"]["content"] == TEXT  # type: ignore[index]
    assert whole[0]["usage"] == USAGE
    assert whole[1:] == (True, TEXT)
    for cut in range(len(stream) + 1):
        assert put_together([stream[:cut], stream[cut:]]) == whole
    assert put_together([bytes([byte]) for byte in stream]) == whole


@given(cuts=st.lists(st.integers(0, len(recorded())), max_size=40))
@settings(max_examples=100, deadline=None)
def test_a_stream_in_any_pieces_gives_the_same_reply(cuts: list[int]) -> None:
    assert put_together(pieces_of(recorded(), cuts)) == put_together([recorded()])


def test_a_stream_that_ends_at_any_byte_is_whole_or_known_to_be_cut() -> None:
    stream = recorded()
    for cut in range(len(stream)):
        decoder, whole = EventDecoder(), Completion()
        try:
            for event in decoder.feed(stream[:cut]) + decoder.finish():
                whole.take(event)
        except BadEvent:
            pass
        text = whole.body()["choices"][0]["message"]["content"]  # type: ignore[index]
        assert text == TEXT if whole.complete else TEXT.startswith(text)


@given(st.lists(st.binary(max_size=30), max_size=10))
@settings(max_examples=200)
def test_no_bytes_make_the_decoder_raise(pieces: list[bytes]) -> None:
    decoder = EventDecoder()
    together = [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()
    again = EventDecoder()
    assert together == again.feed(b"".join(pieces)) + again.finish()


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("data: a\n\ndata: b\n\n", [Event("", "a"), Event("", "b")]),
        ("data: a\ndata: b\n\n", [Event("", "a\nb")]),
        ("event: error\ndata: a\n\ndata: b\n\n", [Event("error", "a"), Event("", "b")]),
        ("data:  a\r\r", [Event("", " a")]),
        ("data: last", [Event("", "last")]),
        ("data\n\n", [Event("", "")]),
        (": only a comment\n\n\n\n", []),
        ("datum: a\n\n", []),
    ],
)
def test_events_are_read_as_the_standard_says(text: str, events: list[Event]) -> None:
    decoder = EventDecoder()
    assert decoder.feed(text.encode()) + decoder.finish() == events


# Over the wire


def ask(
    *replies: Scripted, params: dict[str, Any] | None = None, watching: bool = True
) -> tuple[Produced | AnswerFailed, list[Asked], Watcher]:
    async def scenario() -> tuple[Produced | AnswerFailed, list[Asked], Watcher]:
        watcher = Watcher(watching=watching)
        async with StubServer(*replies) as server:
            model = endpoint(server.base_url, Slept(), watch=watcher)
            try:
                answer: Produced | AnswerFailed = await model.produce(write(), model="m", params=params or {})
            except AnswerFailed as failed:
                answer = failed
            finally:
                await model.aclose()
        return answer, server.asked, watcher

    return asyncio.run(scenario())


def pieces_of(stream: bytes, cuts: Sequence[int]) -> list[bytes]:
    places = [0, *sorted(cuts), len(stream)]
    return [stream[begin:end] for begin, end in pairwise(places)]


def texts_of(*replies: Scripted) -> str:
    answer, _, watcher = ask(*replies)
    assert isinstance(answer, Produced), answer
    assert watcher.shown == answer.text
    return answer.text


def failure_of(*replies: Scripted, requests: int = 1) -> ProviderFailed:
    answer, asked, _ = ask(*replies)
    assert isinstance(answer, ProviderFailed), answer
    assert len(asked) == requests
    return answer


def stream_of(*payloads: object, done: bool = True, **options: Any) -> Scripted:
    return Scripted(pieces=[streamed(*payloads, done=done)], **options)


GOOD = stream_of(chunk("O"), chunk("K", finish="stop"), chunk(usage=USAGE))


@given(cuts=st.lists(st.integers(0, len(recorded())), max_size=12))
@settings(max_examples=15, deadline=None)
def test_over_the_wire_it_is_the_reply_that_a_plain_call_brings(cuts: list[int]) -> None:
    plain, _, _ = ask(Scripted(completion(TEXT, usage=USAGE, reasoning_content="hm 東")), watching=False)
    came, (asked,), watcher = ask(Scripted(pieces=pieces_of(recorded(), cuts)))
    assert came == plain
    assert watcher.shown == TEXT
    assert asked.body["stream"] is True
    assert asked.body["stream_options"] == {"include_usage": True}


def test_nobody_watching_means_a_plain_call() -> None:
    _, (asked,), watcher = ask(Scripted(completion()), watching=False)
    assert not {"stream", "stream_options"} & asked.body.keys()
    assert watcher.signals == []


def test_an_endpoint_that_answers_in_one_piece_is_shown_in_one_piece() -> None:
    answer, _, watcher = ask(Scripted(completion("whole", reasoning_content="hm")))
    assert isinstance(answer, Produced)
    assert [(s.text, s.thought) for s in watcher.signals if isinstance(s, Delta)] == [("hm", True), ("whole", False)]


def test_events_under_another_name_are_events() -> None:
    for kind in ("application/json", "text/plain", "application/octet-stream"):
        for stream in (GOOD, stream_of("", chunk("OK", finish="stop"), done=False)):
            assert texts_of(Scripted(b"".join(stream.pieces or ()), headers={"Content-Type": kind})) == "OK"
    cut = Scripted(streamed(chunk("half a"), done=False), headers={"Content-Type": "text/plain"})
    assert texts_of(cut, GOOD) == "OK"


def test_a_plain_body_under_the_name_of_events_is_read_as_it_is() -> None:
    named = {"Content-Type": "text/event-stream"}
    refused = {"error": {"message": "no such model", "code": 404}}
    assert "no such model" in str(failure_of(Scripted(refused, headers=named)))
    assert texts_of(Scripted(completion("OK"), headers=named)) == "OK"
    busy = Scripted(pieces=[b'{"error": {"message": "busy",', b' "code": 503}}'])
    assert texts_of(busy, GOOD) == "OK"


@pytest.mark.parametrize(
    "last",
    [
        {"id": "r4", "choices": [], "error": {"code": 502, "message": "worker limit reached"}},
        {"id": "r5", "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}], "error": {"code": 504}},
        {"choices": [{"index": 0, "delta": {"content": ""}, "error": {"code": "503", "message": "gone"}}]},
        {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]},
        {"choices": [{"delta": {"content": ""}, "finish_reason": "stop", "native_finish_reason": "network_error"}]},
        {"choices": [{"delta": {}, "finish_reason": "insufficient_system_resource"}]},
        {"error": {"type": "overloaded_error", "message": "busy"}},
    ],
)
@pytest.mark.parametrize("done", [True, False])
def test_an_error_inside_a_stream_is_a_failure_that_passes_and_its_text_is_not_used(last: object, done: bool) -> None:
    bad = stream_of(chunk("half a"), last, done=done)
    assert texts_of(bad, GOOD) == "OK"
    failure_of(*[bad] * 9, requests=4)


@pytest.mark.parametrize(
    "bad",
    [
        stream_of(chunk("half a"), done=False),
        stream_of(chunk("half a"), done=False, broken=True),
        stream_of(chunk("half a"), "{not json", chunk(" text"), done=False),
        stream_of(chunk("half a"), "[1, 2]"),
        Scripted(pieces=[streamed(chunk("half a"), done=False) + b'data: {"choices": [{"delta": {"cont']),
        Scripted(pieces=[]),
        Scripted(pieces=[b": nothing but comments\n\n"]),
    ],
)
def test_a_stream_without_an_end_is_made_again(bad: Scripted) -> None:
    assert texts_of(bad, GOOD) == "OK"
    assert failure_of(*[bad] * 9, requests=4).cause == "cut"


def test_what_was_streamed_before_a_cut_is_paid() -> None:
    cut = stream_of(chunk("half a text!"), done=False)
    answer, _, _ = ask(cut, GOOD)
    assert isinstance(answer, Produced)
    assert answer.usage == Usage(7 + 4, 9 + 3, estimated_tokens=7)
    failed = failure_of(*[cut] * 4, requests=4)
    assert (failed.input_tokens, failed.output_tokens, failed.estimated_tokens) == (16, 12, 28)


def test_a_stream_that_falls_silent_is_cut() -> None:
    silent = Scripted(pieces=[streamed(chunk("half a"), done=False)], hang=True)

    async def scenario() -> str:
        async with StubServer(silent, GOOD) as server:
            model = endpoint(server.base_url, Slept(), watch=Watcher(), stall=0.05)
            produced = await model.produce(write(), model="m")
            await model.aclose()
            return produced.text

    assert asyncio.run(scenario()) == "OK"


@pytest.mark.parametrize(
    "stream",
    [
        [chunk("O"), chunk("K"), chunk(finish="stop"), chunk(usage=USAGE)],
        [chunk("O"), chunk("K", finish="stop", usage=USAGE)],
        [{"choices": []}, chunk("OK"), {"id": "r", "usage": USAGE}, chunk(finish="stop")],
        [chunk("OK", finish="stop"), {"object": "usage", "usage": USAGE}],
        [{"choices": [{"message": {"content": "OK"}, "finish_reason": "stop"}], "usage": USAGE}],
        [{"choices": [{"delta": {"content": [{"type": "text", "text": "OK"}]}, "finish_reason": "stop"}]}],
        [{"choices": None}, {"choices": [None]}, {"choices": [{"delta": None}]}, chunk("OK")],
        [chunk("OK"), {"choices": [{"index": 1, "delta": {"content": "another choice"}}]}],
    ],
)
def test_chunks_of_every_shape_are_read(stream: list[object]) -> None:
    assert texts_of(stream_of(*stream)) == "OK"


def test_an_end_or_the_end_mark_is_enough() -> None:
    assert texts_of(stream_of(chunk("OK", finish="stop"), done=False)) == "OK"
    assert texts_of(stream_of(chunk("OK", finish="stop"), done=False, broken=True)) == "OK"
    assert texts_of(stream_of(chunk("OK"))) == "OK"
    assert texts_of(Scripted(pieces=[streamed(chunk("OK"), done=False) + b"data: [DONE]"])) == "OK"
    assert texts_of(stream_of(chunk("OK"), hang=True)) == "OK"


def test_events_without_an_empty_line_between_them_are_read() -> None:
    stream = streamed(chunk("O"), chunk("K", finish="stop")).replace(b"\n\n", b"\n")
    assert texts_of(Scripted(pieces=[stream])) == "OK"


def test_refusals_filters_cuts_and_tool_calls_are_what_they_are_when_streamed() -> None:
    refused, _, _ = ask(stream_of(chunk(refusal="I can"), chunk(refusal="not help"), chunk(finish="stop")))
    assert isinstance(refused, Refused)
    assert str(refused) == "I cannot help"
    assert failure_of(stream_of(chunk("x"), chunk(finish="content_filter"))).cause == "filtered"
    called = stream_of({"choices": [{"delta": {"tool_calls": [{"index": 0}]}, "finish_reason": "tool_calls"}]})
    assert failure_of(called).cause == "malformed"
    cut, _, _ = ask(stream_of(chunk("half"), chunk(finish="length")))
    assert isinstance(cut, Produced)
    assert cut.truncated
    thought = failure_of(stream_of(chunk(reasoning_content="hm"), chunk(finish="length", usage=USAGE)))
    assert (thought.cause, thought.output_tokens) == ("thinking", 9)


def test_thinking_between_marks_is_shown_as_thinking_and_split_the_same_for_any_chunking() -> None:
    text = "<think>\nDo I say <b>?\n</think>\n\nYes </think> no."
    for size in (1, 3, 7, len(text)):
        parts = [chunk(text[start : start + size]) for start in range(0, len(text), size)]
        answer, _, watcher = ask(stream_of(*parts, chunk(finish="stop")))
        assert isinstance(answer, Produced)
        assert (answer.text, answer.reasoning) == ("Yes </think> no.", "Do I say <b>?")
        assert watcher.shown.strip() == answer.text


def test_an_endpoint_that_takes_no_stream_options_or_no_stream_is_asked_without() -> None:
    no_usage = Scripted({"error": {"message": "unknown field 'stream_options'"}}, status=400)
    no_stream = Scripted({"error": {"message": "parameter stream is not supported"}}, status=422)
    answer, asked, _ = ask(no_usage, no_stream, Scripted(completion("OK")))
    assert isinstance(answer, Produced)
    assert [[name for name in ("stream", "stream_options") if name in one.body] for one in asked] == [
        ["stream", "stream_options"], ["stream"], []
    ]  # fmt: skip


def test_after_a_failure_what_was_shown_begins_anew() -> None:
    cut = stream_of(chunk("Hello "), done=False)
    answer, _, watcher = ask(cut, stream_of(chunk("Hello "), chunk("world", finish="stop")))
    assert isinstance(answer, Produced)
    assert (answer.text, watcher.shown) == ("Hello world", "Hello world")
    (retry,) = [signal for signal in watcher.signals if isinstance(signal, Retrying)]
    assert (retry.attempt, retry.cause, retry.pause, retry.key) == (1, "cut", 0.5, "1:s/produce")
