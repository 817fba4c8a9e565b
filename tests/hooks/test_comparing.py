"""Values are compared in code: at paths, as numbers, among others, by size, pattern and schema."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mklang.engine.requests import Hook
from mklang.errors import ConfigError, HookFailed, UnknownHook
from mklang.hooks.hook import HostHook, hook
from mklang.hooks.registry import HookRegistry
from mklang.lang.comparisons import Comparison, read_comparison
from mklang.lang.values import Json

CONTEXT: Mapping[str, Json] = {
    "status": " paid ",
    "n": 5,
    "text_n": " 7.5 ",
    "flag": True,
    "none": None,
    "tags": ["a", "urgent", 3],
    "order": {"id": "A-17", "lines": [{"sku": "x", "count": 2}], "note": None},
    "report": '{"error": null, "results": [{"title": "t"}]}',
    "note": '{"not": json',
    "a.b": "dotted",
    "a": {"b": "path"},
}


def ask(name: str, context: Mapping[str, Json] = CONTEXT, output: Json = None, hooks: Any = None) -> bool:
    request = Hook(key="1:s/hook[0]", state="s", name=name, context=context, output=output)
    return asyncio.run(HookRegistry(hooks).answer(request)).holds


@pytest.mark.rule("L59")
@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("eq:order.id:A-17", True),
        ("eq:order.lines.0.count:2", True),
        ("eq:order.lines.1.count:2", False),
        ("eq:order.lines.-1.count:2", False),
        ("eq:order.lines.x:", True),  # not there: empty text
        ("neq:order.id:B", True),
        ("eq:a.b:dotted", True),  # a key of the whole name counts first
        ("eq:report.results.0.title:t", True),  # JSON text is looked into
        ("eq:note.not:json", False),
        ("eq:status.x:", True),
        ("lt:n:6", True),
        ("lt:n:5", False),
        ("le:n:5", True),
        ("gt:text_n:7", True),
        ("ge:text_n:7.5", True),
        ("ge:text_n:7.6", False),
        ("ge:order.lines.0.count:2", True),
        ("lt:flag:5", False),
        ("lt:none:5", False),
        ("lt:missing:5", False),
        ("lt:status:5", False),
        ("lt:n:-.5e1", False),
        ("in:status:open, paid", True),
        ("in:status:open,closed", False),
        ("in:n:4,5,6", True),
        ("in:tags:a,urgent", False),
        ("in:missing:,x", False),
        ("has:tags:urgent", True),
        ("has:tags:3", True),
        ("has:tags:b", False),
        ("has:order:id", True),
        ("has:status:ai", True),
        ("has:n:5", False),
        ("len:tags:3", True),
        ("len:tags:1..2", False),
        ("len:tags:..3", True),
        ("len:tags:4..", False),
        ("len:status:6", True),
        ("len:n:1", False),
        ("len:missing:0..", False),
        (r"matches:order.id:^[A-Z]-\d+$", True),
        (r"matches:order.id:\d{3}", False),
        ("matches:status:(?i)PAID", True),
        ("matches:n:^5$", True),
        ("matches:tags:a", False),
        ("matches:missing:.*", False),
        ("matches:status:x:y|paid", True),  # colons belong to the expression
        ('schema:order:{"type":"object","required":["id","lines"]}', True),
        ('schema:order:{"type":"array"}', False),
        ('schema:report:{"type":"object","properties":{"results":{"minItems":1}}}', True),
        ('schema:n:{"type":"integer","minimum":6}', False),
        ("schema:missing:{}", False),
        ("exists:order.lines.0.sku", True),
        ("exists:order.note", False),
        ("exists:order.nowhere", False),
        ("exists:flag", True),
    ],
)
def test_what_a_name_says_is_what_is_asked(name: str, holds: bool) -> None:
    assert ask(name) is holds


@pytest.mark.parametrize(
    "name",
    [
        "eq:status", "eq:a..b:x", "eq:.a:x", "lt:n", "lt:n:", "lt:n:many", "lt:n:1e9999", "lt:n:nan", "lt:n:inf",
        "in:status:", "in::a", "len:n:..", "len:n:3..1", "len:n:-1", "len:n:a..b", "exists:", "exists:a:b",
        "matches:n:", "matches:n:[", "matches:n:(?=x)y", r"matches:n:(a)\1", "schema:n:[1]", "schema:n:{",
        'schema:n:{"type":"objekt"}', 'schema:n:{"$ref":"https://evil.example/x"}', "between:n:1..2",
    ],
)  # fmt: skip
def test_a_name_that_is_none_is_an_unknown_hook(name: str) -> None:
    assert name not in HookRegistry()
    with pytest.raises(UnknownHook):
        ask(name)


def test_an_expression_takes_time_in_proportion_to_the_text() -> None:
    begun = time.perf_counter()
    for expression in ("(a+)+$", "(a|a)*$", "(.*)*x", "^(a?){30}a{30}$"):
        assert not ask(f"matches:text:{expression}b", {"text": "a" * 50_000 + "!"})
    assert time.perf_counter() - begun < 5


@given(
    st.text(max_size=40), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4)
)
def test_no_name_and_no_value_makes_a_comparison_raise(name: str, value: Any) -> None:
    for relation in ("eq", "lt", "in", "has", "len", "exists"):
        if isinstance(read_comparison(f"{relation}:k:{name}"), Comparison):
            ask(f"{relation}:k:{name}", {"k": value})


@hook
def small(amount: float, limit: float = 100, output: str = "") -> bool:
    """Whether the amount is within the limit."""
    return amount <= limit and output != "no"


def test_a_hook_with_typed_parameters_reads_context_keys() -> None:
    assert (small.name, small.description, small.keys) == (
        "small",
        "Whether the amount is within the limit.",
        ("amount", "limit"),
    )
    assert ask("small", {"amount": "50"}, hooks=[small])
    assert not ask("small", {"amount": 50, "limit": 49}, hooks=[small])
    assert not ask("small", {"amount": 50}, output="no", hooks=[small])
    with pytest.raises(HookFailed, match="'amount' does not fit"):
        ask("small", {"amount": "many"}, hooks=[small])
    with pytest.raises(HookFailed, match="'amount' does not fit"):
        ask("small", {}, hooks=[small])


def test_a_hook_may_take_the_blackboard_and_the_output() -> None:
    @hook(name="both")
    def ask_both(context: Mapping[str, Json], output: Json) -> bool:
        return context["a"] == output

    assert ask("both", {"a": 1}, output=1, hooks=[ask_both])
    assert ask_both.keys is None


def test_what_cannot_be_a_hook_is_refused_when_it_is_made() -> None:
    class Judge:
        def judge(self) -> None: ...
        def __call__(self, context: object, output: object) -> bool:
            return True

    with pytest.raises(ConfigError, match="is a judge"):
        HookRegistry({"x": Judge()})
    with pytest.raises(ConfigError, match="names no context key"):
        hook(lambda *keys: True)
    with pytest.raises(ConfigError, match="two hooks called 'small'"):
        HookRegistry([small, small])
    with pytest.raises(ConfigError, match="cannot be called"):
        HostHook(name="x", function=5)  # type: ignore[arg-type]
