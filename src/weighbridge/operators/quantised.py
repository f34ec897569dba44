"""What contractions on quantised operands have in common: their scales and zero points, result type and requantisation.

A quantised convolution or matrix product is the ordinary operator with these operands beside it, so its shapes and MACs
come from the same formula.  The work is what the definition says, (x - x_zero_point) x (w - w_zero_point) x scale + y_zero_point,
saturated: one addition for every value of an operand that has a zero point, and for every result one multiplication, one
addition where it has a zero point, and two comparisons.
"""

from __future__ import annotations

from typing import Final

from weighbridge.dtypes import DType

from .record import Call, Work
from .rules import dtype_of

__all__ = ["QUANTISED_SLOTS", "contraction_work", "result_dtype"]

QUANTISED_SLOTS: Final = (
    "x_scale:statistic? x_zero_point:statistic? w_scale:statistic? w_zero_point:statistic? "
    "y_scale:statistic? y_zero_point:statistic?"
)


def result_dtype(call: Call) -> DType:
    """The attribute ``output_dtype`` if it is given, else the type of the result's zero point, else that of x."""
    return dtype_of(call, call.y_zero_point.dtype if call.has("y_zero_point") else call.x.dtype, "output_dtype")


def _quantisation_work(call: Call) -> Work:
    """Shifting the operands by their zero points, and requantising the result where it has a scale."""
    add = call.x.elements if call.has("x_zero_point") else 0
    add += call.w.elements if call.has("w_zero_point") else 0
    if not call.has("y_scale"):
        return Work(add=add)
    results = call.outputs[0].elements
    return Work(add=add + (results if call.has("y_zero_point") else 0), mul=results, compare=2 * results)


def contraction_work(call: Call) -> Work:
    """One addition an output value where there is a bias, and what quantised operands need."""
    work = _quantisation_work(call)
    return work._replace(add=work.add + call.outputs[0].elements) if call.has("b") else work
