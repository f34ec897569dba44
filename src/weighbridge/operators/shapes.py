"""Shape arithmetic that several operators share: broadcasting, and the sliding window of convolutions and pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from weighbridge.dtypes import DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType
from weighbridge.named_tuple import NamedTuple

from .halo import Box, under_windows
from .record import Call

__all__ = [
    "Frame",
    "asked_outputs",
    "axis_of",
    "broadcast",
    "explicit_padding",
    "frame_of",
    "per_axis",
    "sliding_box",
    "sliding_output",
    "sliding_padding",
    "window_output",
    "window_padding",
]


def broadcast(*shapes: Shape) -> Shape:
    """The common shape by numpy's rules: aligned at the last axis, a 1 stretches.  Raises ``GraphError`` if there is none."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    result = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(sizes) > 1:
            raise GraphError(f"the shapes {' and '.join(map(_show, shapes))} do not broadcast")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def _show(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "scalar"


def axis_of(axis: int, rank: int) -> int:
    """``axis`` counted from the front.  Raises ``GraphError`` outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise GraphError(f"axis {axis} does not exist in {rank} dimensions")
    return axis % rank


def per_axis(values: tuple[int, ...], rank: int, name: str) -> tuple[int, ...]:
    """One value for every spatial axis; a lone one holds for all."""
    if len(values) == 1:
        return values * rank
    if len(values) != rank:
        raise GraphError(f"{name} has {len(values)} values for {rank} spatial dimensions")
    return values


class Frame(NamedTuple):
    """A feature map taken apart: how many maps (None without a batch axis), channels, spatial sizes, and the order of its axes."""

    batch: int | None
    channels: int
    sizes: Shape
    layout: str

    @property
    def axes(self) -> range:
        """Where the spatial axes stand."""
        first = (0 if self.batch is None else 1) + (1 if self.layout == "channels_first" else 0)
        return range(first, first + len(self.sizes))

    @property
    def channel_axis(self) -> int:
        """Where the channels stand."""
        return self.axes.start - 1 if self.layout == "channels_first" else self.axes.stop

    @property
    def maps(self) -> int:
        """How many maps there are."""
        return 1 if self.batch is None else self.batch

    def shape(self, channels: int, sizes: Shape) -> Shape:
        """The shape of a map like this one, with other channels and sizes."""
        first = () if self.batch is None else (self.batch,)
        return (*first, channels, *sizes) if self.layout == "channels_first" else (*first, *sizes, channels)


def frame_of(x: TensorType, spatial_rank: int, layout: str) -> Frame:
    """``x`` as a feature map over ``spatial_rank`` axes, with or without a batch.

    ``layout`` is ``channels_first`` (N C *) or ``channels_last`` (N * C).  Raises ``GraphError`` if the ranks disagree.
    """
    if layout not in ("channels_first", "channels_last"):
        raise GraphError(f"there is no layout {layout!r}", hint="it is channels_first or channels_last")
    extra = len(x.shape) - spatial_rank
    if spatial_rank < 0 or extra not in (1, 2):
        raise GraphError(f"an input of {len(x.shape)} dimensions under a window of {spatial_rank}")
    batch, rest = (x.shape[0], x.shape[1:]) if extra == 2 else (None, x.shape)
    if layout == "channels_first":
        return Frame(batch, rest[0], rest[1:], layout)
    return Frame(batch, rest[-1], rest[:-1], layout)


Result = TypeVar("Result", bound=TensorType | DType)


def asked_outputs(call: Call, types: Mapping[str, Result]) -> tuple[Result, ...]:
    """The types of the outputs that the attribute ``outputs`` names, in the operator's order; ``types`` are all it can make.

    An optional output that nobody reads is not asked for, so it takes no memory.
    """
    value = call["outputs"]
    names = value if isinstance(value, tuple) else (value,)
    if not names or any(name not in types for name in names):
        raise GraphError(f"outputs must be some of {', '.join(types)}, not {value!r}")
    asked = tuple(kind for name, kind in types.items() if name in names)
    if len(asked) != len(names):
        raise GraphError(f"outputs names one twice: {value!r}")
    return asked


def window_padding(
    padding: Attribute, sizes: Shape, kernel: Shape, stride: Shape, dilation: Shape
) -> tuple[tuple[int, int], ...]:
    """(before, after) for every spatial axis.

    ``padding`` is ``"valid"``, ``"same_upper"`` (TensorFlow's SAME: the odd element goes behind), ``"same_lower"``, one
    number, one a axis, or all the befores and then all the afters (ONNX ``pads``).
    """
    _check_window(kernel, stride, dilation)
    rank = len(sizes)
    if padding in ("same_upper", "same_lower"):
        totals = [
            max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
            for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True)
        ]
        halves = [(total // 2, total - total // 2) for total in totals]
        return tuple(halves if padding == "same_upper" else [(b, a) for a, b in halves])
    return explicit_padding(padding, rank)


def _check_window(kernel: Shape, stride: Shape, dilation: Shape) -> None:
    for k, s, d in zip(kernel, stride, dilation, strict=True):
        if k < 1 or s < 1 or d < 1:
            raise GraphError(f"kernel {k}, stride {s} and dilation {d} must be at least 1")


def explicit_padding(padding: Attribute, rank: int) -> tuple[tuple[int, int], ...]:
    """(before, after) for every spatial axis where ``padding`` is ``"valid"`` or given in numbers."""
    if padding in ("valid", 0):
        return ((0, 0),) * rank
    values = padding if isinstance(padding, tuple) else (padding,)
    numbers = tuple([int(value) for value in values if isinstance(value, int) and value >= 0])
    if len(numbers) != len(values):
        raise GraphError(f"padding cannot be {padding!r}")
    if len(numbers) == 2 * rank and rank > 0:
        return tuple(zip(numbers[:rank], numbers[rank:], strict=True))
    each = per_axis(numbers, rank, "padding")
    return tuple(zip(each, each, strict=True))


def window_output(
    sizes: Shape,
    kernel: Shape,
    stride: Shape,
    dilation: Shape,
    padding: tuple[tuple[int, int], ...],
    *,
    ceil_mode: bool = False,
) -> Shape:
    """How many windows fit along each axis.

    With ``ceil_mode`` a last window may reach over the end by less than a stride if it starts inside the input or the
    padding before it (PyTorch's rule, and ONNX's since opset 19).  Raises ``GraphError`` where no window fits.
    """
    _check_window(kernel, stride, dilation)
    result = []
    for size, k, s, d, (before, after) in zip(sizes, kernel, stride, dilation, padding, strict=True):
        span = size + before + after - (d * (k - 1) + 1)
        count = span // s + 1
        if ceil_mode and span % s and count * s < size + before:
            count += 1
        if count < 1:
            raise GraphError(f"a window of {d * (k - 1) + 1} does not fit an input of {size + before + after}")
        result.append(count)
    return tuple(result)


def sliding_box(call: Call, box: Box, frame: Frame, kernel: Shape) -> Box:
    """What of x lies under the windows of a part of the result, by the attributes ``stride``, ``dilation`` and ``padding`` of a call."""
    rank = len(kernel)
    stride = per_axis(call.integers("stride"), rank, "stride")
    dilation = per_axis(call.integers("dilation"), rank, "dilation")
    padding = sliding_padding(call, frame.sizes, kernel)
    return under_windows(box, frame.axes, kernel, stride, dilation, padding)


def sliding_padding(call: Call, sizes: Shape, kernel: Shape) -> tuple[tuple[int, int], ...]:
    """(before, after) for every spatial axis, by the attributes ``stride``, ``dilation`` and ``padding`` of a call."""
    rank = len(sizes)
    stride = per_axis(call.integers("stride"), rank, "stride")
    dilation = per_axis(call.integers("dilation"), rank, "dilation")
    return window_padding(call["padding"], sizes, kernel, stride, dilation)


def sliding_output(call: Call, sizes: Shape, kernel: Shape, *, ceil_mode: bool = False) -> Shape:
    """How many windows fit along each axis, by the attributes ``stride``, ``dilation`` and ``padding`` of a call."""
    rank = len(sizes)
    stride = per_axis(call.integers("stride"), rank, "stride")
    dilation = per_axis(call.integers("dilation"), rank, "dilation")
    padding = sliding_padding(call, sizes, kernel)
    return window_output(sizes, kernel, stride, dilation, padding, ceil_mode=ceil_mode)
