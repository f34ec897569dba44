"""What Arm's Vela calls MACs, as it states them for the operators that it puts on an Ethos-U55 or U65.

The rule is that of its performance estimate (ethos-u-vela 5.2.0, regor/architecture/ethosu55/ethos_u55_performance.cpp): taps x
input channels x results for convolutions, matrix products and sums, taps x results for depthwise convolutions and pools,
nothing for element by element operators, copies by DMA and transposes.  What counts follows from what Vela makes of an
operator: a softmax is among others a pool and a sum over its values, a mean over places a depthwise convolution, a transposed
convolution one over the stretched input, a function that stands alone a pool of single values, as is a copy.  Each of these
was compared with what Vela 5.2.0 prints for an 8-bit model of that operator alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from weighbridge.counts.convention import (
    POOLS,
    Convention,
    Use,
    every_tap,
    is_over_places,
    products,
    refuse,
    window_values,
)
from weighbridge.graph import Graph
from weighbridge.memory.bricks import is_rearranged
from weighbridge.operators.record import Kind, Op
from weighbridge.operators.rules import pads_by_axis

__all__ = ["VELA"]

_ELEMENT_BY_ELEMENT: Final = frozenset({"add", "sub", "mul", "max", "min", "abs", "neg"})


def _softmax(use: Use) -> int:
    """A pool and a sum over all values."""
    return 2 * use.result


def _mean(use: Use) -> int:
    """A depthwise convolution over the places of a map; other means are left to the processor or made of other operators."""
    if is_over_places(use):
        return use.call.x.elements
    return refuse("the convention has no rule for a mean over other axes than the places of a map")


def _is_narrow(use: Use) -> bool:
    """Whether what works element by element is rearranged to fill bricks, so that it stands alone."""
    if use.channels is None:
        refuse("nobody says which axis of the result holds channels")
    return is_rearranged(use.channels, use.result)


def _function(use: Use) -> int:
    """Nothing where it is merged into the operator before it, which no other reads; else a pool of single values."""
    return 0 if use.own[0] and not _is_narrow(use) else use.result


def _merged_function(use: Use) -> int:
    """The gate of silu reads what the product reads too, so it is merged into nothing."""
    return use.result if use.op.name == "silu" or _is_narrow(use) else 0


def _leaky(use: Use) -> int:
    """Looked up at 8 bits, made of element by element operators at 16."""
    size = use.call.x.dtype.bits
    return 0 if size is not None and size > 8 else _function(use)


def _silu(use: Use) -> int:
    return use.result


def _converted(use: Use) -> int:
    """1 a value between two integer types; the processor converts what is floating point."""
    kinds = use.call.x.dtype.kind, use.call.outputs[0].dtype.kind
    return 0 if "float" in kinds else use.result


def _concatenated(use: Use) -> int:
    """Copies of what is not written in its place: of inputs of the network, and of what others read too."""
    return sum(one.elements for one, own in zip(use.call.all("xs"), use.own, strict=False) if not own)


def _cut(use: Use) -> int:
    """Who reads a part reads it where it lies; only a result of the network is copied."""
    return sum(one.elements for one, leaves in zip(use.call.outputs, use.leaves, strict=True) if leaves)


def _padded(use: Use) -> int:
    """Nothing where the convolution behind it pads; else every border is filled, and what is not written in its place copied."""
    if use.is_taken_over:
        return 0
    shape = use.call.outputs[0].shape
    borders = sum(sum(pair) * (use.result // size) for pair, size in zip(pads_by_axis(use.call), shape, strict=True))
    return borders + (0 if use.own[0] else use.call.x.elements)


def _is_free(op: Op) -> bool:
    return op.kind in (Kind.VIEW, Kind.IDENTITY) or op.name in _ELEMENT_BY_ELEMENT or op.name == "transpose"


def _no_bytes(graph: Graph, uses: Sequence[Use]) -> None:
    """Vela compresses weights by their values, which are not read."""


VELA: Final = Convention(
    "as Vela 5.2 counts them for Ethos-U55 and U65: multiply-accumulates, those with zeros of a transposed convolution too, 1 a value "
    "of every window of a pool and of a mean, 2 a value of a softmax, 1 a value that a function or a copy of its own writes",
    macs={
        **dict.fromkeys(("conv", "linear", "matmul"), products),
        "conv_transpose": every_tap,
        **dict.fromkeys(POOLS, window_values),
        "reduce_mean": _mean,
        "softmax": _softmax,
        **dict.fromkeys(("relu", "clip", "sigmoid", "tanh", "exp", "rsqrt", "hard_swish"), _function),
        "leaky_relu": _leaky,
        "silu": _silu,
        **dict.fromkeys(("quantize", "dequantize", "requantize"), _converted),
        "concat": _concatenated,
        **dict.fromkeys(("slice", "split"), _cut),
        "pad": _padded,
    },
    activations=None,
    is_free=_is_free,
    weight_bytes=_no_bytes,
    fused=_merged_function,
    deployed=True,
)
