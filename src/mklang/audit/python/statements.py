"""Statements: the ways through a function, what each name holds where they meet, and what leaves it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mklang.audit.python.calls import Calls, lambda_name, last_name
from mklang.audit.python.graph import NOTHING, Env, Nodes, below, path_of, read, root_of, walk
from mklang.audit.python.headers import asks_by_type
from mklang.audit.python.ir import APPROVED, COUNTED, Function, Loop
from mklang.audit.python.names import Names

_Run: TypeAlias = Callable[["Body", Any], None]
_FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_APPROVAL = re.compile(r"(^|_)(input|confirm\w*|approv\w*|ask_human|ask_user|consent|prompt_user|is_tty)($|_)", re.I)
_ENDLESS = re.compile(r"(^|\.)(count|cycle|repeat)$")
MODEL_MARKS = frozenset({"model_call", "mklang.audit.model_call"})


@dataclass
class _Loop:
    """A loop that is being read."""

    depth: int
    first_call: int
    exits: list[list[int]] = field(default_factory=list)
    breaks: Env | None = None
    continues: Env | None = None


class Body(Calls):
    """A whole function, method, lambda or module."""

    alive: bool = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.loops: list[_Loop] = []
        self.exit_nodes: dict[tuple[int, int], int] = {}

    # -- functions ----------------------------------------------------------------------------------------------------

    def enter(self, node: _FunctionNode | ast.Lambda) -> None:
        """Bind the parameters and read the body."""
        given = node.args
        ordered = [*given.posonlyargs, *given.args, *([given.vararg] if given.vararg else []), *given.kwonlyargs]
        ordered += [given.kwarg] if given.kwarg else []
        names = self.context.names
        self.out.params = [one.arg for one in ordered]
        for position, one in enumerate(ordered):
            number = self.node(one)
            self.env[one.arg] = self.env[f"&{one.arg}"] = frozenset((number,))
            self.env[f"@{one.arg}"] = NOTHING
            if one is given.vararg:
                self.out.star = position
            elif one is given.kwarg:
                self.out.double = position
            else:
                self._typed(one, position, names.annotation(one.annotation))
        if self.out.bound and self.out.params:
            self.types[self.out.params[0]] = self.out.owner
        stored, outer, self.declared_global = _stored(node)
        self.locals = {*self.out.params, *stored} - outer - self.declared_global
        if isinstance(node, ast.Lambda):
            self.give_back(self.value(node.body), node.body)
            self._note_exits(2)
        else:
            self.run(node.body)
            self._leave(0)

    def _typed(self, argument: ast.arg, position: int, known: str) -> None:
        if known:
            self.types[argument.arg] = known
        if asks_by_type(argument):
            self.out.model_params.append(position)

    def nested(self, node: ast.Lambda | _FunctionNode) -> Nodes:
        """A function made here: it may read what is around it, then and later."""
        name = (
            lambda_name(self.out.name, node)
            if isinstance(node, ast.Lambda)
            else f"{self.out.name}.<locals>.{node.name}"
        )
        name = self.context.unique(name)
        inner = Body(Function(name, node.lineno), self.context, self)
        if not isinstance(node, ast.Lambda):
            describe(inner.out, node, self)
        inner.enter(node)
        self.context.functions.append(inner.out)
        for free, _ in inner.out.free:
            cell = self._cell(free, node)
            self.flow((self.whole(free) or NOTHING) - {cell}, cell)
        for written, _ in inner.out.cells:
            if written[0] == "^":
                cell = self._cell(written[1:], node)
                self.env[written[1:]] = (self.env.get(written[1:]) or NOTHING) | {cell}
        made = self.node(node)
        self.out.references.append((name, made))
        return frozenset((made,))

    def _cell(self, name: str, at: ast.AST) -> int:
        if name not in self.captured:
            self.captured[name] = self.node(at)
            self.out.cells.append((name, self.captured[name]))
            if name not in self.locals and self.parent is not None and self.parent.knows(name):
                own = self.node(at)
                self.out.free.append((name, own))
                self.flow((own,), self.captured[name])
        return self.captured[name]

    def rebind(self, name: str, nodes: Nodes) -> None:
        """A name that an inner function reads is seen there too."""
        super().rebind(name, nodes)
        if name in self.captured:
            self.flow(nodes - {self.captured[name]}, self.captured[name])

    def _note_exits(self, truth: int) -> None:
        """What each parameter's object is when the function is left, saying yes (1), no (0) or anything (2)."""
        for position, name in enumerate(self.out.params):
            held = self.env.get(f"&{name}", NOTHING)
            for kind in (2,) if truth == 2 else (2, truth):
                key = (position, kind)
                if key not in self.exit_nodes:
                    self.exit_nodes[key] = self.node()
                    self.out.exits.append((position, kind, self.exit_nodes[key]))
                self.flow(held, self.exit_nodes[key])

    def _leave(self, truth: int) -> None:
        if self.alive:
            self._note_exits(truth)

    # -- blocks -------------------------------------------------------------------------------------------------------

    def run(self, body: Iterable[ast.stmt]) -> None:
        """A block. What follows an ``if`` that leaves depends on its test."""
        depth = len(self.control)
        for statement in body:
            if not self.alive:
                break
            visit = _STATEMENTS.get(type(statement))
            if visit is not None:
                visit(self, statement)
        del self.control[depth:]

    def _branch(self, env: Env, body: Sequence[ast.stmt]) -> Env | None:
        self.env, self.alive = env, True
        self.run(body)
        return self.env if self.alive else None

    def _go_on(self, env: Env | None) -> None:
        self.alive = env is not None
        if env is not None:
            self.env = env

    def mention(self, test: ast.expr) -> Nodes:
        """Everything a test looks at; a person's yes is noted."""
        found = NOTHING
        waiting: list[ast.AST] = [test]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name):
                found |= (read(self.env, node.id) or NOTHING) | self._approval(node)
            elif isinstance(node, ast.Attribute | ast.Subscript):
                found |= self.value(node) | self._approval(node)
            else:
                if isinstance(node, ast.Compare) and any(isinstance(one, _ORDER) for one in node.ops):
                    found |= {COUNTED}
                waiting.extend(ast.iter_child_nodes(node))
        return found

    def _approval(self, node: ast.expr) -> Nodes:
        """Whether a person was asked."""
        named = last_name(node)
        made = self.bound.get(named) if isinstance(node, ast.Name) else None
        called = last_name(made.func) if isinstance(made, ast.Call) else ""
        asked = _APPROVAL.search(named) or (called and _APPROVAL.search(called))
        return frozenset((APPROVED,)) if asked else NOTHING

    def branch(self, node: ast.If) -> None:
        """``if``: each branch under what the test says."""
        self.value(node.test)
        looked = self.mention(node.test)
        before = self.env
        self.env = dict(before)
        self.under(node.test, True)
        self.control.append(looked)
        yes = self._branch(self.env, node.body)
        self.env = dict(before)
        self.under(node.test, False)
        no = self._branch(self.env, node.orelse)
        self.control.pop()
        if (yes is None) != (no is None):
            self.control.append(looked)
        self._go_on(self.meet(yes, no))

    def match(self, node: ast.Match) -> None:
        """``match``: a constant pattern leaves nothing of the subject."""
        subject = self.value(node.subject)
        place = path_of(node.subject)
        before = self.env
        ended: Env | None = None
        total = False
        self.control.append(self.mention(node.subject))
        for case in node.cases:
            self.env = dict(before)
            self._pattern(case.pattern, subject, place)
            if case.guard is not None:
                self.value(case.guard)
                self.under(case.guard, True)
            total |= case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            ended = self.meet(ended, self._branch(self.env, case.body))
        self.control.pop()
        self._go_on(ended if total else self.meet(ended, before))

    def _pattern(self, pattern: ast.pattern, subject: Nodes, place: str) -> None:
        if _closed(pattern):
            if place and read(self.env, place) is not None:
                self._clear(place)
            return
        for one in walk(pattern):
            name = getattr(one, "name", None) or getattr(one, "rest", None)
            if isinstance(one, ast.MatchAs | ast.MatchStar | ast.MatchMapping) and name:
                inner = one.pattern if isinstance(one, ast.MatchAs) else None
                self.rebind(
                    name, NOTHING if inner is not None and _closed(inner) else self.derived(subject, node_of(one))
                )

    # -- loops --------------------------------------------------------------------------------------------------------

    def _open_loop(self, node: ast.For | ast.AsyncFor | ast.While) -> tuple[_Loop, dict[str, int]]:
        loop = _Loop(len(self.control), len(self.out.calls))
        self.loops.append(loop)
        mentioned = {one.id for one in walk(node) if isinstance(one, ast.Name)}
        heads: dict[str, int] = {}
        self.effort.spend(len(self.env))
        for key in list(self.env):
            if key[0] in "&@~" or root_of(key) not in mentioned:
                continue
            heads[key] = self.node(node)
            self.flow(self.env[key], heads[key])
            self.env[key] = frozenset((heads[key],))
        return loop, heads

    def _close_loop(self, loop: _Loop, heads: dict[str, int]) -> Env | None:
        self.loops.pop()
        again = self.meet(self.env if self.alive else None, loop.continues)
        if again is not None:
            for key, head in heads.items():
                self.flow((read(again, key) or NOTHING) - {head}, head)
        return again

    def repeat(self, node: ast.For | ast.AsyncFor) -> None:
        """``for``."""
        items = self.value(node.iter)
        loop, heads = self._open_loop(node)
        before = dict(self.env)
        self.bind(node.target, self.derived(items, node.target))
        self.run(node.body)
        again = self._close_loop(loop, heads)
        if isinstance(node.iter, ast.Call) and _ENDLESS.search(self.context.names.expression(node.iter.func)):
            self._note_loop(node, loop, [], retry=False)
        ended = self.meet(before, again)
        if ended is not None and node.orelse:
            ended = self._branch(ended, node.orelse)
        self._go_on(self.meet(ended, loop.breaks))

    def repeat_while(self, node: ast.While) -> None:
        """``while``, which may depend on a model."""
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        loop, heads = self._open_loop(node)
        self.value(node.test)
        looked = [] if endless else sorted(self.mention(node.test))
        before = dict(self.env)
        self.under(node.test, True)
        self.run(node.body)
        again = self._close_loop(loop, heads)
        self._note_loop(node, loop, [] if endless else [looked], retry=endless and _retries(node))
        ended = None
        if not endless:
            self.env = self.meet(before, again) or before
            self.under(node.test, False)
            ended = self._branch(self.env, node.orelse) if node.orelse else self.env
        self._go_on(self.meet(ended, loop.breaks))

    def _note_loop(self, node: ast.stmt, loop: _Loop, tested: list[list[int]], *, retry: bool) -> None:
        calls = list(range(loop.first_call, len(self.out.calls)))
        if calls:
            exits = tested + loop.exits
            self.out.loops.append(Loop(node.lineno, node.col_offset + 1, exits, calls, retry))

    def stop(self, _: ast.Break) -> None:
        """``break``."""
        if self.loops:
            self.loops[-1].breaks = self.meet(self.loops[-1].breaks, dict(self.env))
            self._exit_loops(self.loops[-1:])
        self.alive = False

    def skip(self, _: ast.Continue) -> None:
        """``continue``."""
        if self.loops:
            self.loops[-1].continues = self.meet(self.loops[-1].continues, dict(self.env))
        self.alive = False

    def _exit_loops(self, loops: list[_Loop]) -> None:
        for loop in loops:
            loop.exits.append(sorted({one for nodes in self.control[loop.depth :] for one in nodes}))

    # -- leaving ------------------------------------------------------------------------------------------------------

    def give(self, node: ast.Return) -> None:
        """``return``: what is returned, and what the arguments are when the answer counts as yes or as no."""
        self.give_back(self.value(node.value), node)
        self._exit_loops(self.loops)
        if isinstance(node.value, ast.Tuple):
            self.give_back_items(node.value)
        elif node.value is not None:
            self.out.whole = True
        if node.value is None:
            self._note_exits(0)
        elif isinstance(node.value, ast.Name) and f"@+{node.value.id}" in self.env:
            self._note_exits(1)
        elif isinstance(node.value, ast.Constant):
            self._note_exits(1 if node.value.value else 0)
        else:
            before = dict(self.env)
            for truth in (True, False):
                self.env = dict(before)
                self.under(node.value, truth)
                self._note_exits(int(truth))
            self.env = before
        self.alive = False

    def fail(self, node: ast.Raise) -> None:
        """``raise``."""
        self.value(node.exc)
        self.alive = False

    def insist(self, node: ast.Assert) -> None:
        """``assert`` narrows like an ``if``."""
        self.value(node.test)
        self.under(node.test, True)

    # -- try, with ----------------------------------------------------------------------------------------------------

    def attempt(self, node: ast.Try | ast.TryStar) -> None:
        """``try``: a handler may begin after any statement of the body."""
        broken = dict(self.env)
        depth = len(self.control)
        for statement in node.body:
            if not self.alive:
                break
            visit = _STATEMENTS.get(type(statement))
            if visit is not None:
                visit(self, statement)
            broken = self.meet(broken, self.env) or broken if _goes_on(statement) else broken
        del self.control[depth:]
        ended = self.env if self.alive else None
        if ended is not None and node.orelse:
            ended = self._branch(dict(ended), node.orelse)
        for handler in node.handlers:
            self.env = dict(broken)
            if handler.name:
                self.rebind(handler.name, NOTHING)
            ended = self.meet(ended, self._branch(self.env, handler.body))
        if node.finalbody:
            after = self._branch(dict(ended if ended is not None else broken), node.finalbody)
            ended = after if ended is not None else None
        self._go_on(ended)

    def within(self, node: ast.With | ast.AsyncWith) -> None:
        """``with``: files are remembered; ``suppress`` may stop half way."""
        before = None
        for item in node.items:
            held = self.value(item.context_expr)
            if isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) == "suppress":
                before = dict(self.env)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, held, item.context_expr)
        self.run(node.body)
        if before is not None:
            self._go_on(self.meet(before, self.env if self.alive else None))

    # -- binding ------------------------------------------------------------------------------------------------------

    def assign(self, node: ast.Assign) -> None:
        """``a = b = value``."""
        held = self.value(node.value)
        for target in node.targets:
            self.bind(target, held, node.value)

    def assign_typed(self, node: ast.AnnAssign) -> None:
        """``a: T = value``."""
        if node.value is not None:
            self.bind(node.target, self.value(node.value), node.value)
        known = self.context.names.annotation(node.annotation)
        if isinstance(node.target, ast.Name) and known:
            self.types[node.target.id] = self.types.get(node.target.id) or known

    def assign_more(self, node: ast.AugAssign) -> None:
        """``a += value``."""
        held = self.value(node.value) | self.value(node.target)
        if isinstance(node.target, ast.Name):
            if f"@{node.target.id}" in self.env:
                self.add(node.target.id, held)
            self.bind(node.target, held)
        else:
            self.put_into(node.target, held)

    def bind(self, target: ast.expr, nodes: Nodes, value: ast.expr | None = None) -> None:
        """Assign to a name, an attribute, an item or several of them."""
        match target:
            case ast.Name(id=name):
                self._bind_name(name, nodes, target, value)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                values = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(elements) else None
                items = None if values else self._items_of(value, target)
                for position, element in enumerate(elements):
                    one = values[position] if values else None
                    held = self.value(one) if one is not None else nodes if items is None else items[position]
                    self.bind(element, held, one)
            case ast.Starred(value=inner):
                self.bind(inner, nodes)
            case ast.Attribute():
                self._bind_attribute(target, nodes)
            case ast.Subscript():
                self.value(target.slice)
                path = path_of(target)
                if path and read(self.env, path) is not None and root_of(path) not in self.declared_global:
                    self.put(path, self.derived(nodes, target))
                    self._field_too(target, nodes)
                else:
                    self.put_into(target.value, nodes)
            case _:
                pass

    def _items_of(self, value: ast.expr | None, target: ast.Tuple | ast.List) -> list[Nodes] | None:
        """A node for each part of a call's result; None when it is no such call."""
        value = value.value if isinstance(value, ast.Await) else value
        number = self.calls_at.get(id(value)) if isinstance(value, ast.Call) else None
        if number is None or number >= len(self.out.calls) or any(isinstance(one, ast.Starred) for one in target.elts):
            return None
        made = self.out.calls[number]
        if (made.line, made.column) != (getattr(value, "lineno", 0), getattr(value, "col_offset", -1) + 1):
            return None
        made.items = [(position, self.node(one)) for position, one in enumerate(target.elts)]
        return [frozenset((node,)) for _, node in made.items]

    def _field_too(self, target: ast.Subscript, nodes: Nodes) -> None:
        if isinstance(target.value, ast.Attribute):
            owner = self.type_of(target.value.value)
            if owner and nodes:
                self.out.writes.append((owner, target.value.attr, self.single(nodes, target)))

    def _bind_name(self, name: str, nodes: Nodes, at: ast.Name, value: ast.expr | None) -> None:
        module = self.out.name.endswith(".<module>")
        if module or name in self.declared_global or (name not in self.locals and self.parent is not None):
            self.write_global(name, nodes, at)
        known = self.type_of(value) if value is not None else ""
        if known:
            self.types[name] = known
        else:
            self.types.pop(name, None)
        self.bound.pop(name, None)
        self.rebind(name, self.derived(nodes, at))
        if value is not None:
            self.bound[name] = value.value if isinstance(value, ast.Await) else value
            self._items(name, value)

    def _items(self, name: str, value: ast.expr) -> None:
        """The items of a dict display are known one by one."""
        if (
            not isinstance(value, ast.Dict)
            or not value.keys
            or not all(isinstance(key, ast.Constant) for key in value.keys)
        ):
            return
        self.env[name] = NOTHING
        for key, item in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant):
                held = self.value(item)
                if held:
                    self.hold(f"{name}[{key.value!r}]", self.derived(held, item))

    def _bind_attribute(self, target: ast.Attribute, nodes: Nodes) -> None:
        owner = self.type_of(target.value)
        if owner and nodes:
            self.out.writes.append((owner, target.attr, self.single(nodes, target)))
        path = path_of(target)
        if path and read(self.env, path) is not None:
            self.put(path, self.derived(nodes, target))
        elif not owner:
            self.put_into(target.value, nodes)

    def remove(self, node: ast.Delete) -> None:
        """``del``."""
        for target in node.targets:
            path = path_of(target)
            if path:
                self.forget(path)
                self.env[path] = NOTHING

    # -- definitions --------------------------------------------------------------------------------------------------

    def define(self, node: _FunctionNode) -> None:
        """A function inside a function; at the top of a module the file reads it."""
        if self.out.name.endswith(".<module>"):
            return
        self.local_functions[node.name] = f"{self.out.name}.<locals>.{node.name}"
        for decorator in node.decorator_list:
            self.value(decorator)
        self.rebind(node.name, self.nested(node))

    def alone(self, node: ast.Expr) -> None:
        """A value that nobody takes."""
        self.value(node.value)


