"""One file: from text to facts. A file that cannot be read is told and stops nothing."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from mklang.audit.python.graph import TooMuchError
from mklang.audit.python.headers import header_of
from mklang.audit.python.ir import ClassFacts, FileFacts, Function, Header
from mklang.audit.python.models import Models
from mklang.audit.python.names import Names, class_facts, constructed, top_level
from mklang.audit.python.statements import Body, describe
from mklang.audit.python.values import FileContext

_COMMENT = re.compile(r"#\s*mklang:\s*(?:ignore|allow)\b(.*)")
_CODES = re.compile(r"\[([A-Z0-9, ]*)\]|([A-Z]+[0-9]+(?:,[A-Z]+[0-9]+)*)")
_DEEP = (RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class Text:
    """A file that can be read: its text, its tree, and its header."""

    text: str
    tree: ast.Module
    header: Header


def read(text: str, *, module: str, path: str, models: Models) -> Text | Header:
    """A file's text, ready to be lowered; a header with a problem if it cannot be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        return Text(text, tree, header_of(tree, module=module, path=path, models=models))
    except SyntaxError as error:
        return Header(module, path, problem=f"syntax error: {error.msg}", problem_line=error.lineno or 0)
    except (ValueError, *_DEEP) as error:
        return Header(module, path, problem=f"cannot be read: {type(error).__name__}")


def lower(read: Text, *, models: Models, project: frozenset[str]) -> FileFacts | str:
    """The facts of a file, or why there are none. ``project`` names our own top packages."""
    module, path = read.header.module, read.header.path
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    try:
        return _facts(read.tree, read.text, FileFacts(module, path), (Names(module, package), models, project))
    except _DEEP:
        return "cannot be looked at: it goes deeper than this can follow"
    except TooMuchError:
        return "cannot be looked at: it takes more work than is spent on one file"


def _facts(tree: ast.Module, text: str, facts: FileFacts, about: tuple[Names, Models, frozenset[str]]) -> FileFacts:
    names, models, project = about
    names.learn(tree)
    facts.imports, facts.stars = dict(names.imports), names.stars
    found = _definitions(tree.body, names.module)
    classes = {name: class_facts(node, names, name) for name, node in found if isinstance(node, ast.ClassDef)}
    types = {name: names.annotation(one) for name, one in names.annotations.items()}
    for name, value in names.values.items():
        if isinstance(value, ast.Call) and (made := constructed(value.func, value, names)):
            types.setdefault(name, made)
    module = ClassFacts(f"{names.module}.<module>", 1, types=types, fields=sorted(names.values))
    context = FileContext(names, models, classes)
    context.project = project | {names.module.partition(".")[0]}
    body = Body(Function(f"{names.module}.<module>", 1), context)
    body.run(tree.body)
    context.functions.append(body.out)
    for name, node in found:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _function(name, node, context)
        else:
            _class_body(name, node, context)
    for name, value in names.values.items():
        told = body.hints(value)
        if told:
            facts.constants[name] = told[:8]
    facts.functions = context.functions
    facts.classes = [*classes.values(), module]
    facts.suppressions = suppressions(text)
    facts.roots = sorted(context.roots)
    return facts


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _definitions(body: Iterable[ast.stmt], prefix: str) -> list[tuple[str, _Definition]]:
    """Functions and classes at the top and in classes, with their full names."""
    found: list[tuple[str, _Definition]] = []
    for statement in top_level(body):
        if isinstance(statement, _Definition):
            name = f"{prefix}.{statement.name}"
            found.append((name, statement))
            if isinstance(statement, ast.ClassDef):
                found += _definitions(statement.body, name)
    return found


def _function(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, context: FileContext) -> None:
    owner = name.rpartition(".")[0]
    function = Function(context.unique(name), node.lineno)
    body = Body(function, context)
    describe(function, node, body)
    if owner in context.classes:
        function.owner = owner
        function.bound = "staticmethod" not in function.marks
    body.enter(node)
    context.functions.append(function)


def _class_body(name: str, node: ast.ClassDef, context: FileContext) -> None:
    """What a class holds from the start; only values can come from a model there."""
    if any(isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None for one in node.body):
        body = Body(Function(f"{name}.<body>", node.lineno), context)
        for statement in node.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                held = body.value(statement.value)
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                for target in targets:
                    if held and isinstance(target, ast.Name):
                        body.out.writes.append((name, target.id, body.single(held, target)))
        if body.out.calls or body.out.writes:
            context.functions.append(body.out)


def suppressions(text: str) -> list[tuple[int, list[str], str]]:
    """Comments that silence: line, codes, reason."""
    if "mklang:" not in text:
        return []
    found: list[tuple[int, list[str], str]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            said = match.group(1).strip() if match is not None else ""
            codes = _CODES.match(said)
            if codes is not None:
                listed = (codes.group(1) or codes.group(2) or "").replace(",", " ").split()
                reason = re.sub(r"^reason\s*=", "", said[codes.end() :].strip()).strip(" \"'—-:")
                found.append((token.start[0], listed, reason))
    except (tokenize.TokenError, IndentationError):
        pass
    return found
