"""The shapes that kernels of TensorFlow Lite Micro give their outputs when they are prepared, instead of those in the file.

The formulas are those of the kernels' files in tensorflow/lite/micro/kernels (tensorflow/tflite-micro).  They write over the
file's shape and keep its rank, but for GATHER and GATHER_ND.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Final

from weighbridge.frontends.tflite_model import Subgraph, TfliteModel, TfliteTensor
from weighbridge.frontends.tflm_call import Call, count_of, dimension_of
from weighbridge.graph import Shape

__all__ = ["as_prepared"]


def as_prepared(model: TfliteModel) -> TfliteModel:
    """The model with the shapes that its tensors have once all kernels are prepared, operator by operator."""
    return model._replace(subgraphs=tuple(_prepared(model, subgraph) for subgraph in model.subgraphs))


def _prepared(model: TfliteModel, subgraph: Subgraph) -> Subgraph:
    tensors = list(subgraph.tensors)
    for operator in subgraph.operators:
        rule = _SHAPES.get(operator.op)
        if rule is None or len(operator.outputs) != 1:
            continue
        call, place = Call(operator, tensors, model.data), operator.outputs[0]
        tensors[place] = tensors[place]._replace(shape=rule(call, tensors[place].shape or ()))
    return subgraph._replace(tensors=tuple(tensors))


def _shape(tensor: TfliteTensor | None) -> Shape:
    return () if tensor is None else tensor.shape or ()


def _over(written: Shape, shape: Shape) -> Shape:
    return (written + shape[len(written) :])[: len(shape)]


def _reshape(call: Call, shape: Shape) -> Shape:
    """reshape_common.cc: one size may be -1; the shape (0,) is an old way to write a scalar's."""
    if shape == (0,) and len(call.operator.inputs) == 1:
        return ()
    if shape.count(-1) != 1:
        return shape
    known = -prod(shape)
    return tuple(count_of(call.input(0)) // known if size == -1 and known else size for size in shape)


def _gather(call: Call, shape: Shape) -> Shape:
    """gather.cc."""
    data, positions = _shape(call.input(0)), _shape(call.input(1))
    axis, batch = call.operator.options.get("axis", 0), call.operator.options.get("batch_dims", 0)
    axis, batch = axis + len(data) if axis < 0 else axis, batch + len(positions) if batch < 0 else batch
    return (*data[:axis], *positions[batch:], *data[axis + 1 :])


def _gather_by_index(call: Call, shape: Shape) -> Shape:
    """gather_nd.cc."""
    data, indices = _shape(call.input(0)), _shape(call.input(1))
    return (*indices[:-1], *data[indices[-1] :]) if indices else shape


def _embedding(call: Call, shape: Shape) -> Shape:
    """embedding_lookup.cc: what does not fit into the output is refused."""
    found = (dimension_of(call.input(0), 0), *_shape(call.input(1))[1:])
    return _over(found, shape) if prod(found) <= prod(shape) else shape


def _blocks(call: Call, shape: Shape) -> Shape:
    """depth_to_space.cc, space_to_depth.cc."""
    data, block = _shape(call.input(0)), call.operator.options.get("block_size", 0)
    if len(data) != 4 or block < 1:
        return shape
    batch, height, width, channels = data
    if call.operator.op == "DEPTH_TO_SPACE":
        return _over((batch, height * block, width * block, channels // block // block), shape)
    return _over((batch, height // block, width // block, channels * block * block), shape)


def _pool(call: Call, shape: Shape) -> Shape:
    """l2_pool_2d.cc."""
    data, options = _shape(call.input(0)), call.operator.options
    if len(data) != 4:
        return shape
    heights = _windows(data[1], options.get("filter_height", 1), options.get("stride_h", 1), options.get("padding", 0))
    widths = _windows(data[2], options.get("filter_width", 1), options.get("stride_w", 1), options.get("padding", 0))
    return _over((data[0], heights, widths, data[3]), shape)


def _windows(size: int, filters: int, stride: int, padding: int) -> int:
    """How many windows there are, with the padding SAME (0) or VALID (1)."""
    return (size + stride - 1 if padding == 0 else size + stride - filters) // stride if stride else 0


_SHAPES: Final[Mapping[str, Callable[[Call, Shape], Shape]]] = {
    "DEPTH_TO_SPACE": _blocks,
    "EMBEDDING_LOOKUP": _embedding,
    "GATHER": _gather,
    "GATHER_ND": _gather_by_index,
    "L2_POOL_2D": _pool,
    "RESHAPE": _reshape,
    "SPACE_TO_DEPTH": _blocks,
}
