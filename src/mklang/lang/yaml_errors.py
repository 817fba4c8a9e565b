"""What libyaml says, in plain words, with what to do about it. After a syntax error nothing else can be known."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from yaml.error import Mark, MarkedYAMLError
from yaml.nodes import Node

from mklang.diagnostics import Diagnostic
from mklang.source import Span

# What YAML 1.1 counts as a character, negated.
# What YAML 1.1 does not allow, written as what it is: the complement of what it allows takes 30 ms to compile.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_PLACEHOLDER = re.compile(r"\{\{?[^{}]*\}")
_QUOTE = 'put the text in double quotes, or start a block with "|" and write it on the next line'


def span_of(node: Node) -> Span:
    """The stretch of a node by its own marks."""
    start, end = node.start_mark, node.end_mark
    return Span(start.line + 1, start.column + 1, end.line + 1, end.column + 1)


@dataclass(frozen=True, slots=True)
class _Scene:
    """Where the parser stopped: its words, the mark, the line there and the one it was busy with before."""

    problem: str
    mark: Mark
    opened: Mark | None
    lines: list[str]

    @property
    def line(self) -> str:
        return self.lines[self.mark.line] if self.mark.line < len(self.lines) else ""

    @property
    def before(self) -> str:
        return self.line[: self.mark.column]

    @property
    def character(self) -> str:
        return self.line[self.mark.column : self.mark.column + 1]

    @property
    def at_end(self) -> bool:
        return self.mark.line >= len(self.lines) or not any(line.strip() for line in self.lines[self.mark.line :])

    @property
    def place(self) -> Span:
        """The mark; or the last thing written, when the parser stopped at the end."""
        if not self.at_end:
            return _one(self.mark.line, self.mark.column)
        number = max((number for number, line in enumerate(self.lines) if line.strip()), default=0)
        return _one(number, max(0, len(self.lines[number].rstrip()) - 1))


@dataclass(frozen=True, slots=True)
class _Words:
    """A problem in plain words; ``at`` moves it away from where the parser stopped."""

    message: str
    hint: str = ""
    code: str = "yaml-syntax"
    at: Span | None = None


def bad_character(path: str, text: str) -> Diagnostic | None:
    """The diagnostic for the first character that no YAML document may hold, if there is one."""
    found = _UNPRINTABLE.search(text)
    if found is None:
        return None
    before = _LINE_END.split(text[: found.start()])
    number = ord(found.group())
    half = 0xD800 <= number <= 0xDFFF
    what = "half a character" if half else "a control character"
    return Diagnostic(
        code="bad-character",
        message=f"the document holds the character U+{number:04X}, {what}",
        path=path,
        span=_one(len(before) - 1, len(before[-1])),
        hint="write the whole character" if half else "delete it, or write it as an escape in double quotes",
    )


def explain(error: Exception, path: str, text: str) -> Diagnostic:
    """A YAML error as a diagnostic in plain words."""
    mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
    if not isinstance(error, MarkedYAMLError) or error.problem is None or mark is None:
        unknown = Diagnostic(code="yaml-syntax", message=f"this is not valid YAML: {error}", path=path)
        return bad_character(path, text) or unknown
    lines = _LINE_END.split(text)
    scene = _Scene(error.problem, mark, error.context_mark, lines)
    words = _tab_words(scene) or _words(scene)
    return Diagnostic(
        code=words.code,
        message=words.message,
        path=path,
        span=words.at or scene.place,
        hint=words.hint,
    )


def _one(line: int, column: int) -> Span:
    return Span(line + 1, column + 1, line + 1, column + 2)


def _words(scene: _Scene) -> _Words:
    for start, words in _KNOWN:
        if scene.problem.startswith(start):
            return words if isinstance(words, _Words) else words(scene)
    return _Words(f"this is not valid YAML: {scene.problem}")


def _tab_words(scene: _Scene) -> _Words | None:
    """A tab in the indentation is behind many messages; none of them says so."""
    indent = scene.line[: len(scene.line) - len(scene.line.lstrip())]
    if "\t" not in indent:
        return None
    number = scene.mark.line
    at = _one(number, indent.index("\t"))
    return _Words(f"line {number + 1} is indented with a tab", "indent with spaces only", at=at)


def _colon(scene: _Scene) -> _Words:
    if re.search(r"\S:\s", scene.before):
        return _Words("this value holds a second ': '", _QUOTE)
    return _Words(
        "this line cannot start a new key here",
        "it may be indented too deeply, or the line before lacks a ':' or the space after it",
        at=_one(scene.mark.line, len(scene.line) - len(scene.line.lstrip())),
    )


def _start(scene: _Scene) -> _Words:
    return _Words(f"a text cannot begin with '{scene.character}' unless it is quoted", _QUOTE)


def _alias(scene: _Scene) -> _Words:
    name = re.match(r"\*([\w-]*)", scene.line[scene.mark.column :])
    written = f"*{name.group(1)}" if name else "*"
    return _Words(
        f"'{written}' refers to an anchor that does not exist",
        f"if it is meant as text, quote it; otherwise name the part with '&{written[1:]}' further up",
        code="yaml-alias",
    )


def _alias_name(scene: _Scene) -> _Words:
    sign = scene.before[-1:]
    at = _one(scene.mark.line, scene.mark.column - 1)
    return _Words(f"a text cannot begin with '{sign}' unless it is quoted", _QUOTE, at=at)


def _anchor_twice(scene: _Scene) -> _Words:
    first = f", first on line {scene.opened.line + 1}" if scene.opened else ""
    return _Words(f"this anchor is defined twice{first}", "give it another name", code="yaml-anchor")


def _key_expected(scene: _Scene) -> _Words:
    if _PLACEHOLDER.search(scene.before):
        return _Words("text follows a placeholder that is not quoted", 'quote the whole text: "{{ name }} …"')
    if scene.before.rstrip().endswith(('"', "'")):
        return _Words("text follows a closing quote", "put the whole text inside the quotes")
    if scene.before.rstrip().endswith(("]", "}")):
        return _Words("text follows a closing bracket", _QUOTE)
    if scene.line.lstrip().startswith("- "):
        return _Words("a list item cannot stand here, among the keys of a map", "indent the list under its key")
    return _Words("a key was expected here", "its indentation matches no line above")


def _colon_missing(scene: _Scene) -> _Words:
    opened = scene.opened or scene.mark
    at = _one(opened.line, opened.column)
    return _Words(
        f"line {opened.line + 1} is neither 'key: value' nor part of a text",
        "add a ':' and a space after the key, or indent the line if it continues the text above",
        at=at,
    )


def _flow(bracket: str, close: str) -> Callable[[_Scene], _Words]:
    def build(scene: _Scene) -> _Words:
        line = scene.opened.line + 1 if scene.opened else 1
        if scene.at_end:
            at = _one(scene.opened.line, scene.opened.column) if scene.opened else None
            return _Words(f"the '{bracket}' on line {line} is never closed", f"add the '{close}'", at=at)
        return _Words(
            f"a ',' or the closing '{close}' was expected here",
            "put a text that holds ': ', ',' or brackets in double quotes",
        )

    return build


def _end_of_text(scene: _Scene) -> _Words:
    opened = scene.opened or scene.mark
    at = _one(opened.line, opened.column)
    return _Words(f"the quote opened on line {opened.line + 1} is never closed", "add the closing quote", at=at)


def _content(scene: _Scene) -> _Words:
    if scene.at_end:
        return _Words("the document ends inside a bracket or brace", "close it")
    return _Words(f"a text cannot begin with '{scene.character}' unless it is quoted", _QUOTE)


_Build: TypeAlias = Callable[[_Scene], _Words]

_DOCUMENT = _Words("a second document begins here", "a file holds one machine; delete the '---'", code="yaml-documents")
_ITEM_EXPECTED = _Words("a list item ('- ') was expected here", "its indentation matches no line above")
_ESCAPE = _Words(
    "this backslash escape is not known in double-quoted text", "write \\\\ for a backslash, or use single quotes"
)
_HALF = _Words("this escape is not a character; JSON writes some as a pair of escapes", "write the character itself")
_DEPTH = _Words("lists and maps are nested too deeply", code="yaml-depth")
_VERSION = _Words("this YAML version is not supported", "delete the %YAML line", code="yaml-version")
_DIRECTIVE = _Words("a line that begins with '%' is a YAML directive, and this one is not known", _QUOTE)
_TAG = _Words("'!' begins a YAML tag, and this one is not known", "quote the text", code="yaml-tag")
_LIST_IN_VALUE = _Words(
    "a list cannot begin on the line of its key", "start the list on the next line, or quote the text"
)
_BLOCK_HEADER = _Words(
    "nothing can stand after '|' or '>' on the same line",
    "write the text on the next line, indented; or quote it if it is meant to begin with this sign",
)

_KNOWN: tuple[tuple[str, _Build | _Words], ...] = (
    ("mapping values are not allowed", _colon),
    ("found character that cannot start any token", _start),
    ("found undefined alias", _alias),
    ("did not find expected alphabetic or numeric", _alias_name),
    ("second occurrence", _anchor_twice),
    ("but found another document", _DOCUMENT),
    ("did not find expected <document start>", _DOCUMENT),
    ("did not find expected key", _key_expected),
    ("did not find expected '-' indicator", _ITEM_EXPECTED),
    ("could not find expected ':'", _colon_missing),
    ("did not find expected ',' or ']'", _flow("[", "]")),
    ("did not find expected ',' or '}'", _flow("{", "}")),
    ("found unexpected end of stream", _end_of_text),
    ("found unexpected document indicator", _end_of_text),
    ("found unknown escape character", _ESCAPE),
    ("found invalid Unicode character escape", _HALF),
    ("did not find expected hexdecimal number", _ESCAPE),
    ("exceeded maximum nesting depth", _DEPTH),
    ("found incompatible YAML document", _VERSION),
    ("found unknown directive name", _DIRECTIVE),
    ("found undefined tag handle", _TAG),
    ("did not find expected tag URI", _TAG),
    ("block sequence entries are not allowed", _LIST_IN_VALUE),
    ("did not find expected node content", _content),
    ("did not find expected comment or line break", _BLOCK_HEADER),
)
