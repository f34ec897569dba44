"""Convolutions, transposed and deformable ones, over any number of spatial dimensions, in both layouts, batched or not."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType
from weighbridge.named_tuple import NamedTuple

from .arithmetic import real_parts
from .halo import Box, Needs, Span, needs_all, padding_between
from .quantised import QUANTISED, QUANTISED_SLOTS, contraction_work, multiplied_types, result_dtype
from .record import Call, Kind, Loops, Op, Work, rounded_up, types_of
from .shapes import Frame, explicit_padding, frame_of, per_axis, sliding_box, sliding_output
from .time_class import TimeClass

__all__ = ["CONVOLUTION_OPERATORS", "unrolled_elements", "weight_axes"]

_IMAGE_CHANNELS: Final = 4
"""Libraries of kernels have a convolution of their own for so few channels at its input."""
_COMMON: Final[dict[str, Attribute]] = {
    "stride": 1,
    "padding": 0,
    "dilation": 1,
    "groups": 1,
    "layout": "channels_first",
    "output_dtype": "",
}

# Where the output channels, the input channels and the taps stand in a weight.  PyTorch and ONNX keep oi_spatial (io_spatial
# for a transposed convolution), TFLite o_spatial_i (1_spatial_o for a depthwise one), TensorFlow spatial_io and spatial_oi.
_WEIGHT_AXES: Final = {
    "oi_spatial": (0, 1, slice(2, None)),
    "io_spatial": (1, 0, slice(2, None)),
    "o_spatial_i": (0, -1, slice(1, -1)),
    "1_spatial_o": (-1, 0, slice(1, -1)),
    "spatial_io": (-1, -2, slice(0, -2)),
    "spatial_oi": (-2, -1, slice(0, -2)),
}


class _Geometry(NamedTuple):
    """``c_o`` and ``c_i`` are all channels; ``output`` are the spatial sizes of the result."""

    frame: Frame
    groups: int
    c_o: int
    taps: Shape
    output: Shape

    @property
    def c_i(self) -> int:
        return self.frame.channels


def weight_axes(layout: str, rank: int) -> tuple[int, int]:
    """The axes of the output and of the input channels in a weight of so many dimensions; of a transposed convolution too.

    Raises ``GraphError`` for a layout that there is none.
    """
    if layout not in _WEIGHT_AXES:
        raise GraphError(f"there is no weight layout {layout!r}", hint=f"there are {', '.join(_WEIGHT_AXES)}")
    output, given, _ = _WEIGHT_AXES[layout]
    return output % rank, given % rank


def _weight_parts(call: Call) -> tuple[int, int, Shape]:
    """(output axis, input axis, taps) of the weight: one of the channel sizes is of a group, which one depends on the operator."""
    layout, shape = call.text("weight_layout"), call.w.shape
    if layout not in _WEIGHT_AXES:
        raise GraphError(f"there is no weight layout {layout!r}", hint=f"there are {', '.join(_WEIGHT_AXES)}")
    if len(shape) < 3:
        raise GraphError(f"a convolution's weight has at least 3 dimensions, not {len(shape)}")
    output, given, taps = _WEIGHT_AXES[layout]
    if min(shape[taps]) < 1:
        raise GraphError("a kernel has at least one tap along every axis")
    return shape[output], shape[given], shape[taps]


def _check_channels(call: Call, c_i: int, given: int, c_o: int) -> None:
    """``given`` are the input channels that weight and groups stand for, ``c_o`` the output channels."""
    if c_i != given:
        raise GraphError(f"the input has {c_i} channels, its weight and groups are for {given}")
    if call.has("b") and call.b.elements != c_o:
        raise GraphError(f"a bias of {call.b.elements} for {c_o} output channels")


def _groups(call: Call, channels: int) -> int:
    groups = call.integer("groups")
    if groups < 1 or channels % groups:
        raise GraphError(f"{channels} channels cannot be split into {groups} groups")
    return groups


def _geometry(call: Call) -> _Geometry:
    c_o, c_i_group, taps = _weight_parts(call)
    groups = _groups(call, c_o)
    frame = frame_of(call.x, len(taps), call.text("layout"))
    _check_channels(call, frame.channels, c_i_group * groups, c_o)
    return _Geometry(frame, groups, c_o, taps, sliding_output(call, frame.sizes, taps))


def _transposed_geometry(call: Call) -> _Geometry:
    c_o_group, c_i, taps = _weight_parts(call)
    groups = _groups(call, c_i)
    frame = frame_of(call.x, len(taps), call.text("layout"))
    _check_channels(call, frame.channels, c_i, c_o_group * groups)
    return _Geometry(frame, groups, c_o_group * groups, taps, _transposed_output(call, frame.sizes, taps))


def _transposed_output(call: Call, sizes: Shape, taps: Shape) -> Shape:
    """The result's spatial sizes (ONNX ConvTranspose-11).

    (size - 1) x stride + dilation x (taps - 1) + 1 + output_padding - padding; ``output_size``, where given, wins, and
    SAME is size x stride.
    """
    rank = len(taps)
    stride = per_axis(call.integers("stride"), rank, "stride")
    dilation = per_axis(call.integers("dilation"), rank, "dilation")
    extra = per_axis(call.integers("output_padding"), rank, "output_padding")
    if min(stride) < 1 or min(dilation) < 1 or min(extra) < 0:
        raise GraphError("stride and dilation must be at least 1, output_padding at least 0")
    output: Shape
    if call["output_size"] != ():
        output = per_axis(call.integers("output_size"), rank, "output_size")
    elif call["padding"] in ("same_upper", "same_lower"):
        output = tuple(size * s for size, s in zip(sizes, stride, strict=True))
    else:
        pads = [before + after for before, after in explicit_padding(call["padding"], rank)]
        output = tuple(
            (size - 1) * s + d * (k - 1) + 1 + more - pad
            for size, k, s, d, more, pad in zip(sizes, taps, stride, dilation, extra, pads, strict=True)
        )
    if min(output) < 1:
        raise GraphError(f"the result would have sizes of {output}")
    return output


def _result(call: Call, geometry: _Geometry) -> tuple[TensorType, ...]:
    return (TensorType(geometry.frame.shape(geometry.c_o, geometry.output), result_dtype(call)),)


def _infer(call: Call) -> tuple[TensorType, ...]:
    return _result(call, _geometry(call))


def _infer_transposed(call: Call) -> tuple[TensorType, ...]:
    return _result(call, _transposed_geometry(call))


def _parts(call: Call) -> int:
    """Products of real numbers in one of a value of x and a weight: 4 if both are complex."""
    return real_parts(call.x) * real_parts(call.w)


def _loops(call: Call) -> tuple[Loops, ...]:
    """Padded taps count: every output value is a full sum of c_i/groups x taps products."""
    geometry = _geometry(call)
    groups, k = geometry.groups, geometry.c_i // geometry.groups * prod(geometry.taps)
    n = geometry.frame.maps * prod(geometry.output)
    return (Loops(geometry.c_o // groups, n, k, groups * _parts(call), im2col_elements=groups * k * n),)


def _lane_macs(call: Call, lanes: int) -> int:
    """Channels of the input and of the result are computed so many at a time, those of each group for themselves; of a depthwise one
    these are the groups.  A few channels at the input are read as they lie: those of an image.
    """
    geometry = _geometry(call)
    groups, ins, outs = geometry.groups, geometry.c_i // geometry.groups, geometry.c_o // geometry.groups
    each = prod(geometry.taps) * geometry.frame.maps * prod(geometry.output) * _parts(call)
    if ins == 1 and groups > 1:
        return rounded_up(groups * outs, lanes) * each
    return groups * rounded_up(outs, lanes) * (ins if ins <= _IMAGE_CHANNELS else rounded_up(ins, lanes)) * each


def unrolled_elements(call: Call) -> int:
    """Elements of the unrolled input that a convolution has to make to become a matrix product, over the whole batch.

    None, 0, for a depthwise one, which is no matrix product, and for a pointwise one (one tap, stride 1, no padding), whose
    input is unrolled as it is.  Raises ``GraphError`` as the shape rule does.
    """
    geometry = _geometry(call)
    is_depthwise = geometry.groups == geometry.c_i > 1
    is_pointwise = prod(geometry.taps) == 1 and geometry.output == geometry.frame.sizes
    return 0 if is_depthwise or is_pointwise else _loops(call)[0].im2col_elements


def _depthwise_overwrites(call: Call, name: str, operand: TensorType) -> int | None:
    """A depthwise layer needs a channel of x only for that of its result: it is written over it, by way of a spare channel.

    With a stride the results close up, so that x and result take the larger of the two (MCUNetV2, Lin et al. 2021).
    """
    if name != "x":
        return None
    geometry = _geometry(call)
    if not geometry.groups == geometry.c_i == geometry.c_o:
        return None
    return prod(geometry.output)


def _halo(call: Call, box: Box) -> Needs | None:
    """Rows and columns under the taps, and every channel of x for all of those of the result."""
    geometry = _geometry(call)
    if box[geometry.frame.channel_axis] != (0, geometry.c_o):
        return None
    spans = list(sliding_box(call, box, geometry.frame, geometry.taps))
    spans[geometry.frame.channel_axis] = Span(0, geometry.c_i)
    return {("x", 0): tuple(spans)}


def _parted(call: Call, box: Box, needed: Needs, there: Needs) -> Mapping[str, Attribute]:
    axes = _geometry(call).frame.axes
    return {"padding": padding_between(axes, needed["x", 0], there["x", 0])}


def _transposed_padding(call: Call, geometry: _Geometry) -> tuple[int, ...] | None:
    """What is cropped before each spatial axis; None where sizes of the result are given that do not say where they lie."""
    rank = len(geometry.taps)
    stride = per_axis(call.integers("stride"), rank, "stride")
    dilation = per_axis(call.integers("dilation"), rank, "dilation")
    if call["padding"] in ("same_upper", "same_lower"):
        all_ = zip(geometry.frame.sizes, geometry.taps, stride, dilation, geometry.output, strict=True)
        totals = [max((size - 1) * s + d * (k - 1) + 1 - output, 0) for size, k, s, d, output in all_]
        return tuple(total // 2 if call["padding"] == "same_upper" else total - total // 2 for total in totals)
    pads = explicit_padding(call["padding"], rank)
    if call["output_size"] != () and call["padding"] != "valid":
        plain = Call(call.operands, {**call.attributes, "output_size": ()}, call.outputs)
        if any(before != after for before, after in pads):
            return None
        if _transposed_output(plain, geometry.frame.sizes, geometry.taps) != geometry.output:
            return None
    return tuple(before for before, _ in pads)


def _transposed_halo(call: Call, box: Box) -> Needs | None:
    """The rows and columns whose products land in the part, and every channel; one at least, where none do."""
    geometry = _transposed_geometry(call)
    befores = _transposed_padding(call, geometry)
    frame, rank = geometry.frame, len(geometry.taps)
    if befores is None or box[frame.channel_axis] != (0, geometry.c_o):
        return None
    spans = list(box)
    spans[frame.channel_axis] = Span(0, geometry.c_i)
    stride = per_axis(call.integers("stride"), rank, "stride")
    dilation = per_axis(call.integers("dilation"), rank, "dilation")
    for axis, size, k, s, d, before in zip(
        frame.axes, frame.sizes, geometry.taps, stride, dilation, befores, strict=True
    ):
        first, last = box[axis].start + before, box[axis].stop - 1 + before
        start = min(-((d * (k - 1) - first) // s), first // s, size - 1)
        spans[axis] = Span(start, max(last // s, start) + 1)
    return {("x", 0): tuple(spans)}


def _transposed_parted(call: Call, box: Box, needed: Needs, there: Needs) -> Mapping[str, Attribute]:
    """Of what the rows and columns that are there make, the part: cropped, or with places behind it that no product lands in."""
    geometry = _transposed_geometry(call)
    frame, rank = geometry.frame, len(geometry.taps)
    stride = per_axis(call.integers("stride"), rank, "stride")
    dilation = per_axis(call.integers("dilation"), rank, "dilation")
    befores, afters, more = [], [], []
    cropped = _transposed_padding(call, geometry) or ()
    for axis, k, s, d, before in zip(frame.axes, geometry.taps, stride, dilation, cropped, strict=True):
        have = there["x", 0][axis]
        befores.append(max(box[axis].start + before - have.start * s, 0))
        left = (have.size - 1) * s + d * (k - 1) + 1 - befores[-1] - box[axis].size
        afters.append(max(left, 0))
        more.append(max(-left, 0))
    return {"padding": (*befores, *afters), "output_padding": tuple(more), "output_size": ()}


def _transposed_loops(call: Call) -> tuple[Loops, ...]:
    """Every input value meets c_o/groups x taps weights once, wherever the products land and whatever is cropped."""
    geometry = _transposed_geometry(call)
    groups, n = geometry.groups, geometry.frame.maps * prod(geometry.frame.sizes)
    m = geometry.c_o // groups * prod(geometry.taps)
    return (Loops(m, n, geometry.c_i // groups, groups * _parts(call), im2col_elements=groups * m * n),)


def _infer_deformable(call: Call) -> tuple[TensorType, ...]:
    geometry = _geometry(call)
    offset_groups = call.integer("offset_groups")
    if offset_groups < 1 or geometry.c_i % offset_groups:
        raise GraphError(f"{geometry.c_i} channels cannot be split into {offset_groups} offset groups")
    points = offset_groups * prod(geometry.taps)
    for name, channels in (("offset", points * len(geometry.taps)), ("mask", points)):
        expected = geometry.frame.shape(channels, geometry.output)
        if call.has(name) and call.all(name)[0].shape != expected:
            raise GraphError(f"the {name} has the shape {call.all(name)[0].shape}, not {expected}")
    return (TensorType(geometry.frame.shape(geometry.c_o, geometry.output), call.x.dtype),)


def _deformable_work(call: Call) -> Work:
    """Each unrolled value is interpolated between 2^axes neighbours, one axis after the other.

    One interpolation step is a + t x (b - a).  A sampling point costs two additions an axis (offset, fraction); a mask
    costs a multiplication for every unrolled value.
    """
    geometry = _geometry(call)
    axes, (loops,) = len(geometry.taps), _loops(call)
    steps = (2**axes - 1) * loops.im2col_elements
    points = call.integer("offset_groups") * prod(geometry.taps) * loops.n
    masked = loops.im2col_elements if call.has("mask") else 0
    bias = call.outputs[0].elements if call.has("b") else 0
    return Work(add=2 * steps + 2 * axes * points + bias, mul=steps + masked)


def _time_of(geometry: _Geometry) -> str:
    if geometry.groups > 1:
        alone = geometry.groups == geometry.c_i
        return TimeClass.DEPTHWISE_CONVOLUTION if alone else TimeClass.GROUPED_CONVOLUTION
    return TimeClass.POINTWISE_CONVOLUTION if prod(geometry.taps) == 1 else TimeClass.DENSE_CONVOLUTION


def _time(call: Call) -> str:
    """Depthwise where each group has one channel of the input, else grouped; of one group pointwise where the kernel is one value."""
    return _time_of(_geometry(call))


def _transposed_time(call: Call) -> str:
    """Depthwise where each group has one channel of the input, else grouped; of one group pointwise where the kernel is one value."""
    return _time_of(_transposed_geometry(call))


CONVOLUTION_OPERATORS: Final = (
    Op(
        "conv",
        Kind.CONTRACTION,
        f"x w:weight b:bias? {QUANTISED_SLOTS}",
        _infer,
        contraction_work,
        loops=_loops,
        multiplies=multiplied_types,
        attributes={**_COMMON, **QUANTISED, "weight_layout": "oi_spatial"},
        fuses=True,
        summary="convolution with groups, stride, dilation and padding; quantised too; padded taps count",
        may_overwrite=_depthwise_overwrites,
        halo=_halo,
        parted=_parted,
        time=_time,
        lane_macs=_lane_macs,
    ),
    Op(
        "conv_transpose",
        Kind.CONTRACTION,
        f"x w:weight b:bias? {QUANTISED_SLOTS}",
        _infer_transposed,
        contraction_work,
        loops=_transposed_loops,
        multiplies=multiplied_types,
        attributes={**_COMMON, **QUANTISED, "weight_layout": "io_spatial", "output_padding": 0, "output_size": ()},
        fuses=True,
        summary="transposed convolution; each product of an input value counts once",
        halo=_transposed_halo,
        parted=_transposed_parted,
        time=_transposed_time,
    ),
    Op(
        "deformable_conv",
        Kind.CONTRACTION,
        "x w:weight offset b:bias? mask?",
        _infer_deformable,
        _deformable_work,
        loops=_loops,
        multiplies=lambda call: types_of(call, "x", "w"),
        attributes={
            **{name: value for name, value in _COMMON.items() if name != "output_dtype"},
            "weight_layout": "oi_spatial",
            "offset_groups": 1,
        },
        fuses=True,
        summary="convolution that samples its input at learned offsets, by linear interpolation",
        halo=needs_all,
        time=_time,
        lane_macs=_lane_macs,
    ),
)
