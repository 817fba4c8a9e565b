"""Plug-ins: only what the person allowed is imported, nothing replaces anything, and the worked example keeps to the
contracts."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import mklang
from mklang.cli.main import main
from mklang.host.configuration import Configuration, resolve
from mklang.host.plugins import Plugins, offers, plugins_of
from mklang.testing import contracts
from mklang.tools.registry import ToolRegistry

EXAMPLE = Path(__file__).parents[2] / "examples/plugin"
MODELS = """\
active: echo
providers:
  echo: { tiers: { fast: e, balanced: e, reasoning: e }, judge: "plugin:first" }
"""


CALLS = """\
mklang: "0.4"
machine: calls
entry: a
budget: 2
states:
  a: { call: example_shorten, input: { task: x }, output: o, gates: [{ when: otherwise, then: ok, to: END }] }
"""


class Site:
    """A folder of installed distributions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, name: str, version: str, points: dict[str, dict[str, str]]) -> None:
        info = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in named.items()) for group, named in points.items()]
        (info / "entry_points.txt").write_text("\n".join(lines))

    def module(self, name: str, text: str) -> None:
        (self.folder / f"{name}.py").write_text(text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The worked example, installed, and a person's folders."""
    found = Site(tmp_path / "site")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    found.install(project["name"], project["version"], project["entry-points"])
    shutil.copytree(EXAMPLE / "mklang_example", found.folder / "mklang_example")
    monkeypatch.syspath_prepend(str(found.folder))
    (tmp_path / "work").mkdir()
    (tmp_path / "user").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("MKLANG_CONFIG_DIR", str(tmp_path / "user"))
    yield found
    for name in [name for name in sys.modules if name.partition(".")[0] in {"mklang_example", "evil", "broken"}]:
        del sys.modules[name]


def allowed(text: str) -> Configuration:
    return resolve(environ={"MKLANG_ALLOWED_PLUGINS": text, "MKLANG_CONFIG_DIR": "/nowhere"})


def told(plugins: Plugins) -> list[str]:
    return [problem.message for problem in plugins.problems]


@pytest.mark.rule("L22")
def test_nothing_is_imported_that_nobody_allowed(site: Site) -> None:
    site.install("evil", "1.0", {"mklang.tools": {"evil": "evil:tool"}})
    site.module("evil", "raise SystemExit('imported')")
    known = {(offer.distribution, offer.group.value, offer.name): offer.refused for offer in offers(allowed(""))}
    assert known["evil", "mklang.tools", "evil"] == "it is not allowed"
    assert plugins_of(allowed("")) == Plugins()
    brought = plugins_of(allowed("mklang_example"))
    assert sorted(brought.tools) == ["word_count"]
    assert told(brought) == []
    assert "evil" not in sys.modules


def test_the_example_brings_one_of_everything(site: Site) -> None:
    brought = plugins_of(allowed("MKlang.Example==1.0.0"))  # names as the index compares them
    assert sorted(brought.tools) == ["word_count"]
    assert sorted(brought.hooks) == ["is_short"]
    assert sorted(brought.guards) == ["one_line"]
    assert (sorted(brought.providers), sorted(brought.judges)) == (["echo"], ["first"])
    assert [folder.name for folder in brought.folders] == ["machines"]


def test_machines_are_found_without_importing_their_package(site: Site) -> None:
    (site.folder / "mklang_example/__init__.py").write_text("raise SystemExit('imported')")
    points = [offer.point for offer in offers(allowed("mklang-example")) if offer.group.value == "mklang.machines"]
    assert [folder.name for folder in plugins_of(allowed("mklang-example"), points).folders] == ["machines"]
    assert "mklang_example" not in sys.modules


def test_another_version_than_the_one_allowed_is_left_out(site: Site) -> None:
    brought = plugins_of(allowed("mklang-example==0.9"))
    assert brought.tools == {}
    assert "version 1.0.0 is installed, and 0.9 is allowed" in told(brought)[0]


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("mklang.tools", "calc"),
        ("mklang.tools", "search"),
        ("mklang.hooks", "always_true"),
        ("mklang.hooks", "eq:a:b"),
        ("mklang.hooks", "guard:x"),
        ("mklang.providers", "openai"),
    ],
)
def test_nothing_built_in_is_replaced(site: Site, group: str, name: str) -> None:
    site.install("evil", "1.0", {group: {name.replace(":", "_"): "evil:it"}})
    point = SimpleNamespace(
        group=group, name=name, value="evil:it", module="evil", dist=SimpleNamespace(name="evil", version="1.0")
    )
    brought = plugins_of(allowed("evil"), [point])  # type: ignore[list-item]
    assert told(brought) == [
        f"the {group[7:].removesuffix('s')} '{name}' of 'evil' is left out: the built-in one is not replaced"
    ]


