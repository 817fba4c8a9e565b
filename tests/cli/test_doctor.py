"""``mklang doctor`` says what would be used and why, and never a key (L115)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mklang.cli.main import main

pytestmark = pytest.mark.rule("L115")
KEY = "sk-secret-secret-secret"
SERVICE = """\
active: work
providers:
  work:
    protocol: openai_compat
    base_url: https://models.example.com/v1
    api_key_env: WORK_KEY
    tiers: { fast: small, balanced: medium, reasoning: large }
    judge: medium
  spare:
    protocol: openai_compat
    base_url: https://spare.example.com/v1
    api_key_env: SPARE_KEY
    tiers: { fast: a, balanced: a, reasoning: a }
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in ("CONFIG", "DATA", "STATE"):
        (tmp_path / name.lower()).mkdir()
        monkeypatch.setenv(f"MKLANG_{name}_DIR", str(tmp_path / name.lower()))


def users(tmp_path: Path, text: str) -> None:
    (tmp_path / "config/runtime.yaml").write_text(text)


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """Exit code, findings by name, and everything that was written."""
    code = main(["doctor", *arguments, "--format", "json"])
    told = capsys.readouterr()
    found: dict[str, dict[str, Any]] = {}
    for item in json.loads(told.out)["items"]:
        found.setdefault(item["name"], item)
    return code, found, told.out + told.err


def test_without_anything_the_embedded_model_is_named_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    code, found, _ = report(capsys)
    assert code == 0
    assert "no configuration names another" in found["models"]["text"]
    assert found["tier fast"]["text"].startswith("SmolLM2")
    assert found["machines stdlib"]["text"].startswith("14 in")
    assert found["config user"]["status"] == "note"


def test_it_is_the_configuration_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    users(tmp_path, SERVICE)
    monkeypatch.setenv("WORK_KEY", KEY)
    code, found, everything = report(capsys)
    assert code == 0
    assert f"'work' is active in {tmp_path}/config/runtime.yaml (your configuration)" in found["models"]["text"]
    assert found["tier reasoning"]["text"] == "large, judged by medium"
    assert found["key work"]["text"] == "WORK_KEY is set in the environment"
    assert (found["key spare"]["status"], found["key spare"]["text"]) == ("note", "SPARE_KEY is set nowhere")
    assert KEY not in everything


def test_a_missing_key_of_the_active_provider_fails_and_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    users(tmp_path, SERVICE)
    code, found, _ = report(capsys)
    assert code == 1
    assert (found["key work"]["status"], found["key work"]["hint"]) == ("error", "set WORK_KEY, or write it into .env")
    assert main(["doctor"]) == 1
    assert "to put right" in capsys.readouterr().out


def test_a_key_in_dotenv_is_found_there_and_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    users(tmp_path, SERVICE)
    Path(".env").write_text(f"WORK_KEY={KEY}\n")
    code, found, everything = report(capsys)
    assert code == 0
    assert found["key work"]["text"] == f"WORK_KEY is set in {tmp_path}/here/.env"
    assert KEY not in everything


def test_what_an_untrusted_folder_tries_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    Path("config").mkdir()
    Path("config/runtime.yaml").write_text(SERVICE)
    code, found, everything = report(capsys)
    assert code == 1
    assert "not trusted" in found["project"]["text"]
    assert "https://models.example.com/v1" in everything
    assert found["key work"]["text"] == "not looked up: this folder is not trusted"


def test_what_plug_ins_offer_is_named_and_not_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed"
    (installed / "acme-1.2.dist-info").mkdir(parents=True)
    (installed / "acme-1.2.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.2\n")
    (installed / "acme-1.2.dist-info/entry_points.txt").write_text("[mklang.tools]\nweigh = acme_of_nowhere:weigh\n")
    monkeypatch.syspath_prepend(str(installed))
    code, found, _ = report(capsys)
    assert (code, found["plug-in acme"]["status"]) == (0, "note")
    users(tmp_path, "plugins: [acme]\n")
    code, found, _ = report(capsys)
    assert (code, found["plug-in acme"]["text"]) == (0, "tools 'weigh' of version 1.2: counts")


