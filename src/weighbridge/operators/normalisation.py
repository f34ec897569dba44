"""Softmax and the normalisations.

Work is stated for each element and for each group that is normalised together (a row):

- softmax: an element 1 compare (largest), 2 add (subtract it, sum), 1 special, 1 div, and 1 mul by a factor; log-softmax: 3 add
  (subtract the largest, sum, subtract the log), 1 compare, 1 special, and a row 1 add, 1 special; hardmax: 2 compare;
- batch norm at inference: 1 mul, 1 add, as scale / sqrt(variance + epsilon) and the shift are constants; in training as layer
  norm with the channels as rows, and 2 mul, 1 add for each of the two running statistics, where there are any;
- layer, group and instance norm: an element 3 add (mean, centring, variance), 2 mul (square, times the inverse deviation), 1 mul
  for a scale, 1 add for a bias; a row 3 div (two means, inverse), 1 add (epsilon), 1 special (square root);
- RMS norm: an element 1 add, 2 mul, 1 mul for a scale; a row 2 div, 1 add, 1 special;
- local response norm: an element 2 mul (square, alpha), size adds (the window is summed nominally, as if no edge cut it),
  1 add (bias), 1 special (power), 1 div;
- Lp norm: an element 1 add and 1 div, and 1 mul (p = 2) or 1 compare (p = 1); a row 1 special where p = 2; by the largest
  absolute value an element 2 compare and 1 div.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Final

from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Shape, TensorType

from .halo import Box, Needs
from .halo_axes import all_but_images, along, from_axis_on, mean_variance_halo, of_channels
from .record import REQUIRED, Call, Keeps, Kind, Op, Work
from .rules import axes_of, dtype_of, each
from .shapes import asked_outputs, axis_of, broadcast
from .time_class import TimeClass

__all__ = ["NORMALISATION_OPERATORS", "SOFTMAX", "log_softmax"]

_STATISTICS: Final = ("mean", "variance")

SOFTMAX: Final = Work(add=2, compare=1, special=1, div=1)
"""A softmax's work on an element."""


def log_softmax(elements: int, rows: int) -> Work:
    """The work of a log-softmax of so many elements in so many rows."""
    return Work(add=3, compare=1, special=1).times(elements).plus(Work(add=1, special=1).times(rows))


def _along_axis(call: Call) -> tuple[TensorType, ...]:
    """An axis equal to the rank is allowed where it flattens (nothing is left behind it)."""
    axis, rank = call.integer("axis"), len(call.x.shape)
    if not (rank == 0 and axis in (-1, 0)) and not (call.attributes.get("flatten") and axis == rank):
        axis_of(axis, rank)
    return (call.x,)


def _softmax_work(call: Call) -> Work:
    """2 add, 1 div, 1 compare, 1 special an element, and 1 mul for a ``beta`` other than 1."""
    work = SOFTMAX.times(call.x.elements)
    return work if call["beta"] == 1 else work.plus(Work(mul=call.x.elements))


