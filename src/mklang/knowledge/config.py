"""``.akc/config.yaml``: what the operator says about a cycle. Everything has a default, and the file may be missing."""

from __future__ import annotations

from enum import Enum

import msgspec

from mklang.errors import KnowledgeError
from mklang.guards import DEFAULT_BOUNDS, Failure, Forbidden, Where
from mklang.guards.forbidden import ForbiddenList
from mklang.guards.plain_yaml import parse_yaml
from mklang.knowledge.files import read_plain
from mklang.knowledge.home import Home
from mklang.knowledge.log import Sync
from mklang.stakes import Stake


class Form(Enum):
    """What the second stage writes: a JSON array of patterns, or one pattern a line for models that cannot do more."""

    JSON = "json"
    LINES = "lines"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A forbidden text with its reason."""

    text: str
    where: Where = Where.ANYWHERE
    why: str = ""


class CycleConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration. ``forbid`` ships empty (I9).

    ``rules`` is the file that rules are promoted into; ``reflect`` and ``format`` are machines instead of the bundled
    ones, as paths from the project; with ``per_item`` a pattern that the guard refuses is left out and told, instead of
    refusing all. ``gate`` lists what agents must not write directly, ``open`` globs of
    paths that they may write all the same. ``signers`` is an allowed-signers file of ssh-keygen: with it, an approval
    takes a signature."""

    forbid: tuple[Entry | str, ...] = ()
    rules: str = "AGENTS.md"
    sync: Sync = Sync.INTERVAL
    reflect: str | None = None
    format: str | None = None
    form: Form = Form.JSON
    per_item: bool = False
    days: int | None = None
    items: int = 500
    bytes: int = 200_000
    gate: tuple[str, ...] = ("behaviour", "control", "evidence")
    open: tuple[str, ...] = ()
    signers: str | None = None
    always_loaded: int = 200
    """From how many always-loaded lines on ``health`` says so."""

    def __post_init__(self) -> None:
        known = [stake.name.lower() for stake in Stake if stake.needs_person]
        for name in self.gate:
            if name not in known:
                raise ValueError(f"'gate' lists some of {', '.join(known)}, not '{name}'")
        try:
            ForbiddenList(
                tuple(Forbidden(one) if isinstance(one, str) else one for one in self.forbidden), fold_whitespace=True
            )
        except ValueError as problem:
            raise ValueError(f"'forbid': {problem}") from problem
        for name in ("items", "bytes", "always_loaded"):
            if getattr(self, name) < 1:
                raise ValueError(f"'{name}' is 1 or more")

    @property
    def forbidden(self) -> tuple[Forbidden | str, ...]:
        """The forbidden texts, for guards."""
        return tuple(one if isinstance(one, str) else Forbidden(one.text, one.where, one.why) for one in self.forbid)


def read_config(home: Home) -> CycleConfig:
    """The configuration of a home. Raises ``KnowledgeError`` with the place of what is wrong in it."""
    data = read_plain(home.config, 1024 * 1024)
    if all(line.strip().startswith(b"#") or not line.strip() for line in (data or b"").splitlines()):
        return CycleConfig()
    try:
        parsed = parse_yaml((data or b"").decode(), DEFAULT_BOUNDS)
        if isinstance(parsed, Failure):
            raise KnowledgeError(f"{home.config}: {parsed.message}")
        return CycleConfig() if parsed is None else msgspec.convert(parsed, CycleConfig)
    except (msgspec.ValidationError, ValueError) as error:
        raise KnowledgeError(f"{home.config}: {error}") from error
