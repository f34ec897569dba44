"""Classes of operators that take time in a way of their own: what rates are measured and fitted by."""

from __future__ import annotations

from typing import Final

__all__ = ["LANES", "TIME_CLASSES", "TimeClass"]


class TimeClass:
    """What an operator's time depends on, as far as kernels are alike.

    Convolutions are depthwise where each group has one channel, grouped where there are several groups, pointwise where the kernel is
    one value, dense elsewhere; transposed and deformable ones are among them.  A ``linear`` layer multiplies by stored weights, a
    ``matrix product`` values by values.  ``pooling`` takes the values of windows together, a ``reduction`` those of whole axes.  ``copy``
    moves values, ``lookup`` picks some of a table by their places.  Views and what is nothing at inference are of none: they take no time.
    """

    NONE: Final = ""
    DENSE_CONVOLUTION: Final = "dense convolution"
    POINTWISE_CONVOLUTION: Final = "pointwise convolution"
    GROUPED_CONVOLUTION: Final = "grouped convolution"
    DEPTHWISE_CONVOLUTION: Final = "depthwise convolution"
    LINEAR: Final = "linear"
    MATRIX_PRODUCT: Final = "matrix product"
    ATTENTION: Final = "attention"
    RECURRENCE: Final = "recurrence"
    NORMALISATION: Final = "normalisation"
    SOFTMAX: Final = "softmax"
    POOLING: Final = "pooling"
    REDUCTION: Final = "reduction"
    ELEMENTWISE: Final = "elementwise"
    COPY: Final = "copy"
    LOOKUP: Final = "lookup"
    OTHER: Final = "other"


TIME_CLASSES: Final = (
    TimeClass.DENSE_CONVOLUTION,
    TimeClass.POINTWISE_CONVOLUTION,
    TimeClass.GROUPED_CONVOLUTION,
    TimeClass.DEPTHWISE_CONVOLUTION,
    TimeClass.LINEAR,
    TimeClass.MATRIX_PRODUCT,
    TimeClass.ATTENTION,
    TimeClass.RECURRENCE,
    TimeClass.NORMALISATION,
    TimeClass.SOFTMAX,
    TimeClass.POOLING,
    TimeClass.REDUCTION,
    TimeClass.ELEMENTWISE,
    TimeClass.COPY,
    TimeClass.LOOKUP,
    TimeClass.OTHER,
)
"""All of them, in the order in which files and pages have them."""

LANES: Final = (1, 8, 16)
"""Channels that kernels compute at a time: the numbers of 32 bits in a register, or a block of a layout."""
