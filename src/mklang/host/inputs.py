"""What a person hands to a run: ``--set`` items and input files, as context paths with values (L112).

The result maps dotted context paths to JSON values, in the order in which they are placed; a later value replaces an
earlier one and everything below it. Reads files, prints nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any, NoReturn

from mklang.analysis.dataflow import reads_of
from mklang.analysis.words import listed
from mklang.diagnostics import Diagnostic, Severity, has_errors, near_miss
from mklang.errors import DocumentError, UsageError
from mklang.lang.fields import Findings, read_value
from mklang.lang.files import read_source
from mklang.lang.models import Escalate, Machine
from mklang.lang.values import Json, thaw, type_name
from mklang.lang.yaml_tree import compose
from mklang.source import Source, Span

MAX_DEPTH = 100
"""How deeply an input value may be nested."""
MAX_DIGITS = 300
"""How long a whole number may be."""


class _Unfit(ValueError):
    """JSON syntax for a value that is no JSON value, or that means two things."""


def parse_assignments(items: Iterable[str]) -> tuple[dict[str, Json], tuple[Diagnostic, ...]]:
    """``k.path=value`` items, split at the first ``=``, and warnings about values that may be meant otherwise.

    A value is JSON where it reads as JSON, else text (L112); ``007`` is text. Raises ``UsageError``.
    """
    inputs: dict[str, Json] = {}
    warnings: list[Diagnostic] = []
    for item in items:
        path, equals, text = item.partition("=")
        if not equals:
            raise UsageError(f"--set {item!r}: there is no '='; write --set name=value")
        _check_path(path, "--set")
        if not _is_unicode(item):
            raise UsageError(f"--set {path!r}: the value is not UTF-8")
        value = _value(text, path)
        if isinstance(value, str) and text[:1] + text[-1:] in {"[]", "{}"}:
            warnings.append(_taken_as_text(path))
        _place(inputs, path, value)
    return inputs, tuple(warnings)


def read_inputs(path: str) -> dict[str, Json]:
    """The map of context keys in a JSON or YAML file; a key may be a dotted path, as with ``--set``.

    Raises ``UsageError`` for a file that cannot be one, ``DocumentError`` with places for what is wrong inside it.
    """
    read = _READERS.get(PurePath(path).suffix.lower())
    if read is None:
        raise UsageError(f"--input {path}: the name must end in one of {', '.join(_READERS)}")
    source, problems = read_source(path)
    if source is None:
        raise DocumentError(problems)
    value = read(source)
    if not isinstance(value, dict):
        message = f"inputs are a map of context keys, and this is a {type_name(value)}"
        raise DocumentError([Diagnostic(code="not-inputs", message=message, path=path)])
    for key in value:
        _check_path(key, f"--input {path}")
    return merged(value)


def merged(*layers: Mapping[str, Json]) -> dict[str, Json]:
    """One mapping from several, the later ones winning."""
    inputs: dict[str, Json] = {}
    for layer in layers:
        for path, value in layer.items():
            _place(inputs, path, value)
    return inputs


def undeclared(machine: Machine, inputs: Mapping[str, Json]) -> tuple[Diagnostic, ...]:
    """A warning for each input that the machine neither declares in its ``context`` nor reads in a placeholder.

    A machine without a ``context`` declares nothing, so nothing can be told about its inputs.
    """
    if not machine.context:
        return ()
    read = {one.placeholder.root for state in machine.states.values() for one in reads_of(state)}
    roots = dict.fromkeys(path.split(".")[0] for path in inputs)
    return tuple(_unknown_input(root, machine) for root in roots if root not in machine.context and root not in read)


def nothing_given(machine: Machine, inputs: Mapping[str, Json]) -> tuple[Diagnostic, ...]:
    """A warning where a machine reads what it declares empty, nothing writes it, and nobody gave it anything at all.

    Models would be paid for questions with a hole in them.
    """
    if inputs:
        return ()
    states = machine.states.values()
    read = {one.placeholder.root for state in states for one in reads_of(state)}
    policies = [gate.policy for state in states for gate in state.gates]
    replies = {(policy.reply_to or "human").split(".")[0] for policy in policies if isinstance(policy, Escalate)}
    written = {state.output for state in states} | replies | {"today", "now"}
    empty = [key for key, value in machine.context.items() if key in read - written and value in (None, "", (), {})]
    if not empty:
        return ()
    return (
        Diagnostic(
            code="nothing-given",
            message=f"the machine reads {listed(empty)}, which is empty, and nothing was given to it",
            path=machine.source_name,
            span=machine.at.key("context"),
            severity=Severity.WARNING,
            hint=f'--set {empty[0]}="…", or --input FILE',
        ),
    )


def _unknown_input(root: str, machine: Machine) -> Diagnostic:
    declared = ", ".join(machine.context)
    return Diagnostic(
        code="unknown-input",
        message=f"the machine has no context key '{root}'; the value is passed but nothing reads it",
        path=machine.source_name,
        span=machine.at.key("context"),
        severity=Severity.WARNING,
        hint=near_miss(root, machine.context) or f"it declares {declared}",
    )


def _place(inputs: dict[str, Json], path: str, value: Json) -> None:
    """Set a path last, dropping what stood there or below it."""
    for known in [one for one in inputs if one == path or one.startswith(f"{path}.")]:
        del inputs[known]
    inputs[path] = value


def _check_path(path: str, where: str) -> None:
    if not path.strip():
        raise UsageError(f"{where} {path!r}: the name before '=' is blank")
    if not all(part.strip() for part in path.split(".")):
        raise UsageError(f"{where} {path!r}: a part of the dotted name is blank")
    if not _is_unicode(path):
        raise UsageError(f"{where} {path!r}: the name is not UTF-8")


def _is_unicode(text: str) -> bool:
    """Whether the text can be encoded: an argument that was not UTF-8 holds halves of surrogate pairs."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _value(text: str, path: str) -> Json:
    try:
        return _decode(text)
    except _Unfit as error:
        raise UsageError(f"--set {path}: {error}; to pass it as text, put it in double quotes") from None
    except json.JSONDecodeError:
        return text


