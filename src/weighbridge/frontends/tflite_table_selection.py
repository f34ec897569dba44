"""Rules of TensorFlow Lite's operators that pick, place, sort and select values by index or by condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weighbridge.dtypes import DTYPES
from weighbridge.frontends.foreign import As, Foreign, Held, Rule, Step, asked_step, bind
from weighbridge.frontends.onnx_steps import number_in
from weighbridge.graph import UNKNOWN, Attribute, TensorType

__all__ = ["SELECTION_RULES", "is_table"]


def _gather(call: Foreign) -> Sequence[Step]:
    """Rows of a stored table of numbers, chosen while the network runs, are an embedding."""
    axis, batch, rank = call.get("axis", 0), call.get("batch_dims", 0), call.rank(1)
    if axis in (0, -2) and not batch and is_table(call) and not call.services.is_static(call.operand(1)):
        return (Step("embedding", bind(call, "w indices"), {}, call.outputs),)
    attributes = {"axis": axis, "batch_dims": batch + rank if batch < 0 and rank is not None else batch}
    return (Step("gather", bind(call, "x indices"), attributes, call.outputs),)


def is_table(call: Foreign) -> bool:
    """Whether a stored matrix is looked up, of real numbers or of integers that stand for them."""
    table = call.type(0)
    if table is None or len(table.shape) != 2 or not call.services.is_static(call.operand(0)):
        return False
    bits = table.dtype.bits
    return table.dtype.is_learnable or (table.dtype.kind in ("int", "uint") and bits is not None and bits <= 8)


def _shape(position: int, **more: Attribute) -> Callable[[Foreign], Mapping[str, Attribute]]:
    """The shape of the result is an operand."""

    def attributes(call: Foreign) -> Mapping[str, Attribute]:
        values = call.sizes(position)
        return {"shape": UNKNOWN if values is None else values, **more}

    return attributes


def _one_hot(call: Foreign) -> Mapping[str, Attribute]:
    return {"depth": number_in(call, 1), "axis": call.get("axis", -1), "dtype": call.stated[0].dtype.name}


def _where(call: Foreign) -> Sequence[Step]:
    """The positions of what holds, a row each: how many there are no file can state, only the values."""
    values, rank = call.values(0), call.rank(0)
    dtype = call.stated[0].dtype
    known = None if values is None or rank is None else TensorType((sum(map(bool, values)), rank), dtype)
    return (Step("non_zero", bind(call, "x"), {}, call.outputs, (known or dtype,)),)


def _select(call: Foreign) -> Sequence[Step]:
    """A row of truth values chooses whole rows (tensorflow/lite/kernels/select.cc); all else stretches to each other."""
    condition, rank = call.rank(0), call.rank(1)
    pairs = bind(call, "condition x y")
    if call.op == "SELECT_V2" or condition != 1 or rank is None or rank < 2:
        return (Step("where", pairs, {}, call.outputs),)
    rows = call.inner("rows")
    return (
        Step("unsqueeze", [("x", call.operand(0))], {"axes": tuple(range(1, rank))}, (rows,)),
        Step("where", [("condition", rows), *pairs[1:]], {}, call.outputs),
    )


def _top_k(call: Foreign) -> Sequence[Step]:
    """How many of the last axis; where the values do not tell, as many as the file states."""
    k, x, stated = number_in(call, 1), call.type(0), call.stated[0].shape
    if k == UNKNOWN and x is not None and x.shape[:-1] == stated[:-1] and stated[-1:] not in ((), (-1,)):
        k = stated[-1]
    types = [one.dtype for one in call.stated]
    return (Step("top_k", bind(call, "x k"), {"k": k, "axis": -1}, call.outputs, types),)


def _unique(call: Foreign) -> Sequence[Step]:
    """The distinct values, and the number of its own for every value that there is."""
    step = asked_step("unique", bind(call, "x"), {"sorted": False}, "y inverse", call.outputs)
    return (step._replace(declared=(call.stated[0].dtype, *[None] * (len(step.outputs) - 1))),)


def _segment_sum(call: Foreign) -> Sequence[Step]:
    """As many segments as the last number says, and one for 0."""
    numbers, x, dtype = call.sizes(1), call.type(0), call.stated[0].dtype
    known = None if not numbers or x is None else TensorType((max(numbers[-1] + 1, 0), *x.shape[1:]), dtype)
    return (Step("segment_sum", bind(call, "x segments"), {}, call.outputs, (known or dtype,)),)


def _segments(reduction: str) -> Rule:
    return As(
        "unsorted_segments", "x segments count", lambda call: {"count": number_in(call, 2), "reduction": reduction}
    )


_BOXES: Final = "boxes scores size overlap threshold sigma"


def _size(call: Foreign) -> Mapping[str, Attribute]:
    return {"size": number_in(call, 2)}


def _bucketize(call: Foreign) -> Sequence[Step]:
    """Among boundaries that are an option."""
    boundaries = call.get("boundaries") or ()
    held = Held("boundaries", "boundaries", TensorType((len(boundaries),), DTYPES["float32"]), boundaries)
    return (Step("search_sorted", bind(call, "x"), {}, call.outputs, (), (held,)),)


SELECTION_RULES: Final[Mapping[str, Rule]] = {
    "GATHER": _gather,
    "GATHER_ND": As("gather_nd", "x indices"),
    "SCATTER_ND": As("scatter_zeros", "indices updates shape", _shape(2)),
    "SPARSE_TO_DENSE": As("sparse_to_dense", "indices shape values default", _shape(1)),
    "ONE_HOT": As("one_hot", "indices depth", _one_hot),
    "WHERE": _where,
    **dict.fromkeys(("SELECT", "SELECT_V2"), _select),
    "TOPK_V2": _top_k,
    "UNIQUE": _unique,
    "SEGMENT_SUM": _segment_sum,
    "UNSORTED_SEGMENT_SUM": _segments("add"),
    "UNSORTED_SEGMENT_PROD": _segments("mul"),
    "UNSORTED_SEGMENT_MAX": _segments("max"),
    "UNSORTED_SEGMENT_MIN": _segments("min"),
    "NON_MAX_SUPPRESSION_V4": As("padded_non_max_suppression", _BOXES, _size, "indices count"),
    "NON_MAX_SUPPRESSION_V5": As("padded_non_max_suppression", _BOXES, _size, "indices scores count"),
    "BUCKETIZE": _bucketize,
    # The handle of a table is no tensor of ours.
    "HASHTABLE_FIND": As("hash_table_find", "- keys default"),
    "HASHTABLE_SIZE": As("hash_table_size", ""),
}
