"""What names mean in one file: imports, own definitions, types as far as the text says, and the texts in a path."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mklang.audit.python.graph import walk
from mklang.audit.python.ir import ClassFacts

FILE = "io.file"
_DEPTH = 6
_MODULE_WORDS = frozenset({"self", "cls"})


@dataclass
class Names:
    """One file's names."""

    module: str
    package: str
    imports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    definitions: set[str] = field(default_factory=set)
    values: dict[str, ast.expr] = field(default_factory=dict)
    annotations: dict[str, ast.expr] = field(default_factory=dict)
    attribute_values: dict[str, dict[str, ast.expr]] = field(default_factory=dict)
    libraries: set[str] = field(default_factory=set)

    def learn(self, tree: ast.Module) -> None:
        """Imports anywhere in the file, and what is bound at its top."""
        waiting: list[ast.AST] = list(tree.body)
        while waiting:  # statements only: imports stand nowhere else
            node = waiting.pop()
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
            elif isinstance(node, ast.Global):
                self.own.update(node.names)
            else:
                for part in ("body", "orelse", "finalbody", "handlers", "cases"):
                    waiting += getattr(node, part, None) or () if not isinstance(node, ast.Expr | ast.Assign) else ()
        for statement in top_level(tree.body):
            self._bind(statement)
        self.libraries = set(self.imports.values())

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self.imports[name] = alias.name if alias.asname else name
            self.imports.setdefault(f"<{alias.name}>", alias.name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            above = self.package.split(".") if self.package else []
            above = above[: len(above) - (node.level - 1)]
            base = ".".join([*above, base] if base else above)
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(base)
            else:
                self.imports[alias.asname or alias.name] = f"{base}.{alias.name}"

    def _bind(self, statement: ast.stmt) -> None:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.own.add(name)
                self.definitions.add(name)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for one in walk(target):
                        if isinstance(one, ast.Name):
                            self.own.add(one.id)
                            self.values[one.id] = value
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                self.own.add(name)
                self.annotations[name] = annotation
                if value is not None:
                    self.values[name] = value
            case _:
                pass

    def dotted(self, name: str) -> str:
        """The full name of a global name of this file; of a builtin, the name itself."""
        if name in self.imports:
            return self.imports[name]
        return f"{self.module}.{name}" if name in self.own else name

    def expression(self, expression: ast.expr | None) -> str:
        """The full name of a name or attribute chain that starts at a global name; empty for anything else."""
        attributes: list[str] = []
        while isinstance(expression, ast.Attribute):
            attributes.append(expression.attr)
            expression = expression.value
        if not isinstance(expression, ast.Name):
            return ""
        return ".".join([self.dotted(expression.id), *reversed(attributes)])

    def annotation(self, expression: ast.expr | None) -> str:
        """The class an annotation names: the first that is no union with None; ``list[X]`` counts as X."""
        match expression:
            case ast.Constant(value=str(text)):
                try:
                    return self.annotation(ast.parse(text, mode="eval").body)
                except SyntaxError:
                    return ""
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self.annotation(left) or self.annotation(right)
            case ast.Subscript(value=ast.Name(id="Optional" | "list" | "List" | "Sequence" | "Iterable" | "Annotated")):
                inner = expression.slice
                return self.annotation(inner.elts[0] if isinstance(inner, ast.Tuple) else inner)
            case ast.Subscript(value=value):
                return self.annotation(value)
            case ast.Name() | ast.Attribute():
                return self.expression(expression)
            case _:
                return ""

    def imports_any(self, roots: Iterable[str]) -> bool:
        """Whether the file imports one of these packages."""
        return any(
            name == root or name.startswith((f"{root}.", f"{root}_")) for root in roots for name in self.libraries
        )


def top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module is imported, inside ``if``, ``try`` and ``with`` too."""
    for statement in body:
        yield statement
        if isinstance(statement, _BLOCKS):
            for name in ("body", "orelse", "finalbody"):
                yield from top_level(getattr(statement, name, ()))
            for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                yield from top_level(part.body)


_BLOCKS = (ast.If, ast.Try, ast.TryStar, ast.With, ast.For, ast.While, ast.Match)


def class_facts(node: ast.ClassDef, names: Names, qualified: str) -> ClassFacts:
    """What a class says of itself."""
    facts = ClassFacts(qualified, node.lineno, marks=[names.expression(_called(one)) for one in node.decorator_list])
    facts.bases = [base for one in node.bases if (base := names.annotation(one))]
    values: dict[str, ast.expr] = {}
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            if statement.name not in facts.methods:
                facts.methods.append(statement.name)
            _attributes(statement, names, facts, values)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            facts.fields.append(statement.target.id)
            facts.types[statement.target.id] = names.annotation(statement.annotation)
            if statement.value is not None:
                values.setdefault(statement.target.id, statement.value)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    facts.fields.append(target.id)
                    values.setdefault(target.id, statement.value)
    names.attribute_values[qualified] = values
    return facts


def _attributes(
    method: ast.FunctionDef | ast.AsyncFunctionDef, names: Names, facts: ClassFacts, values: dict[str, ast.expr]
) -> None:
    arguments = [*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs]
    typed = {one.arg: names.annotation(one.annotation) for one in arguments if one.annotation}
    for node in walk(method):
        if isinstance(node, ast.Assign):
            targets, value, said = node.targets, node.value, ""
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value, said = [node.target], node.value, names.annotation(node.annotation)
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                values.setdefault(target.attr, value)
                known = said or _value_type(value, names, typed)
                if known:
                    facts.types.setdefault(target.attr, known)


def _value_type(value: ast.expr, names: Names, typed: Mapping[str, str]) -> str:
    match value:
        case ast.Name(id=name):
            return typed.get(name, "")
        case ast.Call(func=func):
            return constructed(func, value, names)
        case ast.BoolOp(values=values):
            return next((found for one in values if (found := _value_type(one, names, typed))), "")
        case ast.IfExp(body=body, orelse=orelse):
            return _value_type(body, names, typed) or _value_type(orelse, names, typed)
        case _:
            return ""


def constructed(func: ast.expr, call: ast.Call, names: Names) -> str:
    """The type of what a call of a global name gives: the class itself, or what the function returns."""
    name = names.expression(func)
    if name == "open" or name.endswith((".open", ".fdopen", "NamedTemporaryFile")):
        return FILE
    if name in {"mklang.guards.Guard", "mklang.guards.guard.Guard"}:
        said = {one.arg for one in call.keywords}
        opinion = said & {"schema", "bounds", "forbidden", None}
        return "mklang.guards.Guard" if opinion else "mklang.guards.VacuousGuard"
    if name.endswith("load_guard"):
        return "mklang.guards.Guard"
    last = name.rpartition(".")[2]
    return name if last[:1].isupper() else (f"R:{name}" if "." in name else "")


def _called(expression: ast.expr) -> ast.expr:
    return expression.func if isinstance(expression, ast.Call) else expression
