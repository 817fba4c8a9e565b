"""Where models run: one traffic for an address, keys from the right places, prices, and who stands in for whom."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mklang.engine.events import AnyEvent, ModelAsked
from mklang.engine.requests import Produced, Usage
from mklang.errors import ConfigError
from mklang.host.config import read_config
from mklang.host.configuration import resolve
from mklang.host.models import Models, choose_models
from mklang.host.places import Places, Surroundings, at_address
from mklang.host.seam import REAL
from mklang.host.variables import dotenv
from mklang.lang.models import Tier
from mklang.llm.profiles import PROFILES
from tests.llm.asking import decide, write
from tests.llm.stub_server import Asked, Scripted, StubServer, completion

TIERS = "tiers: { fast: s, balanced: m, reasoning: l }"


def places(tmp_path: Path, text: str, **environ: str) -> tuple[Places, Any]:
    path = tmp_path / "runtime.yaml"
    path.write_text(text)
    config = read_config(str(path))
    return Places(config, Surroundings(environ={"MKLANG_CONFIG_DIR": str(tmp_path), **environ}, seam=REAL)), config


def test_two_providers_at_one_address_share_its_traffic(tmp_path: Path) -> None:
    text = f"""\
active: a
providers:
  a: {{ {TIERS}, protocol: openai_compat, base_url: "http://localhost:8080/v1", limits: {{ rpm: 5 }} }}
  b: {{ {TIERS}, protocol: anthropic, base_url: "http://localhost:8080" }}
  c: {{ {TIERS}, protocol: openai_compat, base_url: "http://localhost:8081/v1" }}
"""
    found, config = places(tmp_path, text)
    a, b, c = (found.of(config.provider(name)) for name in "abc")
    assert a.traffic is b.traffic is not c.traffic
    assert found.of(config.provider("a")) is a


@pytest.mark.rule("L102")
@pytest.mark.parametrize("name", PROFILES)
def test_every_provider_that_is_known_by_its_name_can_be_used(tmp_path: Path, name: str) -> None:
    profile = PROFILES[name]
    address = "" if profile.base_url else ', base_url: "https://models.example.com/v1"'
    environ = {profile.api_key_env: "k"} if profile.api_key_env else {}
    found, config = places(tmp_path, f"active: {name}\nproviders: {{ {name}: {{ {TIERS}{address} }} }}\n", **environ)
    place = found.of(config.provider())
    assert place.address == (profile.base_url or "https://models.example.com/v1")
    assert place.key == ((environ and "k") or None)


def test_prices_are_the_hosts_then_the_tables_and_models_of_ones_own_are_free(tmp_path: Path) -> None:
    pytest.importorskip("genai_prices")
    prices = "prices: { s: { input: 1, output: 2 } }"
    text = f"""\
active: openai
providers:
  openai: {{ {TIERS}, {prices} }}
  local: {{ {TIERS}, base_url: "http://localhost:8080/v1" }}
  proxy: {{ {TIERS}, protocol: openai_compat, base_url: "http://localhost:4000/v1" }}
