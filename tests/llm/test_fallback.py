"""Another model answers when one cannot, by the host's rules; nothing of the broken answer goes into the new one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mklang.engine.requests import Attempt, Produced, Usage
from mklang.errors import AnswerFailed, ProviderFailed, Refused, TimeExhausted
from mklang.llm.fallback import OUTAGES, Alternative, FallbackBackend, is_rule
from mklang.llm.signals import Retrying
from tests.llm.asking import Slept, endpoint, write
from tests.llm.stub_server import Asked, Scripted, StubServer, chunk, completion, streamed
from tests.llm.watching import Watcher

SPENT = Usage(7, 3)


def ask(
    replies: dict[str, list[Scripted]], *rules: frozenset[str], watcher: Watcher | None = None
) -> tuple[Produced | AnswerFailed, list[tuple[str, str]]]:
    """Models a, b, c … at one server, each with its script; who was asked, with which prompt."""

    async def scenario() -> tuple[Produced | AnswerFailed, list[tuple[str, str]]]:
        left = {name: list(script) for name, script in replies.items()}
        async with StubServer(answer=lambda asked: left[asked.body["model"]].pop(0)) as server:
            model = endpoint(server.base_url, Slept(), watch=watcher)
            names = list(replies)
            others = [
                Alternative(backend=model, model=name, on=rule, params={"top_k": 1})
                for name, rule in zip(names[1:], rules, strict=True)
            ]
            chain = FallbackBackend(model, names[0], others, watch=watcher)
            try:
                answer: Produced | AnswerFailed = await chain.produce(write(), model=names[0])
            except AnswerFailed as failed:
                answer = failed
            await chain.aclose()
            return answer, [(asked.body["model"], asked.body["messages"][1]["content"]) for asked in server.asked]

    return asyncio.run(scenario())


GOOD = Scripted(completion("ok"))
FAILURES: dict[str, Callable[[], list[Scripted]]] = {
    "429": lambda: [Scripted(None, status=429)] * 4,
    "5xx": lambda: [Scripted(None, status=503)] * 4,
    "404": lambda: [Scripted({"error": "no such model"}, status=404)],
    "connection": lambda: [Scripted(drop=True)] * 4,
    "filtered": lambda: [Scripted(completion(None, finish="content_filter"))],
    "refused": lambda: [Scripted(completion(None, refusal="no"))],
    "truncated": lambda: [Scripted(completion("half a", finish="length"))],
    "empty": lambda: [Scripted(completion(""))],
    "malformed": lambda: [Scripted({"choices": None})],
    "error": lambda: [Scripted(completion("x", finish="error"))] * 4,
}


@pytest.mark.parametrize("word", FAILURES)
def test_a_model_is_asked_when_the_rule_names_what_happened(word: str) -> None:
    answer, asked = ask({"a": FAILURES[word](), "b": [GOOD]}, frozenset({word}))
    assert isinstance(answer, Produced)
    assert (answer.text, answer.model, answer.truncated) == ("ok", "b", False)
    assert {prompt for _, prompt in asked} == {"Write."}
    (attempt,) = answer.attempts
    assert attempt.model == "a"
    assert attempt.message


@pytest.mark.parametrize("word", FAILURES)
def test_a_model_is_not_asked_for_what_the_rule_does_not_name(word: str) -> None:
    rule = frozenset(FAILURES) - {word}
    answer, asked = ask({"a": FAILURES[word](), "b": [GOOD]}, rule)
    assert {name for name, _ in asked} == {"a"}
    if word == "truncated":
        assert isinstance(answer, Produced)
        assert answer.truncated
    else:
        assert isinstance(answer, ProviderFailed | Refused)


def test_thinking_that_spent_the_whole_limit_is_a_text_cut_off() -> None:
    spent = Scripted(completion(None, finish="length", reasoning_content="hm"))
    answer, _ = ask({"a": [spent], "b": [GOOD]}, frozenset({"truncated"}))
    assert isinstance(answer, Produced)
    assert answer.attempts == (Attempt(model="a", cause="thinking", message=answer.attempts[0].message, usage=SPENT),)
    assert answer.usage == Usage(14, 6)


def test_without_a_rule_outages_lead_on_and_nothing_else() -> None:
    assert {"429", "5xx", "timeout", "connection", "error"} == OUTAGES
    assert isinstance(ask({"a": FAILURES["5xx"](), "b": [GOOD]}, OUTAGES)[0], Produced)
    assert isinstance(ask({"a": FAILURES["refused"](), "b": [GOOD]}, OUTAGES)[0], Refused)


def test_the_first_in_line_that_is_there_for_it_is_asked() -> None:
    script = {"a": FAILURES["filtered"](), "b": [GOOD], "c": FAILURES["429"](), "d": [GOOD]}
    rules = (frozenset({"5xx"}), frozenset({"filtered"}), frozenset({"4xx"}))
    answer, asked = ask(script, *rules)
    assert isinstance(answer, Produced)
    assert list(dict.fromkeys(name for name, _ in asked)) == ["a", "c", "d"]
    assert [(attempt.model, attempt.cause) for attempt in answer.attempts] == [("a", "filtered"), ("c", "status")]


def test_when_all_fail_the_failure_names_them_all_and_carries_all_they_cost() -> None:
    answer, _ = ask({"a": FAILURES["filtered"](), "b": FAILURES["filtered"]()}, frozenset({"filtered"}))
    assert isinstance(answer, ProviderFailed)
    assert "asked before: a: " in str(answer)
    assert (answer.input_tokens, answer.output_tokens) == (14, 6)


def test_a_text_that_was_cut_off_stands_when_nobody_has_a_better_one() -> None:
    script = {"a": FAILURES["truncated"](), "b": FAILURES["5xx"]()}
    answer, _ = ask(script, frozenset({"truncated"}))
    assert isinstance(answer, Produced)
    assert (answer.text, answer.model, answer.truncated, answer.usage) == ("half a", "a", True, SPENT)
    assert [(attempt.model, attempt.cause) for attempt in answer.attempts] == [("b", "status")]
    both, _ = ask({"a": FAILURES["truncated"](), "b": FAILURES["truncated"]()}, frozenset({"truncated"}))
    assert isinstance(both, Produced)
    assert (both.model, both.usage) == ("b", Usage(14, 6))


def test_a_stream_that_is_cut_leaves_nothing_behind(watcher: Watcher | None = None) -> None:
    watcher = Watcher()
    cut = Scripted(pieces=[streamed(chunk("one two three"), done=False)])
    answer, asked = ask({"a": [cut] * 4, "b": [Scripted(completion("ok"))]}, OUTAGES, watcher=watcher)
    assert isinstance(answer, Produced)
    assert (answer.text, watcher.shown) == ("ok", "ok")
    assert {prompt for _, prompt in asked} == {"Write."}
    last = [signal for signal in watcher.signals if isinstance(signal, Retrying)][-1]
    assert (last.model, last.cause) == ("b", "cut")


def test_a_model_that_does_not_answer_in_time_is_not_asked_twice_and_another_is() -> None:
    async def scenario() -> tuple[Produced, list[str]]:
        def answer(asked: Asked) -> Scripted:
            return Scripted(hold=asyncio.Event()) if asked.body["model"] == "a" else GOOD

        async with StubServer(answer=answer) as server:
            slow, quick = endpoint(server.base_url, timeout=0.2), endpoint(server.base_url)
            rule = frozenset({"timeout"})
            chain = FallbackBackend(slow, "a", [Alternative(backend=quick, model="b", on=rule)])
            produced = await chain.produce(write(), model="a")
            await chain.aclose()
            return produced, [asked.body["model"] for asked in server.asked]

    produced, asked = asyncio.run(scenario())
    assert (produced.text, produced.attempts[0].cause) == ("ok", "timeout")
    assert asked[-1] == "b"
    assert asked.count("a") <= 1


def test_what_ends_the_run_ends_it() -> None:
    class OutOfTime:
        async def produce(self, *_: object, **__: object) -> Produced:
            raise TimeExhausted("no time")

        async def reply(self, *_: object) -> Produced:
            raise TimeExhausted("no time")

        async def aclose(self) -> None:
            pass

    late = OutOfTime()
    chain = FallbackBackend(late, "a", [Alternative(backend=late, model="b")])
    with pytest.raises(TimeExhausted):
        asyncio.run(chain.produce(write(), model="a"))


@pytest.mark.parametrize("word", ["429", "500", "5xx", "4xx", "timeout", "filtered", "truncated", "refused"])
def test_words_that_are_rules(word: str) -> None:
    assert is_rule(word)


@pytest.mark.parametrize("word", ["", "200", "6xx", "xx", "slow", "42", "4290", "TIMEOUT"])
def test_words_that_are_none(word: str) -> None:
    assert not is_rule(word)
