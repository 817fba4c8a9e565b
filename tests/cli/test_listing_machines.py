"""``mklang machines`` over a folder in which not everything is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mklang.cli.main import main
from tests.cli.test_check import GOOD, write

BAD = {
    "binary.mkl": ("context: { topic: !!binary aGk= }", "yaml-tag"),
    "loop.mkl": ("context: { topic: &x [*x] }", "yaml-cycle"),
    "infinite.mkl": ("context: { topic: .inf }", "not-json"),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.rule("W19")
def test_one_bad_machine_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    write("good.mkl", GOOD)
    for name, (context, _) in BAD.items():
        write(name, GOOD.replace("context: { topic: tea }", context))
    assert main(["machines", "--dir", ".", "--format", "json"]) == 0
    local = [one for one in json.loads(capsys.readouterr().out) if one["source"] == "local"]
    found = {Path(one["path"]).name: [problem["code"] for problem in one.get("problems", [])] for one in local}
    assert found.pop("good.mkl") == []
    assert found == {name: [code] for name, (_, code) in BAD.items()}


@pytest.mark.rule("W61")
def test_a_machine_without_a_result_says_what_it_gives_instead(capsys: pytest.CaptureFixture[str]) -> None:
    name = GOOD.split("machine: ", 1)[1].split("\n", 1)[0]
    write("good.mkl", "\n".join(line for line in GOOD.splitlines() if not line.startswith("result:")) + "\n")
    assert main(["machines", name, "--format", "text"]) == 0
    out = capsys.readouterr().out
    assert "what its last state gives" in out
    assert "None" not in out