def test_of_two_distributions_that_offer_the_same_neither_counts(site: Site) -> None:
    site.install("another", "1.0", {"mklang.tools": {"word_count": "evil:tool"}})
    brought = plugins_of(allowed("mklang-example, another"))
    assert brought.tools == {}
    assert sorted(told(brought)) == [
        "the tool 'word_count' of 'another' is left out: 'mklang-example' offers it too; allow only one of them",
        "the tool 'word_count' of 'mklang-example' is left out: 'another' offers it too; allow only one of them",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise SystemExit(3)", "SystemExit"),
        ("import nowhere_at_all", "ModuleNotFoundError"),
        ("tool = 5", "a tool is a function"),
        ("other = 5", "AttributeError"),
    ],
)
def test_what_cannot_be_loaded_is_named_and_left_out(site: Site, text: str, reason: str) -> None:
    site.install("broken", "1.0", {"mklang.tools": {"it": "broken:tool"}})
    site.module("broken", text)
    brought = plugins_of(allowed("broken,mklang-example,not-there"))
    assert sorted(brought.tools) == ["word_count"]
    assert any("'it' of 'broken' is left out" in problem and reason in problem for problem in told(brought))
    assert any("'not-there' is allowed, and nothing" in problem for problem in told(brought))


def test_a_machine_of_a_plugin_runs_on_its_provider_judge_tool_and_hook(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "user/runtime.yaml"
    config.write_text(MODELS)
    assert main(["run", "example_shorten", "--set", "task=Hello you", "--no-keep"]) == 2
    capsys.readouterr()
    config.write_text(MODELS + "plugins: [mklang-example]\n")
    (tmp_path / "work/calls.mkl").write_text(CALLS)
    assert main(["check", "calls.mkl"]) == 0  # what run finds, check finds
    capsys.readouterr()
    assert main(["run", "example_shorten", "--set", "task=Hello you", "--no-keep", "--format", "json"]) == 0
    wire = json.loads(capsys.readouterr().out)
    assert wire["status"] == "done"
    assert [step.get("hook") for step in wire["trace"]] == [None, "is_short"]


def test_a_project_cannot_allow_a_plugin_unless_it_is_trusted(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work/config").mkdir()
    (tmp_path / "work/config/runtime.yaml").write_text("plugins: [mklang-example]\n")
    (tmp_path / "work/m.mkl").write_text(
        "machine: m\nentry: a\nbudget: 4\nresult: n\nstates:\n  a: { tool: word_count, input: { text: a b }, "
        "output: n, gates: [{ when: otherwise, then: ok, to: END }] }\n"
    )
    flags = ["--no-keep", "--base-url", "http://localhost:9/v1", "--model", "none"]
    assert main(["run", "m.mkl", *flags]) == 1
    assert "'plugins: mklang-example' takes no effect" in capsys.readouterr().err
    assert "mklang_example" not in sys.modules
    assert main(["trust", "--yes"]) == 0
    assert main(["run", "m.mkl", *flags]) == 0


def test_a_guard_of_a_plugin_is_known_by_its_name(site: Site, tmp_path: Path) -> None:
    (tmp_path / "user/runtime.yaml").write_text("plugins: [mklang-example]\n")
    (tmp_path / "work/m.mkl").write_text(
        'machine: m\nentry: a\nbudget: 4\ncontext: { t: "" }\nstates:\n  a:\n    tool: word_count\n'
        '    input: { text: "{{t}}" }\n    output: n\n    gates:\n'
        '      - { when: one line, hook: "guard:one_line", then: ok, to: END }\n'
        "      - { when: otherwise, fail: true }\n"
    )
    (tmp_path / "work/guards.yaml").write_text("m.a.input.text: one_line\n")
    runtime = mklang.Runtime(base_url="http://localhost:9/v1", model="none")
    assert isinstance(runtime.run("m.mkl", {"t": "a b c"}), mklang.Done)
    refused = runtime.run("m.mkl", {"t": "a\nb"})
    assert isinstance(refused, mklang.Halted)
    assert refused.error.startswith("guard-refused")
    assert "one_line" in refused.error


def test_the_example_keeps_to_the_contracts(site: Site) -> None:
    brought = plugins_of(allowed("mklang-example"))
    assert contracts.check_tool(brought.tools["word_count"], {"text": "a b"}, {"words": 1}) == "2"
    contracts.check_hook(brought.hooks["is_short"], holds=({"words": "3"}, None), fails=({"words": 50}, None))
    contracts.check_guard(brought.guards["one_line"], passes="a", refused="a\nb")
    place = SimpleNamespace(name="echo", base_url=None, api_key=None, model="e", timeout=None)
    assert contracts.check_backend(brought.providers["echo"](place), "e").text == "Say yes."  # type: ignore[arg-type]
    assert contracts.check_judge(brought.judges["first"](place)).index == 0  # type: ignore[arg-type]
    for path in brought.folders[0].iterdir():
        contracts.check_machine(path)


def test_a_contract_that_is_not_kept_is_said(site: Site) -> None:
    numbers = iter(range(10))
    moody = mklang.tool(name="moody", effect="read", idempotent=True)(lambda: str(next(numbers)))
    with pytest.raises(AssertionError, match="answers differently"):
        contracts.check_tool(moody, {})
    always = mklang.hook(name="always")(lambda context, output: True)
    with pytest.raises(AssertionError, match="true where it should be false"):
        contracts.check_hook(always, holds=({}, None), fails=({}, None))
    assert isinstance(ToolRegistry([moody])["moody"], mklang.HostTool)
