"""A hook decides a gate in code: what the built-in ones say, and what happens when one cannot answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.engine.requests import Hook
from mklang.errors import HookFailed, UnknownHook
from mklang.hooks.builtin import BUILTIN, HookFunction
from mklang.hooks.registry import HookRegistry
from mklang.lang.effects import HOOK_KEYS
from mklang.lang.values import Json

Context = Mapping[str, Json]


def ask(
    name: str, context: Context | None = None, output: Json = None, hooks: Mapping[str, HookFunction] | None = None
) -> bool:
    request = Hook(key="1:s/hook[0]", state="s", name=name, context=context or {}, output=output)
    return asyncio.run(HookRegistry(hooks).answer(request)).holds


@pytest.mark.parametrize(
    ("amount", "small"),
    [
        (100, True),
        (99.5, True),
        ("100", True),
        (" 7 ", True),
        (-3, True),
        (100.01, False),
        (101, False),
        (None, False),
        (True, False),
        ("many", False),
        ("nan", False),
        ("-inf", False),
        ([1], False),
        (10**400, False),
    ],
)
def test_an_amount_is_small_only_when_it_is_a_number_of_100_or_less(amount: Json, small: bool) -> None:
    assert ask("amount_le_100", {"amount": amount}) is small


def test_the_constant_hooks_and_the_combined_one() -> None:
    assert ask("always_true")
    assert not ask("always_false")
    assert ask("has_receipt", {"has_receipt": "yes"})
    assert not ask("has_receipt")
    assert ask("auto_approve_ok", {"amount": 5, "has_receipt": True})
    assert not ask("auto_approve_ok", {"amount": 5})


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ({"error": "disk full"}, True),
        ('{"error": "disk full"}', True),
        ({"error": None, "written": False}, True),
        ('{"error": null, "written": false}', True),
        ({"error": None, "written": True}, False),
        ({"written": 0}, False),
        ("error: disk full", False),
        ("[" * 100_000, False),
        ([{"error": "x"}], False),
        (None, False),
    ],
)
def test_a_write_failed_when_its_report_says_so(output: Json, failed: bool) -> None:
    assert ask("write_failed", output=output) is failed


@pytest.mark.parametrize(
    ("name", "context", "holds"),
    [
        ("eq:status:paid", {"status": " paid\n"}, True),
        ("eq:status:paid", {"status": "unpaid"}, False),
        ("eq:status: paid", {"status": "paid"}, False),
        ("eq:url:http://x:1", {"url": "http://x:1"}, True),
        ("eq:missing:", {}, True),
        ("eq:missing:x", {}, False),
        ("eq:done:true", {"done": True}, True),
        ("eq:done:True", {"done": True}, True),
        ("eq:count:5", {"count": 5}, True),
        ("eq:nothing:", {"nothing": None}, True),
        ("eq:nothing:None", {"nothing": None}, True),
        ("eq:a.b:x", {"a": {"b": "x"}}, True),
        ("neq:status:paid", {"status": "open"}, True),
        ("neq:status:paid", {"status": "paid"}, False),
        ("neq:done:True", {"done": True}, False),
    ],
)
def test_equality_is_of_trimmed_texts(name: str, context: Context, holds: bool) -> None:
    assert ask(name, context) is holds


@pytest.mark.parametrize("name", ["eq", "eq:", "eq:a", "eq::x", "EQ:a:b", "nope", "", "neq:a"])
def test_a_name_nobody_knows_is_an_error_that_lists_what_exists(name: str) -> None:
    assert name not in HookRegistry()
    with pytest.raises(UnknownHook, match="has_receipt"):
        ask(name)


def test_the_hosts_hook_stands_before_the_built_in_one() -> None:
    assert ask("always_false", hooks={"always_false": lambda context, output: 1})
    assert ask("eq:a:b", hooks={"eq:a:b": lambda context, output: "yes"})


def test_an_asynchronous_hook_is_awaited() -> None:
    async def no(context: Context, output: Json) -> bool:
        return False

    assert not ask("no", hooks={"no": no})


def test_a_hook_cannot_change_the_run() -> None:
    def meddle(context: Context, output: Json) -> bool:
        assert isinstance(context["list"], list)
        context["list"].append("mine")
        assert isinstance(output, dict)
        output["mine"] = True
        return True

    def overwrite(context: Context, output: Json) -> bool:
        context["list"] = []  # type: ignore[index]
        return True

    context: dict[str, Json] = {"list": ["theirs"]}
    output: Json = {}
    assert ask("meddle", context, output, {"meddle": meddle})
    assert (context, output) == ({"list": ["theirs"]}, {})
    with pytest.raises(HookFailed, match="hook 'overwrite': TypeError"):
        ask("overwrite", context, output, {"overwrite": overwrite})


@pytest.mark.parametrize("error", [ValueError("no rate"), SystemExit(3), KeyError("x"), StopIteration()])
def test_a_hook_that_raises_fails_the_state_with_type_and_message(error: BaseException) -> None:
    def broken(context: Context, output: Json) -> bool:
        raise error

    with pytest.raises(HookFailed, match=f"hook 'broken': {type(error).__name__}"):
        ask("broken", hooks={"broken": broken})


def test_a_hook_whose_answer_has_no_truth_value_fails_the_state() -> None:
    class Vague:
        def __bool__(self) -> bool:
            raise ValueError("ambiguous")

    with pytest.raises(HookFailed, match="ambiguous"):
        ask("vague", hooks={"vague": lambda context, output: Vague()})


def test_being_cancelled_is_no_failure_of_the_hook_but_raising_it_is() -> None:
    async def scenario() -> tuple[bool, str]:
        started = asyncio.Event()

        async def slow(context: Context, output: Json) -> bool:
            started.set()
            await asyncio.Event().wait()
            return True

        async def odd(context: Context, output: Json) -> bool:
            raise asyncio.CancelledError

        registry = HookRegistry({"slow": slow, "odd": odd})
        task = asyncio.create_task(registry.answer(Hook(key="k", state="s", name="slow", context={}, output=None)))
        await started.wait()
        task.cancel()
        await asyncio.wait([task])
        try:
            await registry.answer(Hook(key="k", state="s", name="odd", context={}, output=None))
        except HookFailed as failed:
            return task.cancelled(), str(failed)
        return task.cancelled(), ""

    assert asyncio.run(scenario()) == (True, "hook 'odd': CancelledError")


def test_the_hooks_that_exist_are_those_the_language_knows() -> None:
    assert set(BUILTIN) == set(HOOK_KEYS)


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    st.sampled_from([*BUILTIN, "eq:amount:1", "neq:has_receipt:x"]),
    st.dictionaries(st.sampled_from(["amount", "has_receipt", "other"]), json_values),
    json_values,
)
def test_no_built_in_hook_ever_raises(name: str, context: Context, output: Json) -> None:
    assert HookRegistry()[name](context, output) in {True, False}
