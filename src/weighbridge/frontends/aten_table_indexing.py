"""PyTorch's operators that pick and place elements by index or mask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import As, AtenCall, Ref, Rule
from weighbridge.frontends.aten_steps import axis_of, constant, made_shape, one, scaled, stretched
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute
from weighbridge.operators.gathering import is_mask

__all__ = ["RULES_INDEXING"]


def _indices(call: AtenCall) -> tuple[list[tuple[str, str]], tuple[int, ...]]:
    """The indices of ``x[a, :, b]`` as operands and the axes that they are for; a mask covers as many as it has."""
    found = call.get("indices")
    operands: list[tuple[str, str]] = []
    axes: list[int] = []
    axis = 0
    for index in found if isinstance(found, tuple) and not isinstance(found, Ref) else ():
        if not isinstance(index, Ref):
            axis += 1
            continue
        operands.append(("indices", index.id))
        axes.append(axis)
        kind = call.types[index.id]
        axis += max(len(kind.shape), 1) if is_mask(kind) else 1
    return operands, tuple(axes)


def _index(call: AtenCall) -> Sequence[Step]:
    """One tensor of positions is a gather; a mask, or several tensors, index over all their axes at once."""
    operands, axes = _indices(call)
    if not operands:
        return (one(call, "identity"),)
    x = ("x", call.operand("self"))
    if len(operands) == 1 and not is_mask(call.types[operands[0][1]]):
        return (Step("gather", [x, operands[0]], {"axis": axes[0]}, call.outputs),)
    return (Step("index", [x, *operands], {"axes": axes}, call.outputs),)


def _index_put(call: AtenCall) -> Sequence[Step]:
    """Values written, or added, where indices and masks select."""
    operands, axes = _indices(call)
    pairs = [("x", call.operand("self")), ("updates", call.operand("values")), *operands]
    attributes: dict[str, Attribute] = {"axes": axes, "accumulate": bool(call.get("accumulate", False))}
    return (Step("index_put", pairs, attributes, call.outputs),)


def _along(call: AtenCall) -> int:
    return axis_of(call.integer("dim"), call.rank("self"))


def _index_select(call: AtenCall) -> Sequence[Step]:
    """An index without axes selects one position and keeps the axis; a number is what it is."""
    x, index = call.operand("self"), call.operand("index")
    if call.rank("self") == 0:
        return (one(call, "identity"),)
    if call.rank("index"):
        return (Step("gather", [("x", x), ("indices", index)], {"axis": _along(call)}, call.outputs),)
    line = call.inner("line")
    return (
        Step("unsqueeze", [("x", index)], {"axes": (0,)}, (line,)),
        Step("gather", [("x", x), ("indices", line)], {"axis": _along(call)}, call.outputs),
    )


def _gather(call: AtenCall) -> Sequence[Step]:
    if call.rank("self") == 0 or call.rank("index") == 0:
        return _reshaped_gather(call)
    operands = [("x", call.operand("self")), ("indices", call.operand("index"))]
    return (Step("gather_elements", operands, {"axis": _along(call)}, call.outputs),)


def _reshaped_gather(call: AtenCall) -> Sequence[Step]:
    """Of numbers and lines: a number is a line of one."""
    line, places, found = call.inner("line"), call.inner("places"), call.inner("found")
    return (
        one(call, "reshape", {"shape": (-1,)})._replace(outputs=(line,)),
        one(call, "reshape", {"shape": (-1,)}, "index")._replace(outputs=(places,)),
        Step("gather_elements", [("x", line), ("indices", places)], {"axis": 0}, (found,)),
        Step("reshape", [("x", found)], {"shape": made_shape(call), "allow_zero": True}, call.outputs),
    )


def _take_along(call: AtenCall) -> Sequence[Step]:
    """A gather whose operands stretch to each other; without an axis of both as lines."""
    if call.get("dim") is None:
        return _take(call, "indices")
    axis = _along(call)
    made, x = made_shape(call), call.type("self").shape
    wide, places = call.inner("wide"), call.inner("places")
    target = (*made[:axis], x[axis], *made[axis + 1 :])
    return (
        stretched(call, call.operand("self"), x, target, wide),
        stretched(call, call.operand("indices"), call.type("indices").shape, made, places),
        Step("gather_elements", [("x", wide), ("indices", places)], {"axis": axis}, call.outputs),
    )


def _take(call: AtenCall, index: str = "index") -> Sequence[Step]:
    """Of the tensor as one line."""
    line, places = call.inner("line"), call.operand(index)
    flat = one(call, "reshape", {"shape": (-1,)})._replace(outputs=(line,))
    if index == "index":
        return (flat, Step("gather", [("x", line), ("indices", places)], {"axis": 0}, call.outputs))
    row = call.inner("row")
    return (
        flat,
        one(call, "reshape", {"shape": (-1,)}, index)._replace(outputs=(row,)),
        Step("gather", [("x", line), ("indices", row)], {"axis": 0}, call.outputs),
    )


def _masked_select(call: AtenCall) -> Sequence[Step]:
    """Tensor and mask stretch to each other; how many are selected only the values say."""
    x, mask = call.type("self").shape, call.type("mask").shape
    rank = max(len(x), len(mask))
    padded = [(1,) * (rank - len(shape)) + shape for shape in (x, mask)]
    common = tuple(other if size == 1 else size for size, other in zip(*padded, strict=True))
    wide, held = call.inner("wide"), call.inner("held")
    return (
        stretched(call, call.operand("self"), x, common, wide),
        stretched(call, call.operand("mask"), mask, common, held),
        Step("index", [("x", wide), ("indices", held)], {"axes": (0,)}, call.outputs),
    )


_COMBINED: Final = {
    "add": "add",
    "sum": "add",
    "mean": "add",
    "multiply": "mul",
    "prod": "mul",
    "amax": "max",
    "amin": "min",
}


def _scatter(call: AtenCall) -> Sequence[Step]:
    """Values, or one number for all, written at every index; more values than indices stay unread."""
    word = call.get("reduce")
    reduction = "add" if call.op == "aten.scatter_add" else _COMBINED.get(str(word)) if word else "none"
    if reduction is None:
        raise GraphError(f"a scatter has no reduction {word!r}", where=call.name)
    index = call.type("index").shape
    steps: list[Step] = []
    if call.has("src"):
        updates, source = call.operand("src"), call.type("src").shape
        if source != index:
            updates = call.inner("updates")
            starts, ends = (0,) * len(index), index
            steps.append(one(call, "slice", {"starts": starts, "ends": ends}, "src")._replace(outputs=(updates,)))
    else:
        steps.append(constant(call, "updates", call.type("self").dtype.name, index))
        updates = call.inner("updates")
    operands = [("x", call.operand("self")), ("indices", call.operand("index")), ("updates", updates)]
    return [*steps, Step("scatter_elements", operands, {"axis": _along(call), "reduction": reduction}, call.outputs)]


def _index_add(call: AtenCall) -> Sequence[Step]:
    """Slices added along an axis, ``alpha`` times."""
    steps, source = scaled(call, call.operand("source"), "alpha")
    return [*steps, _slices_written(call, source, accumulate=True)]


def _slices_written(call: AtenCall, updates: str, *, accumulate: bool) -> Step:
    operands = [("x", call.operand("self")), ("updates", updates), ("indices", call.operand("index"))]
    return Step("index_put", operands, {"axes": (_along(call),), "accumulate": accumulate}, call.outputs)


def _index_copy(call: AtenCall) -> Sequence[Step]:
    return (_slices_written(call, call.operand("source"), accumulate=False),)


def _index_fill(call: AtenCall) -> Sequence[Step]:
    if call.has("value"):
        return (_slices_written(call, call.operand("value"), accumulate=False),)
    value = constant(call, "value", call.type("self").dtype.name)
    return (value, _slices_written(call, value.outputs[0], accumulate=False))


def _put(call: AtenCall) -> Sequence[Step]:
    """Written into the tensor as one line."""
    line, written = call.inner("line"), call.inner("written")
    pairs = [("x", line), ("updates", call.operand("source")), ("indices", call.operand("index"))]
    attributes: dict[str, Attribute] = {"axes": (0,), "accumulate": bool(call.get("accumulate", False))}
    return (
        one(call, "reshape", {"shape": (-1,)})._replace(outputs=(line,)),
        Step("index_put", pairs, attributes, (written,)),
        Step("reshape", [("x", written)], {"shape": made_shape(call), "allow_zero": True}, call.outputs),
    )


def _placed(name: str) -> Rule:
    """What a slice, a position, a diagonal or a strided view of a tensor is overwritten with: the rest is kept."""

    def rule(call: AtenCall) -> Sequence[Step]:
        return (Step("updated", [("x", call.operand("self")), ("parts", call.operand(name))], {}, call.outputs),)

    return rule


def _one_hot(call: AtenCall) -> dict[str, Attribute]:
    """How many classes there are may follow from the values: PyTorch has seen them."""
    return {"depth": made_shape(call)[-1], "dtype": "int64"}


RULES_INDEXING: Final[Mapping[str, Rule]] = {
    "aten.index": _index,
    "aten._unsafe_index": _index,
    **{f"aten.{name}": _index_put for name in ("index_put", "_index_put_impl", "_unsafe_index_put")},
    "aten.index_select": _index_select,
    "aten.gather": _gather,
    "aten.take": _take,
    "aten.take_along_dim": _take_along,
    "aten.masked_select": _masked_select,
    "aten.masked_scatter": As("masked_scatter", "x=self mask=mask updates=source"),
    "aten.nonzero": As("non_zero", "x=self"),
    "aten.nonzero_static": As("non_zero", "x=self"),
    "aten.argwhere": As("non_zero", "x=self"),
    **{f"aten.{name}": _scatter for name in ("scatter", "scatter_add", "scatter_reduce")},
    "aten.put": _put,
    "aten.index_add": _index_add,
    "aten.index_copy": _index_copy,
    "aten.index_fill": _index_fill,
    **{f"aten.{name}_scatter": _placed("src") for name in ("slice", "select", "diagonal", "as_strided")},
    "aten.one_hot": As("one_hot", "indices=self", _one_hot),
}
