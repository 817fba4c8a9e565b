"""Who judges, from the configuration: the forms of ``judge:``, what goes together, where keys and questions go."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mklang.engine.options import OnUncertain, RunOptions
from mklang.engine.requests import Read, Verdict
from mklang.errors import ConfigError, DocumentError, UsageError
from mklang.host.config import read_config
from mklang.host.judge_config import Judges, Manner, NoulProvider
from mklang.host.models import Models, choose_models
from mklang.host.session import judged
from mklang.lang.models import Tier
from mklang.llm.local import EMBEDDED_NAME, embedded_available
from tests.llm.asking import decide
from tests.llm.stub_server import Asked, Scripted, StubServer, completion
from tests.llm.test_jev import answers

needs_model = pytest.mark.skipif(not embedded_available(), reason="needs the extra 'local'")
EVERY = frozenset(Tier)


def text(judge: str, **keys: str) -> str:
    """A configuration whose provider has this judge, as YAML in flow style."""
    lines = {"protocol": "openai_compat", "base_url": "http://localhost:9/v1", **keys, "judge": judge}
    listed = "".join(f"\n    {key}: {value}" for key, value in lines.items() if value)
    return f"active: work\nproviders:\n  work:\n    tiers: {{ fast: s, balanced: m, reasoning: l }}{listed}\n"


def judges(tmp_path: Path, judge: str) -> Judges:
    path = tmp_path / "runtime.yaml"
    path.write_text(text(judge))
    return read_config(str(path)).provider().judges


def problems(tmp_path: Path, judge: str, **keys: str) -> list[tuple[str, str]]:
    """Code and place of everything that is wrong."""
    path = tmp_path / "runtime.yaml"
    path.write_text(text(judge, **keys))
    with pytest.raises(DocumentError) as caught:
        read_config(str(path))
    for found in caught.value.diagnostics:
        assert found.span is not None
    return [(found.code, found.where.removeprefix("providers.work.")) for found in caught.value.diagnostics]


def chosen(tmp_path: Path, judge: str, environ: Mapping[str, str] | None = None, **keys: str) -> Models:
    path = tmp_path / "runtime.yaml"
    path.write_text(text(judge, **keys))
    return choose_models(config=str(path), environ=environ or {})


def verdict_of(make: Any, *replies: Scripted, tier: Tier = Tier.FAST) -> tuple[Verdict, list[Asked]]:
    """A verdict of the models made for a stub's address, and what the stub was asked."""
    import msgspec

    async def scenario() -> tuple[Verdict, list[Asked]]:
        async with StubServer(*replies) as server:
            models = make(server.base_url)
            try:
                return await models.judge.judge(msgspec.structs.replace(decide(), tier=tier)), server.asked
            finally:
                await models.aclose()

    return asyncio.run(scenario())


# Three forms


@pytest.mark.rule("S21", "L96")
def test_an_id_is_one_choice_judge_for_every_tier(tmp_path: Path) -> None:
    found = judges(tmp_path, "small-judge")
    assert {(tier, judge.manner, judge.model) for tier, judge in found.items()} == {
        (tier, Manner.CHOICE, "small-judge") for tier in Tier
    }


@pytest.mark.rule("S21", "S32", "L104")
@pytest.mark.parametrize("judge", ["jev", "jev-latest", "jev-1.13.0"])
def test_a_reserved_id_is_system_one(tmp_path: Path, judge: str) -> None:
    (found,) = set(judges(tmp_path, judge).values())
    assert (found.manner, found.provider, found.model) == (Manner.NOUL, NoulProvider.JEV, judge)


@pytest.mark.rule("S23", "S24", "S28")
def test_a_map_says_how(tmp_path: Path) -> None:
    (found,) = set(
        judges(
            tmp_path,
            "{ mapping: noul, provider: jev, model: jev-1.13.0, threshold: 0.7, band: 0.1, on_uncertain: ask, "
            "none: default, base_url: 'https://one.example', api_key_env: K, api_key_file: f }",
        ).values()
    )
    assert (found.manner, found.provider, found.model) == (Manner.NOUL, NoulProvider.JEV, "jev-1.13.0")
    assert (found.threshold, found.band, found.on_uncertain, found.ask_none) == (0.7, 0.1, OnUncertain.ASK, False)
    assert (found.base_url, found.api_key_env, found.api_key_file) == ("https://one.example", "K", "f")