def _taken_as_text(path: str) -> Diagnostic:
    return Diagnostic(
        code="input-as-text",
        message=f"--set {path}: the value is passed as text, for it is not valid JSON",
        path="",
        severity=Severity.WARNING,
        hint='a list is written ["a", "b"], a map {"key": "value"}',
    )


def _decode(text: str) -> Json:
    """JSON by the standard, bounded. Raises ``JSONDecodeError`` or ``_Unfit``."""
    try:
        value: Json = json.loads(
            text, parse_constant=_constant, parse_int=_integer, parse_float=_float, object_pairs_hook=_unique
        )
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise _too_deep()
    return value


def _too_deep() -> _Unfit:
    return _Unfit(f"lists and maps are nested more than {MAX_DEPTH} levels deep")


def _constant(name: str) -> NoReturn:
    raise _Unfit(f"{name} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _Unfit(f"a number has more than {MAX_DIGITS} digits")
    return int(digits)


def _float(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise _Unfit(f"the number {text[:40]} is too large")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Unfit(f"the key '{twice}' appears twice")
    return value


def _depth(value: Json) -> int:
    """How many lists and maps lie within each other, without recursion."""
    deepest, queue = 0, [(value, 1)]
    while queue:
        item, depth = queue.pop()
        if isinstance(item, dict | list):
            deepest = max(deepest, depth)
            queue.extend((one, depth + 1) for one in (item.values() if isinstance(item, dict) else item))
    return deepest


def _read_json(source: Source) -> Json:
    try:
        return _decode(source.text)
    except json.JSONDecodeError as error:
        span = Span(error.lineno, error.colno, error.lineno, error.colno + 1)
        found = Diagnostic(
            code="json-syntax", message=f"this is not valid JSON: {error.msg}", path=source.name, span=span
        )
    except _Unfit as error:
        found = Diagnostic(code="not-json", message=str(error), path=source.name)
    raise DocumentError([found])


def _read_yaml(source: Source) -> Json:
    root, problems = compose(source)
    findings = Findings(source.name)
    value = read_value(root, findings, "") if root is not None else None
    problems = (*problems, *findings.everything())
    if has_errors(problems):
        raise DocumentError(problems)
    return thaw(value)


_READERS: Mapping[str, Callable[[Source], Json]] = {".json": _read_json, ".yaml": _read_yaml, ".yml": _read_yaml}
