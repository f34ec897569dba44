"""The values of weights, one tensor at a time, and the types and names that they are stored under.

A bare file of tensors has no graph: tensors of two dimensions and more are its weights, and are called by their names without a
``weight`` at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final

from weighbridge.compression.layer import Weight
from weighbridge.compression.record import Others
from weighbridge.compression.weights import Held
from weighbridge.dtypes import DType
from weighbridge.errors import MissingExtra
from weighbridge.graph import Graph, Role, Shape, Tensor
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.targets import Layer, Targets

__all__ = ["INSTALL", "NamedTensor", "Stored", "Values", "bare", "compress_extra"]

INSTALL: Final = 'pip install "weighbridge[compress]"'
_STATISTICS: Final = ("running_mean", "running_var", "num_batches_tracked")


class Stored(NamedTuple):
    """The values of a tensor: how they are read, as a one-dimensional array in row-major order, and which of them stands for 0.

    ``read`` can also give the reason why they cannot be, in words.  ``zero`` is None where that is not known.  ``reason`` says why
    ``read`` is None, "" where it is not.
    """

    read: Callable[[], Any] | None
    zero: int | None = 0
    reason: str = ""


Values = Mapping[str, Stored]
"""The values of weights by the ids of their parameters; what is not in it has none in the file."""


class NamedTensor(NamedTuple):
    """A tensor of a file that has no graph."""

    name: str
    shape: Shape
    dtype: DType
    stored: Stored


def compress_extra(error: ImportError) -> MissingExtra:
    """The error for a library that reading weights needs and that is not there."""
    return MissingExtra(f"reading weights needs {error.name or 'a library that does not load'}", hint=INSTALL)


def bare(tensors: Sequence[NamedTensor]) -> tuple[Held, Values, list[str]]:
    """What a file of tensors holds, their values, and notes.

    A tensor called like a weight with ``bias`` in place of ``weight`` is its bias; what has fewer than two dimensions, or no
    numbers, is another parameter.  Statistics of batch norm are no parameters and left out.
    """
    by_name = {tensor.name: tensor for tensor in tensors}
    weights = [tensor for tensor in tensors if len(tensor.shape) >= 2 and tensor.dtype.bits]
    statistics = [tensor for tensor in tensors if tensor.name.rpartition(".")[2] in _STATISTICS]
    taken = {tensor.name for tensor in (*weights, *statistics)}
    rows, layers = [], []
    for tensor in weights:
        name = _layer_of(tensor.name)
        bias = by_name.get(f"{name}.bias") if name != tensor.name else None
        biases = [bias] if bias is not None and bias.name not in taken else []
        taken.update(one.name for one in biases)
        rows.append(_row(name, tensor, biases))
        layers.append(Layer(name, name.rpartition(".")[0], (tensor.name,)))
    rest = [tensor for tensor in tensors if tensor.name not in taken]
    uses = {one.parameter: "weight" for one in rows}
    graph = Graph("", {tensor.name: _parameter(tensor) for tensor in weights}, (), (), ())
    others = Others(sum(prod(tensor.shape) for tensor in rest), _bits(rest))
    notes = ["the source has no graph: its tensors of two dimensions and more are taken for weights"]
    if statistics:
        notes.append(f"statistics of batch norm are not counted: {len(statistics):,} tensors")
    return (
        Held(Targets(graph, OPERATORS, tuple(layers), uses), tuple(rows), others),
        {tensor.name: tensor.stored for tensor in weights},
        notes,
    )


def _layer_of(name: str) -> str:
    layer, _, last = name.rpartition(".")
    return layer if layer and last == "weight" else name


def _row(name: str, tensor: NamedTensor, biases: Sequence[NamedTensor]) -> Weight:
    bits = tensor.dtype.bits
    assert bits is not None
    return Weight(
        name=name,
        elements=prod(tensor.shape),
        bits_each=bits.numerator if bits.denominator == 1 else bits,
        biases=sum(prod(one.shape) for one in biases),
        bias_bits=_bits(biases),
        parameter=tensor.name,
        shape=tensor.shape,
        dtype=tensor.dtype.name,
    )


def _bits(tensors: Sequence[NamedTensor]) -> int:
    return sum(8 * (tensor.dtype.bytes_of(prod(tensor.shape)) or 0) for tensor in tensors)


def _parameter(tensor: NamedTensor) -> Tensor:
    return Tensor(tensor.name, tensor.shape, tensor.dtype, Role.PARAMETER)
