"""How often a request is sent, when, and that hanging up means hanging up (R1 to R4, X1)."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from mklang.engine.requests import Produced
from mklang.errors import AnswerFailed, ProviderFailed
from mklang.llm.openai_compat import OpenAICompat
from mklang.llm.retry import Limits, RetryPolicy, Traffic
from tests.llm.asking import Slept, endpoint, write
from tests.llm.clocks import CountedTraffic, VirtualTime
from tests.llm.stub_server import Asked, Scripted, StubServer, chunk, completion, streamed
from tests.llm.watching import Watcher

FINAL = (400, 401, 402, 403, 404, 405, 410, 413, 422, 451, 501)
PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 529)
HEADERS: dict[str, tuple[dict[str, str], list[float] | None]] = {
    "none": ({}, [0.5, 1.0, 2.0]),
    "seconds": ({"Retry-After": "3"}, [3.0, 3.0, 3.0]),
    "fraction": ({"Retry-After": "1.5"}, [1.5, 1.5, 2.0]),
    "milliseconds": ({"Retry-After-Ms": "2500"}, [2.5, 2.5, 2.5]),
    "date": ({"Retry-After": "Mon, 30 Nov 2026 12:00:04 GMT"}, [4.0, 4.0, 4.0]),
    "past": ({"Retry-After": "Mon, 30 Nov 2026 11:00:00 GMT"}, [0.5, 1.0, 2.0]),
    "negative": ({"Retry-After": "-5"}, [0.5, 1.0, 2.0]),
    "empty": ({"Retry-After": ""}, [0.5, 1.0, 2.0]),
    "nonsense": ({"Retry-After": "soon"}, [0.5, 1.0, 2.0]),
    "a day": ({"Retry-After": "86400"}, None),
}


def failing(reply: Scripted, *, attempts: int = 4) -> tuple[ProviderFailed, int, list[float]]:
    async def scenario() -> tuple[ProviderFailed, int, list[float]]:
        slept = Slept()
        async with StubServer(answer=lambda _: reply) as server:
            model = endpoint(server.base_url, slept, retry=RetryPolicy(attempts=attempts))
            with pytest.raises(ProviderFailed) as caught:
                await model.produce(write(), model="m")
            await model.aclose()
            return caught.value, len(server.asked), slept.pauses

    return asyncio.run(scenario())


@pytest.mark.rule("L103")
@pytest.mark.parametrize("form", HEADERS)
@pytest.mark.parametrize("status", [*FINAL, *PASSING])
def test_each_status_makes_exactly_so_many_requests_with_each_form_of_pause(status: int, form: str) -> None:
    headers, pauses = HEADERS[form]
    failed, requests, slept = failing(Scripted({"error": {"message": "no"}}, status=status, headers=headers))
    assert failed.status == status
    if status in FINAL or pauses is None:
        assert (requests, slept) == (1, [])
    else:
        assert (requests, slept) == (4, pauses)


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_a_failing_call_makes_the_declared_number_of_requests(attempts: int) -> None:
    assert failing(Scripted(None, status=500), attempts=attempts)[1] == attempts


def test_each_failure_is_waited_for_as_it_asks() -> None:
    async def scenario() -> list[float]:
        slept = Slept()
        replies = [Scripted(None, status=429, headers={"Retry-After": wait}) for wait in ("1", "3")]
        async with StubServer(*replies, Scripted(completion())) as server:
            model = endpoint(server.base_url, slept)
            await model.produce(write(), model="m")
            await model.aclose()
        return slept.pauses

    assert asyncio.run(scenario()) == [1.0, 3.0]


class SlowDown:
    """Lets in so many requests a second of virtual time, and asks for the rest of the second."""

    def __init__(self, time: VirtualTime, per_second: int) -> None:
        self.time, self.per_second = time, per_second
        self.let_in: list[float] = []
        self.asked: list[float] = []
        self.pauses: list[tuple[float, float]] = []

    def __call__(self, _: Asked) -> Scripted:
        now = self.time.now
        self.asked.append(now)
        if sum(1 for at in self.let_in if at > now - 1) >= self.per_second:
            self.pauses.append((now, now + 1))
            return Scripted({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "1"})
        self.let_in.append(now)
        return Scripted(completion())


@pytest.mark.parametrize("branches", [10, 40])
def test_branches_finish_at_three_requests_a_second_without_one_inside_a_pause(branches: int) -> None:
    async def scenario() -> tuple[list[object], SlowDown]:
        clock = VirtualTime()
        slow = SlowDown(clock, 3)
        async with StubServer(answer=slow) as server:
            model = OpenAICompat(server.base_url, traffic=CountedTraffic(clock, limits=Limits(concurrency=10)))
            requests = [write(key=f"1:s[{number}]/produce") for number in range(branches)]
            done = await clock.run(*[model.produce(request, model="m") for request in requests])
            await model.aclose()
        return list(done), slow

    done, slow = asyncio.run(scenario())
    assert all(isinstance(produced, Produced) for produced in done), done
    assert slow.pauses
    for begin, end in slow.pauses:
        assert not [at for at in slow.asked if begin < at < end]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.rule("L117")
def test_hanging_up_during_a_long_call_closes_the_connection_and_sends_nothing_more(streaming: bool) -> None:
    reply = (
        Scripted(pieces=[streamed(chunk("Once upon"), done=False)], hang=True)
        if streaming
        else Scripted(hold=asyncio.Event())
    )

    async def scenario() -> tuple[float, int, bool]:
        async with StubServer(reply, Scripted(completion())) as server:
            watcher = Watcher(watching=streaming)
            model = endpoint(server.base_url, watch=watcher)
            call = asyncio.create_task(model.produce(write(), model="m"))
            await server.arrived()
            if streaming:
                await watcher.heard.wait()
            begun = time.monotonic()
            call.cancel()
            await asyncio.wait([call])
            await asyncio.wait_for(server.closed_early.wait(), 5)
            took = time.monotonic() - begun
            await asyncio.sleep(0.1)
            await model.aclose()
            return took, len(server.asked), call.cancelled()

    took, requests, cancelled = asyncio.run(scenario())
    assert took < 1.0
    assert (requests, cancelled) == (1, True)


def test_hanging_up_during_a_pause_sends_nothing_more() -> None:
    async def scenario() -> int:
        clock = VirtualTime()
        async with StubServer(answer=lambda _: Scripted(None, status=429, headers={"Retry-After": "5"})) as server:
            model = OpenAICompat(server.base_url, traffic=Traffic(pace=clock.pace))
            calls = [asyncio.create_task(model.produce(write(), model="m")) for _ in range(3)]
            await clock.sleeping.wait()
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)
            before = len(server.asked)
            await clock.run()
            await asyncio.sleep(0.05)
            await model.aclose()
            return len(server.asked) - before

    assert asyncio.run(scenario()) == 0


SECRET = "sk-sekret-4711-geheim"


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("escaped", [False, True])
def test_a_key_that_comes_back_is_shown_to_nobody(
    caplog: pytest.LogCaptureFixture, streaming: bool, escaped: bool
) -> None:
    caplog.set_level("DEBUG")
    echo = SECRET.replace("-", "\\u002d") if escaped else SECRET
    error = f'{{"error": {{"message": "bad key {echo}", "type": "{echo}"}}}}'
    replies = [
        Scripted(error, status=401),
        Scripted(error),
        Scripted(f"<p>{SECRET}</p>", status=404),
        Scripted(f'{{"choices": [{{"message": {{"content": "your key is {echo}"}}, "finish_reason": "stop"}}]}}'),
        Scripted(pieces=[f"data: {error}\n\n".encode()]),
        Scripted(pieces=[streamed(chunk(f"your key is {SECRET[:7]}"), chunk(SECRET[7:], finish="stop"))]),
        Scripted(f'{{"choices": [{{"message": {{"refusal": "not with {echo}"}}}}]}}'),
    ]

    async def scenario(reply: Scripted) -> tuple[object, Watcher]:
        async with StubServer(answer=lambda _: reply) as server:
            watcher = Watcher(watching=streaming)
            model = endpoint(server.base_url, key=SECRET, watch=watcher)
            try:
                answer: Any = await model.produce(write(), model="m")
            except AnswerFailed as failed:
                answer = failed
            await model.aclose()
            return answer, watcher

    for reply in replies:
        answer, watcher = asyncio.run(scenario(reply))
        assert "key" in repr(answer)
        assert SECRET not in f"{answer!r}{answer}{watcher.signals}"
    assert SECRET not in caplog.text
