"""Work rules that know complex numbers: what an operation on them takes in operations on real numbers.

A complex number is two real ones, so an addition of two is 2 add and a product 4 mul and 2 add, as the schoolbook has it; a
product with a real number is 2 mul.  Functions without a formula here say that their work on complex numbers is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weighbridge.graph import TensorType

from .record import Call, Work
from .rules import in_words

__all__ = ["PRODUCT", "QUOTIENT", "complex_operands", "is_complex", "real_or_complex", "real_parts"]

PRODUCT: Final = Work(add=2, mul=4)
QUOTIENT: Final = Work(add=3, mul=6, div=2)
"""(a + bi) / (c + di) = ((ac + bd) + (bc - ad)i) / (cc + dd)."""


def is_complex(kind: TensorType) -> bool:
    return kind.dtype.kind == "complex"


def real_parts(*kinds: TensorType) -> int:
    """How many real numbers are in a number computed from such: 2 if one of them is complex.

    A product of two numbers has the product of their parts in real ones, so that of two complex ones has 4.
    """
    return 2 if any(map(is_complex, kinds)) else 1


def complex_operands(call: Call) -> int:
    """How many operands of a call are complex."""
    return sum(is_complex(one) for group in call.operands.values() for one in group)


def real_or_complex(real: Work, of_complex: Work | None = None) -> Callable[[Call], Work | None]:
    """A work rule: so much an element of the first output, and so much where an operand is complex (None: not known)."""

    def work(call: Call) -> Work | None:
        unit = of_complex if complex_operands(call) else real
        return None if unit is None else unit.times(call.outputs[0].elements)

    also = "" if of_complex is None else f"; of complex numbers {in_words(of_complex)}"
    work.__doc__ = f"{in_words(real)} an element{also}."
    return work
