"""TensorFlow Lite's lookups in tables, and what it makes of text before it looks something up, as ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, set_aside
from weighbridge.graph import UNKNOWN, Attribute

__all__ = ["LOOKUP_RULES"]

_COMBINERS: Final = ("sum", "mean", "root")
_DENSE: Final = 2
"""Projections whose bits are numbers of their own, by their number in the schema."""


def _lookup(call: Foreign) -> Sequence[Step]:
    """Rows of a table; those of whole numbers that become fractions are dequantised behind the lookup."""
    table, pairs = call.type(1), [("w", call.operand(1)), ("indices", call.operand(0))]
    result = call.stated[0].dtype if call.stated else None
    if table is None or result is None or table.dtype.kind not in ("int", "uint") or result.kind != "float":
        return (Step("embedding", pairs, {}, call.outputs),)
    rows = call.inner("rows")
    dequantised = Step("dequantize", [("x", rows)], {"dtype": result.name}, call.outputs)
    return Step("embedding", pairs, {}, [rows]), dequantised


def _sparse_lookup(call: Foreign) -> Sequence[Step]:
    number, shape = call.get("combiner", 0), call.sizes(2)
    if not 0 <= number < len(_COMBINERS):
        raise GraphError(f"the combiner {number} is not known")
    pairs = zip(("ids", "places", "shape", "sample_weights", "w"), map(call.operand, range(5)), strict=True)
    attributes: dict[str, Attribute] = {"mode": _COMBINERS[number], "shape": UNKNOWN if shape is None else shape}
    return (Step("sparse_embedding_bag", list(pairs), attributes, call.outputs),)


def _projection(call: Foreign) -> Mapping[str, Attribute]:
    return {"apart": call.get("type", 0) == _DENSE}


def _nothing_runs_it(call: Foreign) -> Sequence[Step]:
    return set_aside(call, f"no runtime of TensorFlow Lite has {call.op}")


LOOKUP_RULES: Final[Mapping[str, Rule]] = {
    "EMBEDDING_LOOKUP": _lookup,
    "EMBEDDING_LOOKUP_SPARSE": _sparse_lookup,
    "HASHTABLE_LOOKUP": As("keyed_embedding", "indices keys w"),
    "LSH_PROJECTION": As("hash_projection", "hashes x weights", _projection),
    "SKIP_GRAM": As("text_runs", "x"),
    "CONCAT_EMBEDDINGS": _nothing_runs_it,
}
