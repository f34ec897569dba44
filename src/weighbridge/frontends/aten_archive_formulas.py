"""The formulas in an exported program: sizes that follow from symbols, such as ``2*s0``.

PyTorch writes a formula as SymPy's ``srepr`` (``Mul(Integer(2), Symbol('s77', positive=True, integer=True))``), older
releases as plain arithmetic (``2*s0``).  Both are read through Python's syntax tree, nothing is evaluated by Python itself;
the functions are those of torch/utils/_sympy/functions.py that sizes are made of.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

from weighbridge.named_tuple import NamedTuple

__all__ = ["Formula", "FormulaError", "Number", "UnknownSymbolError", "formula"]

_MAX_TEXT: Final = 20_000
_MAX_DEPTH: Final = 150
_MAX_BITS: Final = 63
_MAX_POWER: Final = 64

Number = int | float | Fraction


class FormulaError(ValueError):
    """A formula that cannot be read, or has no value."""


class UnknownSymbolError(FormulaError):
    """A symbol without a value."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no value")
        self.name = name


def _sum(*terms: Number) -> Number:
    total: Number = 0
    for term in terms:
        total = _bounded(total + term)
    return total


def _product(*factors: Number) -> Number:
    product: Number = 1
    for factor in factors:
        product = _bounded(product * factor)
    return product


def _ratio(a: Number, b: Number) -> Number:
    return Fraction(a) / Fraction(b) if isinstance(a, int) and isinstance(b, int) else a / b


def _power(a: Number, b: Number) -> Number:
    if isinstance(a, float) or b != int(b):
        return math.pow(a, b)
    if not -_MAX_POWER <= b <= _MAX_POWER:
        raise FormulaError("a power that is too high")
    return Fraction(a) ** int(b)


def _true_ratio(a: Number, b: Number) -> Number:
    return float(a) / float(b)


_FUNCTIONS: Final[Mapping[str, Callable[..., Number]]] = {
    "Integer": int,
    "Float": float,
    "Rational": _ratio,
    "Add": _sum,
    "Sub": lambda a, b: a - b,
    "Mul": _product,
    "Div": _ratio,
    "Pow": _power,
    "PowByNatural": _power,
    "FloatPow": math.pow,
    "FloorDiv": lambda a, b: a // b,
    "CleanDiv": lambda a, b: a // b,
    "CeilDiv": lambda a, b: -(-a // b),
    "Mod": lambda a, b: a % b,
    "PythonMod": lambda a, b: a % b,
    "ModularIndexing": lambda a, divisor, modulus: a // divisor % modulus,
    "Max": max,
    "Min": min,
    "Abs": abs,
    "floor": math.floor,
    "ceiling": math.ceil,
    "FloorToInt": math.floor,
    "CeilToInt": math.ceil,
    "TruncToInt": math.trunc,
    "TruncToFloat": math.trunc,
    "RoundToInt": round,
    "IntTrueDiv": _true_ratio,
    "FloatTrueDiv": _true_ratio,
    "ToFloat": float,
    "Identity": lambda a: a,
    "LShift": lambda a, b: _product(a, _power(2, b)),
    "RShift": lambda a, b: a // _power(2, b),
    "Eq": lambda a, b: a == b,
    "Equality": lambda a, b: a == b,
    "Ne": lambda a, b: a != b,
    "Unequality": lambda a, b: a != b,
    "StrictLessThan": lambda a, b: a < b,
    "LessThan": lambda a, b: a <= b,
    "StrictGreaterThan": lambda a, b: a > b,
    "GreaterThan": lambda a, b: a >= b,
    "And": lambda *terms: all(terms),
    "Or": lambda *terms: any(terms),
    "Not": lambda a: not a,
    "Where": lambda condition, a, b: a if condition else b,
}
_ARITHMETIC: Final[Mapping[type[ast.operator], str]] = {
    ast.Add: "Add",
    ast.Sub: "Sub",
    ast.Mult: "Mul",
    ast.Div: "Div",
    ast.FloorDiv: "FloorDiv",
    ast.Mod: "Mod",
    ast.Pow: "Pow",
}
_WRITTEN: Final[Mapping[str, str]] = {
    "Add": " + ",
    "Sub": " - ",
    "Mul": "*",
    "Div": "/",
    "FloorDiv": "//",
    "CleanDiv": "//",
    "Mod": "%",
    "PythonMod": "%",
}
_TRUTHS: Final[Mapping[str, bool]] = {"true": True, "false": False, "True": True, "False": False}


class _Term(NamedTuple):
    """A number, a symbol, or a function of terms."""

    what: int | float | str
    parts: tuple[_Term, ...] | None = None


class Formula:
    """A formula of symbols: its ``symbols``, its ``value`` under sizes for them, and its ``text`` for a person."""

    __slots__ = ("_term", "symbols")

    def __init__(self, term: _Term) -> None:
        self._term = term
        self.symbols = tuple(dict.fromkeys(_symbols(term)))

    def value(self, known: Mapping[str, int]) -> Number:
        """Raises ``UnknownSymbolError`` for a symbol without a size, ``FormulaError`` for what has no value."""
        try:
            return _value(self._term, known)
        except FormulaError:
            raise
        except (ArithmeticError, ValueError, TypeError) as error:
            raise FormulaError(f"it has no value ({error})") from None

    def text(self) -> str:
        """In the arithmetic of ``--dim``: ``2*s0``."""
        return _text(self._term)


def formula(text: str) -> Formula:
    """Raises ``FormulaError`` for what is no formula of sizes."""
    if len(text) > _MAX_TEXT:
        raise FormulaError(f"a formula of {len(text):,} characters")
    try:
        return Formula(_term(ast.parse(text.strip(), mode="eval").body, 0))
    except FormulaError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError("it cannot be read") from None


def _term(tree: ast.expr, depth: int) -> _Term:
    if depth > _MAX_DEPTH:
        raise FormulaError("nested too deeply")
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float):
        return _Term(tree.value)
    if isinstance(tree, ast.Name):
        return _Term(_TRUTHS.get(tree.id, tree.id))
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        operand = _term(tree.operand, depth + 1)
        return _Term(-operand.what) if isinstance(operand.what, int | float) else _Term("Mul", (_Term(-1), operand))
    if isinstance(tree, ast.BinOp) and type(tree.op) in _ARITHMETIC:
        return _Term(_ARITHMETIC[type(tree.op)], (_term(tree.left, depth + 1), _term(tree.right, depth + 1)))
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        return _call(tree, tree.func.id, depth)
    raise FormulaError("it cannot be read")


