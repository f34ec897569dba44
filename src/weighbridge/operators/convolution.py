"""Convolutions, over any number of spatial dimensions, in both layouts."""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType

from .record import Call, Kind, Loops, Op, Work
from .shapes import per_axis, spatial_of, window_output, window_padding, with_spatial

__all__ = ["CONVOLUTION_OPERATORS"]

_WINDOW: Final[dict[str, Attribute]] = {"stride": 1, "padding": 0, "dilation": 1}
_LAYOUT: Final[dict[str, Attribute]] = {"groups": 1, "layout": "channels_first", "weight_layout": "oi_spatial"}


def _weight_parts(call: Call) -> tuple[int, int, Shape]:
    """(output channels, input channels a group, taps an axis) of the weight.

    ``oi_spatial`` is PyTorch's and ONNX's order, ``o_spatial_i`` TFLite's, ``spatial_io`` TensorFlow's.
    """
    layout, shape = call.text("weight_layout"), call.w.shape
    if len(shape) < 3:
        raise GraphError(f"a convolution's weight has at least 3 dimensions, not {len(shape)}")
    if layout == "oi_spatial":
        return shape[0], shape[1], shape[2:]
    if layout == "o_spatial_i":
        return shape[0], shape[-1], shape[1:-1]
    if layout == "spatial_io":
        return shape[-1], shape[-2], shape[:-2]
    raise GraphError(f"there is no weight layout {layout!r}")


def _geometry(call: Call) -> tuple[int, int, int, Shape, Shape]:
    """(batch, c_o, c_i a group, taps, output sizes), all checked against each other."""
    layout, groups = call.text("layout"), call.integer("groups")
    c_o, c_i_group, taps = _weight_parts(call)
    if len(call.x.shape) != len(taps) + 2:
        raise GraphError(f"an input of {len(call.x.shape)} dimensions under a kernel of {len(taps)}")
    c_i = call.x.shape[1 if layout == "channels_first" else -1]
    if groups < 1 or c_i != c_i_group * groups or c_o % groups:
        raise GraphError(
            f"{c_i} input channels, {groups} groups and a weight for {c_i_group} to {c_o} channels contradict each other"
        )
    sizes = spatial_of(call.x, layout)
    stride = per_axis(call.integers("stride"), len(taps), "stride")
    dilation = per_axis(call.integers("dilation"), len(taps), "dilation")
    padding = window_padding(call["padding"], sizes, taps, stride, dilation)
    return call.x.shape[0], c_o, c_i_group, taps, window_output(sizes, taps, stride, dilation, padding)


def _infer(call: Call) -> tuple[TensorType, ...]:
    batch, c_o, _, _, spatial = _geometry(call)
    return (TensorType(with_spatial(batch, c_o, spatial, call.text("layout")), call.x.dtype),)


def _loops(call: Call) -> tuple[Loops, ...]:
    """Padded taps count: every output value is a full sum of c_i/groups x taps products."""
    batch, c_o, c_i_group, taps, spatial = _geometry(call)
    groups, k, n = call.integer("groups"), c_i_group * prod(taps), batch * prod(spatial)
    return (Loops(c_o // groups, n, k, groups, im2col_elements=groups * k * n),)


def _bias_work(call: Call) -> Work:
    """One addition an output value where there is a bias."""
    return Work(add=call.outputs[0].elements if call.has("b") else 0)


CONVOLUTION_OPERATORS: Final = (
    Op(
        "conv",
        Kind.CONTRACTION,
        "x w:weight b:bias?",
        _infer,
        _bias_work,
        loops=_loops,
        attributes={**_WINDOW, **_LAYOUT},
        fuses=True,
        summary="convolution with groups, stride, dilation and padding",
    ),
)
