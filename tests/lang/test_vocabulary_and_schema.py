"""The vocabulary is the only list of keys; the JSON Schema comes from it and agrees with the reader."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mklang.diagnostics import has_errors
from mklang.errors import DocumentError
from mklang.lang.reader import machine_from_mapping
from mklang.lang.schema import schema, schema_text
from mklang.lang.versions import UNDERSTOOD
from mklang.lang.vocabulary import KEYS, KEYS_AT, Place, Shape, closest, homes

COMMITTED = Path(__file__).parents[2] / "schema" / "mklang.schema.json"
VALIDATOR = jsonschema_rs.validator_for(schema())

GATES: list[dict[str, Any]] = [
    {"when": "a", "hook": "h", "then": "ok", "to": "write"},
    {"when": "b", "repair": 2, "to": "write"},
    {"when": "c", "escalate": True, "ask": "?", "reply_to": "x.y", "to": "END"},
    {"when": "otherwise", "fail": True},
]
FULL: dict[str, Any] = {
    "mklang": "0.4",
    "machine": "m",
    "entry": "write",
    "budget": 5,
    "default_tier": "fast",
    "result": "r",
    "context": {"a": [1, {"b": None}]},
    "tools": [{"name": "t", "description": "d"}],
    "hooks": [],
    "states": {
        "write": {
            "structure": "s",
            "prompt": "p",
            "execution": "e",
            "tier": "fast",
            "reason": True,
            "parse": "list",
            "accumulate": False,
            "sample": 2,
            "max_visits": 3,
            "output": "o",
            "gates": GATES,
        },
        "call": {"call": "c", "input": {"x": "{{o}}"}, "tier": "fast", "over": "{{o}}", "output": "r", "gates": GATES},
        "tool": {"tool": "t", "input": {}, "over": "a {{o}} b", "output": "r", "gates": GATES},
    },
}
ODD: list[Any] = [
    *(None, True, False, 0, 1, 2, 5.0, 1.5, -1, 10**9, 10**9 + 1, "", " ", "x", "ok", "fast", "list", "json", "a.b"),
    *("END", "{{x}}", "{{x}} {{y}}", "{{ größe }}", "{{a-b}}", "a..b", ".a", [], ["x"], {}, {"name": "n"}, {"x": 1}),
    [{"when": "x", "then": "ok", "to": "END"}],
]


def accepted(document: Any) -> bool:
    """Whether the reader finds no error."""
    try:
        machine_from_mapping(document)
    except DocumentError as error:
        assert has_errors(error.diagnostics)
        return False
    return True


def places(value: Any) -> Iterator[list[str | int]]:
    """The path of every value in a document except the root."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inside:
        yield [step]
        yield from ([step, *rest] for rest in places(item))


PLACES = list(places(FULL))
NAMES = [key.name for key in KEYS]


def changed(document: Any, path: list[str | int], change: str, value: Any = None, name: str = "") -> Any:
    """A copy with the value at ``path`` replaced, deleted, or joined by a neighbour called ``name``."""
    document, value = copy.deepcopy((document, value))
    parent = document
    for step in path[:-1]:
        parent = parent[step]
    if change == "replace":
        parent[path[-1]] = value
    elif change == "delete":
        del parent[path[-1]]
    elif isinstance(parent, dict):
        parent[name] = value
    return document


def test_the_committed_schema_is_the_generated_one() -> None:
    assert COMMITTED.read_text("utf-8") == schema_text(), "run scripts/make_schema.py"


def test_the_schema_is_a_valid_schema() -> None:
    jsonschema_rs.meta.validate(schema())


def test_schema_and_reader_accept_a_machine_with_every_key() -> None:
    assert VALIDATOR.is_valid(FULL)
    assert accepted(FULL)


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)))
def test_schema_and_reader_agree_when_any_part_is_replaced_or_missing(path: list[str | int]) -> None:
    documents = [changed(FULL, path, "delete"), *(changed(FULL, path, "replace", value) for value in ODD)]
    assert [VALIDATOR.is_valid(one) for one in documents] == [accepted(one) for one in documents]


@settings(max_examples=300)
@given(st.data())
def test_schema_and_reader_agree_after_several_changes(data: st.DataObject) -> None:
    document: Any = FULL
    for _ in range(data.draw(st.integers(1, 3))):
        document = changed(
            document,
            data.draw(st.sampled_from(list(places(document)))),
            data.draw(st.sampled_from(["replace", "delete", "add"])),
            data.draw(st.sampled_from(ODD)),
            data.draw(st.sampled_from([*NAMES, "zzz"])),
        )
    assert VALIDATOR.is_valid(document) == accepted(document)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_key_says_what_it_is_for(key: Any) -> None:
    assert key.description.endswith(".")
    assert key.places
    assert key.since in UNDERSTOOD
    assert bool(key.words) == (key.shape is Shape.CHOICE)


@pytest.mark.rule("L5", "L6")
def test_the_keys_of_every_place_are_the_documented_ones() -> None:
    found = {place: " ".join(keys) for place, keys in KEYS_AT.items()}
    assert found == {
        Place.DOCUMENT: "mklang machine entry budget default_tier result context tools hooks states",
        Place.GENERATIVE: "structure prompt execution tier reason parse accumulate sample over max_visits output gates",
        Place.CALL: "call input tier accumulate sample over max_visits output gates",
        Place.TOOL: "tool input accumulate sample over max_visits output gates",
        Place.OK: "when hook then to",
        Place.REPAIR: "when hook repair to",
        Place.ESCALATE: "when hook escalate to ask reply_to",
        Place.FAIL: "when hook fail",
        Place.DECLARATION: "name description",
    }


def test_a_word_is_matched_whatever_its_case_and_never_when_far_off_or_endless() -> None:
    assert closest("PROMT", ["prompt", "parse"]) == "prompt"
    assert closest("zzz", ["prompt"]) is None
    assert closest("prompt" * 100_000, ["prompt"]) is None


def test_the_home_of_a_key_is_named() -> None:
    assert homes("gates") == "a state"
    assert homes("when") == "a gate"
    assert homes("tier") == "a generative state or a call state"
    assert homes("zzz") == ""
