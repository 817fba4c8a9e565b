"""Scenarios with pinned answers as the text of a scenario file, to be read again as the very same scenarios (L90).

Texts that are long or have several lines become literal blocks, steps of a trace one line each. Whatever another YAML
reader could take for something else is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from mklang.engine.requests import HookValue, Observation, Produced, Read, Usage, Verdict
from mklang.lang import scalars
from mklang.lang.values import Json
from mklang.oracles.pinned import PinnedAnswer, PinnedFailure, PinnedReply, Unsettled
from mklang.testing.options import NANO, written_options
from mklang.testing.scenario import UNSET, Expectation, Scenario

LONG = 80
"""A text longer than this becomes a block."""

# Control characters, and what YAML takes for a line end or a byte order mark: never raw in the text of a file.
_ESCAPED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


def scenario_file_text(scenarios: Iterable[Scenario], *, heading: Iterable[str] = ()) -> str:
    """The text of a scenario file. ``heading`` lines become comments at its top.

    Of a script only the pinned answers are written: other answers are not known by key. Texts that YAML cannot hold,
    such as half a surrogate pair, come out as something a reader refuses.
    """
    comments = "".join(f"# {line}\n" for line in heading)
    document = {"scenarios": [_plain(scenario) for scenario in scenarios]}
    return comments + yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=False
    )


def _plain(scenario: Scenario) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "name": scenario.name,
        "input": dict(scenario.inputs),
        "run": written_options(scenario.options),
        "answers": {key: plain_answer(answer) for key, answer in scenario.script.answers.items()},
        "expect": _expected(scenario.expect),
    }
    return {key: part for key, part in parts.items() if part or key == "expect"}


def _expected(expect: Expectation) -> dict[str, Any]:
    names = ("status", "error", "error_prefix", "result", "at", "ask", "reply_to")
    said = {name: value for name in names if (value := getattr(expect, name)) is not UNSET}
    if expect.context:
        said["context"] = dict(expect.context)
    if expect.trace is not UNSET:
        said["trace"] = [_OneLine(step) for step in expect.trace]
    return said


def plain_answer(answer: PinnedAnswer) -> Json:
    """A pinned answer as it is written under ``answers``: as short as it can be."""
    match answer:
        case Produced():
            return _text(answer)
        case Verdict():
            return _verdict(answer)
        case Observation():
            return answer.text
        case HookValue():
            return answer.holds
        case PinnedReply():
            return _reply(answer)
        case PinnedFailure():
            return {"failed": answer.message, "kind": answer.kind.value, **_cost(answer.usage)}
        case Unsettled():
            return {"outcome": answer.value}


def _text(produced: Produced) -> Json:
    more: dict[str, Json] = {}
    if produced.reasoning is not None:
        more["reasoning"] = produced.reasoning
    more |= _cost(produced.usage)
    if produced.finish_reason is not None:
        more["finish_reason"] = produced.finish_reason
    if produced.truncated:
        more["truncated"] = True
    return {"text": produced.text, **more} if more else produced.text


def _verdict(verdict: Verdict) -> Json:
    cost = _cost(verdict.usage)
    if verdict.probabilities is not None:
        return {"probabilities": list(verdict.probabilities), **_threshold(verdict), **cost}
    chosen: Json = "none" if verdict.index is None else verdict.index
    if verdict.read is Read.UNREAD:
        chosen = "unparseable"
    return {"verdict": chosen, **cost} if cost else chosen


def _threshold(verdict: Verdict) -> dict[str, Json]:
    more: dict[str, Json] = {"threshold": verdict.threshold}
    if verdict.band:
        more["band"] = verdict.band
    if verdict.none_probability is not None:
        more["none_probability"] = verdict.none_probability
    return more


def _reply(reply: PinnedReply) -> Json:
    words: dict[str, Json] = {}
    if reply.confirms is not None:
        words["confirms"] = reply.confirms
    if reply.expired:
        words["expired"] = True
    return {**reply.values, **words}


def _cost(usage: Usage) -> dict[str, Json]:
    cost: dict[str, Json] = {}
    if usage.total:
        cost["tokens"] = [usage.input_tokens, usage.output_tokens]
    if usage.nano_usd:
        cost["usd"] = usage.nano_usd / NANO
    return cost


class _OneLine(dict[str, Json]):
    """A map to be written on one line."""


class _Dumper(yaml.SafeDumper):
    """A safe dumper with our styles: no aliases, lists indented below their key."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Write a value that occurs twice twice."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - as above
        """Indent the items of a list."""
        super().increase_indent(flow, False)


def _string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if _ESCAPED.search(text):
        style = '"'
    elif "\n" in text or len(text) > LONG:
        style = "|"
    elif _may_be_misread(text):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _may_be_misread(text: str) -> bool:
    """Whether a plain scalar with this text would be no text to us, or be pointed out as ambiguous."""
    return (
        scalars.resolve(text) is not text
        or scalars.is_not_json(text)
        or scalars.is_old_boolean(text)
        or scalars.is_old_number(text)
    )


def _one_line(dumper: _Dumper, value: Mapping[str, Json]) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=True)


_Dumper.add_representer(str, _string)
_Dumper.add_representer(_OneLine, _one_line)
