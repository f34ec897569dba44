"""Lookups in tables of weights: of single rows, of bags of rows, and of rows by keys, which takes no arithmetic."""

from __future__ import annotations

from math import prod
from typing import Final

from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import GraphError
from weighbridge.graph import TensorType

from .record import REQUIRED, Call, Keeps, Kind, Op, Traffic, Work, known_total, nothing
from .rules import dtype_of, known, sizes_of
from .time_class import TimeClass

__all__ = ["EMBEDDING_OPERATORS"]


def _infer(call: Call) -> tuple[TensorType, ...]:
    if len(call.w.shape) < 1:
        raise GraphError("a table of embeddings has at least one dimension")
    dtype = dtype_of(call, call.w.dtype, "output_dtype")
    return (TensorType((*call.indices.shape, *call.w.shape[1:]), dtype),)


def _traffic(call: Call) -> Traffic:
    """The rows that are looked up, no more than the table has, and the indices."""
    rows = min(call.indices.elements, call.w.shape[0])
    read, indices = call.w.dtype.bytes_of(rows * prod(call.w.shape[1:])), call.indices.bytes
    return Traffic(None if read is None or indices is None else read + indices, call.outputs[0].bytes)


def _bags(call: Call) -> tuple[TensorType, ...]:
    """A bag for every offset; with ``include_last_offset`` the last offset is the end.  Without offsets a bag is a row of indices."""
    w, indices = call.w.shape, call.indices.shape
    if len(w) != 2 or call.text("mode") not in ("sum", "mean", "max"):
        raise GraphError(f"bags by {call['mode']!r} of a table of {len(w)} dimensions have no rule")
    if call.has("sample_weights") and call.sample_weights.shape != indices:
        raise GraphError(f"weights of shape {call.sample_weights.shape} for indices of shape {indices}")
    if len(indices) != (1 if call.has("offsets") else 2) or (call.has("offsets") and len(call.offsets.shape) != 1):
        raise GraphError("bags are rows of indices, or stand one behind the other with a vector of offsets")
    bags = call.offsets.shape[0] - call.integer("include_last_offset") if call.has("offsets") else indices[0]
    if bags < 0:
        raise GraphError("the last offset is missing")
    return (TensorType((bags, w[1]), call.w.dtype),)


def _bag_work(call: Call) -> Work:
    """A value of each row looked up joins its bag, which starts empty: 1 add (max: 1 compare), and 1 mul where it has a
    weight.  A mean takes 1 div a value of a bag.
    """
    values = call.indices.elements * call.w.shape[1]
    joins = Work(compare=values) if call["mode"] == "max" else Work(add=values)
    divided = call.outputs[0].elements if call["mode"] == "mean" else 0
    return joins.plus(Work(mul=values if call.has("sample_weights") else 0, div=divided))


def _bag_traffic(call: Call) -> Traffic:
    """The rows that are looked up, no more than the table has, and the other operands."""
    rows = min(call.indices.elements, call.w.shape[0])
    others = [one.bytes for name, types in call.operands.items() if name != "w" for one in types]
    return Traffic(known_total([call.w.dtype.bytes_of(rows * call.w.shape[1]), *others]), call.outputs[0].bytes)


def _sparse_bags(call: Call) -> tuple[TensorType | DType, ...]:
    """A bag for every row of a sparse tensor of rows: ``shape`` is that of the tensor, the last axis the places in a bag."""
    w, ids, places = call.w.shape, call.ids.shape, call.places.shape
    if len(w) < 2 or len(ids) != 1 or len(places) != 2 or places[0] != ids[0] or call.sample_weights.shape != ids:
        weights = call.sample_weights.shape
        raise GraphError(f"rows {ids} at {places} with weights of shape {weights}, of a table of shape {w}")
    if call.text("mode") not in _SPARSE_MODES:
        raise GraphError(f"there are no bags by {call['mode']!r}")
    if not known(call, "shape"):
        return (call.w.dtype,)
    shape = sizes_of(call, "shape")
    if len(shape) != places[1] or not shape:
        raise GraphError(f"places of {places[1]} numbers in a tensor of shape {shape}")
    return (TensorType((*shape[:-1], *w[1:]), call.w.dtype),)


_SPARSE_MODES: Final = ("sum", "mean", "root")


