"""What the kernels of TensorFlow Lite Micro that move values demand of shapes (their files in tensorflow/lite/micro/kernels).

Many compute the output's shape from stored operands and compare: a model whose shapes were changed by hand is refused.
"""

from __future__ import annotations

from typing import Final

from weighbridge.frontends.tflm_call import Call, count_of, dimension_of
from weighbridge.frontends.tflm_rules import numbers_of, shape_of, single

__all__ = [
    "broadcast_to",
    "chosen",
    "deeper",
    "expanded",
    "filled",
    "gathered",
    "gathered_by_index",
    "mirrored",
    "padded",
    "reshaped",
    "resized",
    "squeezed",
    "strided",
    "turned",
    "updated",
]

_MOST_INDICES: Final = 5


def _unless(wanted: tuple[int, ...], call: Call) -> str:
    found = shape_of(call, "o0")
    return "" if wanted == found else f"its output has the shape {list(found)} instead of {list(wanted)}"


def broadcast_to(call: Call) -> str:
    """broadcast_to.cc."""
    wanted, shape = numbers_of(call, "i1"), shape_of(call, "i0")
    if wanted is None:
        return ""
    if len(shape) > len(wanted) or any(
        a not in (1, b) for a, b in zip(reversed(shape), reversed(wanted), strict=False)
    ):
        return f"the shape {list(shape)} cannot be broadcast to {list(wanted)}"
    return _unless(wanted, call)


def chosen(call: Call) -> str:
    """select.cc."""
    shapes = [shape_of(call, name) for name in ("i0", "i1", "i2")]
    width = max(map(len, shapes))
    return _unless(
        tuple(max(sizes) for sizes in zip(*((1,) * (width - len(one)) + one for one in shapes), strict=True)), call
    )


def deeper(call: Call) -> str:
    """depth_to_space.cc."""
    block, channels = call.operator.options.get("block_size", 0), dimension_of(call.input(0), 3)
    return (
        ""
        if block > 0 and channels % (block * block) == 0
        else f"{channels} channels are no multiple of {block} squared"
    )


def updated(call: Call) -> str:
    """dynamic_update_slice.cc."""
    whole, part = shape_of(call, "i0"), shape_of(call, "i1")
    if shape_of(call, "i2") != (len(whole),):
        return f"it needs {len(whole)} numbers to say where"
    fits = all(a <= b for a, b in zip(part, whole, strict=False))
    return "" if fits else f"a part of the shape {list(part)} does not fit into {list(whole)}"


def filled(call: Call) -> str:
    """fill.cc."""
    wanted = numbers_of(call, "i0")
    return "" if wanted is None else _unless(wanted, call)


def expanded(call: Call) -> str:
    """expand_dims.cc."""
    axes, shape = numbers_of(call, "i1"), shape_of(call, "i0")
    if axes is None or len(axes) != 1:
        return "its axis is not one number"
    axis = axes[0] + len(shape) + 1 if axes[0] < 0 else axes[0]
    return _unless((*shape[:axis], 1, *shape[axis:]), call)


def gathered(call: Call) -> str:
    """gather.cc."""
    shape, positions = shape_of(call, "i0"), shape_of(call, "i1")
    axis, batch = call.operator.options.get("axis", 0), call.operator.options.get("batch_dims", 0)
    axis, batch = axis + len(shape) if axis < 0 else axis, batch + len(positions) if batch < 0 else batch
    fits = 0 <= batch <= axis < len(shape) and batch <= len(positions) and shape[:batch] == positions[:batch]
    return "" if fits else "its axis or its batch dimensions do not go with its shapes"


def gathered_by_index(call: Call) -> str:
    """gather_nd.cc."""
    depth, rank = dimension_of(call.input(1), -1), len(shape_of(call, "i0"))
    return "" if depth <= min(rank, _MOST_INDICES) else f"indices of {depth} numbers are not supported"


def mirrored(call: Call) -> str:
    """mirror_pad.cc."""
    rows, rank = dimension_of(call.input(1), 0), len(shape_of(call, "i0"))
    return "" if rows == rank else f"it has paddings for {rows} dimensions of {rank}"


def padded(call: Call) -> str:
    """pad_common.cc."""
    pads, shape = numbers_of(call, "i1"), shape_of(call, "i0")
    if call.input(2) is not None and single("i2")(call):
        return single("i2")(call)
    if pads is None or len(pads) != 2 * len(shape_of(call, "o0")) or len(pads) < 2 * len(shape):
        return f"it has {count_of(call.input(1))} paddings for {len(shape)} dimensions"
    return _unless(tuple(size + pads[2 * axis] + pads[2 * axis + 1] for axis, size in enumerate(shape)), call)


def reshaped(call: Call) -> str:
    """reshape_common.cc."""
    before, after = count_of(call.input(0)), count_of(call.output(0))
    return "" if before == after else f"{before:,} values become {after:,}"


def resized(call: Call) -> str:
    """resize_bilinear.cc, resize_nearest_neighbor.cc."""
    size = call.input(1)
    if len(shape_of(call, "i0")) != 4 or size is None or len(size.shape or ()) != 1:
        return "it takes four dimensions and a list of two sizes"
    if size.dtype.name != "int32":
        return f"sizes of {size.dtype.name} are not supported"
    return "" if size.data is not None else "its sizes are computed, and only stored ones are supported"


def squeezed(call: Call) -> str:
    """squeeze.cc."""
    shape, chosen_axes = shape_of(call, "i0"), call.operator.options.get("squeeze_dims") or ()
    axes = {axis + len(shape) if axis < 0 else axis for axis in chosen_axes}
    if any(not 0 <= axis < len(shape) or shape[axis] != 1 for axis in axes):
        return f"the axes {sorted(axes)} of {list(shape)} cannot be squeezed"
    kept = [size for axis, size in enumerate(shape) if (axis not in axes if axes else size != 1)]
    found = shape_of(call, "o0")
    fits = len(found) >= len(kept) and all(a >= b for a, b in zip(found, kept, strict=False))
    return "" if fits else f"its output has the shape {list(found)} instead of {kept}"


def turned(call: Call) -> str:
    """transpose_common.cc."""
    order, rank = numbers_of(call, "i1"), len(shape_of(call, "i0"))
    if count_of(call.input(1)) != rank:
        return f"it has an order of {count_of(call.input(1))} axes for {rank}"
    wrong = order is not None and any(not -rank <= axis < rank for axis in order)
    return f"the order {list(order or ())} is not one of {rank} axes" if wrong else ""


def strided(call: Call) -> str:
    """strided_slice_common.cc."""
    begins, ends, steps = (numbers_of(call, name) for name in ("i1", "i2", "i3"))
    shape, options = shape_of(call, "i0"), call.operator.options
    if begins is None or ends is None or steps is None or min(len(begins), len(ends), len(steps)) < len(shape):
        return ""
    wanted = []
    for axis, size in enumerate(shape):
        if not steps[axis]:
            return "a step is 0"
        if _has(options.get("shrink_axis_mask", 0), axis):
            continue
        begin = None if _has(options.get("begin_mask", 0), axis) else begins[axis]
        end = None if _has(options.get("end_mask", 0), axis) else ends[axis]
        wanted.append(len(range(*slice(begin, end, steps[axis]).indices(size))))
    return _unless(tuple(wanted), call)


def _has(mask: int, axis: int) -> bool:
    return bool(mask >> axis & 1)
