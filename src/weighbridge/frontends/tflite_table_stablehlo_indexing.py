"""Rules of StableHLO's operators that take values out of a tensor, write them over it, or bring them into an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.tflite_table_selection import is_table
from weighbridge.frontends.tflite_table_stablehlo_options import numbers
from weighbridge.graph import UNKNOWN, Attribute

__all__ = ["STABLEHLO_INDEXING_RULES"]


def _gather(call: Foreign) -> Sequence[Step]:
    """Rows of a stored table of numbers, chosen while the network runs, are an embedding."""
    indices = call.type(1)
    if indices is not None and _is_lookup(call):
        if call.get("index_vector_dim", 0) == len(indices.shape):
            return (Step("embedding", bind(call, "w indices"), {}, call.outputs),)
        rows: dict[str, Attribute] = {"shape": indices.shape[:-1], "allow_zero": True}
        return (
            Step("reshape", [("x", call.operand(1))], rows, (call.inner("rows"),)),
            Step("embedding", [("w", call.operand(0)), ("indices", call.inner("rows"))], {}, call.outputs),
        )
    attributes: dict[str, Attribute] = {
        "slice_sizes": numbers(call, "slice_sizes"),
        "offset_axes": numbers(call, "offset_dims"),
        "collapsed_axes": numbers(call, "collapsed_slice_dims"),
        "start_axes": numbers(call, "start_index_map"),
        "index_axis": call.get("index_vector_dim", 0),
    }
    return (Step("gather_slices", bind(call, "x indices"), attributes, call.outputs),)


def _is_lookup(call: Foreign) -> bool:
    """Whether an index takes a whole row of a stored matrix, and rows lie behind the indices' own axes."""
    table, indices = call.type(0), call.type(1)
    if table is None or indices is None or not is_table(call) or call.services.is_static(call.operand(1)):
        return False
    axis, rank = call.get("index_vector_dim", 0), len(indices.shape)
    if axis != rank and (axis != rank - 1 or indices.shape[-1] != 1):
        return False
    rows = numbers(call, "collapsed_slice_dims") == numbers(call, "start_index_map") == (0,)
    behind = numbers(call, "offset_dims") == (min(axis, rank),)
    return rows and behind and numbers(call, "slice_sizes") == (1, table.shape[1])


_COMBINED: Final[Mapping[str, str]] = {"second": "none", "and": "min", "or": "max"}
"""Names of our reductions where they are others than the function's."""


def _scatter(call: Foreign) -> Sequence[Step]:
    """Of several tensors at once each by itself."""
    count = len(call.outputs)
    if len(call.inputs) != 2 * count + 1:
        raise GraphError(f"{len(call.inputs)} operands for {count} results", where=call.name)
    function = call.get("function", UNKNOWN)
    attributes: dict[str, Attribute] = {
        "window_axes": numbers(call, "update_window_dims"),
        "inserted_axes": numbers(call, "inserted_window_dims"),
        "start_axes": numbers(call, "scatter_dims_to_operand_dims"),
        "index_axis": call.get("index_vector_dim", 0),
        "reduction": _COMBINED.get(function, function),
    }
    indices = ("indices", call.operand(count))
    return [
        Step(
            "scatter_slices",
            [("x", call.operand(place)), indices, ("updates", call.operand(count + 1 + place))],
            attributes,
            (output,),
        )
        for place, output in enumerate(call.outputs)
    ]


STABLEHLO_INDEXING_RULES: Final[Mapping[str, Rule]] = {
    "STABLEHLO_DYNAMIC_SLICE": As("slice_at", "x *starts", lambda call: {"sizes": numbers(call, "slice_sizes")}),
    "STABLEHLO_DYNAMIC_UPDATE_SLICE": As("slice_update", "x updates *starts"),
    "STABLEHLO_GATHER": _gather,
    "STABLEHLO_SCATTER": _scatter,
    "STABLEHLO_SORT": As("sort", "*xs", lambda call: {"axis": call.get("dimension", 0)}),
}