def _sparse_bag_work(call: Call) -> Work:
    """A value of each row looked up takes 1 mul by its weight and 1 add into its bag.  A ``mean`` takes 1 add a row for the sum
    of the weights and 1 div a value of a bag, a ``root`` 1 mul, 1 add a row for the sum of their squares, 1 special a bag and 1
    div a value.
    """
    rows, size, results = call.ids.elements, prod(call.w.shape[1:]), call.outputs[0].elements
    work = Work(add=rows * size, mul=rows * size)
    if call["mode"] == "mean":
        return work.plus(Work(add=rows, div=results))
    if call["mode"] == "root":
        return work.plus(Work(add=rows, mul=rows, div=results, special=results // size if size else 0))
    return work


def _sparse_bag_traffic(call: Call) -> Traffic:
    """The rows that are looked up, no more than the table has, and the other operands."""
    rows = min(call.ids.elements, call.w.shape[0])
    others = [one.bytes for name, types in call.operands.items() if name != "w" for one in types]
    read = call.w.dtype.bytes_of(rows * prod(call.w.shape[1:]))
    return Traffic(known_total([read, *others]), call.outputs[0].bytes)


def _keyed(call: Call) -> tuple[TensorType, ...]:
    """The rows of the keys looked up, zeros where there is none, and whether there is one."""
    w, keys = call.w.shape, call.keys.shape
    if not w or len(keys) != 1 or keys[0] != w[0]:
        raise GraphError(f"{call.keys.elements} keys for a table of shape {w}")
    found = TensorType(call.indices.shape, DTYPES["uint8"])
    return TensorType((*call.indices.shape, *w[1:]), call.w.dtype), found


def _keyed_traffic(call: Call) -> Traffic:
    """The rows that are looked up, no more than the table has, all keys and the indices."""
    rows = min(call.indices.elements, call.w.shape[0])
    read = call.w.dtype.bytes_of(rows * prod(call.w.shape[1:]))
    written = known_total(output.bytes for output in call.outputs)
    return Traffic(known_total([read, call.keys.bytes, call.indices.bytes]), written)


def _renormalised(call: Call) -> tuple[TensorType, ...]:
    if len(call.w.shape) != 2:
        raise GraphError(f"a table whose rows are renormalised has 2 dimensions, not {len(call.w.shape)}")
    return (call.w,)


def _renormalisation_work(call: Call) -> None:
    """Depends on which rows are looked up, and which of them are too long."""


EMBEDDING_OPERATORS: Final = (
    Op(
        "embedding",
        Kind.MOVE,
        "w:weight indices:control",
        _infer,
        nothing,
        traffic=_traffic,
        attributes={"output_dtype": ""},
        summary="looks up rows of a table of weights; no MACs, and only the rows looked up are read",
        keeps=Keeps.OTHERS,
        time=TimeClass.LOOKUP,
    ),
    Op(
        "embedding_bag",
        Kind.REDUCTION,
        "w:weight indices:control offsets:control? sample_weights?",
        _bags,
        _bag_work,
        traffic=_bag_traffic,
        attributes={"mode": "sum", "include_last_offset": False},
        summary="sum, mean or largest of the rows of a table in each bag of indices; no MACs",
        keeps=Keeps.OTHERS,
        time=TimeClass.LOOKUP,
    ),
    Op(
        "sparse_embedding_bag",
        Kind.REDUCTION,
        "w:weight ids:control places:control sample_weights shape:control?",
        _sparse_bags,
        _sparse_bag_work,
        traffic=_sparse_bag_traffic,
        attributes={"shape": REQUIRED, "mode": "sum"},
        summary="weighted sum or mean of the rows of a table in each row of a sparse tensor; no MACs",
        keeps=Keeps.OTHERS,
        time=TimeClass.LOOKUP,
    ),
    Op(
        "keyed_embedding",
        Kind.MOVE,
        "w:weight indices:control keys:control",
        _keyed,
        nothing,
        traffic=_keyed_traffic,
        summary="looks up rows of a table by their keys, and says which keys it has; no MACs",
        keeps=Keeps.OTHERS,
        time=TimeClass.LOOKUP,
    ),
    Op(
        "embedding_renorm",
        Kind.NORMALISATION,
        "w:weight indices:control",
        _renormalised,
        _renormalisation_work,
        summary="a table in which the rows looked up are scaled down to a largest norm",
        time=TimeClass.LOOKUP,
    ),
)
