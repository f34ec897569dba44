"""Rules of TensorFlow Lite's operators that reshape, join, part, pad and place values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import As, Foreign, Rule, Step, bind
from weighbridge.frontends.onnx_steps import number_in
from weighbridge.frontends.tflite_strided_slice import BEFORE_ALL, plan_of
from weighbridge.frontends.tflite_table_generators import GENERATOR_RULES
from weighbridge.frontends.tflite_table_reductions import REDUCTION_RULES
from weighbridge.frontends.tflite_table_selection import SELECTION_RULES
from weighbridge.graph import UNKNOWN, Attribute, Shape, TensorType

__all__ = ["SHAPE_RULES"]


def _numbers(name: str, position: int) -> Callable[[Foreign], Mapping[str, Attribute]]:
    """One attribute of ours that is an operand, unknown where its values are."""

    def attributes(call: Foreign) -> Mapping[str, Attribute]:
        values = call.sizes(position)
        return {name: UNKNOWN if values is None else values}

    return attributes


def _reshape(call: Foreign) -> Sequence[Step]:
    """A 0 is a size of its own; only a -1 is worked out."""
    shape = _target(call)
    declared: tuple[TensorType, ...] = ()
    if shape is not None and call.type(0) is None and all(size >= 0 for size in shape):
        declared = (TensorType(shape, call.stated[0].dtype),)
    attributes: dict[str, Attribute] = {"shape": UNKNOWN if shape is None else shape, "allow_zero": True}
    return (Step("reshape", bind(call, "x shape"), attributes, call.outputs, declared),)


def _target(call: Foreign) -> Shape | None:
    """The shape asked for: an operand where it is a row of numbers, else an option, of which a lone 0 stands for no axes at all
    (tensorflow/lite/kernels/reshape.cc).
    """
    if call.has(1) and call.rank(1) in (1, None):
        return call.sizes(1)
    shape: Shape | None = call.get("new_shape")
    return () if shape == (0,) else shape


def _squeeze(call: Foreign) -> Mapping[str, Attribute]:
    return {"axes": call.get("squeeze_dims") or "ones"}


def _axis(call: Foreign) -> Mapping[str, Attribute]:
    return {"axis": call.get("axis", 0)}


def _pack(call: Foreign) -> Sequence[Step]:
    """Every tensor under a new axis, once however often it is listed, then joined along it."""
    axis = call.get("axis", 0)
    raised = {tensor: call.inner(f"raised.{place}") for place, tensor in enumerate(dict.fromkeys(call.inputs))}
    steps = [Step("unsqueeze", [("x", tensor)], {"axes": (axis,)}, (made,)) for tensor, made in raised.items()]
    return [*steps, Step("concat", [("xs", raised[tensor]) for tensor in call.inputs], {"axis": axis}, call.outputs)]


def _unpack(call: Foreign) -> Sequence[Step]:
    """Parts of one element, without their axis."""
    axis, parts = call.get("axis", 0), [call.inner(f"part.{place}") for place in range(len(call.outputs))]
    attributes: dict[str, Attribute] = {"axis": axis, "sizes": (1,) * len(parts), "parts": len(parts)}
    steps = [Step("split", [("x", call.operand(0))], attributes, parts)]
    for part, output in zip(parts, call.outputs, strict=True):
        steps.append(Step("squeeze", [("x", part)], {"axes": (axis,)}, (output,)))
    return steps


def _split(call: Foreign) -> Sequence[Step]:
    """Equal parts."""
    x, axis, parts = call.type(1), number_in(call, 0), len(call.outputs)
    sizes: Attribute = UNKNOWN
    if x is not None and isinstance(axis, int):
        if not -len(x.shape) <= axis < len(x.shape) or not parts or x.shape[axis] % parts:
            raise GraphError(f"{x.shape} does not split into {parts} equal parts along axis {axis}", where=call.name)
        sizes = (x.shape[axis] // parts,) * parts
    return (_parts(call, 1, axis, sizes),)


def _split_by_sizes(call: Foreign) -> Sequence[Step]:
    """One size may be -1: what the others leave."""
    x, axis, sizes = call.type(0), number_in(call, 2), call.sizes(1)
    if sizes is None or x is None or not isinstance(axis, int):
        return (_parts(call, 0, axis, UNKNOWN),)
    if not -len(x.shape) <= axis < len(x.shape) or sizes.count(-1) > 1 or len(sizes) != len(call.outputs):
        raise GraphError(f"{x.shape} does not split into {sizes} along axis {axis}", where=call.name)
    rest = x.shape[axis] - sum(size for size in sizes if size != -1)
    return (_parts(call, 0, axis, tuple(rest if size == -1 else size for size in sizes)),)


def _parts(call: Foreign, x: int, axis: Attribute, sizes: Attribute) -> Step:
    attributes = {"axis": axis if isinstance(axis, int) else 0, "sizes": sizes, "parts": len(call.outputs)}
    return Step("split", [("x", call.operand(x))], attributes, call.outputs)


def _slice(call: Foreign) -> Sequence[Step]:
    """So many positions from a place on, -1 all that follow; how many there are tells the shape where the place does not."""
    begin, size, x = call.sizes(1), call.sizes(2), call.type(0)
    attributes: dict[str, Attribute] = {"starts": UNKNOWN, "ends": UNKNOWN}
    declared: tuple[TensorType, ...] = ()
    if begin is not None and size is not None and x is not None:
        if not len(begin) == len(size) == len(x.shape):
            raise GraphError(f"{len(begin)} begins and {len(size)} sizes for {x.shape}", where=call.name)
        ends = [whole if one == -1 else first + one for whole, first, one in zip(x.shape, begin, size, strict=True)]
        if any(not 0 <= first <= end <= whole for first, end, whole in zip(begin, ends, x.shape, strict=True)):
            raise GraphError(f"a slice from {begin} on of {size} goes beyond {x.shape}", where=call.name)
        attributes = {"starts": begin, "ends": tuple(ends)}
    elif size is not None and -1 not in size:
        declared = (TensorType(size, call.stated[0].dtype),)
    return (Step("slice", bind(call, "x starts"), attributes, call.outputs, declared),)


_SLICED: Final = "x starts ends steps"


def _strided_slice(call: Foreign) -> Sequence[Step]:
    """A slice, and where axes go or come the same under another shape."""
    x, begin = call.type(0), call.type(1)
    unknown: dict[str, Attribute] = {"starts": UNKNOWN, "ends": UNKNOWN}
    if x is None or begin is None:
        return (Step("slice", bind(call, _SLICED), unknown, call.outputs),)
    values = [call.sizes(position) for position in (1, 2, 3)]
    plan = plan_of(call.attributes, x.shape, begin.elements, *values)
    attributes: Mapping[str, Attribute] = plan.bounds if plan.is_known else unknown
    sizes, shape = _whole(plan.sizes), _whole(plan.shape)
    dtype = call.stated[0].dtype
    if plan.sizes == plan.shape:
        declared = () if sizes is None else (TensorType(sizes, dtype),)
        return (Step("slice", bind(call, _SLICED), attributes, call.outputs, declared),)
    taken = call.inner("taken")
    known = None if sizes is None else TensorType(sizes, dtype)
    target: dict[str, Attribute] = {"shape": UNKNOWN if shape is None else shape, "allow_zero": True}
    return (
        Step("slice", bind(call, _SLICED), attributes, (taken,), (known,)),
        Step("reshape", [("x", taken)], target, call.outputs),
    )


def _whole(sizes: Sequence[int | None]) -> Shape | None:
    found = tuple(size for size in sizes if size is not None)
    return found if len(found) == len(sizes) else None


def _pairs(call: Foreign, position: int) -> Attribute:
    """Pairs of before and after, an axis each, as all the befores and then all the afters."""
    values = call.sizes(position)
    return UNKNOWN if values is None else (*values[::2], *values[1::2])


_MIRRORS: Final = ("reflect", "symmetric")


def _pad(call: Foreign) -> Mapping[str, Attribute]:
    mode = call.get("mode", 0) if call.op == "MIRROR_PAD" else None
    if mode is None:
        return {"pads": _pairs(call, 1)}
    if mode not in range(len(_MIRRORS)):
        raise GraphError(f"the mode {mode} of a pad is not known", where=call.name)
    return {"pads": _pairs(call, 1), "mode": _MIRRORS[mode]}


def _reversed(call: Foreign) -> Sequence[Step]:
    """A slice from the last position to the first."""
    x, axes = call.type(0), call.sizes(1)
    attributes: dict[str, Attribute] = {"starts": UNKNOWN, "ends": UNKNOWN}
    if axes is not None:
        backwards = (-1,) * len(axes)
        attributes = {"starts": backwards, "ends": (BEFORE_ALL,) * len(axes), "axes": axes, "steps": backwards}
    return (Step("slice", bind(call, "x axes"), attributes, call.outputs, () if x is None else (x,)),)


def _reverse_sequence(call: Foreign) -> Mapping[str, Attribute]:
    return {"batch_axis": call.get("batch_dim", 0), "time_axis": call.get("seq_dim", 0)}


def _blocks(name: str) -> Callable[[Foreign], Mapping[str, Attribute]]:
    def attributes(call: Foreign) -> Mapping[str, Attribute]:
        return {**_numbers("block_shape", 1)(call), name: _pairs(call, 2)}

    return attributes


SHAPE_RULES: Final[Mapping[str, Rule]] = {
    **SELECTION_RULES,
    **REDUCTION_RULES,
    **GENERATOR_RULES,
    "RESHAPE": _reshape,
    "SQUEEZE": As("squeeze", "x", _squeeze),
    "EXPAND_DIMS": As("unsqueeze", "x axes", lambda call: {"axes": number_in(call, 1)}),
    "TRANSPOSE": As("transpose", "x", _numbers("permutation", 1)),
    "CONCATENATION": As("concat", "*xs", _axis),
    "PACK": _pack,
    "UNPACK": _unpack,
    "SPLIT": _split,
    "SPLIT_V": _split_by_sizes,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), As("pad", "x pads value", _pad)),
    "TILE": As("tile", "x repeats", _numbers("repeats", 1)),
    "BROADCAST_TO": As("expand", "x shape", _numbers("shape", 1)),
    "REVERSE_V2": _reversed,
    "REVERSE_SEQUENCE": As("reverse_sequence", "x lengths", _reverse_sequence),
    "SPACE_TO_BATCH_ND": As("space_to_batch", "x block_shape pads", _blocks("pads")),
    "BATCH_TO_SPACE_ND": As("batch_to_space", "x block_shape crops", _blocks("crops")),
    "DILATE": As("dilate", "x dilations value", _numbers("dilations", 1)),
    "DYNAMIC_UPDATE_SLICE": As("slice_update", "x updates starts"),
    "MATRIX_DIAG": As("diagonal_embed", "x"),
    "MATRIX_SET_DIAG": As("set_diagonal", "x diagonal"),
    "BITCAST": As("bit_cast", "x", lambda call: {"dtype": call.stated[0].dtype.name}),
    # What is stored sparse counts with all its values, so that it is dense as it is.
    "DENSIFY": As("identity", "x"),
}
