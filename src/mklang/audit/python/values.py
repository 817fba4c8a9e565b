"""Expressions: which nodes a value comes from."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from mklang.audit.python.graph import NOTHING, Effort, Graph, Nodes, path_of, read, root_of, walk
from mklang.audit.python.ir import ClassFacts, Function
from mklang.audit.python.models import Models
from mklang.audit.python.names import FILE, Names, constructed

_Once = TypeVar("_Once", bound=ast.expr)
_Visit: TypeAlias = Callable[["Values", Any], Nodes]


_MOST_WORK = 8_000_000


class FileContext:
    """What the functions of one file share."""

    def __init__(self, names: Names, models: Models, classes: dict[str, ClassFacts]) -> None:
        self.names = names
        self.models = models
        self.classes = classes
        self.functions: list[Function] = []
        self.project: frozenset[str] = frozenset()
        self.roots: set[str] = set()
        self.effort = Effort(_MOST_WORK)
        self._defined: dict[str, int] = {}
        self.plain = models.words["plain"]

    def unique(self, name: str) -> str:
        """A name for a function that may be defined more than once: under ``if``, as a property, as an overload."""
        self._defined[name] = count = self._defined.get(name, 0) + 1
        return name if count == 1 else f"{name}~{count}"

    def is_ours(self, dotted: str) -> bool:
        """Whether a full name may belong to the project that is looked at."""
        root = dotted.partition(".")[0]
        self.roots.add(root)
        return root in self.project


class Values(Graph):
    """A function whose expressions can be read. What a call and a nested function mean, subclasses say."""

    def __init__(self, function: Function, context: FileContext, parent: Values | None = None) -> None:
        super().__init__(function, context.effort)
        self.context = context
        self.parent = parent
        self.types: dict[str, str] = {}
        self.bound: dict[str, ast.expr] = {}
        self.locals: set[str] = set()
        self.declared_global: set[str] = set()
        self.captured: dict[str, int] = {}
        self.control: list[Nodes] = []
        self.calls_at: dict[int, int] = {}
        self._made: dict[int, Nodes] = {}
        self.local_functions: dict[str, str] = {}

    def call(self, node: ast.Call) -> Nodes:
        """What a call gives."""
        raise NotImplementedError

    def nested(self, node: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef) -> Nodes:
        """A function made here, as a value."""
        raise NotImplementedError

    def bind(self, target: ast.expr, nodes: Nodes, value: ast.expr | None = None) -> None:
        """Assign to a target."""
        raise NotImplementedError

    def under(self, test: ast.expr, truth: bool) -> None:
        """What is known once a test said yes or no."""
        raise NotImplementedError

    def value(self, node: ast.expr | None) -> Nodes:
        """The nodes an expression's value comes from."""
        if node is None:
            return NOTHING
        visit = _VISITS.get(type(node))
        return NOTHING if visit is None else visit(self, node)

    def once(self, node: _Once, visit: Callable[[_Once], Nodes]) -> Nodes:
        """Calls happen once, however often somebody asks what they give."""
        known = self._made.get(id(node))
        if known is None:
            known = self._made[id(node)] = visit(node)
        return known

    def name(self, node: ast.Name) -> Nodes:
        """A name: local, from an enclosing function, or global."""
        return self.lookup(node.id, node)

    def lookup(self, name: str, at: ast.AST) -> Nodes:
        """What a name and its parts hold here."""
        own = self.out.bound and self.out.params[:1] == [name]  # its fields are followed by the class
        local = read(self.env, name) if own else self.whole(name)
        if local is not None:
            return local
        names = self.context.names
        if name not in self.locals and self.parent is not None and self.parent.knows(name):
            made = self.node(at)
            self.out.free.append((name, made))
            self.env[name] = frozenset((made,))
            return self.env[name]
        if name in names.definitions or name in names.imports:
            made = self.node(at)
            self.out.references.append((names.dotted(name), made))
            if name in names.imports:
                self.out.global_reads.append((names.dotted(name), made))
            return frozenset((made,))
        if name in names.own and self.out.name != f"{names.module}.<module>":
            made = self.node(at)
            self.out.global_reads.append((names.dotted(name), made))
            return frozenset((made,))
        return NOTHING

    def knows(self, name: str) -> bool:
        """Whether a name belongs to this function or one around it; module bodies are looked up as globals."""
        if self.out.name.endswith(".<module>"):
            return False
        return name in self.locals or name in self.env or (self.parent is not None and self.parent.knows(name))

    def attribute(self, node: ast.Attribute) -> Nodes:
        """An attribute: what was put there on this way, else what the class is known to hold, else the object."""
        path = path_of(node)
        if path and path in self.env:
            found = self.whole(path) or NOTHING
            return found | self._field(node, NOTHING) if f"~{root_of(path)}" in self.env else found
        if node.attr in self.context.models.quiet and not isinstance(node.value, ast.Name):
            return NOTHING
        if node.attr in self.context.models.quiet and self.type_of(node.value) == "":
            return NOTHING
        if self._asks_a_model(node):
            made = self.node(node)
            self.out.asking.append(made)
            return frozenset((made,))
        base = self.base(node.value)
        found = self._field(node, base) or base
        return found | self.parts(path) if path else found

    def _asks_a_model(self, node: ast.Attribute) -> bool:
        """Whether a method that asks a model is handed on and not called: ``ask = client.chat.completions.create``."""
        rules = [one for one in self.context.models.find(node.attr) if one.role == "source"]
        chains = [one.call for one in rules if one.call.count(".") > 1 and one.call[0] == "." and not one.keywords]
        name = self.context.names.expression(node) if rules else ""
        return any(name.endswith(one) for one in chains) or any(name == one.call for one in rules)

    def base(self, node: ast.expr) -> Nodes:
        """What an object holds by itself, without the parts that are known one by one."""
        path = path_of(node)
        if path:
            own = read(self.env, path)
            if own is not None and root_of(path) not in {"self", "cls"}:
                return own
        return self.value(node)

    def _field(self, node: ast.Attribute, base: Nodes) -> Nodes:
        owner = self.type_of(node.value)
        if not owner and not base:
            return NOTHING
        made = self.node(node)
        self.out.reads.append((owner, node.attr, made, self.single(base, node)))
        return frozenset((made,))

    def subscript(self, node: ast.Subscript) -> Nodes:
        """An item: of a constant key what was put there, else what the container holds."""
        self.value(node.slice)
        path = path_of(node)
        if path and read(self.env, path) is not None and root_of(path) != "self":
            return self.whole(path) or NOTHING
        return self.value(node.value)

    def type_of(self, node: ast.expr) -> str:
        """The type of an expression's value, as far as the text says."""
        match node:
            case ast.Name(id=name):
                return self._type_of_name(name)
            case ast.Attribute(value=value, attr=attr):
                return self._type_of_attribute(value, attr)
            case ast.Call(func=func):
                return self._type_of_call(func, node)
            case ast.Await(value=value) | ast.NamedExpr(value=value):
                return self.type_of(value)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                clients = self.context.models.clients
                return next((one for side in (left, right) if (one := self.type_of(side)) in clients), "")
            case _:
                return ""

    def _type_of_name(self, name: str) -> str:
        if name in self.types:
            return self.types[name]
        if name in self.locals:
            return ""
        if self.parent is not None and self.parent.knows(name):
            return self.parent._type_of_name(name)
        names = self.context.names
        if name in names.annotations:
            return names.annotation(names.annotations[name])
        value = names.values.get(name)
        if isinstance(value, ast.Call):
            return constructed(value.func, value, names)
        return ""

    def _type_of_attribute(self, value: ast.expr, attr: str) -> str:
        owner = self.type_of(value)
        if not owner or owner[1:2] == ":":
            return ""
        facts = self.context.classes.get(owner)
        if facts is not None and attr in facts.types:
            return facts.types[attr]
        return f"A:{owner}:{attr}" if self.context.is_ours(owner) else ""

    def _type_of_call(self, func: ast.expr, call: ast.Call) -> str:
        if isinstance(func, ast.Attribute):
            if func.attr in {"open", "fdopen"}:
                return FILE
            if func.attr in {"with_options", "bind_tools", "with_structured_output", "with_retry"}:
                return self.type_of(func.value)
            owner = self.type_of(func.value)
            if owner and owner[1:2] != ":":
                return f"R:{owner}.{func.attr}"
        if isinstance(func, ast.Name) and (func.id in self.locals or func.id in self.env):
            return ""
        return constructed(func, call, self.context.names)

    def union(self, *nodes: ast.expr | None) -> Nodes:
        """What several values hold together."""
        found = NOTHING
        for node in nodes:
            if node is not None and not isinstance(node, ast.Constant):
                found |= self.value(node)
        return found

    def compare(self, node: ast.Compare) -> Nodes:
        """A comparison holds nothing; a word looked for in a model's text is noted."""
        right = [self.value(one) for one in node.comparators]
        self.value(node.left)
        if isinstance(node.ops[0], ast.In) and isinstance(node.left, ast.Constant):
            word = node.left.value
            if isinstance(word, str) and word.strip().casefold() in self.context.models.words["verdicts"] and right[0]:
                self.out.verdicts.append((self.single(right[0], node), node.lineno, node.col_offset + 1, word))
        return NOTHING

    def either(self, node: ast.IfExp) -> Nodes:
        """``a if test else b``, each under what the test says."""
        self.value(node.test)
        before = dict(self.env)
        self.under(node.test, True)
        found = self.value(node.body)
        self.env = before
        after = dict(before)
        self.under(node.test, False)
        found |= self.value(node.orelse)
        self.env = after
        return found

    def logic(self, node: ast.BoolOp) -> Nodes:
        """``and``, ``or``: each operand under what the ones before it say."""
        before = dict(self.env)
        found = NOTHING
        for one in node.values:
            found |= self.value(one)
            self.under(one, isinstance(node.op, ast.And))
        for name in self.env.keys() - before.keys():
            before[name] = self.env[name]
        self.env = before
        return found

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Nodes:
        """Comprehensions have names of their own."""
        before = dict(self.env)
        for generator in node.generators:
            self.bind(generator.target, self.value(generator.iter))
            for test in generator.ifs:
                self.value(test)
                self.under(test, True)
        found = self.union(node.key, node.value) if isinstance(node, ast.DictComp) else self.value(node.elt)
        for one in walk(node):
            if isinstance(one, ast.NamedExpr):
                before[one.target.id] = self.env.get(one.target.id, NOTHING)
        self.env = before
        return found

    def walrus(self, node: ast.NamedExpr) -> Nodes:
        """``name := value``."""
        found = self.value(node.value)
        self.bind(node.target, found, node.value)
        return self.env.get(node.target.id, found)

    def produce(self, node: ast.Yield | ast.YieldFrom) -> Nodes:
        """A generator's values are what it returns."""
        self.give_back(self.value(node.value), node)
        return NOTHING

    def give_back(self, nodes: Nodes, at: ast.AST) -> None:
        """The function returns, or yields, a value."""
        if not nodes:
            return
        if self.out.result < 0:
            self.out.result = self.node(at)
        middle = self.node(at)
        self.flow(nodes, middle)
        self.flow((middle,), self.out.result)

    def give_back_items(self, node: ast.Tuple) -> None:
        """The function returns a tuple: callers that take it apart get each item by itself."""
        for position, item in enumerate(node.elts):
            held = self.value(item)
            if held:
                self.out.items.append((position, self.single(held, item)))

    def unary(self, node: ast.UnaryOp) -> Nodes:
        """``not`` gives a truth value and nothing else."""
        held = self.value(node.operand)
        return NOTHING if isinstance(node.op, ast.Not) else held

    def dictionary(self, node: ast.Dict) -> Nodes:
        """A dict holds its keys and values."""
        return self.union(*node.keys, *node.values)


