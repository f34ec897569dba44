"""Pools: sliding windows, whole maps, adaptive windows, and the way back.  Batched or not, in both layouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import gcd, prod
from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType

from .halo import Box, Needs, Span, needs_all, nothing_differs, padding_between
from .record import REQUIRED, Call, Keeps, Kind, Op, Work, nothing
from .rules import number, when_known
from .shapes import (
    Frame,
    asked_outputs,
    explicit_padding,
    frame_of,
    per_axis,
    sliding_box,
    sliding_output,
    sliding_padding,
)
from .time_class import TimeClass

__all__ = ["POOLING_OPERATORS"]

_LAYOUT: Final[dict[str, Attribute]] = {"layout": "channels_first"}
_WINDOW: Final[dict[str, Attribute]] = {
    "kernel": REQUIRED,
    "stride": REQUIRED,
    "padding": 0,
    "dilation": 1,
    "ceil_mode": False,
    **_LAYOUT,
}
_INDICES: Final[dict[str, Attribute]] = {"outputs": ("y",)}


def _spatial_frame(call: Call, name: str) -> tuple[Frame, Shape]:
    """The input as a feature map, and the attribute ``name`` for each of its spatial axes.

    Several values say how many spatial axes there are, so the map may lack a batch axis; a lone one holds for all axes
    of a batched map (or for the one axis of an unbatched map of two dimensions).
    """
    values = call.integers(name)
    rank = len(values) if len(values) > 1 else max(len(call.x.shape) - 2, 1)
    return frame_of(call.x, rank, call.text("layout")), per_axis(values, rank, name)


def _window_result(call: Call) -> tuple[Frame, Shape, Shape]:
    """(map, kernel, output sizes) of a pool with a sliding window."""
    frame, kernel = _spatial_frame(call, "kernel")
    return frame, kernel, sliding_output(call, frame.sizes, kernel, ceil_mode=bool(call.integer("ceil_mode")))


def _infer_window(call: Call) -> tuple[TensorType, ...]:
    frame, _, output = _window_result(call)
    return (TensorType(frame.shape(frame.channels, output), call.x.dtype),)


def _with_indices(call: Call, shape: Shape) -> tuple[TensorType, ...]:
    return asked_outputs(call, {"y": TensorType(shape, call.x.dtype), "indices": TensorType(shape, DTYPES["int64"])})


def _infer_max_window(call: Call) -> tuple[TensorType, ...]:
    frame, _, output = _window_result(call)
    return _with_indices(call, frame.shape(frame.channels, output))


def _global_frame(call: Call) -> Frame:
    """All axes but batch and channels are one window."""
    frame = frame_of(call.x, len(call.x.shape) - 2, call.text("layout"))
    if 0 in frame.sizes:
        raise GraphError(f"there is nothing to pool in a map of {frame.sizes}")
    return frame


def _infer_global(call: Call) -> tuple[TensorType, ...]:
    frame = _global_frame(call)
    return (TensorType(frame.shape(frame.channels, (1,) * len(frame.sizes)), call.x.dtype),)


def _adaptive(call: Call) -> tuple[Frame, Shape]:
    frame, output = _spatial_frame(call, "output_size")
    if min(output) < 1 or 0 in frame.sizes:
        raise GraphError(f"a map of {frame.sizes} cannot be pooled to {output}")
    return frame, output


def _infer_adaptive(call: Call) -> tuple[TensorType, ...]:
    frame, output = _adaptive(call)
    return (TensorType(frame.shape(frame.channels, output), call.x.dtype),)


def _infer_adaptive_max(call: Call) -> tuple[TensorType, ...]:
    frame, output = _adaptive(call)
    return _with_indices(call, frame.shape(frame.channels, output))


def _fractional(call: Call) -> tuple[Frame, Shape, Shape]:
    """(map, kernel, output sizes): windows of one size at places that random numbers set."""
    frame, kernel = _spatial_frame(call, "kernel")
    output = per_axis(call.integers("output_size"), len(kernel), "output_size")
    for size, k, o in zip(frame.sizes, kernel, output, strict=True):
        if min(k, o) < 1 or o + k - 1 > size:
            raise GraphError(f"{o} windows of {k} do not fit {size} places")
    return frame, kernel, output


def _infer_fractional(call: Call) -> tuple[TensorType, ...]:
    frame, _, output = _fractional(call)
    return _with_indices(call, frame.shape(frame.channels, output))


def _fractional_taps(call: Call) -> tuple[int, int]:
    frame, kernel, output = _fractional(call)
    results = frame.maps * frame.channels * prod(output)
    return results, results * prod(kernel)


def _window_taps(call: Call) -> tuple[int, int]:
    """(results, values that all windows hold together), padding included."""
    frame, kernel, output = _window_result(call)
    results = frame.maps * frame.channels * prod(output)
    return results, results * prod(kernel)


def _global_taps(call: Call) -> tuple[int, int]:
    frame = _global_frame(call)
    results = frame.maps * frame.channels
    return results, results * prod(frame.sizes)


def _adaptive_taps(call: Call) -> tuple[int, int]:
    """Window i of an axis goes from floor(i n / o) to ceil((i + 1) n / o): n + o - gcd(n, o) values in all o windows."""
    frame, output = _adaptive(call)
    maps = frame.maps * frame.channels
    held = prod(n + o - gcd(n, o) for n, o in zip(frame.sizes, output, strict=True))
    return maps * prod(output), maps * held


_Taps = Callable[[Call], tuple[int, int]]


def _max_work(taps: _Taps) -> Callable[[Call], Work]:
    def work(call: Call) -> Work:
        """1 compare between two values of a window."""
        results, values = taps(call)
        return Work(compare=values - results)

    return work


def _average_work(taps: _Taps) -> Callable[[Call], Work]:
    def work(call: Call) -> Work:
        """1 add between two values of a window, 1 div a result."""
        results, values = taps(call)
        return Work(add=values - results, div=results)

    return work


def _halo(call: Call, box: Box) -> Needs | None:
    """Rows and columns under the windows; with the indices of a maximum, which count through the whole map, all."""
    if call.attributes.get("outputs", ("y",)) != ("y",):
        return None
    frame, kernel, _ = _window_result(call)
    return {("x", 0): sliding_box(call, box, frame, kernel)}


def _parted(call: Call, box: Box, needed: Needs, there: Needs) -> Mapping[str, Attribute]:
    """The padding that is left; a last window that reaches over it (``ceil_mode``) does so in a part too, as it is no padding there."""
    frame, kernel, _ = _window_result(call)
    padding = padding_between(frame.axes, needed["x", 0], there["x", 0])
    over = [
        max(needed["x", 0][axis].stop - size - after, 0)
        for axis, size, (_, after) in zip(
            frame.axes, frame.sizes, sliding_padding(call, frame.sizes, kernel), strict=True
        )
    ]
    rank = len(frame.axes)
    afters = tuple(max(after - more, 0) for after, more in zip(padding[rank:], over, strict=True))
    return {"padding": (*padding[:rank], *afters), "ceil_mode": call["ceil_mode"] if any(over) else False}


def _adaptive_halo(call: Call, box: Box) -> Needs | None:
    """Of windows that are alike those of the part; of others, along an axis of which a part is asked for, all of it."""
    if call.attributes.get("outputs", ("y",)) != ("y",):
        return None
    frame, output = _adaptive(call)
    spans = list(box)
    for axis, size, results in zip(frame.axes, frame.sizes, output, strict=True):
        if size % results or results == 1:
            return None
        spans[axis] = Span(box[axis].start * (size // results), box[axis].stop * (size // results))
    return {("x", 0): tuple(spans)}


def _adaptive_parted(call: Call, box: Box, needed: Needs, there: Needs) -> Mapping[str, Attribute]:
    """As many windows as the part has results."""
    frame, _ = _adaptive(call)
    return {"output_size": tuple(box[axis].size for axis in frame.axes)}


_RULES: Final = {"kernel": (_halo, _parted), "output_size": (_adaptive_halo, _adaptive_parted)}
"""For windows of a size, and for so many windows."""


def _norm_work(taps: _Taps) -> Callable[[Call], Work]:
    def work(call: Call) -> Work:
        """1 add between two values of a window; a value 1 mul (p = 2), 1 compare (p = 1), else 1 compare and 1 special for |x|^p.

        The p-th root is 1 special a result, unless p is 1; of the mean in place of the sum 1 div more.
        """
        results, values = taps(call)
        p, shared = number(call, "p"), Work(add=values - results, div=results if call.attributes.get("mean") else 0)
        if p == 1:
            return shared.plus(Work(compare=values))
        if p == 2:
            return shared.plus(Work(mul=values, special=results))
        return shared.plus(Work(compare=values, special=values + results))

    return work


@when_known("output_size")
def _infer_unpool(call: Call) -> tuple[TensorType | DType, ...]:
    """The size a max pool without ceil mode came from, (size - 1) x stride + kernel - padding, unless ``output_size`` is given."""
    frame, kernel = _spatial_frame(call, "kernel")
    if call.indices.shape != call.x.shape:
        raise GraphError(f"the indices have the shape {call.indices.shape}, the values {call.x.shape}")
    rank = len(kernel)
    stride = per_axis(call.integers("stride"), rank, "stride")
    output: Shape
    if call["output_size"] != ():
        output = per_axis(call.integers("output_size"), rank, "output_size")
    else:
        pads = [before + after for before, after in explicit_padding(call["padding"], rank)]
        output = tuple(
            (size - 1) * s + k - pad for size, s, k, pad in zip(frame.sizes, stride, kernel, pads, strict=True)
        )
    if min(*kernel, *stride, *output) < 1:
        raise GraphError(f"kernel {kernel} and stride {stride} give a result of {output}")
    return (TensorType(frame.shape(frame.channels, output), call.x.dtype),)


def _pool(
    name: str,
    infer: Callable[[Call], tuple[TensorType, ...]],
    work: Callable[[Call], Work],
    attributes: dict[str, Attribute],
    summary: str,
    keeps: str = "",
) -> Op:
    halo, parted = next((rules for given, rules in _RULES.items() if given in attributes), (needs_all, nothing_differs))
    return Op(
        name,
        Kind.POOLING,
        "x",
        infer,
        work,
        attributes=attributes,
        summary=summary,
        does_nothing=_of_single_values,
        keeps=keeps,
        halo=halo,
        parted=parted,
        time=_time,
    )


def _time(call: Call) -> str:
    """One window for the whole map is a reduction, whatever it is called."""
    frame = frame_of(call.outputs[0], len(call.x.shape) - 2, call.text("layout"))
    return TimeClass.REDUCTION if set(frame.sizes) == {1} else TimeClass.POOLING


def _of_single_values(call: Call) -> bool:
    """Whether every window is one value, so that the largest of it or the mean is the value; a norm is its magnitude."""
    if "p" in call.attributes:
        return False
    kernel = call.integers("kernel") if "kernel" in call.attributes else (1,)
    return set(kernel) == {1} and call.outputs[0].shape == call.x.shape


_ADAPTIVE: Final[dict[str, Attribute]] = {"output_size": REQUIRED, **_LAYOUT}

POOLING_OPERATORS: Final = (
    _pool(
        "max_pool",
        _infer_max_window,
        _max_work(_window_taps),
        {**_WINDOW, **_INDICES},
        "largest value of each window; the outputs may include the indices",
    ),
    _pool(
        "average_pool",
        _infer_window,
        _average_work(_window_taps),
        {**_WINDOW, "count_include_pad": False},
        "mean of each window; padded places count as additions",
    ),
    _pool(
        "lp_pool",
        _infer_window,
        _norm_work(_window_taps),
        {**_WINDOW, "p": 2, "mean": False},
        "p-norm of each window, of the mean of its values where asked for",
        keeps=Keeps.INPUT,
    ),
    _pool("global_max_pool", _infer_global, _max_work(_global_taps), _LAYOUT, "largest value of each channel"),
    _pool("global_average_pool", _infer_global, _average_work(_global_taps), _LAYOUT, "mean of each channel"),
    _pool(
        "global_lp_pool",
        _infer_global,
        _norm_work(_global_taps),
        {**_LAYOUT, "p": 2},
        "p-norm of each channel",
        keeps=Keeps.INPUT,
    ),
    _pool(
        "adaptive_max_pool",
        _infer_adaptive_max,
        _max_work(_adaptive_taps),
        {**_ADAPTIVE, **_INDICES},
        "largest value of each of output_size windows, which may overlap",
    ),
    _pool(
        "adaptive_average_pool",
        _infer_adaptive,
        _average_work(_adaptive_taps),
        _ADAPTIVE,
        "mean of each of output_size windows, which may overlap",
    ),
    Op(
        "fractional_max_pool",
        Kind.POOLING,
        "x samples:control",
        _infer_fractional,
        _max_work(_fractional_taps),
        attributes={"kernel": REQUIRED, "output_size": REQUIRED, **_LAYOUT, **_INDICES},
        summary="largest value of each of output_size windows, placed at random",
    ),
    Op(
        "max_unpool",
        Kind.MOVE,
        "x indices:control",
        _infer_unpool,
        nothing,
        attributes={"kernel": REQUIRED, "stride": REQUIRED, "padding": 0, "output_size": (), **_LAYOUT},
        summary="puts the results of a max pool back where their indices say, zeros elsewhere",
    ),
)