def test_what_a_server_is_started_with_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    users(
        tmp_path,
        f"tools:\n  mcp:\n    files: {{ command: [npx, server, --token={KEY}] }}\n"
        f"    far: {{ url: 'https://tools.example.com/{KEY}/mcp' }}\n",
    )
    code, found, everything = report(capsys)
    assert code == 0
    assert found["mcp files"]["text"] == "started by npx with 2 arguments"
    assert found["mcp far"]["text"] == "at https://tools.example.com"
    assert KEY not in everything


def test_a_configuration_with_mistakes_is_told_with_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    users(tmp_path, SERVICE.replace("tiers:", "teirs:", 1))
    code, found, everything = report(capsys)
    assert code == 1
    assert found["config"]["status"] == "error"
    assert "runtime.yaml:7:5: unknown-key: providers.work.teirs" in everything
    code, _, everything = report(capsys, "--config", "nowhere.yaml")
    assert code == 1
    assert "--config names 'nowhere.yaml', and there is no such file" in everything


def test_what_a_machine_needs_is_looked_up(capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.mkl").write_text(
        "machine: m\nentry: a\nbudget: 4\nstates:\n  a:\n    tool: lauch\n    input: {}\n    output: o\n"
        "    gates: [{ when: x, hook: nope, then: ok, to: b }, { when: otherwise, then: ok, to: END }]\n"
        "  b:\n    call: std_router\n    input: { task: hi }\n    output: o\n"
        "    gates: [{ when: otherwise, then: ok, to: END }]\n"
    )
    code, found, everything = report(capsys, "m.mkl")
    assert code == 0
    assert found["calls std_router"]["text"].endswith("std_router.mkl")
    assert found["needs tools"]["text"] == "calc: here"
    assert "this host has no tool 'lauch'" in everything
    assert "this host has no hook 'nope'" in everything
    code, found, everything = report(capsys, "std_extract")
    assert (code, found["needs hooks"]["text"]) == (0, "always_true, guard:std_extract: here")
    code, _, everything = report(capsys, "missing.mkl")
    assert code == 1
    assert "there is no such file" in everything


def test_a_state_folder_that_cannot_be_written_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MKLANG_STATE_DIR", str(tmp_path / "file/below"))
    code, found, _ = report(capsys)
    assert (code, found["runs"]["status"]) == (0, "warning")


def test_a_probe_asks_an_endpoint_by_its_configuration(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(
        "import asyncio, json, sys\n"
        "from tests.llm.stub_server import Scripted, StubServer\n"
        "reply = Scripted({'choices': [{'message': {'content': '{}'}}], 'usage': {'total_tokens': 3}})\n"
        "async def main():\n"
        "    async with StubServer(answer=lambda asked: reply) as stub:\n"
        "        print(stub.base_url, flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, server],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as stub:
        assert stub.stdout is not None
        address = stub.stdout.readline().strip()
        users(
            tmp_path,
            SERVICE.replace("https://models.example.com/v1", address, 1).replace("    api_key_env: WORK_KEY\n", ""),
        )
        done = subprocess.run(
            [Path(sys.executable).with_name("mklang"), "doctor", "--probe"], capture_output=True, text=True, check=False
        )
        stub.kill()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok      probe ") == 3
    assert "JSON held to a schema" in done.stdout


@pytest.mark.model
def test_a_probe_of_the_embedded_model_loads_it(capsys: pytest.CaptureFixture[str]) -> None:
    code, found, _ = report(capsys, "--probe")
    assert code == 0
    probe = found["probe SmolLM2-135M-Instruct"]["probe"]
    assert (probe["problem"], probe["window"] > 1000, probe["json"]) == (None, True, "schema")
