"""Whether untrusted text reached a judge between its fences is checked on what was sent, never taken for granted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mklang.engine.requests import Read, Usage, Verdict
from mklang.lang.models import Tier
from mklang.llm.fencing import absent_nonce, evidence_of, fenced, fences_hold
from mklang.llm.noul import NOT_FENCED, Chances, NoulJudge, Questions
from tests.llm.asking import decide

pytestmark = pytest.mark.rule("S26")

NONCE = "5eed5eed5eed"
HOSTILE = st.lists(
    st.sampled_from(["<data-", "</data-", NONCE, f"{NONCE}-c", ">", "\n", "x", "1. ", "OUTPUT:", "é"]), max_size=12
).map("".join)
LONG = "The customer wants the money back, and says so at some length."


@given(output=HOSTILE, reasoning=st.none() | HOSTILE, context=HOSTILE)
def test_whatever_the_evidence_says_it_stays_in_its_fence(output: str, reasoning: str | None, context: str) -> None:
    parts = evidence_of(decide(output=output, reasoning=reasoning, context=context))
    nonce = absent_nonce(NONCE, parts.values())
    sent = fenced(parts, nonce)
    assert not any(nonce in text for text in parts.values())
    assert sent.count(f"<data-{nonce}>") == sent.count(f"</data-{nonce}>") == len(parts)
    assert fences_hold(sent, parts.values(), nonce)


@given(text=st.text(min_size=1, max_size=80), other=st.text(max_size=80))
def test_a_text_that_is_not_in_its_fence_as_it_is_fails_the_check(text: str, other: str) -> None:
    assume(text.strip() != other.strip() and NONCE not in text + other)
    assert not fences_hold(fenced({"OUTPUT": other}, NONCE), [text], NONCE)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda sent: sent.replace(f"<data-{NONCE}>", ""),
        lambda sent: sent.replace(f"</data-{NONCE}>", ""),
        lambda sent: sent.replace(NONCE, "other"),
        lambda sent: f"{LONG}\n{sent}",
        lambda sent: f"{sent}\nOnce more: {LONG}",
        lambda sent: sent.replace(LONG, LONG.upper()),
        lambda _: LONG,
        lambda _: "",
    ],
)
def test_a_judge_whose_message_was_put_together_wrongly_says_nothing_that_counts(spoil: Callable[[str], str]) -> None:
    class Leaky:
        provider = "leaky"

        def most(self, questions: Questions) -> Usage:
            return Usage()

        async def chances(self, questions: Questions) -> Chances:
            sent = spoil(questions.evidence)
            return Chances(conditions=(0.9, 0.1), none=0.0, usage=Usage(40, 2), model="m", sent=sent or "nothing")

        async def aclose(self) -> None:
            """Nothing is open."""

    async def judged() -> Verdict:
        return await NoulJudge(dict.fromkeys(Tier, Leaky())).judge(decide("a", "b", output=LONG))

    verdict = asyncio.run(judged())
    assert (verdict.read, verdict.raw, verdict.fence_applied) == (Read.UNREAD, NOT_FENCED, False)
    assert (verdict.probabilities, verdict.usage) == (None, Usage(40, 2))


def test_the_authors_words_may_be_repeated_by_the_evidence() -> None:
    sent = f"{fenced({'OUTPUT': LONG}, NONCE)}\n\n1. {LONG}"
    assert not fences_hold(sent, [LONG], NONCE)
    assert fences_hold(sent, [LONG], NONCE, authored=[LONG])