def test_what_nobody_says_stays_open(tmp_path: Path) -> None:
    (found,) = set(judges(tmp_path, "{ mapping: noul }").values())
    assert (found.provider, found.model, found.threshold, found.band) == (None, None, None, 0.0)
    assert (found.on_uncertain, found.ask_none, found.calibrate) == (OnUncertain.FLAG, True, None)


@pytest.mark.parametrize(
    ("judge", "provider"),
    [("{ provider: logprobs }", NoulProvider.LOGPROBS), ("{ model: jev-latest }", NoulProvider.JEV)],
)
def test_a_provider_or_a_reserved_model_makes_it_noul(tmp_path: Path, judge: str, provider: NoulProvider) -> None:
    (found,) = set(judges(tmp_path, judge).values())
    assert (found.manner, found.provider) == (Manner.NOUL, provider)


def test_a_map_of_tiers_gives_each_its_own_and_leaves_the_rest(tmp_path: Path) -> None:
    found = judges(tmp_path, "{ fast: { mapping: noul, threshold: 0.4 }, reasoning: big-judge }")
    assert set(found) == {Tier.FAST, Tier.REASONING}
    assert (found[Tier.FAST].manner, found[Tier.FAST].threshold) == (Manner.NOUL, 0.4)
    assert (found[Tier.REASONING].manner, found[Tier.REASONING].model) == (Manner.CHOICE, "big-judge")


# What is wrong is said with its place


