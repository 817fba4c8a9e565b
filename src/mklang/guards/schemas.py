"""JSON Schema 2020-12 for guards: formats asserted, nothing fetched, every pattern in linear time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from mklang.errors import MissingExtra
from mklang.guards.failures import MOST, Code, Failure, pointer_of

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SHOWN = 160


class SchemaProblem(ValueError):
    """A schema that cannot be used; ``path`` is the place in it."""

    def __init__(self, message: str, path: tuple[str | int, ...]) -> None:
        self.path = path
        super().__init__(message)


class Schema:
    """A compiled schema. Raises ``SchemaProblem`` for one that is wrong, refers elsewhere or is of another dialect."""

    def __init__(self, document: Mapping[str, Any] | bool) -> None:
        _check_references(document)
        self._validator = _compile(document)

    def admits(self, value: Any) -> bool:
        """Whether a sound value fits."""
        return self._validator.is_valid(value)

    def failures(self, value: Any) -> list[Failure]:
        """Why it does not, each reason with its place; at most a hundred."""
        return [
            Failure(
                code=Code.SCHEMA,
                message=_shortened(error.message),
                pointer=pointer_of(error.instance_path),
                rule=pointer_of(error.schema_path),
            )
            for error in islice(self._validator.iter_errors(value), MOST)
        ]


def _compile(document: Mapping[str, Any] | bool) -> Draft202012Validator:
    try:
        import jsonschema_rs  # costs more to import than a command takes; only a guard with a schema needs it
    except ImportError:
        raise MissingExtra("a guard with a schema", "guards") from None
    try:
        return jsonschema_rs.Draft202012Validator(
            dict(document) if isinstance(document, Mapping) else document,
            validate_formats=True,
            ignore_unknown_formats=False,
            retriever=_fetch_nothing,
            pattern_options=jsonschema_rs.RegexOptions(),
            mask="the value",
        )
    except jsonschema_rs.ValidationError as error:
        raise SchemaProblem(_shortened(error.message), tuple(error.instance_path)) from None
    except (jsonschema_rs.ReferencingError, ValueError, UnicodeEncodeError) as error:
        raise SchemaProblem(_shortened(str(error)), ()) from None


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"'{uri}' is not in this schema, and nothing is fetched")


def _check_references(document: Any) -> None:
    names = {part["$id"] for _, part in _maps(document, ()) if isinstance(part.get("$id"), str)}
    for path, part in _maps(document, ()):
        dialect = part.get("$schema", DIALECT)
        if dialect not in {DIALECT, f"{DIALECT}#"}:
            raise SchemaProblem(f"the dialect is {DIALECT}, and no other", (*path, "$schema"))
        for word in ("$ref", "$dynamicRef"):
            target = part.get(word)
            if isinstance(target, str) and not target.startswith("#") and target.partition("#")[0] not in names:
                raise SchemaProblem(
                    f"'{_shortened(target)}' is not in this schema, and nothing is fetched", (*path, word)
                )


def _maps(part: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    if isinstance(part, Mapping):
        yield path, part
        for key, inner in part.items():
            if key not in {"const", "enum", "default", "examples"}:
                yield from _maps(inner, (*path, key))
    elif isinstance(part, list | tuple):
        for index, inner in enumerate(part):
            yield from _maps(inner, (*path, index))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
