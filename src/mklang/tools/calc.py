"""The tool ``calc``: arithmetic on numbers, bounded so that no expression can keep a run waiting (L105, W16).

The expression often comes from a model. It is parsed into Python's syntax tree and evaluated node by node; anything
but numbers and the operators ``+ - * / // % **`` is refused, and so is a power whose result would be huge, before it is
computed.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from mklang.engine.options import Effect
from mklang.lang.values import Json
from mklang.tools.tool import HostTool

Number: TypeAlias = int | float

MAX_CHARS = 500
MAX_BITS = 4000
"""The size of the largest whole number, operands and result: about 1,200 digits."""

_ALLOWED = re.compile(r"[0-9eE_.+\-*/%() ]*")  # letters only as exponents: no names, no keywords, no calls by name


class _Refused(ValueError):
    """Why an expression has no value; the text is for the tool's caller."""


def calc(arguments: Mapping[str, Json]) -> str:
    """The value of ``expr`` (or ``query``) as Python writes numbers, or ``error: `` and the reason. Never raises."""
    expression = arguments.get("expr")
    if expression is None:
        expression = arguments.get("query")
    if isinstance(expression, bool) or not isinstance(expression, str | int | float):
        return "error: 'expr' must be an arithmetic expression"
    try:
        return str(_evaluate(_parse(str(expression)).body))
    except _Refused as refused:
        return f"error: {refused}"
    except ZeroDivisionError:
        return "error: division by zero"
    except OverflowError:
        return "error: the result is too large"
    except RecursionError:
        return "error: the expression is nested too deeply"


def _parse(text: str) -> ast.Expression:
    text = " ".join(text.split())
    if len(text) > MAX_CHARS:
        raise _Refused(f"the expression is longer than {MAX_CHARS} characters")
    if not text or not _ALLOWED.fullmatch(text):
        raise _Refused("only numbers, parentheses and + - * / // % ** can be used")
    try:
        return ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError):
        raise _Refused(f"'{text}' is not an arithmetic expression") from None


def _evaluate(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(number)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _SIGNS:
            return _SIGNS[type(op)](_evaluate(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _bounded(_OPERATORS[type(op)](_evaluate(left), _evaluate(right)))
    raise _Refused("only numbers, parentheses and + - * / // % ** can be used")


def _power(base: Number, exponent: Number) -> Number:
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and abs(base) > 1 and exponent > 0 and (int(base).bit_length() - 1) * exponent > MAX_BITS:
        raise OverflowError
    result = base**exponent
    if isinstance(result, complex):
        raise _Refused("the result is not a real number")
    return result


def _bounded(number: Number) -> Number:
    if isinstance(number, float):
        if number - number != 0:  # infinite or not a number
            raise OverflowError
    elif number.bit_length() > MAX_BITS:
        raise OverflowError
    return number


_SIGNS: Mapping[type[ast.unaryop], Callable[[Number], Number]] = MappingProxyType(
    {
        ast.UAdd: operator.pos,
        ast.USub: operator.neg,
    }
)
_OPERATORS: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
        ast.Pow: _power,
    }
)

CALC = HostTool(
    name="calc",
    function=calc,
    description="The value of an arithmetic expression: numbers, parentheses and + - * / // % **.",
    schema=MappingProxyType(
        {"type": "object", "properties": {"expr": {"type": ["string", "number"]}, "query": {"type": "string"}}}
    ),
    effect=Effect.READ,
)