def describe(out: Function, node: _FunctionNode, body: Calls) -> None:
    """Decorators and the type of the result."""
    names = body.context.names
    out.marks = [_mark(one, names) for one in node.decorator_list]
    out.returns = names.annotation(node.returns)


def _mark(decorator: ast.expr, names: Names) -> str:
    name = names.expression(decorator.func if isinstance(decorator, ast.Call) else decorator) or "?"
    if isinstance(decorator, ast.Call) and decorator.args and name.rpartition(".")[2] == "sink":
        given = decorator.args[0]
        return f"{name}:{given.value!s}" if isinstance(given, ast.Constant) else name
    return name


def node_of(pattern: ast.pattern) -> ast.AST:
    """A pattern has a place like an expression."""
    return pattern


def _stored(node: ast.AST) -> tuple[set[str], set[str], set[str]]:
    """The names a function binds itself, and those it says are another function's or the module's."""
    found: set[str] = set()
    outer: set[str] = set()
    shared: set[str] = set()
    waiting: list[Any] = [node]
    while waiting:
        one = waiting.pop()
        kind = one.__class__
        if kind is ast.Name:
            if one.ctx.__class__ is ast.Store:
                found.add(one.id)
            continue
        if kind in _SCOPES and one is not node:
            if kind is not ast.Lambda:
                found.add(one.name)
            continue
        if kind is ast.Nonlocal:
            outer.update(one.names)
        elif kind is ast.Global:
            shared.update(one.names)
        elif kind in _NAMED and one.name:
            found.add(one.name)
        waiting += below(one)
    return found, outer, shared


