"""A convolution beside the depthwise and the pointwise one that can stand in its place."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from weighbridge.devices.device import Device
from weighbridge.errors import BadSpec
from weighbridge.named_tuple import NamedTuple

from .kinds import Conv, Depthwise
from .plain import plain
from .readouts import Layer, layer
from .symbols import axes

__all__ = ["Separable", "formula", "separable"]


class Separable(NamedTuple):
    """The standard convolution, the two that replace it, their sums, and these as parts of the standard one's.

    ``formula_ratio`` is that of ``formula``; the other ratios are those of the counts.
    """

    standard: Layer
    depthwise: Layer
    pointwise: Layer
    macs: int
    weights: int
    macs_ratio: Fraction
    weights_ratio: Fraction
    formula_ratio: Fraction

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings for JSON."""
        return plain(self)


def separable(standard: Conv, on: Iterable[Device] = ()) -> Separable:
    """What ``standard`` costs as a depthwise convolution with its kernel and a pointwise one, and each layer's time on devices.

    Raises ``BadSpec`` as ``layer`` does, and for a convolution in groups.
    """
    if standard.g != 1:
        raise BadSpec("the convolution to replace has one group", where="g", hint="leave it out")
    devices = tuple(on)
    whole = layer(standard, devices)
    depthwise = layer(Depthwise.like(standard), devices)
    height, width = depthwise.output_shape[2:]
    pointwise = layer(
        Conv(
            c_i=standard.c_i,
            c_o=standard.c_o,
            k=1,
            h_i=height,
            w_i=width,
            n=standard.n,
            bias=standard.bias,
            weight_bits=standard.weight_bits,
            activation_bits=standard.activation_bits,
        ),
        devices,
    )
    macs, weights = depthwise.macs + pointwise.macs, depthwise.weights + pointwise.weights
    height, width = axes(standard.k)
    return Separable(
        standard=whole,
        depthwise=depthwise,
        pointwise=pointwise,
        macs=macs,
        weights=weights,
        macs_ratio=Fraction(macs, whole.macs),
        weights_ratio=Fraction(weights, whole.weights),
        formula_ratio=formula(standard.c_o, height, width),
    )


def formula(c_o: int, k_h: int, k_w: int) -> Fraction:
    """1/c_o + 1/(k_h x k_w): what is left of the MACs and of the weights of a convolution with ``c_o`` filters of that kernel.

    A. G. Howard et al., MobileNets, arXiv:1704.04861, section 3.1.
    """
    return Fraction(1, c_o) + Fraction(1, k_h * k_w)
