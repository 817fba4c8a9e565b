"""``mklang explain`` and ``mklang schema``: what is known without any document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mklang.analysis.codes import FAMILY_OF
from mklang.analysis.explain import explain
from mklang.cli.main import main

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("code", sorted(FAMILY_OF))
def test_every_code_is_explained(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == f"{code} ({explain(code).severity}, {FAMILY_OF[code]})"
    assert "`" not in out and err == ""
    assert max(len(line) for line in out.splitlines() if not line.startswith("    ")) <= 88


def test_an_explanation_shows_the_example_and_its_repair(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "text-cut", "bad-value"])
    lines = capsys.readouterr().out.splitlines()
    assert "- when: it does not answer issue #42" in [line.strip() for line in lines]
    assert "    then: ok" in lines
    assert "It follows from L16 F1 of the language." in lines


def test_without_a_code_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert sorted(listed) == sorted(FAMILY_OF)


def test_a_code_that_does_not_exist_names_the_closest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "text-cutt"]) == 2
    assert "there is no code or family 'text-cutt'; did you mean 'text-cut'?" in capsys.readouterr().err


def test_an_explanation_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "dead-end", "--format", "json"]) == 0
    wire = json.loads(capsys.readouterr().out)
    assert wire["items"][0]["code"] == "dead-end"
    assert wire["items"][0]["fix"].startswith("By hand: ")


@pytest.mark.rule("L73")
@pytest.mark.parametrize(
    ("option", "file"), [("--language", "mklang.schema.json"), ("--result", "run-result.schema.json")]
)
def test_schema_prints_the_committed_file(option: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """If this fails: ``mklang schema OPTION > schema/FILE``."""
    assert main(["schema", option]) == 0
    assert capsys.readouterr() == ((ROOT / "schema" / file).read_text("utf-8"), "")


def test_schema_is_the_languages_where_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "mklang machine"
