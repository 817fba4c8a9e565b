"""Which layer a file belongs to, from what the text says of its path. What a change there may do decides the layer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum


class Layer(IntEnum):
    """From what is allowed to what needs a person most."""

    SCRATCH = 0
    LOG = 1
    PROPOSAL = 2
    KNOWLEDGE = 3
    BEHAVIOUR = 4
    CONTROL = 5
    EVIDENCE = 6


_TEXTS: tuple[tuple[Layer, str], ...] = (
    (Layer.PROPOSAL, r"(^|[/_.-])(proposals?|proposed|staging|staged|pending|drafts?)([/_.-]|$)|\.(patch|diff)$"),
    (
        Layer.EVIDENCE,
        r"(^|/)tests?/|(^|/)test_[^/]*\.py$|conftest\.py|(^|/)fixtures/|\.github/workflows|\.gitlab-ci|pyproject\.toml"
        r"|requirements[^/]*\.txt|\.pre-commit-config|ruff\.toml|setup\.cfg|package\.json|thresholds?\.",
    ),
    (
        Layer.CONTROL,
        r"settings(\.local)?\.json|(^|/)hooks?/|\.git/hooks|crontab|permissions?\.|\.mcp\.json|\.bashrc|\.zshrc|\.profile$"
        r"|(^|/)\.env(\.|$)|/etc/|\.ssh/|sudoers",
    ),
    (
        Layer.BEHAVIOUR,
        r"CLAUDE(\.local)?\.md|AGENTS\.md|GEMINI\.md|\.claude/|\.cursor/|\.cursorrules|copilot-instructions|SKILL\.md"
        r"|(^|/)skills?/|(^|/)rules?/|(^|/)identity|persona|constitution|system_?prompt|\.mkl$|(^|/)prompts?/",
    ),
    (
        Layer.LOG,
        r"\.log($|\.)|(^|/)logs?/|(^|/)traces?/|transcripts?|(^|/)history|\.trace($|\.)|audit\.jsonl|stdout|stderr",
    ),
)
_NAMES: tuple[tuple[Layer, str], ...] = (
    (Layer.SCRATCH, r"^(tempfile|tmp_?\w*|temp_?\w*|mkstemp|scratch\w*|cache_?\w*|\w*_cache|stdout|stderr)$"),
    (Layer.PROPOSAL, r"(^|_)(proposals?|proposed|staging|staged|pending|drafts?)(_|$)"),
    (Layer.LOG, r"(^|_)(logs?|logger|logfile|traces?|transcripts?|history)(_|$)"),
    (Layer.EVIDENCE, r"(^|_)(fixtures?|thresholds?|test_files?|tests_dir)(_|$)"),
    (Layer.CONTROL, r"(^|_)(hooks?|permissions?|crontab|settings)(_|$)"),
    (Layer.BEHAVIOUR, r"(^|_)(skills?|rules?|identity|persona|constitution|system_prompt|claude_md|agents_md)(_|$)"),
)


@dataclass(frozen=True)
class LayerRules:
    """How layers are told; a project's own globs come first."""

    own: tuple[tuple[Layer, re.Pattern[str]], ...] = ()

    def of(self, hints: Iterable[str]) -> Layer:
        """The layer of a place. Texts decide before names; nothing known means knowledge."""
        told = list(hints)
        texts = [one for one in told if one[:1] not in {"~", "$", "="} and not one.startswith("mode:")]
        names = [one[1:] for one in told if one.startswith("~")]
        appends = "mode:a" in told
        if "tempfile" in names:
            return Layer.SCRATCH
        joined = "/".join(one.strip("/") for one in texts)
        for pattern_set in (self.own, _COMPILED_TEXTS):
            for layer, pattern in pattern_set:
                if pattern.search(joined) or any(pattern.search(one) for one in texts):
                    return layer
        if appends and (joined.endswith((".jsonl", ".ndjson", ".log", ".txt")) or not joined):
            return Layer.LOG
        for layer, pattern in _COMPILED_NAMES:
            if any(pattern.search(one.casefold()) for one in names):
                return layer
        return Layer.KNOWLEDGE


_COMPILED_TEXTS = tuple((layer, re.compile(text, re.I)) for layer, text in _TEXTS)
_COMPILED_NAMES = tuple((layer, re.compile(text, re.I)) for layer, text in _NAMES)


def layer_rules(globs: Mapping[str, Iterable[str]]) -> LayerRules:
    """Rules from a configuration: layer name to globs (``*`` within a folder, ``**`` across)."""
    own = [(Layer[name.upper()], re.compile(_glob(glob), re.I)) for name, given in globs.items() for glob in given]
    return LayerRules(tuple(own))


def _glob(glob: str) -> str:
    escaped = re.escape(glob.strip("/")).replace(r"\*\*/", "(.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return f"(^|/){escaped}$"
