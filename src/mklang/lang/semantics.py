"""What a machine means, as a hash: layout, comments and key order do not count, everything a run could notice does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from hashlib import blake2b

from mklang.lang.models import Argument, Call, Machine
from mklang.lang.template import Template
from mklang.lang.values import Frozen

_SILENT = frozenset({"at", "source_name", "version", "tools", "hooks"})
"""Parts of a machine that no run depends on: where it stands, and its documentation (L3, L8)."""


def semantic_hash(machine: Machine) -> str:
    """Thirty-two hex digits that change exactly when a run of the machine could change."""
    context = {key: _ordered(value) for key, value in machine.context.items()}
    text = json.dumps([_plain(replace(machine, context={})), context], sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def closure(machine: Machine, library: Mapping[str, Machine]) -> Iterator[Machine]:
    """The machine and every machine its calls can reach, each once. Names the library lacks are passed over."""
    seen: set[str] = set()
    waiting = [machine]
    first = True
    while waiting:
        current = waiting.pop()
        if not first and current.name in seen:
            continue
        if not first:
            seen.add(current.name)
        first = False
        yield current
        for state in current.states.values():
            if isinstance(state, Call) and state.machine not in seen:
                callee = library.get(state.machine)
                if callee is not None:
                    waiting.append(callee)


def state_hashes(machine: Machine) -> dict[str, str]:
    """A hash for each state, to say which ones differ between two versions of a machine."""
    return {
        name: blake2b(json.dumps(_plain(state), sort_keys=True).encode(), digest_size=8).hexdigest()
        for name, state in machine.states.items()
    }


def _plain(value: object) -> object:
    """Nested plain data of everything that matters; a class name tells kinds with the same fields apart."""
    if isinstance(value, Template):
        return value.text
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        parts = {part.name: _plain(getattr(value, part.name)) for part in fields(value) if part.name not in _SILENT}
        return {"kind": type(value).__name__, **parts}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        plain = [_plain(item) for item in value]
        return sorted(plain, key=str) if value and isinstance(value[0], Argument) else plain
    return value


def _ordered(value: Frozen) -> object:
    """A context literal; the order inside a nested map is kept, because its JSON text shows it."""
    if isinstance(value, Mapping):
        return {"map": [[key, _ordered(item)] for key, item in value.items()]}
    return [_ordered(item) for item in value] if isinstance(value, tuple) else value
