"""A runtime configuration is read with places and in one pass, and found where its owner put it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mklang.diagnostics import Severity
from mklang.errors import ConfigError, DocumentError
from mklang.host.config import Layer, Protocol, RuntimeConfig, read_config
from mklang.host.configuration import resolve
from mklang.host.paths import config_folder
from mklang.lang.models import Tier

WORK = """\
active: work
providers:
  work:
    protocol: openai_compat
    base_url: http://localhost:8080/v1
    api_key_env: WORK_KEY
    tiers: { fast: small, balanced: medium, reasoning: large }
    judge: judging
    params: { reasoning: { reasoning_effort: high, top_k: 3 } }
tools:
  fs: { backend: local }
"""


def read(tmp_path: Path, text: str) -> RuntimeConfig:
    path = tmp_path / "runtime.yaml"
    path.write_text(text, encoding="utf-8")
    return read_config(str(path))


def problems(tmp_path: Path, text: str) -> list[tuple[int | None, str, str]]:
    """Line, code and place of every error."""
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, text)
    errors = [found for found in caught.value.diagnostics if found.severity is Severity.ERROR]
    return [(found.span.line if found.span else None, found.code, found.where) for found in errors]


def test_a_whole_configuration(tmp_path: Path) -> None:
    config = read(tmp_path, WORK)
    work = config.provider()
    assert work.protocol is Protocol.OPENAI_COMPAT
    assert (work.base_url, work.api_key_env) == ("http://localhost:8080/v1", "WORK_KEY")
    assert {judge.model for judge in work.judges.values()} == {"judging"}
    assert dict(work.tiers) == {Tier.FAST: "small", Tier.BALANCED: "medium", Tier.REASONING: "large"}
    assert dict(work.params[Tier.REASONING]) == {"reasoning_effort": "high", "top_k": 3}
    assert config.warnings == ()
    assert config.folder == tmp_path


def test_every_problem_is_found_in_one_pass_with_its_place(tmp_path: Path) -> None:
    text = """\
active: wrok
providers:
  work:
    protocol: grpc
    base_url: 5
    tiers: { fast: small, balanced: "", reasonning: large }
    params: { fast: [1], reasoning: { stream: true } }
  other: [1]
"""
    assert problems(tmp_path, text) == [
        (1, "unknown-provider", "active"),
        (4, "bad-value", "providers.work.protocol"),
        (5, "wrong-type", "providers.work.base_url"),
        (6, "missing-key", "providers.work.tiers"),
        (6, "bad-value", "providers.work.tiers.balanced"),
        (6, "unknown-key", "providers.work.tiers.reasonning"),
        (7, "wrong-type", "providers.work.params.fast"),
        (7, "reserved-param", "providers.work.params.reasoning"),
        (8, "wrong-type", "providers.other"),
    ]


@pytest.mark.parametrize(
    "url",
    [
        "http://models.example.com/v1",
        "ftp://x.example.com",
        "http://[::1",
        "models",
        "'/v1'",
    ],
)
def test_an_address_that_may_not_be_used_is_said_with_its_place(tmp_path: Path, url: str) -> None:
    text = WORK.replace("http://localhost:8080/v1", url)
    assert [found[1:] for found in problems(tmp_path, text)] == [("bad-value", "providers.work.base_url")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "config-empty"),
        ("[]", "wrong-type"),
        ("text", "wrong-type"),
        ("active: work", "missing-key"),
        ("providers: {}", "missing-key"),
        ("active: a\nactive: b\nproviders: {}", "duplicate-key"),
        ("active: [", "yaml-syntax"),
        ("active: a\nproviders: { a: { tiers: { fast: x, balanced: no, reasoning: 1.10 } } }", "wrong-type"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str, code: str) -> None:
    assert code in [found[1] for found in problems(tmp_path, text)]


def test_a_key_that_means_nothing_is_a_warning_with_the_near_miss(tmp_path: Path) -> None:
    (warning,) = read(tmp_path, WORK.replace("api_key_env", "api_key_evn")).warnings
    assert (warning.code, warning.severity, warning.hint) == (
        "unknown-key",
        Severity.WARNING,
        "did you mean 'api_key_env'?",
    )


def test_a_provider_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no provider 'wrk', only work; did you mean 'work'\?"):
        read(tmp_path, WORK).provider("wrk")


def found(explicit: str | None, environ: dict[str, str], system: Path) -> tuple[Layer, str] | None:
    config = resolve(config=explicit, environ=environ, system=system).models
    return (config.layer, Path(config.path).parent.name) if config else None


def test_the_first_place_that_has_one_counts(tmp_path: Path) -> None:
    for place in ("flag", "variable", "user", "system"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "runtime.yaml").write_text(WORK)
    system = tmp_path / "system" / "runtime.yaml"
    user = {"MKLANG_CONFIG_DIR": str(tmp_path / "user")}
    variable = {**user, "MKLANG_CONFIG": str(tmp_path / "variable" / "runtime.yaml")}
    assert found(str(tmp_path / "flag" / "runtime.yaml"), variable, system) == (Layer.EXPLICIT, "flag")
    assert found(None, variable, system) == (Layer.ENV, "variable")
    assert found(None, user, system) == (Layer.USER, "user")
    assert found(None, {"MKLANG_CONFIG_DIR": str(tmp_path)}, system) == (Layer.SYSTEM, "system")
    assert found(None, {"MKLANG_CONFIG_DIR": str(tmp_path)}, tmp_path / "none.yaml") is None


def test_a_configuration_that_was_named_must_exist(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.yaml")
    with pytest.raises(ConfigError, match="--config names"):
        resolve(config=missing, environ={})
    with pytest.raises(ConfigError, match="MKLANG_CONFIG in the environment names"):
        resolve(environ={"MKLANG_CONFIG": missing})
    with pytest.raises(DocumentError, match="directory"):
        resolve(config=str(tmp_path), environ={})


def test_a_configuration_beside_the_machine_or_loose_in_the_working_directory_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (tmp_path, tmp_path / "machines", tmp_path / "machines" / "config"):
        place.mkdir(exist_ok=True)
        (place / "runtime.yaml").write_text("not: [a configuration")
    monkeypatch.chdir(tmp_path)
    empty = {"MKLANG_CONFIG_DIR": str(tmp_path / "nothing")}
    assert resolve(environ=empty, system=tmp_path / "nothing.yaml").models is None


def test_the_users_folder_follows_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert config_folder({"MKLANG_CONFIG_DIR": "/own", "XDG_CONFIG_HOME": "/xdg"}) == Path("/own")
    assert config_folder({"XDG_CONFIG_HOME": "/xdg"}) == Path("/xdg/mklang")
    assert config_folder({}) == Path("/home/me/.config/mklang")
