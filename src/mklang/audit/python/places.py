"""What is known of the place a value is written to: the texts in a path, the mode a file is opened in."""

from __future__ import annotations

import ast
import re

from mklang.audit.python.names import FILE
from mklang.audit.python.values import Values

APPEND = "mode:a"
_DEPTH = 6
_MOST = 200
_WRITES = frozenset("wax+")
_HANDLE = re.compile(r"^(f|fh|fp|fd|fout|file|out|outfile|outf|handle|dst|dest|target|.*_file|.*_fh|.*_fp|writer)$")
_TEMPORARY = re.compile(
    r"(^|\.)(tempfile|mkstemp|mkdtemp|NamedTemporaryFile|TemporaryFile|TemporaryDirectory|tmp_path)$"
)


class Places(Values):
    """A function whose paths and file handles can be described."""

    _looked = 0

    def hints(self, node: ast.expr | None, depth: int = 0) -> list[str]:
        """Texts (as they are), names (``~name``), parameters (``$2``), imported constants (``=pkg.NAME``), in order."""
        self._looked = self._looked + 1 if depth else 0
        if node is None or depth > _DEPTH or self._looked > _MOST:
            return []
        match node:
            case ast.Constant(value=str(text)):
                return [text.encode("utf-8", "replace").decode()[:200]] if text else []
            case ast.Name(id=name):
                return self._hints_of_name(name, depth)
            case ast.Attribute():
                return self._hints_of_attribute(node, depth)
            case ast.Call():
                return self._hints_of_call(node, depth)
            case _:
                return [one for value in _alternatives(node) for one in self.hints(value, depth + 1)]

    def _hints_of_name(self, name: str, depth: int) -> list[str]:
        names = self.context.names
        if name in self.bound:
            return [*self.hints(self.bound[name], depth + 1), f"~{name}"]
        if name in self.out.params:
            return [f"${self.out.params.index(name)}", f"~{name}"]
        if name in self.locals:
            return [f"~{name}"]
        if isinstance(self.parent, Places) and self.parent.knows(name):
            return [one for one in self.parent.hints(ast.Name(id=name), depth + 1) if one[0] != "$"]
        if name in names.values:
            return [*self.hints(names.values[name], depth + 1), f"~{name}"]
        return [f"={names.imports[name]}", f"~{name}"] if name in names.imports else [f"~{name}"]

    def _hints_of_attribute(self, node: ast.Attribute, depth: int) -> list[str]:
        owner = self.type_of(node.value)
        value = self.context.names.attribute_values.get(owner, {}).get(node.attr)
        if value is not None:
            return [*(one for one in self.hints(value, depth + 1) if one[0] != "$"), f"~{node.attr}"]
        dotted = self.context.names.expression(node)
        known = [f"={dotted}"] if "." in dotted and self.context.is_ours(dotted) else []
        return [*known, *self.hints(node.value, depth + 1), f"~{node.attr}"]

    def _hints_of_call(self, node: ast.Call, depth: int) -> list[str]:
        found: list[str] = []
        if isinstance(node.func, ast.Attribute):
            found += self.hints(node.func.value, depth + 1)
        name = self.context.names.expression(node.func)
        if _TEMPORARY.search(name):
            found.append("~tempfile")
        if self.type_of(node) == FILE:
            if "a" in self.mode(node):
                found.append(APPEND)
            return found + (
                self.hints(node.args[0], depth + 1) if isinstance(node.func, ast.Name) and node.args else []
            )
        found += [one for argument in node.args for one in self.hints(argument, depth + 1)]
        found += (
            [f"~{node.func.id}"]
            if isinstance(node.func, ast.Name)
            else [f"~{node.func.attr}"]
            if isinstance(node.func, ast.Attribute)
            else []
        )
        return found

    def mode(self, node: ast.Call) -> str:
        """The mode a call opens a file in; ``w`` where the text does not say."""
        position = 0 if isinstance(node.func, ast.Attribute) and node.func.attr == "open" else 1
        root = self.context.names.expression(node.func)
        if root in {"io.open", "codecs.open", "gzip.open", "aiofiles.open", "bz2.open", "lzma.open"}:
            position = 1
        if root.endswith(("NamedTemporaryFile", "TemporaryFile")):
            return "w"
        given = next((one.value for one in node.keywords if one.arg == "mode"), None)
        if given is None and len(node.args) > position:
            given = node.args[position]
        if given is None:
            return "r"
        return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else "w"

    def opened(self, node: ast.expr) -> ast.Call | None:
        """The call that opened the file an expression stands for."""
        match node:
            case ast.Call() if self.type_of(node) == FILE:
                return node
            case ast.Name(id=name):
                value = self.bound.get(name) or self.context.names.values.get(name)
                return value if isinstance(value, ast.Call) and self.type_of(value) == FILE else None
            case ast.Attribute(value=value, attr=attr):
                held = self.context.names.attribute_values.get(self.type_of(value), {}).get(attr)
                return held if isinstance(held, ast.Call) and self.type_of(held) == FILE else None
            case ast.Await(value=value):
                return self.opened(value)
            case _:
                return None

    def writes_file(self, node: ast.expr | None) -> bool:
        """Whether an expression is a file opened for writing, or is called like one."""
        if node is None:
            return False
        call = self.opened(node)
        if call is not None:
            return bool(_WRITES & set(self.mode(call)))
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if isinstance(node, ast.Name) and node.id in self.bound:
            made = self.bound[node.id]
            return not (isinstance(made, ast.Call) and self.context.names.expression(made.func).startswith("io."))
        return bool(_HANDLE.match(name)) or self.type_of(node) in {
            FILE,
            "typing.TextIO",
            "typing.IO",
            "typing.BinaryIO",
        }


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression that may each say something of a place."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.JoinedStr(values=values) | ast.List(elts=values) | ast.Tuple(elts=values) | ast.BoolOp(values=values):
            return list(values)
        case ast.FormattedValue(value=value) | ast.Await(value=value) | ast.Subscript(value=value):
            return [value]
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case _:
            return []
