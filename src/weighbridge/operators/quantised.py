"""What contractions on quantised operands have in common: their scales and zero points, result type and requantisation.

A quantised convolution or matrix product is the ordinary operator with these operands beside it, so its shapes and MACs
come from the same formula.  The work is what the definition says, (x - x_zero_point) x (w - w_zero_point) x scale + y_zero_point,
saturated: one addition for every value of an operand that has a zero point, and for every result one multiplication, one
addition where it has a zero point, and two comparisons.  A result without a scale of its own is float where the operands have
scales, one multiplication each, and else the integer sum.

The attribute ``quantisation`` says where scales and zero points are if they are not operands:

- ``"in_tensors"``: tensors carry them (PyTorch): x and the result have a zero point, the weight none;
- ``"dynamic"``: x is float, quantised by its own range as the operator runs, and the result is scaled back to float: one
  multiplication for every result, and a dynamic quantisation of x;
- ``"weight_only"``: the weight alone is quantised: one multiplication for every result, by the scale of its channel.
"""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute

from .arithmetic import real_parts
from .quantisation import dynamic_quantisation
from .record import Call, Work, types_of
from .rules import dtype_of

__all__ = ["QUANTISED", "QUANTISED_SLOTS", "contraction_work", "multiplied_types", "result_dtype"]

QUANTISED_SLOTS: Final = (
    "x_scale:statistic? x_zero_point:statistic? w_scale:statistic? w_zero_point:statistic? "
    "y_scale:statistic? y_zero_point:statistic?"
)
QUANTISED: Final[dict[str, Attribute]] = {"quantisation": "by_operands"}
"""The attribute of every operator that has these slots."""


def result_dtype(call: Call) -> DType:
    """The attribute ``output_dtype`` if it is given, else the type of the result's zero point, else that of x."""
    return dtype_of(call, call.y_zero_point.dtype if call.has("y_zero_point") else call.x.dtype, "output_dtype")


def multiplied_types(call: Call) -> tuple[DType, ...]:
    """The types of x and w; a float x that is quantised as the operator runs is of 8 bits then."""
    if call.text("quantisation") == "dynamic":
        return (DTYPES["int8"], *types_of(call, "w"))
    return types_of(call, "x", "w")


def _quantisation_work(call: Call) -> Work:
    """Shifting the operands by their zero points, and requantising the result where it has a scale."""
    where, results = call.text("quantisation"), call.outputs[0].elements
    if where == "in_tensors":
        return Work(add=call.x.elements + results, mul=results, compare=2 * results)
    if where == "dynamic":
        return dynamic_quantisation(call.x.elements).plus(Work(add=call.x.elements, mul=results))
    if where == "weight_only":
        return Work(mul=results)
    if where != "by_operands":
        raise GraphError(f"there is no quantisation {where!r}")
    add = call.x.elements if call.has("x_zero_point") else 0
    add += call.w.elements if call.has("w_zero_point") else 0
    if not call.has("y_scale"):
        return Work(add=add, mul=results if call.has("x_scale") or call.has("w_scale") else 0)
    return Work(add=add + (results if call.has("y_zero_point") else 0), mul=results, compare=2 * results)


def contraction_work(call: Call) -> Work:
    """One addition an output value where there is a bias, and what quantised operands need."""
    work, added = _quantisation_work(call), call.outputs[0].elements * real_parts(call.outputs[0])
    return work._replace(add=work.add + added) if call.has("b") else work
