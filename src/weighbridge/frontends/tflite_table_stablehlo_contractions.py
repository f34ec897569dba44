"""Rules of StableHLO's convolution and matrix product, whose axes may stand in any order.

Where the axes stand as one of our layouts has them, nothing moves; else operands or the result are transposed, as any program
that runs them has to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_letters
from typing import Final

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import Foreign, Rule, Step
from weighbridge.frontends.tflite_table_contractions import quantisation_of, result_type
from weighbridge.frontends.tflite_table_stablehlo_options import axes, numbers
from weighbridge.graph import Attribute, Shape, TensorType
from weighbridge.named_tuple import NamedTuple

__all__ = ["STABLEHLO_CONTRACTION_RULES"]


def _quantised(call: Foreign) -> dict[str, Attribute]:
    """Whole numbers have their scales in the tensors where the result is as short as they are; else they are plain sums."""
    where = quantisation_of(call)
    bits = call.stated[0].dtype.bits
    is_sum = where == "in_tensors" and bits is not None and bits > 16
    return {"quantisation": "by_operands" if is_sum else where, "output_dtype": result_type(call)}


def _types(call: Foreign) -> tuple[TensorType, TensorType]:
    x, w = call.type(0), call.type(1)
    if x is None or w is None:
        raise GraphError(f"the shape of {call.operand(0 if x is None else 1)} is unknown", where=call.name)
    return x, w


class _Written:
    """Steps in the making: what an operand is after each."""

    def __init__(self, call: Foreign) -> None:
        self.call = call
        self.steps: list[Step] = []

    def add(self, operator: str, tensor: str, attributes: Mapping[str, Attribute]) -> str:
        made = self.call.inner(f"{operator}.{len(self.steps)}")
        self.steps.append(Step(operator, [("x", tensor)], attributes, (made,)))
        return made

    def transposed(self, tensor: str, order: Shape) -> str:
        """The tensor with its axes in this order, itself where they are."""
        return tensor if order == tuple(range(len(order))) else self.add("transpose", tensor, {"permutation": order})

    def reshaped(self, tensor: str, shape: Shape) -> str:
        return self.add("reshape", tensor, {"shape": shape, "allow_zero": True})


# Convolutions


class _Order(NamedTuple):
    """Where the axes of a tensor are: two by name (batch and features, or the features of input and output), the rest in space."""

    first: int
    second: int
    space: Shape

    @property
    def all(self) -> Shape:
        return (self.first, self.second, *self.space)

    def is_layout(self, *order: int) -> bool:
        return self.all == order


def _order(call: Foreign, names: tuple[str, str, str], rank: int) -> _Order:
    """Raises ``GraphError`` unless these options name every axis once."""
    found = _Order(call.get(names[0], 0), call.get(names[1], 0), numbers(call, names[2], ()))
    if sorted(found.all) != list(range(rank)):
        raise GraphError(f"{names[0]} and others name the axes {found.all} of {rank} dimensions", where=call.name)
    return found


_INPUT: Final = ("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions")
_KERNEL: Final = ("kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions")
_RESULT: Final = ("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions")


class _Convolution(NamedTuple):
    """Axes, and numbers for every axis of space; ``low`` and ``high`` are its padding."""

    x: _Order
    w: _Order
    y: _Order
    stride: Shape
    low: Shape
    high: Shape
    spread: Shape
    dilation: Shape
    groups: int
    batch_groups: int


def _read(call: Foreign, rank: int) -> _Convolution:
    space = rank - 2
    pads, ones = numbers(call, "padding", (0,) * 2 * space, 2 * space), (1,) * space
    return _Convolution(
        _order(call, _INPUT, rank),
        _order(call, _KERNEL, rank),
        _order(call, _RESULT, rank),
        numbers(call, "window_strides", ones, space),
        pads[::2],
        pads[1::2],
        numbers(call, "lhs_dilation", ones, space),
        numbers(call, "rhs_dilation", ones, space),
        max(call.get("feature_group_count", 1), 1),
        max(call.get("batch_group_count", 1), 1),
    )


def _convolution(call: Foreign) -> Sequence[Step]:
    """A transposed convolution where elements of the input stand apart."""
    x, w = _types(call)
    if len(x.shape) < 2 or len(x.shape) != len(w.shape):
        raise GraphError(f"a convolution of shapes {x.shape} and {w.shape}", where=call.name)
    made, written = _read(call, len(x.shape)), _Written(call)
    groups, tensor, kind = made.groups, call.operand(0), x
    if made.batch_groups > 1:
        if groups > 1:
            raise GraphError("groups of features and of batches at once", where=call.name)
        tensor, kind, groups = _split_batches(written, tensor, x, made)
    if not made.x.space:
        return _without_space(written, tensor, made, groups)
    channels_last = made.x.is_layout(0, len(x.shape) - 1, *range(1, len(x.shape) - 1))
    if not channels_last:
        tensor = written.transposed(tensor, made.x.all)
    layout = "channels_last" if channels_last else "channels_first"
    sizes = tuple(kind.shape[axis] for axis in made.x.space)
    if any(step != 1 for step in made.spread):
        core = _transposed_core(written, tensor, made, w, groups, sizes, layout)
    else:
        core = _core(written, tensor, made, groups, layout)
    return _ordered_result(written, core, made, channels_last)


def _split_batches(written: _Written, tensor: str, x: TensorType, made: _Convolution) -> tuple[str, TensorType, int]:
    """Every run of batches meets filters of its own: runs become groups of channels."""
    count, (batch, features) = made.batch_groups, made.x[:2]
    if x.shape[batch] % count:
        raise GraphError(f"{x.shape[batch]} batches cannot be split into {count} groups", where=written.call.name)
    # The runs as an axis of their own, in front of the features.
    parts = (*x.shape[:batch], count, x.shape[batch] // count, *x.shape[batch + 1 :])
    place = features + (features > batch)
    order = [axis for axis in range(len(parts)) if axis != batch]
    order.insert(order.index(place), batch)
    shape = [*x.shape]
    shape[batch], shape[features] = x.shape[batch] // count, count * x.shape[features]
    tensor = written.transposed(written.reshaped(tensor, parts), tuple(order))
    return written.reshaped(tensor, tuple(shape)), TensorType(tuple(shape), x.dtype), count


_KERNELS: Final[tuple[tuple[str, tuple[int, int]], ...]] = (
    ("oi_spatial", (1, 0)),
    ("io_spatial", (0, 1)),
    ("spatial_io", (-2, -1)),
    ("spatial_oi", (-1, -2)),
    ("o_spatial_i", (-1, 0)),
)
"""Our layouts of a weight, and where input and output features stand in them."""


def _kernel(written: _Written, made: _Convolution, tensor: str) -> tuple[str, str]:
    """(tensor, layout) of the weight, transposed where it has none of our layouts."""
    order, rank = made.w, len(made.w.all)
    for layout, places in _KERNELS:
        first, second = (place % rank for place in places)
        space = tuple(axis for axis in range(rank) if axis not in (first, second))
        if order == (first, second, space):
            return tensor, layout
    return written.transposed(tensor, (order.second, order.first, *order.space)), "oi_spatial"


def _core(written: _Written, tensor: str, made: _Convolution, groups: int, layout: str) -> Step:
    low, high = made.low, made.high
    if min(*low, *high) < 0:
        space = tuple(range(1, len(low) + 1) if layout == "channels_last" else range(2, len(low) + 2))
        crops = tuple(min(one, 0) for one in (*low, *high))
        tensor = written.add("pad", tensor, {"pads": crops, "axes": space})
        low, high = (tuple(max(one, 0) for one in side) for side in (low, high))
    weight, weight_layout = _kernel(written, made, written.call.operand(1))
    attributes: dict[str, Attribute] = {
        **_quantised(written.call),
        "stride": made.stride,
        "padding": (*low, *high),
        "dilation": made.dilation,
        "groups": groups,
        "layout": layout,
        "weight_layout": weight_layout,
    }
    return Step("conv", [("x", tensor), ("w", weight)], attributes, ())


def _transposed_core(
    written: _Written, tensor: str, made: _Convolution, w: TensorType, groups: int, sizes: Shape, layout: str
) -> Step:
    """The input's elements stand ``spread`` apart, which is the stride of a transposed convolution.

    Raises ``GraphError`` where the window strides, too: no operator of ours does both.
    """
    if any(step != 1 for step in made.stride):
        raise GraphError("a convolution with a stride over an input that is spread out", where=written.call.name)
    taps = tuple(w.shape[axis] for axis in made.w.space)
    result = tuple(
        (size - 1) * step + 1 + before + after - (tap - 1) * apart
        for size, step, before, after, tap, apart in zip(
            sizes, made.spread, made.low, made.high, taps, made.dilation, strict=True
        )
    )
    weight = written.transposed(written.call.operand(1), made.w.all)
    if groups > 1:
        # Of the features of a group each meets the group's own filters, which stand behind one another.
        given, made_features = w.shape[made.w.first], w.shape[made.w.second]
        if made_features % groups:
            raise GraphError(f"{made_features} channels cannot be split into {groups} groups", where=written.call.name)
        weight = written.reshaped(weight, (given, groups, made_features // groups, *taps))
        weight = written.transposed(weight, (1, 0, *range(2, len(taps) + 3)))
        weight = written.reshaped(weight, (groups * given, made_features // groups, *taps))
    attributes: dict[str, Attribute] = {
        **_quantised(written.call),
        "stride": made.spread,
        "dilation": made.dilation,
        "groups": groups,
        "layout": layout,
        "weight_layout": "io_spatial",
        "output_size": result,
    }
    return Step("conv_transpose", [("x", tensor), ("w", weight)], attributes, ())


def _ordered_result(written: _Written, core: Step, made: _Convolution, channels_last: bool) -> Sequence[Step]:
    """The result with its axes where the file has them."""
    rank = len(made.y.all)
    ours = (0, *range(2, rank), 1) if channels_last else tuple(range(rank))
    wanted = {place: axis for axis, place in enumerate(made.y.all)}
    order = tuple(ours.index(wanted[place]) for place in range(rank))
    return _last(written, core, order)


def _last(written: _Written, core: Step, order: Shape) -> Sequence[Step]:
    """The steps, the core, and a transpose where its axes are in another order."""
    outputs = written.call.outputs
    if order == tuple(range(len(order))):
        return [*written.steps, core._replace(outputs=outputs)]
    bare = written.call.inner("bare")
    turned = Step("transpose", [("x", bare)], {"permutation": order}, outputs)
    return [*written.steps, core._replace(outputs=(bare,)), turned]


def _without_space(written: _Written, tensor: str, made: _Convolution, groups: int) -> Sequence[Step]:
    """No axis to slide along: a matrix product."""
    if groups > 1:
        raise GraphError("groups in a convolution without axes to slide along", where=written.call.name)
    x, w, y = ("".join(letters[axis] for axis in range(2)) for letters in _letters(made))
    attributes: dict[str, Attribute] = {"equation": f"{x},{w}->{y}"}
    operands = [("xs", tensor), ("xs", written.call.operand(1))]
    return [*written.steps, Step("einsum", operands, attributes, written.call.outputs)]


def _letters(made: _Convolution) -> tuple[dict[int, str], ...]:
    """A letter for every axis: n batches, i features of the input, o of the output."""
    return (
        {made.x.first: "n", made.x.second: "i"},
        {made.w.first: "i", made.w.second: "o"},
        {made.y.first: "n", made.y.second: "o"},
    )


# Matrix products


def _product(call: Foreign) -> Sequence[Step]:
    """A linear layer or a matrix product where the axes stand so, else an Einstein sum."""
    x, w = _types(call)
    ranks = len(x.shape), len(w.shape)
    batches = [
        axes(call, f"{side}_batching_dimensions", rank) for side, rank in zip(("lhs", "rhs"), ranks, strict=True)
    ]
    summed = [
        axes(call, f"{side}_contracting_dimensions", rank) for side, rank in zip(("lhs", "rhs"), ranks, strict=True)
    ]
    _check(call, x, w, batches, summed)
    _check(call, x, w, summed, batches)
    pairs = [("x", call.operand(0)), ("w", call.operand(1))]
    count = len(batches[0])
    is_single = batches == [tuple(range(count))] * 2 and len(summed[0]) == 1
    if is_single and not count and ranks[1] == 2 and ranks[0] > 0 and _turned(summed[0][0], x.shape, 0) is not None:
        return _matrix(call, pairs, x.shape, summed)
    turned = [_turned(one[0], kind.shape, count) for one, kind in zip(summed, (x, w), strict=True)] if is_single else []
    if None not in turned and turned and ranks == (count + 2, count + 2):
        attributes: dict[str, Attribute] = {"transpose_x": bool(turned[0]), "transpose_w": not turned[1]}
        return (Step("matmul", pairs, {**_quantised(call), **attributes}, call.outputs),)
    return _sum(call, x, w, batches, summed)


def _turned(axis: int, shape: Shape, batches: int) -> bool | None:
    """Whether a matrix has the summed axis in front of its other one; None where it is no matrix behind its batches.

    On the left several rows may stand before a last axis that is summed.
    """
    if axis == len(shape) - 1:
        return False
    return True if len(shape) == batches + 2 and axis == batches else None


def _matrix(call: Foreign, pairs: list[tuple[str, str]], shape: Shape, summed: list[Shape]) -> Sequence[Step]:
    """By one matrix: a linear layer where it is stored."""
    turned, first = bool(_turned(summed[0][0], shape, 0)), summed[1] == (0,)
    attributes: dict[str, Attribute] = {**_quantised(call), "transpose_x": turned}
    if call.services.is_static(call.operand(1)):
        return (Step("linear", pairs, {**attributes, "weight_layout": "io" if first else "oi"}, call.outputs),)
    return (Step("matmul", pairs, {**attributes, "transpose_w": not first}, call.outputs),)


def _check(call: Foreign, x: TensorType, w: TensorType, pairs: list[Shape], others: list[Shape]) -> None:
    """Raises ``GraphError`` unless paired axes are of one size, and none has two parts."""
    sizes = [tuple(kind.shape[axis] for axis in one) for kind, one in zip((x, w), pairs, strict=True)]
    if sizes[0] != sizes[1] or any(set(one) & set(other) for one, other in zip(pairs, others, strict=True)):
        raise GraphError(f"the axes {pairs[0]} of {x.shape} and {pairs[1]} of {w.shape} do not meet", where=call.name)


def _sum(call: Foreign, x: TensorType, w: TensorType, batches: list[Shape], summed: list[Shape]) -> Sequence[Step]:
    """A label for every axis, paired axes share theirs; the result has the batches, then what is left of both."""
    if len(x.shape) + len(w.shape) > len(ascii_letters):
        raise GraphError(f"a product of {len(x.shape)} and {len(w.shape)} dimensions", where=call.name)
    left = ascii_letters[: len(x.shape)]
    right = list(ascii_letters[len(x.shape) : len(x.shape) + len(w.shape)])
    for one in (batches, summed):
        for axis, other in zip(*one, strict=True):
            right[other] = left[axis]
    result = [left[axis] for axis in batches[0]]
    for labels, places in ((left, (batches[0], summed[0])), (right, (batches[1], summed[1]))):
        taken = {axis for one in places for axis in one}
        result += [label for axis, label in enumerate(labels) if axis not in taken]
    equation = f"{left},{''.join(right)}->{''.join(result)}"
    operands = [("xs", call.operand(0)), ("xs", call.operand(1))]
    return (Step("einsum", operands, {"equation": equation}, call.outputs),)


STABLEHLO_CONTRACTION_RULES: Final[Mapping[str, Rule]] = {
    "STABLEHLO_CONVOLUTION": _convolution,
    "STABLEHLO_DOT_GENERAL": _product,
}
