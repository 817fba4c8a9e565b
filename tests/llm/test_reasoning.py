"""``reason: true`` works with every model: its own thinking where it shows any, private notes where not (L45)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mklang.engine.requests import Produce, Produced, Usage
from mklang.errors import AnswerFailed
from mklang.lang.models import Tier
from mklang.llm.profiles import PROFILES
from mklang.llm.reasoning import ANSWER, NOTES
from mklang.llm.signals import Delta
from tests.llm.asking import endpoint
from tests.llm.stub_server import Asked, Scripted, StubServer, chunk, completion, streamed
from tests.llm.watching import Watcher

REASON = Produce(key="1:s/produce", state="s", tier=Tier.FAST, system="Be brief.", user="Write.", reason=True)
THOUGHT = Scripted(completion("four", reasoning_content="two and two"))


def ask(
    *replies: Scripted, times: int = 1, provider: str = "local", watcher: Watcher | None = None, **params: Any
) -> tuple[list[Produced | AnswerFailed], list[Asked]]:
    async def scenario() -> tuple[list[Produced | AnswerFailed], list[Asked]]:
        async with StubServer(*replies) as server:
            model = endpoint(server.base_url, dialect=PROFILES[provider].dialect, watch=watcher)
            answers: list[Produced | AnswerFailed] = []
            for _ in range(times):
                try:
                    answers.append(await model.produce(REASON, model="m", params=params))
                except AnswerFailed as failed:
                    answers.append(failed)
            await model.aclose()
            return answers, server.asked

    return asyncio.run(scenario())


@pytest.mark.rule("L45")
def test_a_plain_model_writes_private_notes_first_and_then_the_answer() -> None:
    (answer,), (first, second) = ask(Scripted(completion("It is about sums.")), Scripted(completion("four")))
    assert isinstance(answer, Produced)
    assert (answer.text, answer.reasoning, answer.usage) == ("four", "It is about sums.", Usage(14, 6))
    assert first.body["messages"][0]["content"] == f"Be brief.\n\n{NOTES}"
    assert second.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Write."},
        {"role": "assistant", "content": "It is about sums."},
        {"role": "user", "content": ANSWER},
    ]


def test_tags_in_the_answer_stay_in_the_answer() -> None:
    text = "Use <think> and </think>, <notes>, <scratchpad>x</scratchpad>.\n</think>"
    (answer,), _ = ask(Scripted(completion("<think>notes</think> are not parsed here")), Scripted(completion(text)))
    assert isinstance(answer, Produced)
    assert answer.text == text


def test_notes_that_are_empty_are_left_out() -> None:
    (answer,), (_, second) = ask(Scripted(completion("  ")), Scripted(completion("four")))
    assert isinstance(answer, Produced)
    assert (answer.text, answer.reasoning) == ("four", None)
    assert len(second.body["messages"]) == 2


def test_notes_that_fail_fail_the_request_and_an_answer_that_fails_is_charged_with_its_notes() -> None:
    (failed,), _ = ask(Scripted(completion("notes")), Scripted(completion("")))
    assert isinstance(failed, AnswerFailed)
    assert (failed.input_tokens, failed.output_tokens) == (14, 6)
    (refused,), asked = ask(Scripted(completion(None, refusal="no")))
    assert isinstance(refused, AnswerFailed)
    assert len(asked) == 1


def test_notes_and_answer_are_drawn_differently_and_the_same_way_each_time() -> None:
    replies = [Scripted(completion("x"))] * 4
    _, asked = ask(*replies, times=2, seed=7)
    seeds = [one.body["seed"] for one in asked]
    assert seeds[0] != seeds[1]
    assert seeds[:2] == seeds[2:]


def test_a_model_that_was_seen_to_think_by_itself_is_asked_once_from_then_on() -> None:
    answers, asked = ask(Scripted(completion("notes")), THOUGHT, THOUGHT, times=2)
    first, second = answers
    assert isinstance(first, Produced)
    assert isinstance(second, Produced)
    assert first.reasoning == "notes\n\ntwo and two"
    assert (second.text, second.reasoning) == ("four", "two and two")
    assert len(asked) == 3


@pytest.mark.parametrize("answer", ["two and two", None])
def test_thinking_is_never_taken_out_of_a_talk_that_goes_on(answer: str | None) -> None:
    notes = Scripted(completion("notes", reasoning_content="hm"))
    (produced,), (_, second) = ask(notes, Scripted(completion("four", reasoning_content=answer)))
    assert isinstance(produced, Produced)
    assert (produced.text, produced.reasoning, produced.usage) == ("four", answer or "hm", Usage(14, 6))
    assert [one["role"] for one in second.body["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("provider", "parameter"),
    [("deepseek", {"thinking": {"type": "enabled"}}), ("openrouter", {"reasoning": {"enabled": True}})],
)
def test_a_provider_that_shows_thinking_when_asked_is_asked_its_own_way(
    provider: str, parameter: dict[str, object]
) -> None:
    (answer,), (asked,) = ask(THOUGHT, provider=provider)
    assert isinstance(answer, Produced)
    assert (answer.text, answer.reasoning) == ("four", "two and two")
    assert parameter.items() <= asked.body.items()


def test_a_model_there_that_does_not_take_it_writes_notes() -> None:
    refuse = Scripted({"error": {"message": "unknown parameter: thinking"}}, status=400)
    answers, asked = ask(
        refuse, *[Scripted(completion("notes")), Scripted(completion("four"))] * 2, times=2, provider="deepseek"
    )
    assert [answer.reasoning for answer in answers if isinstance(answer, Produced)] == ["notes", "notes"]
    assert ["thinking" in one.body for one in asked] == [True, False, False, False, False]


def test_notes_are_shown_as_thinking_only() -> None:
    watcher = Watcher()
    ask(
        Scripted(pieces=[streamed(chunk("my "), chunk("notes", finish="stop"))]),
        Scripted(pieces=[streamed(chunk("fo"), chunk("ur", finish="stop"))]),
        watcher=watcher,
    )
    assert watcher.shown == "four"
    assert "".join(s.text for s in watcher.signals if isinstance(s, Delta) and s.thought) == "my notes"
