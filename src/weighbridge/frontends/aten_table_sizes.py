"""PyTorch's operators that join, part and repeat tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.frontends.aten_call import As, AtenCall, Rule
from weighbridge.frontends.aten_steps import TO_END, axis_of, made_shape, one, unchanged
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute, Shape

__all__ = ["RULES_SIZES"]


def _joined(call: AtenCall, tensors: Sequence[str], axis: int) -> Step:
    return Step("concat", [("xs", tensor) for tensor in tensors], {"axis": axis}, call.outputs)


def _cat(call: AtenCall) -> Sequence[Step]:
    """An empty tensor of one axis joins anything: it adds nothing."""
    tensors = call.operands("tensors")
    rank = len(made_shape(call))
    kept = [one for one in tensors if len(call.types[one].shape) == rank]
    return (_joined(call, kept or tensors, axis_of(call.integer("dim"), rank)),)


def _stack(call: AtenCall) -> Sequence[Step]:
    """Every tensor under a new axis."""
    axis = axis_of(call.integer("dim"), len(made_shape(call)))
    steps, raised = [], []
    for place, tensor in enumerate(call.operands("tensors")):
        raised.append(call.inner(f"raised.{place}"))
        steps.append(Step("unsqueeze", [("x", tensor)], {"axes": (axis,)}, (raised[-1],)))
    return [*steps, _joined(call, raised, axis)]


def _with_rank(call: AtenCall, shapes: Sequence[Shape], axis: int) -> Sequence[Step]:
    """Tensors seen under shapes of at least so many axes, then joined."""
    steps, raised = [], []
    for place, (tensor, shape) in enumerate(zip(call.operands("tensors"), shapes, strict=True)):
        if call.types[tensor].shape == shape:
            raised.append(tensor)
            continue
        raised.append(call.inner(f"raised.{place}"))
        steps.append(Step("reshape", [("x", tensor)], {"shape": shape, "allow_zero": True}, (raised[-1],)))
    return [*steps, _joined(call, raised, axis)]


def _at_least(shape: Shape, rank: int) -> Shape:
    """What ``atleast_1d``, ``atleast_2d`` and ``atleast_3d`` make of a shape."""
    if len(shape) >= rank:
        return shape
    if rank == 3:
        shape = _at_least(shape, 2)
        return (*shape, 1)
    return (1,) * (rank - len(shape)) + shape


def _stacked(rank: int, axis: int) -> Rule:
    """``hstack``, ``vstack`` and ``dstack``: joined along an axis that all of them have."""

    def rule(call: AtenCall) -> Sequence[Step]:
        shapes = [_at_least(call.types[tensor].shape, rank) for tensor in call.operands("tensors")]
        return _with_rank(call, shapes, 0 if len(shapes[0]) == 1 else axis)

    return rule


def _columns(call: AtenCall) -> Sequence[Step]:
    """Vectors become columns."""
    shapes = [call.types[tensor].shape for tensor in call.operands("tensors")]
    return _with_rank(call, [(*shape, *(1,) * (2 - len(shape))) for shape in shapes], 1)


def _raised(rank: int) -> Rule:
    """``atleast_…``: of one tensor or of several."""

    def rule(call: AtenCall) -> Sequence[Step]:
        tensors = call.operands("self") or call.operands("tensors")
        steps = []
        for tensor, output in zip(tensors, call.outputs, strict=True):
            shape = call.types[tensor].shape
            if len(shape) >= rank:
                steps.append(Step("identity", [("x", tensor)], {}, (output,)))
            else:
                attributes: dict[str, Attribute] = {"shape": _at_least(shape, rank), "allow_zero": True}
                steps.append(Step("reshape", [("x", tensor)], attributes, (output,)))
        return steps

    return rule


def _parts(call: AtenCall) -> Sequence[Step]:
    """Parts of sizes that PyTorch has worked out."""
    rank = call.rank("self")
    axis = axis_of(call.integer("dim", min(_SPLIT_AXIS.get(call.op, 0), rank - 1)), rank)
    sizes = tuple(made.shape[axis] for made in call.made)
    covered, whole = sum(sizes), call.type("self").shape[axis]
    outputs = call.outputs
    if covered < whole:
        sizes, outputs = (*sizes, whole - covered), (*outputs, "")
    return (one(call, "split", {"axis": axis, "sizes": sizes})._replace(outputs=outputs),)


_SPLIT_AXIS: Final = {"aten.hsplit": 1, "aten.dsplit": 2}


def _unbind(call: AtenCall) -> Sequence[Step]:
    """Parts of one element, without their axis."""
    axis = axis_of(call.integer("dim"), call.rank("self"))
    parts = [call.inner(f"part.{place}") if output else "" for place, output in enumerate(call.outputs)]
    steps = [one(call, "split", {"axis": axis, "sizes": (1,) * len(parts)})._replace(outputs=tuple(parts))]
    for part, output in zip(parts, call.outputs, strict=True):
        if output:
            steps.append(Step("squeeze", [("x", part)], {"axes": (axis,)}, (output,)))
    return steps


def _repeat(call: AtenCall) -> Sequence[Step]:
    """``repeat`` and ``tile``: there may be more repeats than axes, and for ``tile`` fewer."""
    repeats = call.integers("repeats") or call.integers("dims")
    shape = call.type("self").shape
    repeats = (1,) * (len(shape) - len(repeats)) + repeats
    if all(count == 1 for count in repeats) and len(repeats) == len(shape):
        return unchanged(call)
    if len(repeats) == len(shape):
        return (one(call, "tile", {"repeats": repeats}),)
    raised = call.inner("raised")
    attributes: dict[str, Attribute] = {
        "shape": (1,) * (len(repeats) - len(shape)) + shape,
        "allow_zero": True,
    }
    return (
        one(call, "reshape", attributes)._replace(outputs=(raised,)),
        Step("tile", [("x", raised)], {"repeats": repeats}, call.outputs),
    )


def _repeat_interleave(call: AtenCall) -> Sequence[Step]:
    """Every element so many times: a new axis behind, stretched, and folded away."""
    repeats, shape = call.integer("repeats"), call.type("self").shape
    if call.get("dim") is None:
        shape, axis = (call.type("self").elements,), 0
    else:
        axis = axis_of(call.integer("dim"), len(shape))
    line, repeated = call.inner("line"), call.inner("repeated")
    before, after = shape[: axis + 1], shape[axis + 1 :]
    return (
        one(call, "reshape", {"shape": (*before, 1, *after), "allow_zero": True})._replace(outputs=(line,)),
        Step("expand", [("x", line)], {"shape": (*before, repeats, *after)}, (repeated,)),
        Step("reshape", [("x", repeated)], {"shape": made_shape(call), "allow_zero": True}, call.outputs),
    )


def _difference(call: AtenCall) -> Sequence[Step]:
    """Neighbours along an axis, subtracted as often as n says; what is put before and behind is joined first."""
    axis, times = axis_of(call.integer("dim", -1), call.rank("self")), call.integer("n", 1)
    joined = [call.operand(name) for name in ("prepend", "self", "append") if call.has(name)]
    steps: list[Step] = []
    x = call.operand("self")
    if len(joined) > 1:
        x = call.inner("joined")
        steps.append(Step("concat", [("xs", one) for one in joined], {"axis": axis}, (x,)))
    if times == 0:
        return [*steps, Step("identity", [("x", x)], {}, call.outputs)]
    for turn in range(times):
        later, earlier = call.inner(f"later.{turn}"), call.inner(f"earlier.{turn}")
        result = call.outputs[0] if turn == times - 1 else call.inner(f"difference.{turn}")
        for start, end, part in ((1, TO_END, later), (0, -1, earlier)):
            steps.append(Step("slice", [("x", x)], {"starts": (start,), "ends": (end,), "axes": (axis,)}, (part,)))
        steps.append(Step("sub", [("a", later), ("b", earlier)], {}, (result,)))
        x = result
    return steps


RULES_SIZES: Final[Mapping[str, Rule]] = {
    **{f"aten.{name}": _cat for name in ("cat", "concat", "concatenate")},
    "aten.stack": _stack,
    "aten._stack": _stack,
    "aten.hstack": _stacked(1, 1),
    "aten.vstack": _stacked(2, 0),
    "aten.row_stack": _stacked(2, 0),
    "aten.dstack": _stacked(3, 2),
    "aten.column_stack": _columns,
    **{f"aten.atleast_{rank}d": _raised(rank) for rank in (1, 2, 3)},
    **{
        f"aten.{name}": _parts
        for name in (
            *("split", "split_with_sizes", "chunk", "tensor_split", "hsplit", "vsplit", "dsplit"),
            *("unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk"),
        )
    },
    "aten.unbind": _unbind,
    "aten.repeat": _repeat,
    "aten.tile": _repeat,
    "aten.repeat_interleave.self_int": _repeat_interleave,
    "aten.repeat_interleave.Tensor": As("repeated_positions", "repeats=repeats"),
    "aten.diff": _difference,
}
