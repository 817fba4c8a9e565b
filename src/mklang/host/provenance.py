"""What a run was, for its output: made from the session that ran and the times the host's clock gave (L72)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

import msgspec

from mklang import __version__
from mklang.engine.digests import content_hash
from mklang.engine.options import DEFAULT_OPTIONS, RunOptions
from mklang.engine.provenance import MachineIdentity, Provenance
from mklang.host.session import Session
from mklang.lang.semantics import closure, semantic_hash
from mklang.lang.values import Json


def provenance_of(session: Session, *, started: datetime, finished: datetime, run: str = "") -> Provenance:
    """The identity of a run: ``started`` is when it began, also when it was taken up again since."""
    machines = closure(session.machine, session.library)
    return Provenance(
        mklang=__version__,
        machines=tuple(MachineIdentity(machine=one.name, semantic_hash=semantic_hash(one)) for one in machines),
        inputs_hash=hash_of(session.inputs),
        started=started.isoformat(timespec="seconds"),
        finished=finished.isoformat(timespec="seconds"),
        run=run,
        replayed=session.replayed,
        models=dict(session.models.tiers) if session.models else {},
        judges=dict(session.models.judges) if session.models else {},
        options=differing(session.options),
    )


def hash_of(inputs: Mapping[str, Json]) -> str:
    """The hash of a run's inputs: canonical JSON, so that the order of keys does not count."""
    return content_hash(json.dumps(inputs, ensure_ascii=False, sort_keys=True, separators=(",", ":")))


def differing(options: RunOptions) -> dict[str, Json]:
    """The options that are not as they are by default, by name."""
    plain, default = msgspec.to_builtins(options), msgspec.to_builtins(DEFAULT_OPTIONS)
    found = {name: value for name, value in plain.items() if value != default[name]}
    return {name: sorted(value) if isinstance(value, list) else value for name, value in found.items()}