_SCOPES = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda})
_NAMED = frozenset({ast.MatchAs, ast.MatchStar, ast.ExceptHandler})


def _closed(pattern: ast.pattern) -> bool:
    """Whether a pattern admits constants only."""
    match pattern:
        case ast.MatchValue() | ast.MatchSingleton():
            return True
        case ast.MatchOr(patterns=patterns):
            return all(_closed(one) for one in patterns)
        case ast.MatchAs(pattern=inner):
            return inner is not None and _closed(inner)
        case _:
            return False


def _goes_on(statement: ast.stmt) -> bool:
    return not isinstance(statement, ast.Return | ast.Raise)


def _retries(node: ast.While) -> bool:
    """Whether a loop without an end tries again whenever something fails, and counts nothing."""
    if any(isinstance(one, ast.AugAssign) for one in walk(node)):
        return False
    for statement in node.body:
        if isinstance(statement, ast.Try) and statement.handlers:
            leaves = ast.Raise | ast.Return | ast.Break
            inside = [one for handler in statement.handlers for one in walk(handler)]
            succeeds = any(isinstance(one, ast.Return | ast.Break) for part in node.body for one in walk(part))
            if succeeds and not any(isinstance(one, leaves) for one in inside):
                return True
    return False


_STATEMENTS: dict[type[ast.stmt], _Run] = {
    ast.Assign: Body.assign,
    ast.AnnAssign: Body.assign_typed,
    ast.AugAssign: Body.assign_more,
    ast.Expr: Body.alone,
    ast.If: Body.branch,
    ast.Match: Body.match,
    ast.For: Body.repeat,
    ast.AsyncFor: Body.repeat,
    ast.While: Body.repeat_while,
    ast.Break: Body.stop,
    ast.Continue: Body.skip,
    ast.Return: Body.give,
    ast.Raise: Body.fail,
    ast.Assert: Body.insist,
    ast.Try: Body.attempt,
    ast.TryStar: Body.attempt,
    ast.With: Body.within,
    ast.AsyncWith: Body.within,
    ast.Delete: Body.remove,
    ast.FunctionDef: Body.define,
    ast.AsyncFunctionDef: Body.define,
}
