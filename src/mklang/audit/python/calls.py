"""Calls: who is called, what the models say of it, and what the arguments are afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from mklang.audit.python.graph import NOTHING, Nodes, path_of, read
from mklang.audit.python.ir import RECEIVER, Call, Sink
from mklang.audit.python.models import Rule
from mklang.audit.python.names import FILE
from mklang.audit.python.places import Places

_KEYED = frozenset({"get", "pop", "setdefault", "getattr"})
_MAX_CONTROL = 12


class Callee(NamedTuple):
    """Who is called: the reference for the linker, the full name as far as known, the chain after it, the receiver."""

    ref: str
    canonical: str
    chain: str
    receiver: ast.expr | None = None
    receiver_type: str = ""


class Calls(Places):
    """A function whose calls can be read."""

    def call(self, node: ast.Call) -> Nodes:
        """What a call gives."""
        callee = self.callee(node)
        receiver = self.value(callee.receiver) if callee.receiver is not None else NOTHING
        made = Call(callee.ref, node.lineno, node.col_offset + 1, -1)
        made.receiver = self.single(receiver, node)
        inputs = receiver | self._arguments(node, made)
        if callee.ref == "V":
            made.value = self.single(self.value(node.func), node)
            inputs |= frozenset((made.value,)) if made.value >= 0 else NOTHING
        rules = [
            rule for rule in self.context.models.find(callee.chain.rpartition(".")[2]) if self.fits(rule, callee, node)
        ]
        self._classify(made, rules, callee, node)
        self._sinks(rules, callee, node)
        number = len(self.out.calls)
        self.calls_at[id(node)] = number
        if callee.chain == ".append" and callee.receiver is not None:
            self.env[f"@+{path_of(callee.receiver)}"] = NOTHING  # a list that is not empty says yes
        if not inputs and made.kind != "source" and not self._matters(made.ref):
            return NOTHING
        made.result = self.node(node)
        self.out.calls.append(made)
        self._afterwards(node, made, callee)
        return frozenset((made.result,))

    def _matters(self, ref: str) -> bool:
        """Whether a call without inputs may give something all the same."""
        if ref[1:2] == ":" or ref == "V":
            return not (ref[0] == "?" and ref[2:] in self.context.plain)
        return self.context.is_ours(ref)

    def callee(self, node: ast.Call) -> Callee:
        """Who is called."""
        func = node.func
        names = self.context.names
        if isinstance(func, ast.Name):
            local = func.id in self.locals or (self.parent is not None and self.parent.knows(func.id))
            if local and func.id not in self.out.params and func.id in names.imports:
                local = False  # an import inside the function
            full = names.dotted(func.id)
            return Callee("V", "", func.id) if local else Callee(full, full, func.id)
        if not isinstance(func, ast.Attribute):
            return Callee("V", "", "")
        return self._method(func)

    def _method(self, func: ast.Attribute) -> Callee:
        names = self.context.names
        chain: list[str] = [func.attr]
        at: ast.expr = func.value
        owner = self.type_of(at)
        found = owner
        while not found and isinstance(at, ast.Attribute):
            chain.append(at.attr)
            at = at.value
            found = self.type_of(at)
        text = "." + ".".join(reversed(chain))
        if isinstance(at, ast.Call) and isinstance(at.func, ast.Name) and at.func.id == "super":
            return Callee(f"S:{self.out.owner}:{func.attr}", "", text, ast.Name(id=self._self(), lineno=func.lineno))
        canonical = f"{found}{text}" if found and found[1:2] != ":" else ""
        if not found and isinstance(at, ast.Name) and self._is_global(at.id):
            full = names.expression(func)
            return Callee(full, full, text, func.value if at.id not in names.imports else None)
        ref = f"T:{owner}:{func.attr}" if owner else f"?:{func.attr}"
        return Callee(ref, canonical, text, func.value, found)

    def _is_global(self, name: str) -> bool:
        names = self.context.names
        if name in self.out.params or not (name in names.imports or name in names.definitions):
            return False
        return name not in self.locals or name in names.imports

    def _self(self) -> str:
        return self.out.params[0] if self.out.params else "self"

    def _arguments(self, node: ast.Call, made: Call) -> Nodes:
        together = NOTHING
        for key, argument in arguments(node):
            held = self.value(argument)
            if held:
                made.args.append((key, self.single(held, argument)))
            if isinstance(argument, ast.Constant | ast.JoinedStr | ast.BinOp | ast.Name | ast.Attribute | ast.Call):
                told = self.hints(argument) if self._matters(made.ref) else []
                if told:
                    made.hints.append((key, told))
            reference = self.reference(argument)
            if reference:
                made.functions.append((key, reference))
            if not (key == "0" and isinstance(node.func, ast.Attribute) and node.func.attr in _KEYED):
                together |= held
        return together

    def reference(self, node: ast.expr) -> str:
        """The function an argument names, if it names one."""
        names = self.context.names
        if isinstance(node, ast.Name) and node.id not in self.locals:
            full = names.dotted(node.id)
            return (
                full
                if self.context.is_ours(full) and (node.id in names.definitions or node.id in names.imports)
                else ""
            )
        if isinstance(node, ast.Name):
            return self.local_functions.get(node.id, "")
        if isinstance(node, ast.Lambda):
            return lambda_name(self.out.name, node)
        if isinstance(node, ast.Attribute):
            owner = self.type_of(node.value)
            return f"T:{owner}:{node.attr}" if owner and self.context.is_ours(owner.partition(":")[2] or owner) else ""
        return ""

    def fits(self, rule: Rule, callee: Callee, node: ast.Call) -> bool:
        """Whether a rule of the models is about this call."""
        if rule.call[0] != ".":
            handed_on = rule.role == "source" and callee.canonical.endswith(f".{rule.call}")  # through a module of ours
            if callee.canonical != rule.call and not handed_on:
                return False
        elif not self._chain_fits(rule, callee):
            return False
        if rule.keywords and not any(one.arg is None or one.arg in rule.keywords for one in node.keywords):
            return False
        if rule.text and not self._text_fits(rule, node):
            return False
        return not rule.file or self._file_fits(rule, callee, node)

    def _chain_fits(self, rule: Rule, callee: Callee) -> bool:
        # `.write_text` fits `path.write_text`, `.chat.completions.create` any client
        if not callee.chain.endswith(rule.call) or callee.chain[:1] != ".":
            return False
        owner = callee.receiver_type
        if rule.role == "guard" and rule.style == "returns" and not rule.receiver:
            return True  # what a class inherits: `Model.model_validate`
        if self.context.is_ours(owner) or (not owner and self.context.is_ours(callee.canonical)):
            return False
        library = owner.partition(".")[0] if owner[1:2] != ":" else ""
        typed = owner in self.context.models.clients or (
            bool(library) and any(one.partition(".")[0] == library for one in rule.libraries)
        )
        if typed and rule.role != "sink":
            return True
        known = bool(owner) and owner[1:2] != ":"
        if rule.imported and (known or not self.context.names.imports_any(rule.libraries)):
            return False
        return not rule.receiver or bool(self.context.models.patterns[rule.receiver].search(last_name(callee.receiver)))

    def _text_fits(self, rule: Rule, node: ast.Call) -> bool:
        given = [one.value for one in node.keywords if one.arg in {"url", "args"}] + node.args[:2]
        pattern = self.context.models.patterns[rule.text]
        texts = [one for argument in given for one in self.hints(argument) if one[0] not in "~$="]
        return any(pattern.search(text) for text in (*texts, "".join(texts)))

    def _file_fits(self, rule: Rule, callee: Callee, node: ast.Call) -> bool:
        if callee.chain in {"open", ".open"}:
            return bool(set("wax+") & set(self.mode(node)))
        if rule.place == RECEIVER:
            return self.writes_file(callee.receiver)
        place = argument_at(node, rule.place)
        return place is not None and (rule.place != "file" or self.writes_file(place))

    def _classify(self, made: Call, rules: list[Rule], callee: Callee, node: ast.Call) -> None:
        source = next((rule for rule in rules if rule.role == "source"), None)
        guard = next((rule for rule in rules if rule.role == "guard"), None)
        if source is not None:
            made.kind = "source"
        elif guard is not None:
            kinds = {"returns": "clean", "raises": "raises", "predicate": "predicate", "faults": "faults"}
            made.kind = kinds[guard.style]
            made.weak = guard.weak or (guard.schema is not None and _empty(argument_at(node, guard.schema)))
            if made.weak and callee.canonical in self.context.models.cuts:
                made.kind = "cut-predicate"
            made.hints.append(("<values>", [str(one) for one in guard.value]))
        elif any(rule.effect in {"write", "append"} for rule in rules):
            made.kind = "sink"
        elif callee.canonical in self.context.models.cuts or (
            callee.ref[:2] == "?:" and callee.ref[2:] in self.context.models.words["cut_methods"]
        ):
            made.kind = "cut"
        elif callee.ref[:2] == "?:" and callee.ref[2:] in self.context.plain:
            made.kind = "plain"

    def _sinks(self, rules: list[Rule], callee: Callee, node: ast.Call) -> None:
        writes = any(rule.effect == "write" and rule.role == "sink" for rule in rules)
        for rule in rules:
            if rule.role != "sink" or (rule.effect == "log" and writes):
                continue
            place = callee.receiver if rule.place == RECEIVER else argument_at(node, rule.place)
            for value in rule.value:
                held = callee.receiver if value == RECEIVER else argument_at(node, value)
                self._sink(rule, callee, held, place, effect=rule.effect)
            if place is not None and rule.effect == "write" and not rule.file and rule.place == RECEIVER:
                self._sink(rule, callee, place, place, effect="name")

    def _sink(
        self,
        rule: Rule,
        callee: Callee,
        held: ast.expr | None,
        place: ast.expr | None,
        *,
        effect: str,
    ) -> None:
        if held is None:
            return
        node = self.single(self.base(held) if effect == "name" else self.value(held), held)
        if node < 0 and (not self.control or effect == "name"):
            return
        hints = self.hints(place)
        opened = self.opened(place) if place is not None else None
        if opened is not None and "a" in self.mode(opened):
            hints.append("mode:a")
        control = sorted({one for nodes in self.control for one in nodes})[:_MAX_CONTROL]
        what = callee.canonical or callee.chain.lstrip(".")
        number = len(self.out.calls) if rule.call[0] == "." else -1
        self.out.sinks.append(
            Sink(node, held.lineno, held.col_offset + 1, what, effect, rule.layer, hints, control, number)
        )

    def _afterwards(self, node: ast.Call, made: Call, callee: Callee) -> None:
        """What the arguments and the receiver are after the call."""
        path = path_of(callee.receiver) if callee.receiver is not None else ""
        method = callee.chain.rpartition(".")[2]
        self._renew_all(node, made, callee)
        if path and method in self.context.models.words["mutators"] and made.ref[:2] in {"?:", "T:"}:
            self.put_into(callee.receiver, frozenset(one for _, one in made.args))

    def _renew_all(self, node: ast.Call, made: Call, callee: Callee) -> None:
        if made.kind in {"plain", "cut", "clean", "predicate", "cut-predicate", "source", "sink"}:
            return
        if made.kind != "raises" and not self._matters(made.ref):
            return
        for key, number, place in self._places(node, made, callee):
            post = self.node(node)
            made.posts.append((key, number, post))
            self.renew(place, post)
            if place in {"self", "cls"}:
                self.env["~self"] = NOTHING

    def _places(self, node: ast.Call, made: Call, callee: Callee) -> Iterator[tuple[str, int, str]]:
        """The arguments that are names or parts of names: key, node, path."""
        given = dict(made.args)
        values = next((told for key, told in made.hints if key == "<values>"), None)
        for key, argument in arguments(node):
            place = path_of(argument)
            if place and read(self.env, place) is not None and (values is None or key in values):
                if key in given:
                    yield key, given[key], place
                elif values is None:
                    yield key, -1, place
        if callee.receiver is not None and values is None:
            place = path_of(callee.receiver)
            if place and read(self.env, place) is not None:
                yield RECEIVER, made.receiver, place

    def put_into(self, target: ast.expr | None, nodes: Nodes) -> None:
        """Something is put into what a target stands for."""
        if target is None or not nodes:
            return
        path = path_of(target)
        if isinstance(target, ast.Attribute):
            owner = self.type_of(target.value)
            if owner:
                self.out.writes.append((owner, target.attr, self.single(nodes, target)))
        if path and read(self.env, path) is not None:
            self.add(path, nodes)
        elif isinstance(target, ast.Name):
            self.write_global(target.id, nodes, target)
        elif isinstance(target, ast.Subscript | ast.Attribute):
            self.put_into(target.value, nodes)

    def write_global(self, name: str, nodes: Nodes, at: ast.AST) -> None:
        """A module's name gets, or holds, something more."""
        names = self.context.names
        if name not in self.declared_global and self.parent is not None and self.parent.knows(name):
            self.out.cells.append((f"^{name}", self.single(nodes, at)))
        elif nodes and (name in names.own or self.context.is_ours(names.imports.get(name, ""))):
            self.out.global_writes.append((names.dotted(name), self.single(nodes, at)))

    # -- what a test says ---------------------------------------------------------------------------------------------

    def under(self, test: ast.expr, truth: bool) -> None:
        """What is known once a test said yes or no."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.under(operand, not truth)
            case ast.BoolOp(op=op, values=values):
                if isinstance(op, ast.And) == truth or len(values) == 1:
                    for value in values:
                        self.under(value, truth)
            case ast.NamedExpr(value=value):
                self.under(value, truth)
            case ast.Call():
                self._under_call(test, truth, fresh=True)
            case ast.Name(id=name):
                made = self.bound.get(name)
                if isinstance(made, ast.Call | ast.Compare | ast.BoolOp | ast.UnaryOp):
                    self._under_earlier(made, truth)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                self._under_comparison(left, op, right, truth)
            case _:
                pass

    def _under_earlier(self, made: ast.expr, truth: bool) -> None:
        if isinstance(made, ast.Await):
            made = made.value
        if isinstance(made, ast.Call):
            self._under_call(made, truth, fresh=False)

    def _under_call(self, node: ast.Call, truth: bool, *, fresh: bool) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in {"any", "list", "bool", "sorted", "next", "len", "tuple"} and node.args:
            inner = node.args[0]
            if isinstance(inner, ast.Call):
                self._under_call(inner, truth, fresh=fresh)
                return
        number = self.calls_at.get(id(node))
        if number is None or number >= len(self.out.calls):
            return
        made = self.out.calls[number]
        if (made.line, made.column) != (node.lineno, node.col_offset + 1):
            return
        if made.kind in {"cut", "plain", "sink", "source", "clean", "raises"}:
            return
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        posts = {key: post for key, _, post in made.posts}
        for key, held, place in self._places(node, made, Callee(made.ref, "", "", receiver)):
            now = self.single(self.whole(place) or NOTHING, node)
            if now < 0 or (not fresh and now not in {held, posts.get(key, held)}):
                continue
            known = self.node(node)
            made.truths.append((key, int(truth), now, known))
            self.renew(place, known)

    def _under_comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr, truth: bool) -> None:
        if isinstance(op, ast.NotEq | ast.NotIn | ast.IsNot):
            truth = not truth
        if isinstance(left, ast.Call):
            name = left.func.id if isinstance(left.func, ast.Name) else ""
            if isinstance(right, ast.Constant) and right.value in (None, False, 0):
                self._under_call(left, not truth, fresh=True)
            elif name == "len" and left.args:
                self._weaken(left.args[0], left)
            return
        place = path_of(left)
        if not place or not truth or read(self.env, place) is None:
            return
        among = isinstance(op, ast.In | ast.NotIn) and not self._from_model(right)
        equal = isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot) and _constant(right)
        if among or equal:
            self._clear(place)

    def _from_model(self, node: ast.expr) -> bool:
        """Whether a collection may itself hold what is checked: only constants and global names cannot."""
        if isinstance(node, ast.Name) and node.id not in self.locals:
            return False
        return not (_constant(node) or not self.value(node))

    def _clear(self, place: str) -> None:
        self.put(place, NOTHING) if place[-1:] == "]" or "." in place else self._clear_name(place)

    def _clear_name(self, name: str) -> None:
        kept = f"@{name}" in self.env
        self.rebind(name, NOTHING)
        if kept:
            self.env[f"@{name}"] = NOTHING
            self.env[f"&{name}"] = NOTHING

    def _weaken(self, node: ast.expr, at: ast.AST) -> None:
        place = path_of(node)
        held = self.whole(place) if place else None
        if held:
            weaker = self.node(at)
            self.flow(held, weaker, 1)
            self.renew(place, weaker)


def arguments(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a call with their keys: position, name, ``*`` or ``**``."""
    for position, argument in enumerate(node.args):
        yield (f"*{position}", argument.value) if isinstance(argument, ast.Starred) else (str(position), argument)
    for keyword in node.keywords:
        yield keyword.arg or "**", keyword.value


def argument_at(node: ast.Call, key: int | str) -> ast.expr | None:
    """One argument, by position or keyword."""
    if isinstance(key, int):
        return node.args[key] if key < len(node.args) else None
    return next((one.value for one in node.keywords if one.arg == key), None) if key else None


def last_name(node: ast.expr | None) -> str:
    """The last name of a receiver: of ``self.client`` it is ``client``."""
    while isinstance(node, ast.Call | ast.Await | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def lambda_name(around: str, node: ast.Lambda) -> str:
    """The name a lambda goes by."""
    return f"{around}.<locals>.<lambda>{node.lineno}_{node.col_offset}"


def _constant(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return all(_constant(one) for one in elements)
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return name[:1].isupper() and attr.isupper()
        case ast.Dict(keys=keys):
            return all(one is not None and _constant(one) for one in keys)
        case _:
            return False


def _empty(node: ast.expr | None) -> bool:
    match node:
        case ast.Dict(keys=[]):
            return True
        case ast.Constant(value=True | None):
            return True
        case _:
            return False


__all__ = ["FILE", "Callee", "Calls", "argument_at", "arguments", "lambda_name", "last_name"]