_VISITS: dict[type[ast.expr], _Visit] = {
    ast.Name: Values.name,
    ast.Attribute: Values.attribute,
    ast.Subscript: Values.subscript,
    ast.Call: lambda self, node: self.once(node, self.call),
    ast.Compare: Values.compare,
    ast.IfExp: Values.either,
    ast.BoolOp: Values.logic,
    ast.ListComp: Values.comprehension,
    ast.SetComp: Values.comprehension,
    ast.GeneratorExp: Values.comprehension,
    ast.DictComp: Values.comprehension,
    ast.NamedExpr: Values.walrus,
    ast.Yield: Values.produce,
    ast.YieldFrom: Values.produce,
    ast.Dict: Values.dictionary,
    ast.Lambda: lambda self, node: self.once(node, self.nested),
    ast.BinOp: lambda self, node: self.union(node.left, node.right),
    ast.UnaryOp: Values.unary,
    ast.JoinedStr: lambda self, node: self.union(*node.values),
    ast.FormattedValue: lambda self, node: self.value(node.value),
    ast.List: lambda self, node: self.union(*node.elts),
    ast.Tuple: lambda self, node: self.union(*node.elts),
    ast.Set: lambda self, node: self.union(*node.elts),
    ast.Starred: lambda self, node: self.value(node.value),
    ast.Await: lambda self, node: self.value(node.value),
}
for _name in ("TemplateStr", "Interpolation"):  # Python 3.14
    if hasattr(ast, _name):
        _VISITS[getattr(ast, _name)] = _VISITS[ast.JoinedStr if _name == "TemplateStr" else ast.FormattedValue]