def _call(tree: ast.Call, function: str, depth: int) -> _Term:
    first = tree.args[0].value if tree.args and isinstance(tree.args[0], ast.Constant) else None
    if function == "Symbol" and isinstance(first, str) and first:
        return _Term(first)
    if function == "Float" and isinstance(first, str):
        return _Term(float(first))
    if function not in _FUNCTIONS or not tree.args:
        raise FormulaError(f"the function {function!r} is not known")
    parts = tuple(_term(argument, depth + 1) for argument in tree.args)
    return parts[0] if function == "Integer" else _Term(function, parts)


def _symbols(term: _Term) -> list[str]:
    if term.parts is None:
        return [term.what] if isinstance(term.what, str) else []
    return [name for part in term.parts for name in _symbols(part)]


def _value(term: _Term, known: Mapping[str, int]) -> Number:
    if not isinstance(term.what, str):
        return _bounded(term.what)
    if term.parts is not None:
        return _bounded(_FUNCTIONS[term.what](*[_value(part, known) for part in term.parts]))
    if term.what not in known:
        raise UnknownSymbolError(term.what)
    return known[term.what]


def _bounded(value: Number) -> Number:
    if isinstance(value, Fraction) and value.denominator == 1:
        value = value.numerator
    parts = (value.numerator, value.denominator) if isinstance(value, Fraction) else (value,)
    if any(isinstance(part, int) and part.bit_length() > _MAX_BITS for part in parts):
        raise FormulaError("a number outgrows 63 bits")
    if not math.isfinite(value):
        raise FormulaError("it is no finite number")
    return value


def _text(term: _Term) -> str:
    if term.parts is None:
        return str(term.what)
    written = _WRITTEN.get(str(term.what))
    parts = [f"({_text(part)})" if written and part.parts else _text(part) for part in term.parts]
    return written.join(parts) if written else f"{str(term.what).lower()}({', '.join(parts)})"
