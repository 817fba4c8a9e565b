"""What a run was: enough to tell whether two runs asked the same of the same, and to find what they were made from."""

from __future__ import annotations

import msgspec

from mklang.lang.values import Json


class MachineIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A machine by its name and its meaning: layout and comments do not change ``semantic_hash`` (L86)."""

    machine: str
    semantic_hash: str


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The identity of a run.

    ``machines`` begins with the root. ``inputs_hash`` is over the inputs as canonical JSON. ``models`` and ``judges``
    are the ids by tier as they were configured; which one answered stands in each step. ``options`` are those that
    differ from the default. ``started`` and ``finished`` are local times with offset; a run that was taken up again
    started when it began. ``replayed`` names the recorded run whose answers were used.
    """

    mklang: str
    machines: tuple[MachineIdentity, ...]
    inputs_hash: str
    started: str
    finished: str
    run: str = ""
    replayed: str = ""
    models: dict[str, str] = {}
    judges: dict[str, str] = {}
    options: dict[str, Json] = {}
