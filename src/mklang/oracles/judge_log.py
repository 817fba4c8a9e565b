"""A line in the log for every call to a judge, with the fields by which calls can be compared (S29).

The logger is ``mklang.judge``, the level INFO, the message one JSON object; the same values are on the record as
``record.judge``. Verdicts that a recording answers are no calls and leave no line.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from mklang.engine.digests import content_hash
from mklang.engine.noul import MAPPING, how_none
from mklang.engine.oracle import Oracle, most_of
from mklang.engine.requests import Answer, Judge, Read, Request, Usage, Verdict, usage_of
from mklang.errors import AnswerFailed
from mklang.lang.values import Json

LOGGER = logging.getLogger("mklang.judge")
NO_LABELS: Mapping[str, Json] = {}


class LoggedOracle:
    """Wraps an oracle whose answers are timed already. ``labels`` stand in every line, such as a harness's
    ``corpus_id``."""

    def __init__(self, inner: Oracle, *, labels: Mapping[str, Json] = NO_LABELS) -> None:
        self._inner = inner
        self._labels = dict(labels)

    async def answer(self, request: Request, /) -> Answer:
        """The inner answer."""
        if not isinstance(request, Judge) or not LOGGER.isEnabledFor(logging.INFO):
            return await self._inner.answer(request)
        try:
            answer = await self._inner.answer(request)
        except AnswerFailed as failed:
            self._log(_asked(request) | {"error": f"{type(failed).__name__}: {failed}"} | _spent(usage_of(failed)))
            raise
        if isinstance(answer, Verdict):
            self._log(_asked(request) | told(answer))
        return answer

    def most(self, request: Request, /) -> Usage:
        """See ``Foreseeing.most``."""
        return most_of(self._inner, request)

    def _log(self, fields: dict[str, Json]) -> None:
        fields |= self._labels
        LOGGER.info("%s", json.dumps(fields, ensure_ascii=True, default=str), extra={"judge": fields})


def told(verdict: Verdict) -> dict[str, Json]:
    """What a verdict says and what it cost, under the seed's names.

    ``chosen_index`` counts the conditions asked about from 0. ``none`` says how none was found, ``asked`` or
    ``default``; it is null when one was chosen or nothing could be read.
    """
    read = verdict.read is not Read.UNREAD
    index = verdict.index if read else None
    chances = verdict.probabilities
    confident = chances is not None and index is not None and index < len(chances)
    return {
        "judge_provider": verdict.provider,
        "judge_model": verdict.model,
        "mapping": verdict.mapping,
        "threshold": verdict.threshold,
        "band": verdict.band,
        "noul_probs": None if chances is None else list(chances),
        "none_probability": verdict.none_probability,
        "chosen_index": index,
        "none": _none(verdict) if read and index is None else None,
        "confidence": chances[index] if confident and chances is not None and index is not None else None,
        "read": verdict.read.value,
        "raw": None if read else verdict.raw,
        "fence_applied": verdict.fence_applied,
        "latency_ms": round(verdict.seconds * 1000),
        **_spent(verdict.usage),
    }


def _asked(request: Judge) -> dict[str, Json]:
    return {
        "key": request.key,
        "state": request.state,
        "tier": request.tier.value,
        "conditions": len(request.conditions),
        "produce_hash": content_hash(request.output),
    }


def _none(verdict: Verdict) -> str:
    """A choice judge has none among its options, unless it was forced to choose."""
    if verdict.mapping == MAPPING:
        return how_none(verdict)
    return "default" if verdict.forced else "asked"


def _spent(usage: Usage) -> dict[str, Json]:
    return {
        "tokens_in": usage.input_tokens,
        "tokens_out": usage.output_tokens,
        "estimated_usd": usage.nano_usd / 1e9 if usage.nano_usd else None,
    }
