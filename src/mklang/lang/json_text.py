"""A mapping in memory as the JSON text that the reader reads, so that its problems have places like any other's."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from mklang.diagnostics import Diagnostic
from mklang.errors import DocumentError
from mklang.lang.scalars import MAX_DIGITS
from mklang.lang.yaml_tree import MAX_DEPTH

# Characters that JSON leaves as they are and YAML does not take, or takes for a line end.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_LONGEST_SIMPLE_KEY = 1000  # libyaml takes 1,024 characters; a longer key needs the mark '?'


def to_json_text(document: object, name: str) -> str:
    """Indented JSON text that YAML reads as the same values. Raises ``DocumentError`` for what JSON cannot hold."""
    return _emit(document, name, (), "\n")


def _emit(value: object, name: str, path: tuple[str | int, ...], newline: str) -> str:
    if len(path) > MAX_DEPTH:
        raise _refused(name, path, f"the mapping is nested more than {MAX_DEPTH} levels deep", code="yaml-depth")
    inner = newline + " "
    if isinstance(value, Mapping):
        parts = [f"{_key(key, name, path)}: {_emit(item, name, (*path, key), inner)}" for key, item in value.items()]
        return f"{{{inner}{f',{inner}'.join(parts)}{newline}}}" if parts else "{}"
    if isinstance(value, list | tuple):
        parts = [_emit(item, name, (*path, index), inner) for index, item in enumerate(value)]
        return f"[{inner}{f',{inner}'.join(parts)}{newline}]" if parts else "[]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return _float(value, name, path)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return _integer(value, name, path)
    raise _refused(name, path, f"a value of type {type(value).__name__} is not JSON")


def _text(value: str) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _key(key: object, name: str, path: tuple[str | int, ...]) -> str:
    if not isinstance(key, str):
        raise _refused(name, path, f"the key {key!r} is not text")
    text = _text(key)
    return text if len(text) <= _LONGEST_SIMPLE_KEY else f"? {text}"


def _integer(value: int, name: str, path: tuple[str | int, ...]) -> str:
    if value.bit_length() > 10 * MAX_DIGITS // 3:
        raise _refused(name, path, f"a number of more than {MAX_DIGITS} digits")
    return str(int(value))


def _float(value: float, name: str, path: tuple[str | int, ...]) -> str:
    """A float with a dot, which is how YAML 1.1 knows it."""
    if not math.isfinite(value):
        raise _refused(name, path, f"the number {value} is not JSON")
    mantissa, exponent, rest = float.__repr__(value).partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{exponent}{rest}"


def _refused(name: str, path: tuple[str | int, ...], message: str, code: str = "not-json") -> DocumentError:
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    return DocumentError([Diagnostic(code=code, message=message, path=name, where=where)])
