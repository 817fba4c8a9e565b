"""Patterns from plain lines, for models that cannot write JSON: code makes the form, the guard checks it as well."""

from __future__ import annotations

import json
import re

from mklang.knowledge.patterns import DEFAULT_CATEGORY, DEFAULT_IMPORTANCE
from mklang.patterns.orchestrator import Attempt, Worker

_MARK = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def patterns_from_lines(text: str) -> str:
    """A JSON array with one pattern for each line that says something; list marks are left out, a line that is there
    twice counts once. Importance and category are the defaults: nobody has judged them."""
    lines = dict.fromkeys(_MARK.sub("", line).strip() for line in text.splitlines())
    items = [
        {"pattern": line, "importance": DEFAULT_IMPORTANCE, "category": DEFAULT_CATEGORY}
        for line in lines
        if any(one.isalnum() for one in line)
    ]
    return json.dumps(items, ensure_ascii=False)


def lines_worker(worker: Worker) -> Worker:
    """A worker whose lines become a list of patterns."""

    async def work(attempt: Attempt) -> str:
        return patterns_from_lines(await worker(attempt))

    return work
