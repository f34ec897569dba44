"""PyTorch's operators that move values or see them under another shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.aten_call import As, AtenCall, Rule
from weighbridge.frontends.aten_steps import TO_END, axis_of, constant, made_shape, one, stretched, unchanged
from weighbridge.frontends.aten_table_indexing import RULES_INDEXING
from weighbridge.frontends.aten_table_sizes import RULES_SIZES
from weighbridge.frontends.foreign import Step
from weighbridge.graph import Attribute

__all__ = ["RULES_SHAPES"]


def _reshape(call: AtenCall) -> dict[str, Attribute]:
    return {"shape": made_shape(call), "allow_zero": True}


def _flatten(call: AtenCall) -> Sequence[Step]:
    """From the second axis on it is ours, else another reshape."""
    rank = call.rank("self")
    first, last = axis_of(call.integer("start_dim"), rank), axis_of(call.integer("end_dim", -1), rank)
    if first == 1 and last == rank - 1 and len(made_shape(call)) == 2:
        return (one(call, "flatten", {"axis": 1}),)
    return (one(call, "reshape", _reshape(call)),)


def _squeeze(call: AtenCall) -> Sequence[Step]:
    """Axes of more than one element stay."""
    shape = call.type("self").shape
    if call.get("dim") is None:
        axes = tuple(axis for axis, size in enumerate(shape) if size == 1)
    else:
        named = {axis_of(dim, len(shape)) for dim in call.integers("dim")}
        axes = tuple(axis for axis in sorted(named) if axis < len(shape) and shape[axis] == 1)
    return (one(call, "squeeze", {"axes": axes}),) if axes else unchanged(call)


def _unsqueeze(call: AtenCall) -> dict[str, Attribute]:
    return {"axes": (axis_of(call.integer("dim"), call.rank("self") + 1),)}


def _expand(call: AtenCall) -> Sequence[Step]:
    return (stretched(call, call.operand("self"), call.type("self").shape, made_shape(call), call.outputs[0]),)


def _broadcast_all(call: AtenCall) -> Sequence[Step]:
    return [
        stretched(call, tensor, call.types[tensor].shape, made.shape, output)
        for tensor, made, output in zip(call.operands("tensors"), call.made, call.outputs, strict=True)
        if output
    ]


def _mesh(call: AtenCall) -> Sequence[Step]:
    """Each tensor along an axis of its own, stretched over the others."""
    steps = []
    swapped = call.get("indexing", "ij") == "xy"
    for place, (tensor, made, output) in enumerate(zip(call.operands("tensors"), call.made, call.outputs, strict=True)):
        if not output:
            continue
        axis = 1 - place if swapped and place < 2 and len(call.made) > 1 else place
        aligned = call.inner(f"aligned.{place}")
        shape = tuple(size if at == axis else 1 for at, size in enumerate(made.shape))
        steps.append(Step("reshape", [("x", tensor)], {"shape": shape, "allow_zero": True}, (aligned,)))
        steps.append(stretched(call, aligned, shape, made.shape, output))
    return steps


def _transposed(call: AtenCall, order: Sequence[int]) -> Sequence[Step]:
    if list(order) == list(range(len(order))):
        return unchanged(call)
    return (one(call, "transpose", {"permutation": tuple(order)}),)


def _permute(call: AtenCall) -> Sequence[Step]:
    return (one(call, "transpose", {"permutation": call.integers("dims")}),) if call.rank("self") else unchanged(call)


def _swap(call: AtenCall) -> Sequence[Step]:
    """Two axes by number, or the last two."""
    rank = call.rank("self")
    if rank == 0:
        return unchanged(call)
    names = ("axis0", "axis1") if call.op == "aten.swapaxes" else ("dim0", "dim1")
    first, second = (axis_of(call.integer(name, at), rank) for name, at in zip(names, (-2, -1), strict=True))
    order = list(range(rank))
    order[first], order[second] = second, first
    return (one(call, "transpose", {"permutation": tuple(order)}),)


def _matrix_transpose(call: AtenCall) -> Sequence[Step]:
    """Of a vector it is the vector."""
    rank = call.rank("self")
    if rank < 2:
        return unchanged(call)
    return _transposed(call, [*range(rank - 2), rank - 1, rank - 2])


def _reversed(call: AtenCall) -> Sequence[Step]:
    return _transposed(call, range(call.rank("self") - 1, -1, -1))


def _move_axes(call: AtenCall) -> Sequence[Step]:
    rank = call.rank("self")
    sources = [axis_of(dim, rank) for dim in call.integers("source")]
    targets = [axis_of(dim, rank) for dim in call.integers("destination")]
    order: list[int] = [-1] * rank
    for source, target in zip(sources, targets, strict=True):
        if rank:
            order[target] = source
    rest = iter(axis for axis in range(rank) if axis not in sources)
    return _transposed(call, [next(rest) if axis < 0 else axis for axis in order])


def _sliced(call: AtenCall, axis: int, start: int, end: int, step: int = 1) -> Sequence[Step]:
    """A range of one axis: all of it is the tensor itself."""
    if made_shape(call) == call.type("self").shape and step == 1:
        return unchanged(call)
    attributes: dict[str, Attribute] = {"starts": (start,), "ends": (end,), "axes": (axis,), "steps": (step,)}
    return (one(call, "slice", attributes),)


def _slice(call: AtenCall) -> Sequence[Step]:
    axis = axis_of(call.integer("dim"), call.rank("self"))
    return _sliced(call, axis, call.integer("start"), call.integer("end", TO_END), call.integer("step", 1))


def _narrow(call: AtenCall) -> Sequence[Step]:
    """Where it starts may be a tensor; how much it takes is a number."""
    axis, length = axis_of(call.integer("dim"), call.rank("self")), call.integer("length")
    start = 0 if call.has("start") else call.integer("start")
    if start < 0:
        start += call.type("self").shape[axis]
    return _sliced(call, axis, start, start + length)


def _select(call: AtenCall) -> Sequence[Step]:
    """One position of an axis: a gather with a number for its index, as ONNX has it."""
    index = constant(call, "index")
    axis = axis_of(call.integer("dim"), call.rank("self"))
    return (
        index,
        Step("gather", [("x", call.operand("self")), ("indices", index.outputs[0])], {"axis": axis}, call.outputs),
    )


def _walked_back(call: AtenCall, axes: tuple[int, ...], into: str = "") -> Step:
    """Axes from their ends to their starts."""
    count = len(axes)
    attributes: dict[str, Attribute] = {
        "starts": (-1,) * count,
        "ends": (-TO_END,) * count,
        "axes": axes,
        "steps": (-1,) * count,
    }
    return one(call, "slice", attributes)._replace(outputs=(into or call.outputs[0],))


_FLIPPED: Final = {"aten.flipud": (0,), "aten.fliplr": (1,)}


def _flip(call: AtenCall) -> Sequence[Step]:
    """``fliplr`` and ``flipud`` name no axes."""
    named = _FLIPPED.get(call.op) or call.integers("dims")
    axes = tuple(axis_of(dim, call.rank("self")) for dim in named)
    return (_walked_back(call, axes),) if axes and call.rank("self") else unchanged(call)


def _rotate(call: AtenCall) -> Sequence[Step]:
    """A quarter turn is a flip and a transpose, half a turn two flips."""
    turns, rank = call.integer("k", 1) % 4, call.rank("self")
    first, second = (axis_of(dim, rank) for dim in call.integers("dims", (0, 1)))
    if turns == 0:
        return unchanged(call)
    if turns == 2:
        return (_walked_back(call, (first, second)),)
    mirrored, order = call.inner("mirrored"), list(range(rank))
    order[first], order[second] = second, first
    return (
        _walked_back(call, (second if turns == 1 else first,), mirrored),
        Step("transpose", [("x", mirrored)], {"permutation": tuple(order)}, call.outputs),
    )


def _roll(call: AtenCall) -> Sequence[Step]:
    """Without axes the tensor is rolled as one line."""
    shifts, axes = call.integers("shifts"), call.integers("dims")
    if axes:
        return (one(call, "roll", {"shifts": shifts, "axes": axes}),)
    line, rolled = call.inner("line"), call.inner("rolled")
    return (
        one(call, "reshape", {"shape": (-1,)})._replace(outputs=(line,)),
        Step("roll", [("x", line)], {"shifts": shifts, "axes": (0,)}, (rolled,)),
        Step("reshape", [("x", rolled)], _reshape(call), call.outputs),
    )


_PADDING: Final = {"reflect": "reflect", "replicate": "edge", "circular": "wrap", "constant": "constant"}


def _padded(mode: str) -> Rule:
    """PyTorch names pads from the last axis to the first, before and after each; ``mode`` "" is in the arguments."""

    def rule(call: AtenCall) -> Sequence[Step]:
        found = mode or str(call.get("mode", "constant"))
        if found not in _PADDING:
            raise GraphError(f"there is no padding {found!r}", where=call.name)
        x = "input" if call.has("input") else "self"
        numbers, rank = call.integers("pad" if "pad" in call.arguments else "padding"), call.rank(x)
        count = len(numbers) // 2
        if not count:
            return (one(call, "identity", x=x),)
        axes = tuple(range(rank - 1, rank - 1 - count, -1))
        return (one(call, "pad", {"pads": numbers[::2] + numbers[1::2], "axes": axes, "mode": _PADDING[found]}, x),)

    return rule


def _triangle(upper: bool) -> Rule:
    return As("trilu", "x=self", lambda call: {"upper": upper})


def _diagonal(call: AtenCall) -> dict[str, Attribute]:
    names = ("axis1", "axis2") if "axis1" in call.arguments else ("dim1", "dim2")
    is_linalg = call.op == "aten.linalg_diagonal"
    defaults = (-2, -1) if is_linalg or call.op == "aten.diag_embed" else (0, 1)
    axes = tuple(call.integer(name, default) for name, default in zip(names, defaults, strict=True))
    return {"offset": call.integer("offset"), "axes": axes}


def _diag(call: AtenCall) -> Sequence[Step]:
    """Out of a matrix, or into one."""
    operator = "diagonal" if call.rank("self") == 2 else "diagonal_embed"
    return (one(call, operator, {"offset": call.integer("diagonal"), "axes": (0, 1)}),)


def _trace(call: AtenCall) -> Sequence[Step]:
    found = call.inner("diagonal")
    return (
        one(call, "diagonal")._replace(outputs=(found,)),
        Step("reduce_sum", [("x", found)], {"keep_dims": False}, call.outputs),
    )


def _block(call: AtenCall, operator: str, name: str) -> Sequence[Step]:
    """Ours has one batch axis; others are put in or folded into it."""
    attributes: dict[str, Attribute] = {"block_size": call.integer(name)}
    if call.rank("self") == 4:
        return (one(call, operator, attributes),)
    image, moved = call.inner("image"), call.inner("moved")
    shape = call.type("self").shape
    return (
        one(call, "reshape", {"shape": (-1, *shape[-3:])})._replace(outputs=(image,)),
        Step(operator, [("x", image)], attributes, (moved,)),
        Step("reshape", [("x", moved)], _reshape(call), call.outputs),
    )


def _pixel_shuffle(call: AtenCall) -> Sequence[Step]:
    return _block(call, "depth_to_space", "upscale_factor")


def _pixel_unshuffle(call: AtenCall) -> Sequence[Step]:
    return _block(call, "space_to_depth", "downscale_factor")


def _channel_shuffle(call: AtenCall) -> Sequence[Step]:
    """Channels as groups x members, transposed."""
    batch, channels, *space = call.type("self").shape
    groups, parted, mixed = call.integer("groups"), call.inner("parted"), call.inner("mixed")
    order = (0, 2, 1, *range(3, 3 + len(space)))
    return (
        one(call, "reshape", {"shape": (batch, groups, channels // groups, *space)})._replace(outputs=(parted,)),
        Step("transpose", [("x", parted)], {"permutation": order}, (mixed,)),
        Step("reshape", [("x", mixed)], _reshape(call), call.outputs),
    )


def _windows(call: AtenCall) -> Sequence[Step]:
    if call.rank("self") == 0:
        return (one(call, "reshape", _reshape(call)),)
    axis = axis_of(call.integer("dimension"), call.rank("self"))
    return (one(call, "windows", {"axis": axis, "size": call.integer("size"), "step": call.integer("step")}),)


def _blocks(call: AtenCall) -> dict[str, Attribute]:
    return {
        "block_shape": call.integers("kernel_size"),
        "stride": call.integers("stride", (1,)),
        "padding": call.integers("padding", (0,)),
        "dilation": call.integers("dilation", (1,)),
    }


def _col2im(call: AtenCall) -> Sequence[Step]:
    attributes = {**_blocks(call), "image_shape": call.integers("output_size")}
    if call.rank("self") == 3:
        return (one(call, "col2im", attributes),)
    batch, image = call.inner("batch"), call.inner("image")
    return (
        one(call, "unsqueeze", {"axes": (0,)})._replace(outputs=(batch,)),
        Step("col2im", [("x", batch)], attributes, (image,)),
        Step("squeeze", [("x", image)], {"axes": (0,)}, call.outputs),
    )


RULES_SHAPES: Final[Mapping[str, Rule]] = {
    **RULES_INDEXING,
    **RULES_SIZES,
    **{
        f"aten.{name}": As("reshape", "x=self", _reshape)
        for name in ("view", "reshape", "_unsafe_view", "_reshape_alias", "view_as", "reshape_as", "unflatten", "ravel")
    },
    "aten.flatten": _flatten,
    "aten.squeeze": _squeeze,
    "aten.unsqueeze": As("unsqueeze", "x=self", _unsqueeze),
    **{f"aten.{name}": _expand for name in ("expand", "expand_as", "broadcast_to")},
    "aten.broadcast_tensors": _broadcast_all,
    "aten.meshgrid": _mesh,
    "aten.permute": _permute,
    **{f"aten.{name}": _swap for name in ("transpose", "swapaxes", "swapdims")},
    **{f"aten.{name}": _matrix_transpose for name in ("t", "mT")},
    "aten.numpy_T": _reversed,
    "aten.movedim": _move_axes,
    "aten.moveaxis": _move_axes,
    "aten.slice": _slice,
    "aten.narrow": _narrow,
    "aten.select": _select,
    "aten.flip": _flip,
    "aten.fliplr": _flip,
    "aten.flipud": _flip,
    "aten._shape_as_tensor": As("shape", "x=self"),
    "aten.rot90": _rotate,
    "aten.roll": _roll,
    "aten.pad": _padded(""),
    "aten.constant_pad_nd": _padded("constant"),
    "aten._pad_circular": _padded("circular"),
    **{f"aten.reflection_pad{rank}d": _padded("reflect") for rank in (1, 2, 3)},
    **{f"aten.replication_pad{rank}d": _padded("replicate") for rank in (1, 2, 3)},
    "aten.tril": _triangle(upper=False),
    "aten.triu": _triangle(upper=True),
    "aten.diagonal": As("diagonal", "x=self", _diagonal),
    "aten.linalg_diagonal": As("diagonal", "x=A", _diagonal),
    "aten.diag_embed": As("diagonal_embed", "x=self", _diagonal),
    "aten.diag": _diag,
    "aten.trace": _trace,
    "aten.pixel_shuffle": _pixel_shuffle,
    "aten.pixel_unshuffle": _pixel_unshuffle,
    "aten.channel_shuffle": _channel_shuffle,
    "aten.native_channel_shuffle": _channel_shuffle,
    "aten.unfold": _windows,
    "aten.im2col": As("im2col", "x=self", _blocks),
    "aten.col2im": _col2im,
    "aten.as_strided": As("as_strided", "x=self", lambda call: {"shape": call.integers("size")}),
}
