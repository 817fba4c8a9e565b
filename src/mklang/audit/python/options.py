"""What a project says of itself: ``[tool.mklang.audit]`` in pyproject.toml, or the same keys in mklang-audit.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from mklang.audit.python.layers import Layer, LayerRules, layer_rules
from mklang.audit.python.models import Library, Models, Rule, collect, shipped
from mklang.errors import UsageError

CONFIG = "mklang-audit.toml"


class OwnSink(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A function of the project that makes something durable."""

    call: str
    layer: str = "knowledge"
    value: tuple[int | str, ...] = (0,)


class AuditOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``sources`` ask a model, ``guards`` check, ``sinks`` write; ``layers`` maps a layer to globs; ``exclude`` are
    globs of files that are not looked at; ``models`` are further data files, ``without`` shipped ones to leave out.
    ``effort`` bounds the work: how many marks are moved on, and calls entered, before the audit says it is not done."""

    sources: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    sinks: tuple[OwnSink, ...] = ()
    layers: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    effort: Annotated[int, msgspec.Meta(ge=1)] = 1_000_000
    baseline: Annotated[str, msgspec.Meta(max_length=1000)] = ""

    def rules(self) -> Models:
        """The shipped data files and what this project adds."""
        own = Library(
            library="project",
            sources=tuple(Rule(call=name) for name in self.sources),
            guards=tuple(Rule(call=name, style="returns") for name in self.guards),
            sinks=tuple(Rule(call=one.call, layer=one.layer, value=one.value) for one in self.sinks),
        )
        return collect(
            (
                *(one for one in shipped() if one.library not in self.without),
                *(_library(path) for path in self.models),
                own,
            )
        )

    def layer_rules(self) -> LayerRules:
        """How this project's files are told apart."""
        return layer_rules(self.layers)


def _library(path: str) -> Library:
    import yaml

    try:
        return msgspec.convert(yaml.safe_load(Path(path).read_text("utf-8")), Library)
    except (OSError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise UsageError(f"{path}: {error}") from error


def find_options(root: Path) -> AuditOptions:
    """The options of the project a folder belongs to: the nearest file upwards that has some."""
    for folder in (root, *root.parents):
        for name in (CONFIG, "pyproject.toml"):
            path = folder / name
            if path.is_file():
                told = _table(path, own=name == CONFIG)
                if told is not None:
                    return _convert(told, path)
        if (folder / ".git").exists():
            break
    return AuditOptions()


def _table(path: Path, *, own: bool) -> Mapping[str, Any] | None:
    try:
        with path.open("rb") as file:
            data = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        if own:
            raise UsageError(f"{path}: {error}") from error
        return None
    if own:
        return data
    table = data.get("tool", {}).get("mklang", {}).get("audit")
    return table if isinstance(table, dict) else None


def _convert(told: Mapping[str, Any], path: Path) -> AuditOptions:
    try:
        options = msgspec.convert(dict(told), AuditOptions)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: [tool.mklang.audit]: {error}") from error
    unknown = [
        name
        for name in (*options.layers, *(one.layer for one in options.sinks))
        if name.upper() not in Layer.__members__
    ]
    if unknown:
        allowed = ", ".join(one.name.casefold() for one in Layer)
        raise UsageError(f"{path}: [tool.mklang.audit]: there is no layer '{unknown[0]}'; the layers are {allowed}")
    base = path.parent
    return msgspec.structs.replace(options, models=tuple(str(base / one) for one in options.models))