def _log_softmax_work(call: Call) -> Work:
    """3 add, 1 compare, 1 special an element; 1 add, 1 special a row."""
    axis, shape = call.integer("axis"), call.x.shape
    row = prod(shape[axis:]) if call["flatten"] or not shape else shape[axis]
    return log_softmax(call.x.elements, call.x.elements // row if row else 0)


def _channels(call: Call) -> int:
    """Size of the channel axis; 1 for a tensor of one dimension, which is a batch."""
    rank = len(call.x.shape)
    if call.text("layout") not in ("channels_first", "channels_last"):
        raise GraphError(f"there is no layout {call['layout']!r}")
    if rank < 2:
        return 1
    return call.x.shape[1 if call["layout"] == "channels_first" else -1]


def _check_channels(call: Call, *names: str) -> None:
    channels = _channels(call)
    for name in names:
        if call.has(name) and call.operands[name][0].elements != channels:
            raise GraphError(f"{name} has {call.operands[name][0].elements} elements for {channels} channels")


def _batch_norm(call: Call) -> tuple[TensorType, ...]:
    """``mean`` and ``variance`` are the running statistics, updated; the batch's own have float32 values, one a channel."""
    _check_channels(call, *_STATISTICS, "scale", "bias")
    if not call["training"] and not all(map(call.has, _STATISTICS)):
        raise GraphError("batch norm at inference needs the running mean and variance")
    one = TensorType((_channels(call),), DTYPES["float32"])
    own = {"y": call.x, "batch_mean": one, "inverse_deviation": one} if call["training"] else {"y": call.x}
    return asked_outputs(call, {**own, **{name: call.all(name)[0] for name in _STATISTICS if call.has(name)}})


def _batch_norm_halo(call: Call, box: Box) -> Needs | None:
    """What is where the result is; the statistics of a batch are those of whole maps."""
    return None if call["training"] else of_channels(call, box)


def _batch_norm_work(call: Call) -> Work:
    """1 add, 1 mul an element; in training as layer norm by channels, and 1 add, 2 mul a running statistic."""
    if not call["training"]:
        return Work(add=1, mul=1).times(call.x.elements)
    channels = _channels(call)
    return _moments(call, channels).plus(_running(call).times(channels))


def _running(call: Call) -> Work:
    """The update of one channel's running statistics: momentum times one, its rest times the other, added."""
    return Work(add=1, mul=2).times(sum(map(call.has, _STATISTICS)))


def _moments(call: Call, rows: int) -> Work:
    """3 add, 2 mul an element, 1 mul for a scale, 1 add for a bias; 1 add, 3 div, 1 special a row."""
    scaled, shifted = int(call.has("scale")), int(call.has("bias"))
    done = Work(add=3 + shifted, mul=2 + scaled).times(call.x.elements)
    return done.plus(Work(add=1, div=3, special=1).times(rows))


def _tail(call: Call) -> Shape:
    """The dimensions from ``axis`` on, which are normalised together; scale and bias stretch to them."""
    axis = axis_of(call.integer("axis"), len(call.x.shape))
    shape = call.x.shape[axis:]
    for name in ("scale", "bias"):
        if call.has(name) and broadcast(call.operands[name][0].shape, shape) != shape:
            raise GraphError(f"{name} of shape {call.operands[name][0].shape} does not fit {shape}")
    return shape


def _rows(call: Call) -> Shape:
    axis = axis_of(call.integer("axis"), len(call.x.shape))
    return call.x.shape[:axis]


def _layer_norm(call: Call) -> tuple[TensorType, ...]:
    tail = _tail(call)
    one = TensorType(_rows(call) + (1,) * len(tail), dtype_of(call, DTYPES["float32"], "statistics_dtype"))
    return asked_outputs(call, {"y": call.x, "mean": one, "inverse_deviation": one})


def _layer_norm_work(call: Call) -> Work:
    """3 add, 2 mul an element, 1 mul for a scale, 1 add for a bias; 1 add, 3 div, 1 special a row: the axes from ``axis`` on."""
    return _moments(call, prod(_rows(call)))


def _rms_norm(call: Call) -> tuple[TensorType, ...]:
    tail = _tail(call)
    one = TensorType(_rows(call) + (1,) * len(tail), dtype_of(call, DTYPES["float32"], "statistics_dtype"))
    return asked_outputs(call, {"y": call.x, "inverse_root": one})


def _rms_norm_work(call: Call) -> Work:
    """1 add, 2 mul an element, 1 mul for a scale; 1 add, 2 div, 1 special a row."""
    scaled = int(call.has("scale"))
    done = Work(add=1, mul=2 + scaled).times(call.x.elements)
    return done.plus(Work(add=1, div=2, special=1).times(prod(_rows(call))))


def _group_norm(call: Call) -> tuple[TensorType, ...]:
    """Scale and bias hold a value for every channel, or (ONNX opset 18) for every group."""
    groups, channels = call.integer("groups"), _channels(call)
    if groups < 1 or channels % groups or len(call.x.shape) < 2:
        raise GraphError(f"{channels} channels are no {groups} groups")
    for name in ("scale", "bias"):
        if call.has(name) and call.operands[name][0].elements not in (channels, groups):
            raise GraphError(f"{name} has {call.operands[name][0].elements} elements for {channels} channels")
    one = TensorType((call.x.shape[0], groups), call.x.dtype)
    return asked_outputs(call, {"y": call.x, "mean": one, "inverse_deviation": one})


def _group_norm_work(call: Call) -> Work:
    """3 add, 2 mul an element, 1 mul for a scale, 1 add for a bias; 1 add, 3 div, 1 special a row: a group of one image."""
    return _moments(call, call.x.shape[0] * call.integer("groups"))


def _instance_norm(call: Call) -> tuple[TensorType, ...]:
    if len(call.x.shape) < 2:
        raise GraphError("instance norm needs a batch and channels")
    _check_channels(call, "scale", "bias", *_STATISTICS)
    return (call.x,)


def _instance_norm_work(call: Call) -> Work:
    """3 add, 2 mul an element, 1 mul for a scale, 1 add for a bias; 1 add, 3 div, 1 special a row: a channel of one image.

    A running statistic takes 1 add, 2 mul a row; 1 add between two images and 1 div a channel for the mean over the images.
    """
    images, channels = call.x.shape[0], _channels(call)
    done = _moments(call, images * channels).plus(_running(call).times(images * channels))
    kept = sum(map(call.has, _STATISTICS)) * channels
    return done.plus(Work(add=max(images - 1, 0), div=1).times(kept))


def _mean_variance(call: Call) -> tuple[TensorType, ...]:
    axes_of(call, len(call.x.shape))
    return (call.x,)


def _mean_variance_work(call: Call) -> Work:
    """3 add, 2 mul an element; 1 add, 3 div, 1 special a row: all ``axes`` together."""
    axes = set(axes_of(call, len(call.x.shape)))
    return _moments(call, prod(size for axis, size in enumerate(call.x.shape) if axis not in axes))


def _local_response(call: Call) -> tuple[TensorType, ...]:
    if call.integer("size") < 1:
        raise GraphError(f"a window of {call['size']} channels")
    return (call.x,)


def _local_response_work(call: Call) -> Work:
    """``size`` + 1 add, 2 mul, 1 div, 1 special an element."""
    size = call.integer("size")
    return Work(add=size + 1, mul=2, div=1, special=1).times(call.x.elements)


def _lp_norm(call: Call) -> tuple[TensorType, ...]:
    if call["p"] not in (1, 2, "max"):
        raise GraphError(f"Lp normalisation has p 1, 2 or max, not {call['p']}")
    axis_of(call.integer("axis"), len(call.x.shape))
    return (TensorType(call.x.shape, dtype_of(call, call.x.dtype)),)


def _lp_norm_work(call: Call) -> Work:
    """1 add, 1 mul, 1 div an element, 1 special a row; for p = 1 1 add, 1 compare, 1 div an element; for ``max`` 2 compare, 1 div."""
    if call["p"] == "max":
        return Work(compare=2, div=1).times(call.x.elements)
    if call["p"] == 1:
        return Work(add=1, compare=1, div=1).times(call.x.elements)
    row = call.x.shape[call.integer("axis")]
    rows = call.x.elements // row if row else 0
    return Work(add=1, mul=1, div=1).times(call.x.elements).plus(Work(special=rows))


_AFFINE: Final = "x scale:affine? bias:affine?"
_WITH_STATISTICS: Final = f"{_AFFINE} mean:statistic? variance:statistic?"
_EPSILON: Final[dict[str, Attribute]] = {"epsilon": 1e-5}
_OUTPUTS: Final[dict[str, Attribute]] = {"outputs": ("y",)}
_LAYOUT: Final[dict[str, Attribute]] = {"layout": "channels_first"}
_SOFTMAX: Final[dict[str, Attribute]] = {"axis": -1, "flatten": False}


def _softmax(name: str, work: Callable[[Call], Work], summary: str, more: Mapping[str, Attribute] | None = None) -> Op:
    attributes = {**_SOFTMAX, **(more or {})}
    return Op(
        name,
        Kind.NORMALISATION,
        "x",
        _along_axis,
        work,
        attributes=attributes,
        summary=summary,
        halo=along,
        time=TimeClass.SOFTMAX,
    )


NORMALISATION_OPERATORS: Final = (
    _softmax("softmax", _softmax_work, "exp(beta x) over its sum along an axis", {"beta": 1.0}),
    _softmax("log_softmax", _log_softmax_work, "log of the softmax"),
    _softmax("hardmax", each(compare=2), "1 at the first largest value along an axis, else 0"),
    Op(
        "batch_norm",
        Kind.NORMALISATION,
        _WITH_STATISTICS,
        _batch_norm,
        _batch_norm_work,
        attributes={**_EPSILON, **_LAYOUT, "training": False, **_OUTPUTS},
        summary="scale and shift of every channel by stored statistics; in training by the batch's",
        halo=_batch_norm_halo,
        keeps=Keeps.OTHERS,
    ),
    Op(
        "layer_norm",
        Kind.NORMALISATION,
        _AFFINE,
        _layer_norm,
        _layer_norm_work,
        attributes={"axis": -1, **_EPSILON, "statistics_dtype": "float32", **_OUTPUTS},
        summary="normalised over all axes from one on; where asked for also mean and inverse deviation",
        halo=from_axis_on,
    ),
    Op(
        "rms_norm",
        Kind.NORMALISATION,
        "x scale:affine?",
        _rms_norm,
        _rms_norm_work,
        attributes={"axis": -1, **_EPSILON, "statistics_dtype": "float32", **_OUTPUTS},
        summary="divided by the root mean square over all axes from one on",
        halo=from_axis_on,
    ),
    Op(
        "group_norm",
        Kind.NORMALISATION,
        _AFFINE,
        _group_norm,
        _group_norm_work,
        attributes={"groups": REQUIRED, **_EPSILON, **_LAYOUT, **_OUTPUTS},
        summary="normalised over the channels of a group and space",
        halo=all_but_images,
    ),
    Op(
        "instance_norm",
        Kind.NORMALISATION,
        _WITH_STATISTICS,
        _instance_norm,
        _instance_norm_work,
        attributes={**_EPSILON, **_LAYOUT},
        summary="normalised over the space of every channel",
        halo=all_but_images,
    ),
    Op(
        "mean_variance_norm",
        Kind.NORMALISATION,
        "x",
        _mean_variance,
        _mean_variance_work,
        attributes={"axes": (0, 2, 3)},
        summary="normalised over axes, without scale and shift",
        halo=mean_variance_halo,
    ),
    Op(
        "local_response_norm",
        Kind.NORMALISATION,
        "x",
        _local_response,
        _local_response_work,
        attributes={"size": REQUIRED, "alpha": 1e-4, "beta": 0.75, "bias": 1.0, **_LAYOUT},
        summary="divided by a power of the squares of neighbouring channels",
        halo=of_channels,
    ),
    Op(
        "lp_norm",
        Kind.NORMALISATION,
        "x",
        _lp_norm,
        _lp_norm_work,
        attributes={"axis": -1, "p": 2, "dtype": ""},
        summary="divided by the L1 or L2 norm, or the largest absolute value, along an axis",
        halo=along,
    ),
)
