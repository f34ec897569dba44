"""Functions of several tensors, element by element, with numpy's broadcasting.

The work of an output element: arithmetic is 1 of its kind, comparisons, logic, bit operations and selection 1 compare, a
power 1 special, a remainder 1 div.  Of n tensors, a sum takes n - 1 adds and a mean one div more.  A cast only changes how
a value is written and counts nothing.

Of complex numbers an addition is 2 add, a product 4 mul and 2 add (2 mul where one factor is real), a quotient 6 mul, 3 add
and 2 div (2 div where the divisor is real).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .arithmetic import PRODUCT, QUOTIENT, complex_operands, is_complex, real_or_complex
from .halo import of_x
from .record import REQUIRED, Call, Keeps, Kind, Op, Work, nothing
from .rules import dtype_of, each, in_its_place, in_words, same
from .shapes import broadcast

__all__ = ["ELEMENTWISE_OPERATORS"]

_BOOL = DTYPES["bool"]


def _binary(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(broadcast(call.a.shape, call.b.shape), call.a.dtype),)


def _comparison(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(broadcast(call.a.shape, call.b.shape), _BOOL),)


def _variadic(call: Call) -> tuple[TensorType, ...]:
    xs = call.all("xs")
    if not xs:
        raise GraphError("at least one operand is needed")
    return (TensorType(broadcast(*(x.shape for x in xs)), xs[0].dtype),)


def _test(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(call.x.shape, _BOOL),)


def _where(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(broadcast(call.condition.shape, call.x.shape, call.y.shape), call.x.dtype),)


def _prelu(call: Call) -> tuple[TensorType, ...]:
    """The slope stretches to x and not the reverse."""
    if broadcast(call.x.shape, call.slope.shape) != call.x.shape:
        raise GraphError(f"a slope of shape {call.slope.shape} does not fit x of shape {call.x.shape}")
    return (call.x,)


def _clip_by_tensor_work(call: Call) -> Work:
    """1 compare an element and bound that is there."""
    bounds = sum(call.has(name) for name in ("low", "high"))
    return Work(compare=bounds).times(call.outputs[0].elements)


def _cast(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(call.x.shape, dtype_of(call)),)


def _keeps_type(call: Call) -> bool:
    """Whether a cast leaves its operand in the type that it has."""
    return call.x.dtype == call.outputs[0].dtype


def _cast_like(call: Call) -> tuple[TensorType, ...]:
    return (TensorType(call.x.shape, call.like.dtype),)


def _for_each_pair(**kinds: int) -> Callable[[Call], Work]:
    """Work between neighbours: n - 1 times an output element for n operands."""
    unit = Work(**kinds)

    def work(call: Call) -> Work:
        return unit.times((len(call.all("xs")) - 1) * call.outputs[0].elements)

    work.__doc__ = f"{in_words(unit)} an element for every operand but the first."
    return work


def _mean_work(call: Call) -> Work:
    """1 div an element, and 1 add for every operand but the first."""
    elements = call.outputs[0].elements
    return Work(add=(len(call.all("xs")) - 1) * elements, div=elements)


def _mul_work(call: Call) -> Work:
    """1 mul an element; of complex numbers 2 add, 4 mul, and 2 mul where one factor is real."""
    units = (Work(mul=1), Work(mul=2), PRODUCT)
    return units[complex_operands(call)].times(call.outputs[0].elements)


def _div_work(call: Call) -> Work:
    """1 div an element; of complex numbers 3 add, 6 mul, 2 div, and 2 div where the divisor is real."""
    unit = Work(div=1)
    if complex_operands(call):
        unit = QUOTIENT if is_complex(call.b) else Work(div=2)
    return unit.times(call.outputs[0].elements)


def _binary_op(
    name: str, summary: str, work: Callable[[Call], Work | None], *, fuses: bool = False, keeps: str = ""
) -> Op:
    kind = Kind.ELEMENTWISE
    return Op(name, kind, "a b", _binary, work, fuses=fuses, summary=summary, may_overwrite=in_its_place, keeps=keeps)


def _arithmetic(name: str, summary: str, keeps: str = "", **kinds: int) -> Op:
    return _binary_op(name, summary, real_or_complex(Work(**kinds)), keeps=keeps)


def _compared(name: str, summary: str) -> Op:
    return Op(name, Kind.ELEMENTWISE, "a b", _comparison, each(compare=1), summary=summary, may_overwrite=in_its_place)


ELEMENTWISE_OPERATORS: Final = (
    _binary_op("add", "a + b", real_or_complex(Work(add=1), Work(add=2)), fuses=True),
    _binary_op("sub", "a - b", real_or_complex(Work(add=1), Work(add=2))),
    _binary_op("mul", "a b", _mul_work, keeps=Keeps.OTHERS),
    _binary_op("div", "a / b", _div_work, keeps=Keeps.SECOND),
    _arithmetic("floor_div", "largest whole number not above a / b", div=1, add=1),
    _arithmetic("mod", "remainder of a / b", div=1),
    _arithmetic("squared_difference", "(a - b) squared", Keeps.OPERANDS, add=1, mul=1),
    _arithmetic("pow", "a to the power b", Keeps.OPERANDS, special=1),
    _arithmetic("atan2", "angle of the point (b, a)", Keeps.OPERANDS, special=1),
    _arithmetic("hypot", "root of a squared plus b squared", Keeps.OPERANDS, mul=2, add=1, special=1),
    _arithmetic(
        "log_add_exp", "log(exp(a) + exp(b)), from the larger one on", Keeps.OPERANDS, compare=2, add=3, special=2
    ),
    _arithmetic("copy_sign", "|a| with the sign of b", Keeps.BITS, compare=1),
    _arithmetic("heaviside", "0 below 0, 1 above, and b at 0 of a", compare=2),
    _arithmetic("bitwise_and", "and of every bit", compare=1),
    _arithmetic("bitwise_or", "or of every bit", compare=1),
    _arithmetic("bitwise_xor", "exclusive or of every bit", compare=1),
    _arithmetic("bit_shift", "a shifted by b bits", compare=1),
    _compared("and", "a and b"),
    _compared("or", "a or b"),
    _compared("xor", "exactly one of a and b"),
    _compared("equal", "a = b"),
    _compared("not_equal", "a and b differ"),
    _compared("greater", "a > b"),
    _compared("greater_or_equal", "a >= b"),
    _compared("less", "a < b"),
    _compared("less_or_equal", "a <= b"),
    Op(
        "sum",
        Kind.ELEMENTWISE,
        "*xs",
        _variadic,
        _for_each_pair(add=1),
        fuses=True,
        summary="sum of any number of tensors",
        may_overwrite=in_its_place,
    ),
    Op(
        "mean",
        Kind.ELEMENTWISE,
        "*xs",
        _variadic,
        _mean_work,
        summary="mean of any number of tensors",
        may_overwrite=in_its_place,
    ),
    Op(
        "max",
        Kind.ELEMENTWISE,
        "*xs",
        _variadic,
        _for_each_pair(compare=1),
        summary="largest of any number of tensors",
        may_overwrite=in_its_place,
        keeps=Keeps.BITS,
    ),
    Op(
        "min",
        Kind.ELEMENTWISE,
        "*xs",
        _variadic,
        _for_each_pair(compare=1),
        summary="smallest of any number of tensors",
        may_overwrite=in_its_place,
        keeps=Keeps.BITS,
    ),
    Op(
        "where",
        Kind.ELEMENTWISE,
        "condition x y",
        _where,
        each(compare=1),
        summary="x where the condition holds, else y",
        may_overwrite=in_its_place,
        keeps=Keeps.BITS,
    ),
    Op(
        "prelu",
        Kind.ELEMENTWISE,
        "x slope:affine",
        _prelu,
        each(compare=1, mul=1),
        summary="x, or slope x below 0, with a learned slope",
        may_overwrite=in_its_place,
        keeps=Keeps.INPUT,
    ),
    Op(
        "clip_by_tensor",
        Kind.ELEMENTWISE,
        "x low:control? high:control?",
        same,
        _clip_by_tensor_work,
        summary="x between bounds that are known only at run time",
        may_overwrite=in_its_place,
        keeps=Keeps.BITS,
    ),
    Op(
        "is_nan",
        Kind.ELEMENTWISE,
        "x",
        _test,
        each(compare=1),
        summary="whether x is not a number",
        may_overwrite=in_its_place,
    ),
    Op(
        "is_inf",
        Kind.ELEMENTWISE,
        "x",
        _test,
        each(compare=1),
        summary="whether x is infinite",
        may_overwrite=in_its_place,
    ),
    Op(
        "is_finite",
        Kind.ELEMENTWISE,
        "x",
        _test,
        each(compare=1),
        summary="whether x is a finite number",
        may_overwrite=in_its_place,
    ),
    Op(
        "sign_bit",
        Kind.ELEMENTWISE,
        "x",
        _test,
        each(compare=1),
        summary="whether x is below 0",
        may_overwrite=in_its_place,
    ),
    Op(
        "cast",
        Kind.ELEMENTWISE,
        "x",
        _cast,
        nothing,
        attributes={"dtype": REQUIRED},
        summary="x in another type",
        may_overwrite=in_its_place,
        does_nothing=_keeps_type,
    ),
    Op(
        "cast_like",
        Kind.ELEMENTWISE,
        "x like:control",
        _cast_like,
        nothing,
        summary="x in the type of another tensor",
        halo=of_x,
        may_overwrite=in_its_place,
        does_nothing=_keeps_type,
    ),
)