@pytest.mark.rule("L97")
@pytest.mark.parametrize(
    ("judge", "found"),
    [
        ("[a]", [("wrong-type", "judge")]),
        ("''", [("bad-value", "judge")]),
        ("5", [("wrong-type", "judge")]),
        ("{ mapping: score }", [("bad-value", "judge.mapping")]),
        ("{ provider: jevv }", [("bad-value", "judge.provider")]),
        ("{ mapping: noul, treshold: 0.5 }", [("unknown-key", "judge.treshold")]),
        ("{ mapping: noul, threshold: 1.5 }", [("bad-value", "judge.threshold")]),
        ("{ mapping: noul, threshold: -0.1 }", [("bad-value", "judge.threshold")]),
        ("{ mapping: noul, threshold: half }", [("wrong-type", "judge.threshold")]),
        ("{ mapping: noul, threshold: '0.5' }", [("wrong-type", "judge.threshold")]),
        ("{ mapping: noul, threshold: true }", [("wrong-type", "judge.threshold")]),
        ("{ mapping: noul, threshold: null }", [("wrong-type", "judge.threshold")]),
        ("{ mapping: noul, threshold: [0.5] }", [("wrong-type", "judge.threshold")]),
        ("{ mapping: noul, band: 2 }", [("bad-value", "judge.band")]),
        ("{ mapping: noul, on_uncertain: stop }", [("bad-value", "judge.on_uncertain")]),
        ("{ mapping: noul, none: no }", [("bad-value", "judge.none")]),
        ("{ mapping: noul, calibrate: maybe }", [("wrong-type", "judge.calibrate")]),
        (
            "{ mapping: noul, provider: logprobs, base_url: 'http://x.example.com' }",
            [("bad-value", "judge.base_url")],
        ),
        ("{ mapping: noul, provider: logprobs, base_url: 'http://10.0.0.5/v1' }", [("bad-value", "judge.base_url")]),
        ("{ provider: jev, base_url: 'http://judge.local' }", [("bad-value", "judge.base_url")]),
        ("{ provider: jev, base_url: 'http://[::1' }", [("bad-value", "judge.base_url")]),
        ("{ provider: jev, base_url: judge }", [("bad-value", "judge.base_url")]),
        ("{ fast: { threshold: 0.5 } }", [("judge-key", "judge.fast.threshold")]),
        ("{ fast: a, slow: b }", [("unknown-key", "judge.slow")]),
        ("{ fast: [1] }", [("wrong-type", "judge.fast")]),
        (
            "{ fast: { mapping: noul, on_uncertain: ask }, balanced: { mapping: noul } }",
            [("bad-value", "judge")],
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, judge: str, found: list[tuple[str, str]]) -> None:
    assert problems(tmp_path, judge) == found


@pytest.mark.rule("S25")
@pytest.mark.parametrize(
    ("judge", "found"),
    [
        ("{ mapping: choice, provider: jev }", [("judge-key", "judge.mapping")]),
        ("{ mapping: choice, model: jev-latest }", [("judge-key", "judge.mapping")]),
        ("{ fast: { mapping: choice, model: jev } }", [("judge-key", "judge.fast.mapping")]),
        ("{ mapping: choice, provider: openai-decisions }", [("judge-key", "judge.mapping")]),
        ("{ provider: logprobs, model: jev-latest }", [("judge-key", "judge.model")]),
        (
            "{ mapping: choice, threshold: 0.5, band: 0.1 }",
            [("judge-key", "judge.band"), ("judge-key", "judge.threshold")],
        ),
        ("{ model: m, base_url: 'https://x' }", [("judge-key", "judge.base_url")]),
        ("{ provider: local, base_url: 'https://x' }", [("judge-key", "judge.base_url")]),
        ("{ provider: jev, calibrate: true }", [("judge-key", "judge.calibrate")]),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(tmp_path: Path, judge: str, found: list[tuple[str, str]]) -> None:
    assert sorted(problems(tmp_path, judge)) == found


@pytest.mark.rule("S25")
def test_a_judge_is_no_tiers_model(tmp_path: Path) -> None:
    path = tmp_path / "runtime.yaml"
    path.write_text("active: w\nproviders: { w: { tiers: { fast: jev, balanced: m, reasoning: jev-latest } } }\n")
    with pytest.raises(DocumentError) as caught:
        read_config(str(path))
    assert [(found.code, found.where) for found in caught.value.diagnostics] == [
        ("judge-as-tier", "providers.w.tiers.fast"),
        ("judge-as-tier", "providers.w.tiers.reasoning"),
    ]
    assert "writes nothing" in caught.value.diagnostics[0].message
    path.write_text(
        "active: w\nproviders: { w: { tiers: { fast: [s, jev], balanced: m, reasoning: l }, "
        "fallback: { balanced: [{ model: jev-latest }] } } }\n"
    )
    with pytest.raises(DocumentError) as caught:
        read_config(str(path))
    assert [(found.code, found.where) for found in caught.value.diagnostics] == [
        ("judge-as-tier", "providers.w.tiers.fast"),
        ("judge-as-tier", "providers.w.fallback.balanced[0].model"),
    ]
    with pytest.raises(UsageError, match="writes nothing"):
        choose_models(model="jev-latest", environ={})


# Who judges, where questions go, with which key


@pytest.mark.rule("S21", "S22", "S27")
def test_system_one_is_asked_at_the_address_beside_its_key_and_the_models_at_theirs(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("from-file\n")

    def make(url: str) -> Models:
        judge = f"{{ provider: jev, threshold: 0.8, band: 0.05, base_url: '{url}', api_key_file: key.txt }}"
        models = chosen(tmp_path, judge, {"TYPESAFE_API_KEY": "usual", "KEY": "writing"}, api_key_env="KEY")
        assert models.whole_decisions == EVERY
        assert models.judged_by == dict.fromkeys(Tier, "jev-latest")
        assert models.notice.endswith("s, m, l; judged by jev-latest (true from probability 0.8)")
        return models

    verdict, (asked,) = verdict_of(make, Scripted(answers(0.7, 0.9)))
    assert (asked.path, asked.headers["authorization"]) == ("/v1/systemone", "Bearer from-file")
    assert (verdict.index, verdict.threshold, verdict.band, verdict.provider) == (1, 0.8, 0.05, "jev")


@pytest.mark.rule("S27", "L101")
def test_the_variables_fill_in_what_the_configuration_leaves_open(tmp_path: Path) -> None:
    def make(url: str) -> Models:
        environ = {
            "MKLANG_JEV_BASE_URL": url,
            "MKLANG_JEV_NOUL_THRESHOLD": "0.65",
            "TYPESAFE_API_KEY": "usual",
        }
        return chosen(tmp_path, "jev", environ)

    verdict, (asked,) = verdict_of(make, Scripted(answers(0.6, 0.65)))
    assert (asked.headers["authorization"], asked.body["model"]) == ("Bearer usual", "jev-latest")
    assert (verdict.index, verdict.threshold) == (1, 0.65)


@pytest.mark.rule("S27", "L98")
def test_the_usual_key_may_stand_in_the_users_env_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".env").write_text("TYPESAFE_API_KEY='from-env-file'\nMKLANG_JEV_NOUL_THRESHOLD=0.55\n")

    def make(url: str) -> Models:
        return chosen(tmp_path, "jev", {"MKLANG_JEV_BASE_URL": url, "MKLANG_CONFIG_DIR": str(home)})

    verdict, (asked,) = verdict_of(make, Scripted(answers(0.6, 0.1)))
    assert asked.headers["authorization"] == "Bearer from-env-file"
    assert verdict.threshold == 0.55


def test_what_the_configuration_says_stands_over_the_variables(tmp_path: Path) -> None:
    def make(url: str) -> Models:
        environ = {"MKLANG_JEV_BASE_URL": "https://other.example", "MKLANG_JEV_NOUL_THRESHOLD": "0.9"}
        return chosen(tmp_path, f"{{ provider: jev, threshold: 0.3, base_url: '{url}' }}", environ)

    verdict, _ = verdict_of(make, Scripted(answers(0.4, 0.1)))
    assert (verdict.index, verdict.threshold) == (0, 0.3)


@pytest.mark.parametrize("value", ["2", "-0.1", "nan", "inf", "half", "0,5"])
def test_a_bad_threshold_in_the_environment_is_a_configuration_error(tmp_path: Path, value: str) -> None:
    environ = {"MKLANG_JEV_NOUL_THRESHOLD": value, "TYPESAFE_API_KEY": "k"}
    with pytest.raises(ConfigError, match=r"MKLANG_JEV_NOUL_THRESHOLD is .* from 0 to 1"):
        chosen(tmp_path, "jev", environ)


@pytest.mark.parametrize("value", ["http://one.example", "http://10.0.0.5", "one.example", "https://u:p@one.example"])
def test_a_bad_address_in_the_environment_is_a_configuration_error(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match="MKLANG_JEV_BASE_URL: ") as caught:
        chosen(tmp_path, "jev", {"MKLANG_JEV_BASE_URL": value, "TYPESAFE_API_KEY": "k"})
    assert "u:p" not in str(caught.value)


@pytest.mark.rule("S27")
def test_a_key_that_is_missing_is_named_and_the_usual_one_goes_nowhere_else(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no key for the judge 'jev': the variable TYPESAFE_API_KEY is not set"):
        chosen(tmp_path, "jev")
    with pytest.raises(ConfigError, match="the variable MINE is not set"):
        chosen(tmp_path, "{ provider: jev, api_key_env: MINE }", {"TYPESAFE_API_KEY": "usual"})

    def make(url: str) -> Models:
        return chosen(tmp_path, f"{{ provider: jev, base_url: '{url}' }}", {"TYPESAFE_API_KEY": "usual"})

    _, (asked,) = verdict_of(make, Scripted(answers(0.4, 0.1)))
    assert "authorization" not in asked.headers
    (tmp_path / "key.txt").write_text("k")
    with pytest.raises(ConfigError, match="write base_url beside it"):
        chosen(tmp_path, "{ provider: jev, api_key_file: key.txt }", {"MKLANG_JEV_BASE_URL": "https://other.example"})


def test_only_the_tiers_that_are_named_are_judged_by_probabilities(tmp_path: Path) -> None:
    def make(url: str) -> Models:
        models = chosen(tmp_path, f"{{ reasoning: {{ provider: jev, base_url: '{url}' }} }}", base_url=url)
        assert models.whole_decisions == {Tier.REASONING}
        assert models.judged_by == {Tier.FAST: "s", Tier.BALANCED: "m", Tier.REASONING: "jev-latest"}
        return models

    verdict, (asked,) = verdict_of(make, Scripted(answers(0.9, 0.1)), tier=Tier.REASONING)
    assert (asked.path, verdict.mapping) == ("/v1/systemone", "noul_first_ge")
    verdict, (asked,) = verdict_of(make, Scripted(completion('{"choice": 2}')), tier=Tier.FAST)
    assert (asked.path, verdict.mapping, verdict.index) == ("/v1/chat/completions", "choice", 1)
    assert (verdict.provider, verdict.fence_applied) == ("work", True)


def test_noul_without_a_provider_asks_each_tiers_own_model_for_log_probabilities(tmp_path: Path) -> None:
    def make(url: str) -> Models:
        return chosen(tmp_path, "{ mapping: noul, none: default }", {"KEY": "k"}, base_url=url, api_key_env="KEY")

    told = {"content": [{"top_logprobs": [{"token": "Yes", "logprob": -0.1}, {"token": "no", "logprob": -3.0}]}]}
    reply = completion("Yes")
    assert isinstance(reply, dict)
    reply["choices"][0]["logprobs"] = told
    verdict, asked = verdict_of(make, Scripted(reply), Scripted(reply), tier=Tier.BALANCED)
    assert {(one.body["model"], one.headers["authorization"]) for one in asked} == {("m", "Bearer k")}
    assert (verdict.provider, verdict.index, verdict.read) == ("logprobs", 0, Read.CLEAN)


def test_a_judge_behind_an_address_needs_one_when_the_models_run_in_this_process(tmp_path: Path) -> None:
    if not embedded_available():
        pytest.skip("needs the extra 'local'")
    path = tmp_path / "runtime.yaml"
    tiers = f"{{ fast: {EMBEDDED_NAME}, balanced: {EMBEDDED_NAME}, reasoning: {EMBEDDED_NAME} }}"
    path.write_text(
        f"active: w\nproviders: {{ w: {{ protocol: embedded, tiers: {tiers}, judge: {{ provider: logprobs }} }} }}\n"
    )
    with pytest.raises(ConfigError, match="'logprobs' needs a base_url"):
        choose_models(config=str(path), environ={})


@needs_model
def test_the_judge_of_an_embedded_provider_is_the_model_that_writes(tmp_path: Path) -> None:
    path = tmp_path / "runtime.yaml"
    tiers = f"{{ fast: {EMBEDDED_NAME}, balanced: {EMBEDDED_NAME}, reasoning: {EMBEDDED_NAME} }}"
    path.write_text(
        f"active: w\nproviders: {{ w: {{ protocol: embedded, tiers: {tiers}, judge: {{ mapping: noul }} }} }}\n"
    )
    models = choose_models(config=str(path), environ={})
    assert models.whole_decisions == EVERY
    assert models.judged_by == dict.fromkeys(Tier, EMBEDDED_NAME)


@pytest.mark.rule("S28")
def test_what_doubt_leads_to_reaches_the_run(tmp_path: Path) -> None:
    judge = "{ provider: jev, band: 0.1, on_uncertain: ask }"
    models = chosen(tmp_path, judge, {"TYPESAFE_API_KEY": "k"})
    options = judged(RunOptions(), models)
    assert (options.whole_decisions, options.on_uncertain) == (EVERY, OnUncertain.ASK)
    plain = judged(RunOptions(on_uncertain=OnUncertain.ASK), chosen(tmp_path, "m"))
    assert (plain.whole_decisions, plain.on_uncertain) == (frozenset(), OnUncertain.ASK)


def test_no_key_is_in_any_representation(tmp_path: Path) -> None:
    environ = {"TYPESAFE_API_KEY": "sekret-judge", "KEY": "sekret-writer"}
    models = chosen(tmp_path, "jev", environ, api_key_env="KEY")
    assert "sekret" not in repr(models)
