"""Arithmetic in network files: ``"make_divisible(32 * width, 8)"``, ``"2 if index == 0 else 1"``.

Parsed once into Python's own syntax tree and checked against a short list of what may stand there; nothing is ever
evaluated by Python itself.  There is no power, no attribute, no index, no loop; a text is at most 200 characters, a whole
number at most 63 bits: an expression takes microseconds, whoever wrote it.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Final

from weighbridge.named_tuple import NamedTuple

__all__ = ["MAX_TEXT", "Expression", "ExpressionError", "Value", "make_divisible", "parse"]

Value = bool | int | float | str

MAX_TEXT: Final = 200
_MAX_INT: Final = 1 << 63
_MAX_DEPTH: Final = 40
_ALPHABET: Final = re.compile(r"""[A-Za-z0-9_ .,+\-*/%()<>=!'"]+""")


class ExpressionError(ValueError):
    """What is wrong with an expression, in words for the person who wrote it."""


def make_divisible(value: float, divisor: int, minimum: int = 0) -> int:
    """The multiple of ``divisor`` nearest to ``value``, never below ``minimum`` (or one divisor), nor more than 10 % below ``value``.

    The channel rule of the MobileNet family: TensorFlow's research/slim/nets/mobilenet/mobilenet.py, as torchvision has it.
    """
    if not isinstance(divisor, int) or not isinstance(minimum, int) or divisor < 1:
        raise ExpressionError("make_divisible needs a whole divisor of at least 1")
    rounded = max(minimum or divisor, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded


class _Function(NamedTuple):
    call: Callable[..., Value]
    least: int
    most: int


_FUNCTIONS: Final[Mapping[str, _Function]] = {
    "min": _Function(min, 2, 8),
    "max": _Function(max, 2, 8),
    "round": _Function(round, 1, 1),
    "floor": _Function(math.floor, 1, 1),
    "ceil": _Function(math.ceil, 1, 1),
    "make_divisible": _Function(make_divisible, 2, 3),
}
_ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ORDER: Final[Mapping[type[ast.cmpop], Callable[[float, float], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_Environment = Mapping[str, Value]
_Evaluate = Callable[[_Environment], Value]


class Expression:
    """A parsed expression: its ``text``, the ``names`` it reads, and how to ``value`` it where they are known."""

    __slots__ = ("_evaluate", "names", "text")

    def __init__(self, text: str, names: frozenset[str], evaluate: _Evaluate) -> None:
        self.text = text
        self.names = names
        self._evaluate = evaluate

    def value(self, known: Mapping[str, Value]) -> Value:
        """The value under ``known``.  Raises ``ExpressionError``: division by zero, text in arithmetic, overflow."""
        try:
            result = self._evaluate(known)
        except (ArithmeticError, TypeError, ValueError, KeyError) as error:
            raise self._explained(error) from None
        if isinstance(result, float) and not math.isfinite(result):
            raise ExpressionError(f"{self.text!r} is not a finite number")
        return result

    def _explained(self, error: Exception) -> ExpressionError:
        if isinstance(error, ZeroDivisionError):
            return ExpressionError(f"{self.text!r} divides by zero")
        if isinstance(error, KeyError):
            return ExpressionError(f"{self.text!r}: nothing is called {error.args[0]!r}")
        detail = error if isinstance(error, ExpressionError) else "these values do not go together"
        return ExpressionError(f"{self.text!r}: {detail}")


def parse(text: str) -> Expression:
    """``text`` as an expression.  Raises ``ExpressionError`` for anything outside the small language."""
    if len(text) > MAX_TEXT:
        raise ExpressionError(f"an expression of {len(text)} characters; {MAX_TEXT} is the most")
    if not _ALPHABET.fullmatch(text):
        raise ExpressionError(f"{text!r} is no arithmetic expression")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{text!r} is no arithmetic expression") from None
    names: set[str] = set()
    return Expression(text.strip(), *_compiled(tree.body, names))


def _compiled(tree: ast.expr, names: set[str]) -> tuple[frozenset[str], _Evaluate]:
    evaluate = _compile(tree, names, 0)
    return frozenset(names), evaluate


def _compile(tree: ast.expr, names: set[str], depth: int) -> _Evaluate:
    """The tree as nested closures; ``names`` collects what it reads."""
    if depth > _MAX_DEPTH:
        raise ExpressionError("nested too deeply")
    rule = _RULES.get(type(tree))
    if rule is None:
        raise ExpressionError(f"{ast.unparse(tree)!r} cannot stand in an expression")
    return rule(tree, names, depth + 1)


def _constant(tree: ast.Constant, names: set[str], depth: int) -> _Evaluate:
    value = tree.value
    if not isinstance(value, bool | int | float | str):
        raise ExpressionError(f"{value!r} cannot stand in an expression")
    checked = value if isinstance(value, str) else _bounded(value)
    return lambda known: checked


def _name(tree: ast.Name, names: set[str], depth: int) -> _Evaluate:
    if tree.id in ("true", "false"):
        truth = tree.id == "true"
        return lambda known: truth
    name = tree.id
    names.add(name)
    return lambda known: known[name]


def _unary(tree: ast.UnaryOp, names: set[str], depth: int) -> _Evaluate:
    inner = _compile(tree.operand, names, depth)
    if isinstance(tree.op, ast.Not):
        return lambda known: not _truth(inner(known))
    if isinstance(tree.op, ast.USub):
        return lambda known: -_number(inner(known))
    raise ExpressionError(f"{ast.unparse(tree)!r} cannot stand in an expression")


def _binary(tree: ast.BinOp, names: set[str], depth: int) -> _Evaluate:
    apply = _ARITHMETIC.get(type(tree.op))
    if apply is None:
        raise ExpressionError("the operators are + - * / // %")
    left, right = _compile(tree.left, names, depth), _compile(tree.right, names, depth)
    return lambda known: _bounded(apply(_number(left(known)), _number(right(known))))


def _both(tree: ast.BoolOp, names: set[str], depth: int) -> _Evaluate:
    parts = [_compile(value, names, depth) for value in tree.values]
    decide = all if isinstance(tree.op, ast.And) else any
    return lambda known: decide(_truth(part(known)) for part in parts)


def _compare(tree: ast.Compare, names: set[str], depth: int) -> _Evaluate:
    terms = [_compile(term, names, depth) for term in (tree.left, *tree.comparators)]
    tests = [_comparison(kind) for kind in tree.ops]

    def evaluate(known: _Environment) -> Value:
        values = [term(known) for term in terms]
        return all(test(a, b) for test, a, b in zip(tests, values, values[1:], strict=False))

    return evaluate


def _comparison(kind: ast.cmpop) -> Callable[[Value, Value], bool]:
    if isinstance(kind, ast.Eq):
        return operator.eq
    if isinstance(kind, ast.NotEq):
        return operator.ne
    order = _ORDER.get(type(kind))
    if order is None:
        raise ExpressionError("the comparisons are == != < <= > >=")
    return lambda a, b: order(_number(a), _number(b))


def _conditional(tree: ast.IfExp, names: set[str], depth: int) -> _Evaluate:
    test = _compile(tree.test, names, depth)
    then, otherwise = _compile(tree.body, names, depth), _compile(tree.orelse, names, depth)
    return lambda known: then(known) if _truth(test(known)) else otherwise(known)


def _call(tree: ast.Call, names: set[str], depth: int) -> _Evaluate:
    function = _FUNCTIONS.get(tree.func.id) if isinstance(tree.func, ast.Name) else None
    if function is None:
        raise ExpressionError(f"the functions are {', '.join(_FUNCTIONS)}")
    if tree.keywords or not function.least <= len(tree.args) <= function.most:
        counts = f"{function.least} to {function.most}" if function.most > function.least else f"{function.least}"
        raise ExpressionError(f"{ast.unparse(tree.func)} takes {counts} values")
    parts = [_compile(argument, names, depth) for argument in tree.args]
    return lambda known: _bounded(function.call(*(_number(part(known)) for part in parts)))


_RULES: Final[Mapping[type[ast.expr], Callable[..., _Evaluate]]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.BoolOp: _both,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Call: _call,
}


def _number(value: Value) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ExpressionError(f"{value!r} is no number")
    return value


def _truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise ExpressionError(f"{value!r} is neither true nor false")
    return value


def _bounded(value: Value) -> int | float:
    if isinstance(value, int) and abs(value) >= _MAX_INT:
        raise ExpressionError("a number outgrows 63 bits")
    if isinstance(value, str):
        raise ExpressionError(f"{value!r} is no number")
    return value
