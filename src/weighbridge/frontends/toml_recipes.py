"""Learned tensors of a layer from a few numbers: ``out = 64, kernel = 3`` in place of the shape 64x32x3x3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.graph import Attribute, Role, Shape, TensorType
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import REQUIRED, Op

__all__ = ["RECIPES", "Recipe", "Stored", "takes"]

Arguments = Mapping[str, Attribute]


class Stored(NamedTuple):
    """A tensor kept with the model: which operand it is, its name below the layer's, its shape."""

    operand: str
    name: str
    shape: Shape
    role: Role = Role.PARAMETER


class Recipe(NamedTuple):
    """What a layer takes beside its operator's attributes (with defaults), and the tensors that follow from it and its input."""

    takes: Mapping[str, Attribute]
    make: Callable[[Op, TensorType, Arguments], list[Stored]]


def takes(op: Op) -> dict[str, Attribute]:
    """Every argument that a layer of this operator can have, with its default; ``REQUIRED`` where it has none."""
    recipe = RECIPES.get(op.name)
    return {**(recipe.takes if recipe else {}), **op.attributes}


def _whole(arguments: Arguments, name: str) -> int:
    value = arguments[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise GraphError(f"{name} must be a whole number of at least 1, not {value!r}")
    return value


def _kernel(arguments: Arguments, rank: int) -> Shape:
    value = arguments["kernel"]
    sizes = value if isinstance(value, tuple) else (value,) * rank
    if len(sizes) != rank:
        raise GraphError(f"kernel has {len(sizes)} sizes for an input of {rank} spatial dimensions")
    return tuple(_whole({"kernel": size}, "kernel") for size in sizes)


def _channels(x: TensorType, arguments: Arguments) -> int:
    axis = -1 if arguments.get("layout") == "channels_last" else 1
    if len(x.shape) < 2:
        raise GraphError(f"an input of {len(x.shape)} dimensions has no channels")
    return x.shape[axis]


def _truth(arguments: Arguments, name: str) -> bool:
    value = arguments[name]
    if not isinstance(value, bool):
        raise GraphError(f"{name} must be true or false, not {value!r}")
    return value


def _with_bias(weight: Stored, channels: int, arguments: Arguments) -> list[Stored]:
    return [weight, Stored("b", "bias", (channels,))] if _truth(arguments, "bias") else [weight]


def _groups(arguments: Arguments, *divided: tuple[str, int]) -> int:
    groups = _whole(arguments, "groups")
    for what, channels in divided:
        if channels % groups:
            raise GraphError(f"{channels} {what} channels do not divide into {groups} groups")
    return groups


def _convolution(op: Op, x: TensorType, arguments: Arguments) -> list[Stored]:
    """Out x in/groups x kernel, as PyTorch and ONNX lay it out."""
    if len(x.shape) < 3:
        raise GraphError(f"a convolution of an input of {len(x.shape)} dimensions")
    out, channels = _whole(arguments, "out"), _channels(x, arguments)
    groups = _groups(arguments, ("input", channels), ("output", out))
    weight = Stored("w", "weight", (out, channels // groups, *_kernel(arguments, len(x.shape) - 2)))
    return _with_bias(weight, out, arguments)


def _transposed(op: Op, x: TensorType, arguments: Arguments) -> list[Stored]:
    """In x out/groups x kernel, as PyTorch and ONNX lay it out."""
    if len(x.shape) < 3:
        raise GraphError(f"a convolution of an input of {len(x.shape)} dimensions")
    out, channels = _whole(arguments, "out"), _channels(x, arguments)
    groups = _groups(arguments, ("input", channels), ("output", out))
    weight = Stored("w", "weight", (channels, out // groups, *_kernel(arguments, len(x.shape) - 2)))
    return _with_bias(weight, out, arguments)


def _linear(op: Op, x: TensorType, arguments: Arguments) -> list[Stored]:
    """Out x in, over the last axis."""
    if not x.shape:
        raise GraphError("a linear layer takes no scalar")
    out = _whole(arguments, "out")
    return _with_bias(Stored("w", "weight", (out, x.shape[-1])), out, arguments)


def _embedding(op: Op, x: TensorType, arguments: Arguments) -> list[Stored]:
    return [Stored("w", "weight", (_whole(arguments, "rows"), _whole(arguments, "out")))]


def _recurrent(op: Op, x: TensorType, arguments: Arguments) -> list[Stored]:
    """Every gate's weights for the input and for the hidden state, and both biases, as ONNX lays them out."""
    if len(x.shape) != 3:
        raise GraphError(f"a recurrent layer reads 3 dimensions, not {len(x.shape)}")
    hidden, directions = _whole(arguments, "hidden"), _whole(arguments, "directions")
    rows = _GATES[op.name] * hidden
    weights = [
        Stored("w", "weight_ih", (directions, rows, x.shape[2])),
        Stored("r", "weight_hh", (directions, rows, hidden)),
    ]
    return [*weights, *([Stored("b", "bias", (directions, 2 * rows))] if _truth(arguments, "bias") else [])]


def _normalisation(op: Op, x: TensorType, arguments: Arguments) -> list[Stored]:
    """A value a channel for every operand that is learned or a running statistic; layer norms scale all axes from one on."""
    if "axis" not in op.attributes:
        shape: Shape = (_channels(x, arguments),)
    else:
        axis = arguments["axis"]
        if not isinstance(axis, int) or not -len(x.shape) <= axis < len(x.shape):
            raise GraphError(f"axis must be one of {len(x.shape)}, not {axis!r}")
        shape = x.shape[axis:]
    affine, tensors = _truth(arguments, "affine"), []
    reads_statistics = "training" in op.attributes  # others only update them, in training
    for slot in op.slots:
        if slot.use == "statistic" and not reads_statistics:
            continue
        if slot.use == "statistic":
            tensors.append(Stored(slot.name, _FULL_NAMES.get(slot.name, slot.name), shape, Role.BUFFER))
        elif slot.use in ("affine", "bias") and affine:
            tensors.append(Stored(slot.name, _FULL_NAMES.get(slot.name, slot.name), shape))
    return tensors


_GATES: Final = {"lstm": 4, "gru": 3, "rnn": 1}
_FULL_NAMES: Final = {"scale": "weight", "b": "bias", "mean": "running_mean", "variance": "running_var"}

_WINDOW: Final[Arguments] = {"out": REQUIRED, "kernel": REQUIRED, "bias": True}
RECIPES: Final[Mapping[str, Recipe]] = {
    "conv": Recipe(_WINDOW, _convolution),
    "conv_transpose": Recipe(_WINDOW, _transposed),
    "linear": Recipe({"out": REQUIRED, "bias": True}, _linear),
    "embedding": Recipe({"rows": REQUIRED, "out": REQUIRED}, _embedding),
    **{name: Recipe({"hidden": REQUIRED, "directions": 1, "bias": True}, _recurrent) for name in _GATES},
    **{
        name: Recipe({"affine": True}, _normalisation)
        for name in ("batch_norm", "instance_norm", "group_norm", "layer_norm", "rms_norm")
    },
}