"""
    found, config = places(tmp_path, text, OPENAI_API_KEY="k")

    def cost(provider: str, model: str) -> int | None:
        price = found.of(config.provider(provider)).price(model)
        return None if price is None else price.nano_usd(Usage(10, 10))

    assert cost("openai", "s") == 10 * 1000 + 10 * 2000
    assert cost("openai", "gpt-4o-mini") == 10 * 150 + 10 * 600
    assert cost("openai", "nobody-knows") is None
    assert cost("local", "anything") == 0
    assert cost("proxy", "gpt-4o-mini") is None


def test_a_server_on_this_machine_named_on_the_command_line_is_free_and_a_known_address_has_its_prices() -> None:
    pytest.importorskip("genai_prices")
    around = Surroundings(environ={}, seam=REAL)
    here = at_address("http://127.0.0.1:8080/v1", None, around).price("m")
    assert here is not None
    assert here.nano_usd(Usage(10, 10)) == 0
    assert at_address("https://models.example.com/v1", None, around).price("gpt-4o-mini") is None
    assert at_address("https://api.openai.com/v1/", None, around).price("gpt-4o-mini") is not None


# Models that stand in for others


def chosen(tmp_path: Path, url: str, lines: str) -> Models:
    (tmp_path / "runtime.yaml").write_text(
        "active: work\nproviders:\n"
        f"  work: {{ tiers: {{ fast: [s, t], balanced: m, reasoning: l }}, protocol: openai_compat, base_url: '{url}',"
        f" params: {{ fast: {{ top_k: 3 }} }}, {lines} }}\n"
        f"  other: {{ {TIERS}, protocol: openai_compat, base_url: '{url}', params: {{ reasoning: {{ top_k: 9 }} }} }}\n"
    )
    return choose_models(config=str(tmp_path / "runtime.yaml"), environ={"MKLANG_CONFIG_DIR": str(tmp_path)})


def test_a_tiers_models_answer_in_their_order_and_judge_in_it_too(tmp_path: Path) -> None:
    def answers(asked: Asked) -> Scripted:
        down = Scripted({"error": {"message": "no", "code": 404}}, status=500 if asked.body["model"] == "s" else 404)
        return down if asked.body["model"] in {"s", "l"} else Scripted(completion('{"choice": 1}'))

    async def scenario() -> tuple[Produced, Produced, str, list[tuple[str, int | None]]]:
        async with StubServer(answer=answers) as server:
            rule = "fallback: { reasoning: [{ model: x, provider: other, on: [404] }] }, limits: { concurrency: 1 }"
            models = chosen(tmp_path, server.base_url, rule)
            fast = await models.tiers[Tier.FAST].produce(write())
            reasoning = await models.tiers[Tier.REASONING].produce(write())
            verdict = await models.judge.judge(decide())
            await models.aclose()
            return fast, reasoning, verdict.model, [(one.body["model"], one.body.get("top_k")) for one in server.asked]

    fast, reasoning, judged_by, asked = asyncio.run(scenario())
    assert (fast.model, reasoning.model, judged_by) == ("t", "x", "t")
    assert [attempt.model for attempt in (*fast.attempts, *reasoning.attempts)] == ["s", "l"]
    assert list(dict.fromkeys(asked)) == [("s", 3), ("t", 3), ("l", None), ("x", 9), ("s", None), ("t", None)]


def test_the_price_of_every_model_that_may_answer_counts(tmp_path: Path) -> None:
    prices = "prices: { s: { input: 1, output: 1 }, m: { input: 1, output: 1 } }"
    models = chosen(tmp_path, "http://localhost:8080/v1", prices)
    assert {tier.value: names for tier, names in models.unpriced.items()} == {
        "fast": ("t",), "balanced": (), "reasoning": ("l",)
    }  # fmt: skip


def test_a_provider_that_stands_in_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no provider 'nowhere'"):
        chosen(tmp_path, "http://localhost:8080/v1", "fallback: { fast: [{ model: x, provider: nowhere }] }")


def test_a_judge_of_probabilities_is_priced_and_told_of_like_the_others(tmp_path: Path) -> None:
    told: list[AnyEvent] = []

    async def scenario(url: str) -> Usage:
        (tmp_path / "runtime.yaml").write_text(
            f"active: work\nproviders:\n  work: {{ {TIERS}, protocol: openai_compat, base_url: '{url}',"
            f" judge: {{ provider: jev, base_url: '{url}', model: jev-1 }},"
            " prices: { jev-1: { input: 1, output: 1 } } }\n"
        )
        models = choose_models(config=str(tmp_path / "runtime.yaml"), environ={"MKLANG_CONFIG_DIR": str(tmp_path)})
        event = ModelAsked(
            machine="m", depth=0, run_id="r", state="s", key=decide().key, operation="judge", tier="fast"
        )
        with models.relay.to(told.append) as heard:
            assert heard is not None
            heard(event)
            verdict = await models.judge.judge(decide())
        await models.aclose()
        assert models.unpriced[Tier.BALANCED] == ("m",)
        return verdict.usage

    async def served() -> Usage:
        answers = {name: {"type": "noul", "noul": 0.9} for name in ("g0", "g1", "none")}
        reply = Scripted({"answers": answers, "usage": {"input_tokens": 5, "output_tokens": 2}})
        async with StubServer(answer=lambda _: reply) as server:
            return await scenario(server.base_url)

    assert asyncio.run(served()) == Usage(5, 2, 7000)
    assert [type(event).__name__ for event in told] == ["ModelAsked", "LlmStart", "LlmDone"]


# Keys in files


@pytest.mark.rule("L98")
@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("KEY=abc", "abc"),
        ("  KEY = abc  ", "abc"),
        ("export KEY=abc", "abc"),
        ("KEY='a b # c'", "a b # c"),
        ('KEY="abc"  # mine', "abc"),
        ("KEY=abc # mine", "abc"),
        ("KEY=abc#def", "abc#def"),
        ("KEY=", ""),
        ("KEY=$HOME", "$HOME"),
        ("KEY=`id`", "`id`"),
        ("\ufeffKEY=abc", "abc"),
    ],
)
def test_a_line_of_an_env_file(tmp_path: Path, line: str, value: str) -> None:
    (tmp_path / ".env").write_text(f"{line}\r\n# KEY=other\nnonsense\n=x\n2=y\n", encoding="utf-8")
    assert dotenv(tmp_path / ".env") == {"KEY": value}


def test_an_env_file_that_cannot_be_read_is_said_so_and_one_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert dotenv(tmp_path / ".env") == {}
    (tmp_path / ".env").write_bytes(b"KEY=\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        dotenv(tmp_path / ".env")


def test_the_environment_counts_more_than_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here", "user"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".env").write_text(f"KEY={name}\nONLY_{name.upper()}=x\n")
    monkeypatch.chdir(tmp_path / "here")
    user = {"MKLANG_CONFIG_DIR": str(tmp_path / "user")}

    def value(name: str, **environ: str) -> str | None:
        return resolve(environ={**user, **environ}).variables.get(name)

    assert value("KEY", KEY="set") == "set"
    assert value("KEY", KEY=" ") == "here"
    assert value("ONLY_USER") == "x"
    assert value("NOWHERE") is None
