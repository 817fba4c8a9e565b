"""A mapping in memory as the JSON text that the reader reads, so that its problems have places like any other's."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from mklang.diagnostics import Diagnostic
from mklang.errors import DocumentError

# Characters that JSON leaves as they are and YAML does not take, or takes for a line end.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def to_json_text(document: object, name: str) -> str:
    """JSON text, indented, that YAML reads as the same values. Raises ``DocumentError`` for what JSON cannot hold."""
    try:
        text = json.dumps(_plain(document, "", name), ensure_ascii=False, allow_nan=False, indent=1)
    except (ValueError, RecursionError) as error:
        raise _refused(name, "", f"the mapping is not JSON: {error}") from None
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


class _Number(float):
    """A float whose text always has a dot, which is how YAML 1.1 knows it."""

    def __repr__(self) -> str:
        text = float.__repr__(self)
        mantissa, sign, exponent = text.partition("e")
        return text if not sign or "." in mantissa else f"{mantissa}.0e{exponent}"


def _plain(value: object, where: str, name: str) -> object:
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise _refused(name, where, f"the key {key!r} is not text")
        return {key: _plain(item, f"{where}.{key}" if where else key, name) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{index}]", name) for index, item in enumerate(value)]
    if isinstance(value, float):
        return _Number(value)
    if value is None or isinstance(value, str | int):
        return value
    raise _refused(name, where, f"a value of type {type(value).__name__} is not JSON")


def _refused(name: str, where: str, message: str) -> DocumentError:
    return DocumentError([Diagnostic(code="not-json", message=message, path=name, where=where)])
