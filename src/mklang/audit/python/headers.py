"""What a file mentions: enough to know, without reading its functions, which files a name can matter in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mklang.audit.python.graph import below
from mklang.audit.python.ir import Header
from mklang.audit.python.models import Models
from mklang.audit.python.names import top_level

_MODEL_NAME = re.compile(
    r"(^|_)(llm|model|generate|generator|complete|completion|ask|chat|prompt|oracle|gpt|claude)($|_)", re.I
)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MARK = "model_call"


def asks_by_type(argument: ast.arg) -> bool:
    """Whether a parameter is a callable that asks a model, by its name and its type: ``llm: Callable[[str], str]``."""
    annotation = argument.annotation
    if not isinstance(annotation, ast.Subscript | ast.Constant) or not _MODEL_NAME.search(argument.arg):
        return False
    text = ast.unparse(annotation)
    return "Callable" in text and "str]" in text


def header_of(tree: ast.Module, *, module: str, path: str, models: Models) -> Header:
    """The header of a file."""
    words = _Words()
    words.look(tree)
    header = Header(module, path, functions=words.functions)
    header.called = sorted(words.called | words.meant(words.called))
    header.attributes = sorted(words.attributes)
    header.names = sorted(words.names | {last for _, last in words.imported})
    header.methods = sorted(words.methods)
    header.bases = sorted(words.bases | words.meant(words.bases))
    header.aliases = sorted({(last, alias) for alias, last in words.imported if alias != last})
    every = words.names | words.attributes | words.modules | set(module.split("."))
    header.asks = words.asks or _MARK in every or models.may_ask(every, words.modules)
    return header


class _Words:
    """The names in a file, by what is done with them."""

    def __init__(self) -> None:
        self.called: set[str] = set()
        self.attributes: set[str] = set()
        self.names: set[str] = set()
        self.methods: set[str] = set()
        self.bases: set[str] = set()
        self.modules: set[str] = set()
        self.imported: set[tuple[str, str]] = set()
        self.functions = 0
        self.asks = False

    def meant(self, names: set[str]) -> set[str]:
        """What these names are called where they were imported from."""
        return {last for alias, last in self.imported if alias in names}

    def look(self, tree: ast.Module) -> None:
        """Every node of the tree; attributes are followed to where they begin at once, there are that many."""
        waiting: list[ast.AST] = [tree]
        names, attributes, called = self.names, self.attributes, self.called
        while waiting:
            node = waiting.pop()
            if node.__class__ is ast.Call:
                func = node.func
                called.add(func.id if func.__class__ is ast.Name else getattr(func, "attr", ""))
            while node.__class__ is ast.Attribute:
                attributes.add(node.attr)
                node = node.value
            if node.__class__ is ast.Name:
                names.add(node.id)
                continue
            if node.__class__ is ast.Constant:
                continue
            if node.__class__ in _NOTED:
                self._note(node)
            waiting += below(node)

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.functions += 1
            case ast.arg():
                self.asks = self.asks or asks_by_type(node)
            case ast.ClassDef(bases=bases, body=body):
                self.methods.update(one.name for one in top_level(body) if isinstance(one, _DEFINITIONS))
                self.bases.update(name for base in bases for name in _names_in(base))
            case ast.Import(names=given) | ast.ImportFrom(names=given):
                self.modules.update((getattr(node, "module", None) or "").split("."))
                for one in given:
                    self.modules.update(one.name.split("."))
                    self.imported.add((one.asname or one.name, one.name.rpartition(".")[2]))
            case _:
                pass


_NOTED = frozenset({*_DEFINITIONS, ast.arg, ast.ClassDef, ast.Import, ast.ImportFrom})


def _names_in(node: ast.expr) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr
