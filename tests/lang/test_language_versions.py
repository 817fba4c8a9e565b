"""Which versions are understood, and what a document uses that its version does not have."""

import pytest

from mklang.lang.versions import features, too_new, understood
from tests.lang.documents import machine, smallest

NEW = smallest("    output: o", "    output: o\n    parse: json\n    max_visits: 2").replace(
    "        then: ok", "        escalate: true\n        ask: Well?\n        reply_to: boss.ok"
)


@pytest.mark.rule("L3", "W52")
@pytest.mark.parametrize(
    ("written", "short"),
    [
        *(("0.2", "0.2"), ("0.2.0", "0.2"), ("0.3", "0.3"), ("0.3.0", "0.3"), ("0.4", "0.4"), ("0.4.0", "0.4")),
        *(("", None), ("0", None), ("0.0", None), ("0.4.1", None), ("0.5", None), ("0.4.0.0", None), ("v0.4", None)),
        *(("0.40", None), (" 0.4", None)),
    ],
)
def test_one_rule_says_which_versions_are_understood(written: str, short: str | None) -> None:
    assert understood(written) == short


@pytest.mark.rule("L3")
def test_an_empty_version_is_none_and_an_unknown_one_is_kept() -> None:
    assert machine('mklang: ""\n' + smallest()).version is None
    assert machine("mklang: next\n" + smallest()).version == "next"


def test_every_newer_feature_is_found_once_with_its_first_place() -> None:
    found = [(one.name, one.since, one.where, one.at.span.line if one.at.span else 0) for one in features(machine(NEW))]
    assert found == [
        ("parse: json", "0.4", "states.a.parse", 9),
        ("max_visits", "0.4", "states.a.max_visits", 10),
        ("ask", "0.4", "states.a.gates[0].ask", 14),
        ("reply_to", "0.4", "states.a.gates[0].reply_to", 15),
    ]


@pytest.mark.rule("W52")
@pytest.mark.parametrize(
    ("version", "text", "names"),
    [
        ("0.2", smallest("    output: o", "    output: o\n    parse: list"), ["parse: list"]),
        ("0.3", smallest("    output: o", "    output: o\n    parse: list"), []),
        ("0.3.0", NEW, ["parse: json", "max_visits", "ask", "reply_to"]),
        ("0.4.0", NEW, []),
        ("", NEW, []),
        ("9.9", NEW, []),
    ],
)
def test_a_document_is_told_what_its_version_does_not_have(version: str, text: str, names: list[str]) -> None:
    assert [one.name for one in too_new(machine(f'mklang: "{version}"\n{text}'))] == names
