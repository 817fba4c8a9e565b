"""The first commands of a newcomer: init, new, machines, completion (L106, L114)."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from mklang.cli.commands.completion import VARIABLE
from mklang.cli.main import COMMANDS, main
from mklang.host import config, knobs
from mklang.host.layers import bundled_names
from mklang.host.scaffolding import NewFile, project

MKLANG = Path(sys.executable).with_name("mklang")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "project"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"MKLANG_{name}_DIR", str(tmp_path / name.lower()))


def everything(folder: Path = Path()) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


PROJECT = {
    ".env",
    ".github/workflows/mklang.yml",
    ".gitignore",
    "config/runtime.schema.json",
    "config/runtime.yaml",
    "machines/guards.yaml",
    "machines/hello.mkl",
    "machines/hello.test.yaml",
    "machines/mklang.schema.json",
    "machines/sentence.guard.yaml",
}


@pytest.mark.rule("L114")
def test_init_makes_a_project_in_which_everything_is_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    assert everything() == PROJECT
    assert stat.S_IMODE(Path(".env").stat().st_mode) == 0o600
    for call in (
        ["lint", "--strict", "machines"],
        ["fmt", "--check", "machines"],
        ["test", "machines", "--coverage", "--fail-under", "100"],
        ["guard", "lint", "machines/sentence.guard.yaml"],
        ["audit", "machines"],
        ["check", "machines"],
    ):
        assert main(call) == 0, call
    capsys.readouterr()


def test_the_workflow_runs_commands_that_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    lines = Path(".github/workflows/mklang.yml").read_text().splitlines()
    runs = [line.partition("run: ")[2] for line in lines if "run: mklang" in line]
    assert len(runs) == 4
    for call in runs:
        line = call.replace("mklang", str(MKLANG), 1)
        assert subprocess.run(["bash", "-c", line], check=False, capture_output=True).returncode == 0, call
    capsys.readouterr()


def test_init_touches_nothing_that_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    Path(".gitignore").write_text("*.pyc\n")
    Path("machines").mkdir()
    Path("machines/hello.mkl").write_text("mine")
    assert main(["init", "--format", "json"]) == 0
    told = {item["name"]: item["status"] for item in json.loads(capsys.readouterr().out)["items"]}
    assert {name for name, status in told.items() if status == "exists"} == {".gitignore", "machines/hello.mkl"}
    assert (Path(".gitignore").read_text(), Path("machines/hello.mkl").read_text()) == ("*.pyc\n", "mine")
    assert main(["init"]) == 0
    assert "does not name .env" in capsys.readouterr().err


@pytest.mark.parametrize("in_the_way", [".github", "machines/guards.yaml/x"])
def test_when_one_file_cannot_be_written_none_stays(in_the_way: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("sub") / in_the_way
    path.parent.mkdir(parents=True)
    path.write_text("a file where a folder is needed")
    before = everything()
    code = main(["init", "--dir", "sub"])
    if in_the_way == ".github":
        assert code == 2
        assert "nothing was left behind" in capsys.readouterr().err
        assert everything() == before
        assert not Path("sub/config").exists()
    else:  # a folder of that name is there already, so it is left as it is
        assert code == 0


def test_ctrl_c_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def wanted(folder: Path) -> Iterator[NewFile]:
        yield from project(folder)[:4]
        raise KeyboardInterrupt

    monkeypatch.setattr("mklang.cli.commands.init.project", wanted)
    assert main(["init", "--dir", "new"]) == 130
    assert not Path("new").exists()


def test_the_schema_of_the_configuration_knows_the_keys_that_are_read() -> None:
    assert main(["init"]) == 0
    schema = json.loads(Path("config/runtime.schema.json").read_text())
    provider = schema["properties"]["providers"]["additionalProperties"]
    assert set(schema["properties"]) == set(config._ROOT)
    assert set(provider["properties"]) == set(config._PROVIDER)
    tools = schema["properties"]["tools"]["properties"]
    assert set(tools) == set(knobs._TOOLS)
    assert set(tools["mcp"]["additionalProperties"]["properties"]) == set(knobs._SERVER)
    written = yaml.safe_load(Path("config/runtime.yaml").read_text())
    jsonschema_rs.validator_for(schema).validate(written)


def test_a_link_that_dangles_is_left_alone() -> None:
    Path(".env").symlink_to("/nonexistent/elsewhere")
    assert main(["init"]) == 0
    assert Path(".env").is_symlink()


def test_init_for_a_user_makes_their_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--user"]) == 0
    assert everything() == set()
    assert everything(tmp_path / "config") == {".env", "runtime.yaml", "runtime.schema.json"}
    assert "machines/hello.mkl" in everything(tmp_path / "data")
    assert main(["graph", "hello"]) == 0  # L21: the user's machines have names everywhere
    assert main(["init", "--user", "--dir", "x"]) == 2
    capsys.readouterr()


@pytest.mark.rule("L114")
@pytest.mark.parametrize("name", sorted(bundled_names()))
def test_new_copies_a_machine_that_is_in_order_under_its_new_name(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "my_own", "--from", name]) == 0
    copied = "".join(path.read_text() for path in Path().iterdir())
    assert f"machine: {name}\n" not in copied
    assert main(["lint", "--strict", "."]) == 0
    assert main(["test", ".", "--fail-under", "100"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a/b", "--from", "std_cot"], "cannot be a machine's name"),
        (["..", "--from", "std_cot"], "cannot be a machine's name"),
        (["true", "--from", "std_cot"], "no name that a machine can have in YAML"),
        (["mine", "--from", "std_cott"], "did you mean 'std_cot'?"),
        (["taken", "--from", "std_cot"], "taken.test.yaml is there already"),
    ],
)
def test_new_refuses_what_it_cannot_make(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("taken.test.yaml").write_text("mine")
    assert main(["new", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert everything() == {"taken.test.yaml"}


@pytest.mark.rule("L114")
def test_machines_are_listed_with_who_brought_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--user"]) == 0
    assert main(["new", "std_cot", "--from", "std_refine"]) == 0
    Path("broken.mkl").write_text("machine: broken\n")
    capsys.readouterr()
    assert main(["machines"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(found, key=lambda one: one["name"]) == found
    sources = {(one["name"], one["source"], one.get("hidden")) for one in found}
    assert sources >= {("std_cot", "local", False), ("std_cot", "stdlib", True), ("hello", "user", False)}
    assert ("broken", "local", None) in sources
    (tot,) = [one for one in found if one["name"] == "std_tot"]
    assert (tot["entry"], tot["budget"], tot["result"]) == ("propose", 20, "answer")
    assert tot["states"][0] == {"id": "propose", "kind": "generative", "output": "candidates", "gates": 1}
    assert main(["machines", "--format", "text"]) == 0
    told = capsys.readouterr()
    assert "(hidden by a nearer one) Think first" in told.out
    assert "broken.mkl" in told.err
    assert main(["machines", "std_debate", "--format", "text"]) == 0
    assert "personas (else [" in capsys.readouterr().out
    assert main(["machines", "std_debat"]) == 2
    assert main(["machines", "--dir", "nowhere"]) == 2


def completed(words: list[str]) -> list[str]:
    environ = os.environ | {VARIABLE: "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run([MKLANG], env=environ, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.rule("L106")
def test_commands_machines_and_options_are_completed() -> None:
    Path("triage.mkl").write_text("")
    Path("flows").mkdir()
    assert completed(["mklang", "ru"]) == ["run", "runs"]
    assert set(completed(["mklang", "new", "x", "--from", "std_re"])) == {"std_refine", "std_research"}
    assert completed(["mklang", "run", "tri"]) == ["triage.mkl"]
    assert completed(["mklang", "run", "fl"]) == ["flows/"]
    assert completed(["mklang", "run", "std_co"]) == ["std_compress", "std_cot"]
    assert "--hitl" in completed(["mklang", "run", "--hi"])


def test_runs_are_completed_the_newest_first(tmp_path: Path) -> None:
    runs = tmp_path / "state/runs"
    runs.mkdir(parents=True)
    for number, name in enumerate(["older-1", "newer-2", "other-3"]):
        (runs / f"{name}.jsonl").write_text("")
        os.utime(runs / f"{name}.jsonl", (number, number))
    assert completed(["mklang", "resume", ""]) == ["other-3", "newer-2", "older-1"]
    assert completed(["mklang", "runs", "show", "ne"]) == ["newer-2"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_it_can_read(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_MKLANG_COMPLETE" in script
    program = shutil.which(shell)
    if program is not None:
        assert subprocess.run([program, "-n"], input=script, text=True, check=False).returncode == 0


def test_bash_completes_by_the_script() -> None:
    script = subprocess.run([MKLANG, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    bash = (
        f"PATH={MKLANG.parent}:$PATH; {script}\n"
        "COMP_WORDS=(mklang con); COMP_CWORD=1; _mklang_completion mklang; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", bash], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "conformance"


def test_every_command_says_what_it_is_for_in_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        assert "Usage: mklang" in capsys.readouterr().out
