"""Guard files, and writing what was checked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mklang.errors import AlteredAfterCheck, DocumentError, GuardRefused
from mklang.guards import Checked, Guard, guard_in, lint_guard, load_guard, write_checked
from mklang.source import Source

pytestmark = pytest.mark.rule("S41", "S46")

REPLY = """
guard: reply
version: 3
parse: json
schema:
  type: object
  required: [body]
  properties: { body: { type: string, maxLength: 200 } }
forbid:
  - ignore previous
  - { text: "<script", where: values, why: markup }
bounds: { bytes: 4096 }
"""


def found_in(text: str) -> list[tuple[str, str, int]]:
    """Code, place and line of every problem."""
    found = guard_in(Source("g.guard.yaml", text)).diagnostics
    return [(one.code, one.where, one.span.line if one.span else 0) for one in found]


def test_a_guard_file_says_what_the_object_says() -> None:
    guard = guard_in(Source("g.guard.yaml", REPLY)).guard
    assert guard is not None
    assert (guard.name, guard.version, guard.vacuous) == ("reply", 3, False)
    assert guard.check('{"body": "hello"}').value == {"body": "hello"}
    found = guard.examine('{"body": "<SCRIPT>"}')
    assert isinstance(found, tuple)
    assert str(found[0]) == "G301 at /body: forbidden entry 1 occurs in the text (markup)"


def test_layout_does_not_change_a_guards_identity_and_meaning_does() -> None:
    one, other = (guard_in(Source("", text)).guard for text in (REPLY, "# note\n" + REPLY))
    third = guard_in(Source("", REPLY.replace("200", "201"))).guard
    assert one and other and third
    assert one.sha == other.sha != third.sha


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("guard: a\nschemas: {}\n", ("unknown-key", "schemas", 2)),
        ("parse: json\n", ("missing-key", "", 1)),
        ("guard: a\nparse: xml\n", ("bad-value", "parse", 2)),
        ("guard: a\nschema:\n  properties:\n    a: { type: strin }\n", ("guard-schema", "schema.properties.a.type", 4)),
        ("guard: a\nschema:\n  $ref: https://x.org/y\n", ("guard-schema", "schema.$ref", 3)),
        ("guard: a\nforbid:\n  - ''\n", ("forbid-empty", "forbid[0]", 3)),
        ("guard: a\nforbid:\n  - 5\n", ("wrong-type", "forbid[0]", 3)),
        ("guard: a\nforbid:\n  - { txt: a }\n", ("unknown-key", "forbid[0].txt", 3)),
        ("guard: a\nbounds: { bytes: 0 }\n", ("bad-value", "bounds.bytes", 2)),
        ("guard: a\nguard: b\n", ("duplicate-key", "guard", 2)),
        ("", ("guard-empty", "", 0)),
    ],
)
def test_a_mistake_in_a_guard_file_has_its_place(text: str, expected: tuple[str, str, int]) -> None:
    assert expected in [(code, where.replace('["$ref"]', ".$ref"), line) for code, where, line in found_in(text)]


def test_all_mistakes_are_reported_together() -> None:
    assert {code for code, _, _ in found_in("parse: xml\nforbid: ['']\nschema: { type: 7 }\n")} == {
        "missing-key",
        "bad-value",
        "forbid-empty",
        "guard-schema",
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("guard: a\n", "guard-vacuous"),
        ("guard: a\nforbid: [x]\n", "guard-vacuous"),
        ("guard: a\nschema: { type: array }\n", "guard-unbounded"),
        (REPLY + "  # end\n" + "fold_whitespace: true\n", ""),
        (
            "guard: a\nbounds: { bytes: 9 }\nschema: { properties: { pattern: {} } }\nforbid: [pattern]\n",
            "forbid-is-key",
        ),
        ("guard: a\nbounds: { bytes: 9 }\nforbid: [abc, xabcx]\n", "forbid-contained"),
    ],
)
def test_lint_knows_what_is_legal_and_not_meant(tmp_path: Path, text: str, code: str) -> None:
    file = tmp_path / "a.guard.yaml"
    file.write_text(text)
    assert [found.code for found in lint_guard(file)] == ([code] if code else [])


def test_a_guard_file_that_is_not_there_is_a_document_error(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="file-missing"):
        load_guard(tmp_path / "none.guard.yaml")


def test_what_was_checked_is_written_whole_with_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "notes.json"
    before = os.umask(0o022)
    try:
        receipt = write_checked(target, Guard(name="g").check('{"b": 1, "a": 2}'))
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    assert target.read_bytes() == b'{"a":2,"b":1}'
    assert receipt.bytes == 13
    assert target.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["notes.json"]


def test_raw_text_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="what a guard has checked, not str"):
        write_checked(tmp_path / "a", "text")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_value_changed_after_the_check_is_not_written_and_the_old_file_stays(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("old")
    checked: Checked[list[str]] = Guard(name="g").check('["fine"]')
    checked.value.append("not looked at")
    with pytest.raises(AlteredAfterCheck):
        write_checked(target, checked)
    assert target.read_text() == "old"


def test_a_link_in_the_files_place_is_replaced_and_its_target_is_not_touched(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_text("keep")
    link.symlink_to(victim)
    write_checked(link, Guard(name="g").check("[]"))
    assert victim.read_text() == "keep"
    assert not link.is_symlink()


def test_a_directory_or_a_missing_folder_is_an_error_never_silence(tmp_path: Path) -> None:
    checked = Guard(name="g").check("[]")
    with pytest.raises(OSError, match="directory"):
        write_checked(tmp_path, checked)
    with pytest.raises(FileNotFoundError):
        write_checked(tmp_path / "no" / "a", checked)


@pytest.mark.parametrize("content", ['["\\u0069gnore previous"]', "[", '["a"]["b"]', '["\\ud800"]'])
def test_a_file_is_checked_at_load_as_it_was_before_it_was_written(tmp_path: Path, content: str) -> None:
    file = tmp_path / "store.json"
    file.write_text(content)
    with pytest.raises(GuardRefused):
        Guard(name="g", forbidden=["ignore previous"]).load(file)
    assert file.read_text() == content
