"""Small tensors whose values are known before inference: shapes, axes, indices, scales.

An exported model computes many of its shapes with nodes (Shape, Gather, Concat ...).  Once every input has a size their
values are known, and the sizes that they decide can be told.  Values are computed only where something asks for them, in
plain Python: they are tiny, integers must be exact, and a start without numpy saves a tenth of a second.

``fold`` follows the ONNX operator specification; float32 results are rounded to float32 after every operator.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import accumulate, product
from typing import Any

from weighbridge.frontends.onnx_arrays import (
    MAX_ELEMENTS,
    Array,
    NotKnown,
    Number,
    Question,
    at_positions,
    common,
    known,
    stretched,
    strides,
    typed,
)

__all__ = ["FOLDABLE", "broadcast_axes", "fold"]


def fold(question: Question) -> tuple[Array, ...] | None:
    """The outputs' values, or None where they cannot be told (an input that is not known, a rule that is not here)."""
    rule = _RULES.get(question.op)
    if rule is None or any(shape is not None and math.prod(shape) > MAX_ELEMENTS for shape in question.shapes):
        return None
    try:
        return rule(question)
    except (NotKnown, ArithmeticError, ValueError, IndexError, TypeError):
        # A file may ask for the square root of -1, or for element 9 of 3: such a value is simply not known here.
        return None


def _elementwise(function: Callable[..., Number], dtype: str = "") -> Callable[[Question], tuple[Array, ...]]:
    def rule(question: Question) -> tuple[Array, ...]:
        arrays = known(question)
        shape = common(arrays)
        results = tuple(map(function, *(stretched(array, shape) for array in arrays)))
        kind = dtype or arrays[-1].dtype
        return (Array(kind, shape, typed(kind, results)),)

    return rule


def _divide(a: Number, b: Number) -> Number:
    """ONNX divides integers towards zero."""
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _modulo(question: Question) -> tuple[Array, ...]:
    function = _remainder if question.attributes.get("fmod", 0) else operator.mod
    return _elementwise(function)(question)


def _remainder(a: Number, b: Number) -> Number:
    """What is left of a division towards zero, as C's fmod; whole numbers stay exact."""
    if isinstance(a, float) or isinstance(b, float):
        return math.fmod(a, b)
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def _least(values: Sequence[Number]) -> Number:
    """The least of ``values``; not a number if one of them is none."""
    return math.nan if any(map(math.isnan, values)) else min(values)


def _greatest(values: Sequence[Number]) -> Number:
    """The greatest of ``values``; not a number if one of them is none."""
    return math.nan if any(map(math.isnan, values)) else max(values)


def _power(question: Question) -> tuple[Array, ...]:
    base, exponent = known(question)
    if any(abs(value) > 64 for value in exponent.values):
        raise NotKnown
    return _elementwise(operator.pow, base.dtype)(question)


def _round_half_even(value: float) -> float:
    return float(round(value))


def _sign(value: Number) -> Number:
    return (value > 0) - (value < 0)


def _floor(value: float) -> float:
    return float(math.floor(value))


def _ceil(value: float) -> float:
    return float(math.ceil(value))


def _clip(question: Question) -> tuple[Array, ...]:
    x = question.first
    bounds: list[Number] = []
    for position, (name, default) in enumerate((("min", -math.inf), ("max", math.inf)), 1):
        given = question.inputs[position] if position < len(question.inputs) else None
        bounds.append(given.values[0] if given is not None else question.attributes.get(name, default))
    return (Array(x.dtype, x.shape, typed(x.dtype, [min(max(value, bounds[0]), bounds[1]) for value in x.values])),)


def _same_values(question: Question) -> tuple[Array, ...]:
    """Reshape, Squeeze, Unsqueeze, Flatten, Identity: the shape is the one our rule inferred."""
    shape, x = question.shapes[0], question.first
    if shape is None or math.prod(shape) != len(x.values):
        raise NotKnown
    return (Array(x.dtype, shape, x.values),)


def _cast(question: Question) -> tuple[Array, ...]:
    x, dtype = question.first, question.attributes.get("dtype", "")
    if x.dtype == "string" or not dtype.startswith(("int", "uint", "bool", "float")):
        raise NotKnown
    return (Array(dtype, x.shape, typed(dtype, x.values)),)


def _expand(question: Question) -> tuple[Array, ...]:
    shape = question.shapes[0]
    if shape is None:
        raise NotKnown
    return (Array(question.first.dtype, shape, stretched(question.first, shape)),)


def _transpose(question: Question) -> tuple[Array, ...]:
    x = question.first
    order = tuple(question.attributes.get("perm", range(len(x.shape))[::-1]))
    steps = strides(x.shape)
    shape = tuple(x.shape[axis] for axis in order)
    moved = [steps[axis] for axis in order]
    return (
        Array(x.dtype, shape, tuple(x.values[sum(map(operator.mul, at, moved))] for at in product(*map(range, shape)))),
    )


def _concat(question: Question) -> tuple[Array, ...]:
    arrays = known(question)
    first = arrays[0]
    axis = question.attributes.get("axis", 1) % len(first.shape)
    chunks = [math.prod(array.shape[axis:]) for array in arrays]
    values: list[Any] = []
    for index in range(math.prod(first.shape[:axis])):
        for array, chunk in zip(arrays, chunks, strict=True):
            values.extend(array.values[index * chunk : (index + 1) * chunk])
    if len(values) > MAX_ELEMENTS:
        raise NotKnown
    shape = (*first.shape[:axis], sum(array.shape[axis] for array in arrays), *first.shape[axis + 1 :])
    return (Array(first.dtype, shape, tuple(values)),)


def _gather(question: Question) -> tuple[Array, ...]:
    x, indices = known(question)
    axis = question.attributes.get("axis", 0) % len(x.shape)
    size = x.shape[axis]
    rows = [index + size if index < 0 else index for index in indices.values]
    if any(not 0 <= row < size for row in rows):
        raise NotKnown
    sources = [range(length) for length in x.shape]
    values = at_positions(x, [*sources[:axis], rows, *sources[axis + 1 :]])
    return (Array(x.dtype, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), values),)


def _slice(question: Question) -> tuple[Array, ...]:
    x = question.first
    starts, ends = question.integers("starts", 1), question.integers("ends", 2)
    if starts is None or ends is None:
        raise NotKnown
    axes = question.integers("axes", 3) or tuple(range(len(starts)))
    steps = question.integers("steps", 4) or (1,) * len(starts)
    taken: list[Sequence[int]] = [range(size) for size in x.shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        taken[axis] = range(x.shape[axis])[slice(start, _stop(end, step, x.shape[axis]), step)]
    return (Array(x.dtype, tuple(map(len, taken)), at_positions(x, taken)),)


def _stop(end: int, step: int, size: int) -> int | None:
    """ONNX clamps an end below the start of the axis; Python would count it from the back."""
    return None if step < 0 and end < -size else end


def _split(question: Question) -> tuple[Array, ...]:
    x, start, results = question.first, 0, []
    axis = question.attributes.get("axis", 0) % len(x.shape)
    for shape in question.shapes:
        if shape is None:
            raise NotKnown
        taken: list[Sequence[int]] = [range(size) for size in x.shape]
        taken[axis] = range(start, start + shape[axis])
        start += shape[axis]
        results.append(Array(x.dtype, shape, at_positions(x, taken)))
    return tuple(results)


def _tile(question: Question) -> tuple[Array, ...]:
    x, shape = question.first, question.shapes[0]
    if shape is None:
        raise NotKnown
    return (
        Array(
            x.dtype, shape, at_positions(x, [[i % s for i in range(n)] for s, n in zip(x.shape, shape, strict=True)])
        ),
    )


def _range(question: Question) -> tuple[Array, ...]:
    start, limit, delta = (array.values[0] for array in known(question))
    count = max(math.ceil((limit - start) / delta), 0)
    if count > MAX_ELEMENTS:
        raise NotKnown
    dtype = question.first.dtype
    return (Array(dtype, (count,), typed(dtype, [start + index * delta for index in range(count)])),)


def _constant_of_shape(question: Question) -> tuple[Array, ...]:
    shape, value = question.first.ints, question.attributes.get("array")
    if shape is None or math.prod(shape) > MAX_ELEMENTS or value is None:
        raise NotKnown
    return (Array(value.dtype, shape, value.values * math.prod(shape)),)


def _where(question: Question) -> tuple[Array, ...]:
    condition, x, y = known(question)
    shape = common((condition, x, y))
    chosen = zip(*(stretched(array, shape) for array in (condition, x, y)), strict=True)
    return (Array(x.dtype, shape, tuple(b if a else c for a, b, c in chosen)),)


def _reduce(function: Callable[[Sequence[Any]], Number]) -> Callable[[Question], tuple[Array, ...]]:
    def rule(question: Question) -> tuple[Array, ...]:
        x = question.first
        axes = question.integers("axes", 1)
        if axes is None and len(question.inputs) > 1:
            raise NotKnown
        if not axes:
            if question.attributes.get("noop_with_empty_axes", 0):
                return (x,)
            axes = tuple(range(len(x.shape)))
        reduced = {axis % len(x.shape) for axis in axes}
        kept = [1 if axis in reduced else size for axis, size in enumerate(x.shape)]
        groups: dict[int, list[Any]] = {index: [] for index in range(math.prod(kept))}
        steps = [0 if axis in reduced else step for axis, step in enumerate(strides(tuple(kept)))]
        for at, value in zip(product(*map(range, x.shape)), x.values, strict=True):
            groups[sum(map(operator.mul, at, steps))].append(value)
        results = typed(x.dtype, [function(group) for group in groups.values()])
        if not question.attributes.get("keepdims", 1):
            kept = [size for axis, size in enumerate(kept) if axis not in reduced]
        return (Array(x.dtype, tuple(kept), results),)

    return rule


def _mean(values: Sequence[Any]) -> Number:
    return _divide(sum(values), len(values))


def _non_zero(question: Question) -> tuple[Array, ...]:
    x = question.first
    found = [at for at, value in zip(product(*map(range, x.shape)), x.values, strict=True) if value]
    flat = tuple(at[axis] for axis in range(len(x.shape)) for at in found)
    return (Array("int64", (len(x.shape), len(found)), flat),)


def _extreme(choose: Callable[[Sequence[Any]], Any]) -> Callable[[Question], tuple[Array, ...]]:
    """The position of the first extreme of a vector."""

    def rule(question: Question) -> tuple[Array, ...]:
        x, shape = question.first, question.shapes[0]
        if len(x.shape) != 1 or shape is None or question.attributes.get("select_last_index", 0):
            raise NotKnown
        return (Array("int64", shape, (x.values.index(choose(x.values)),)),)

    return rule


def _cumulative_sum(question: Question) -> tuple[Array, ...]:
    x = question.first
    if len(x.shape) != 1 or question.attributes.get("reverse", 0) or question.attributes.get("exclusive", 0):
        raise NotKnown
    return (Array(x.dtype, x.shape, typed(x.dtype, list(accumulate(x.values)))),)


def broadcast_axes(a: Sequence[int], b: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of two shapes that broadcast, the axes of the result along which either was stretched, from the last on."""
    rank = max(len(a), len(b))
    return _stretched_axes(a, b, rank), _stretched_axes(b, a, rank)


def _stretched_axes(shape: Sequence[int], other: Sequence[int], rank: int) -> tuple[int, ...]:
    """The axes along which ``shape`` is 1 and ``other`` is not, or which it does not have."""
    places = [(axis, axis - rank) for axis in range(rank - 1, -1, -1)]
    return tuple(
        axis for axis, at in places if -at > len(shape) or (shape[at] == 1 and -at <= len(other) and other[at] != 1)
    )


def _broadcast_axes(question: Question) -> tuple[Array, ...]:
    first, second = (array.ints for array in known(question))
    if first is None or second is None:
        raise NotKnown
    return tuple(Array("int64", (len(axes),), axes) for axes in broadcast_axes(first, second))


_RULES: dict[str, Callable[[Question], tuple[Array, ...]]] = {
    **dict.fromkeys(("Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten"), _same_values),
    "Cast": _cast,
    "Expand": _expand,
    "Transpose": _transpose,
    **dict.fromkeys(("Concat", "com.microsoft.ConcatTraining"), _concat),
    "Gather": _gather,
    "Slice": _slice,
    "Split": _split,
    "Tile": _tile,
    "Range": _range,
    "ConstantOfShape": _constant_of_shape,
    "Where": _where,
    "NonZero": _non_zero,
    "CumSum": _cumulative_sum,
    "ArgMax": _extreme(max),
    "ArgMin": _extreme(min),
    "Clip": _clip,
    "Mod": _modulo,
    "Pow": _power,
    "Add": _elementwise(operator.add),
    "Sub": _elementwise(operator.sub),
    "Mul": _elementwise(operator.mul),
    "Div": _elementwise(_divide),
    "Neg": _elementwise(operator.neg),
    "Relu": _elementwise(lambda value: max(value, 0)),
    "Abs": _elementwise(abs),
    "Sign": _elementwise(_sign),
    "Floor": _elementwise(_floor),
    "Ceil": _elementwise(_ceil),
    "Round": _elementwise(_round_half_even),
    "Sqrt": _elementwise(math.sqrt),
    "Min": _elementwise(lambda *values: _least(values)),
    "Max": _elementwise(lambda *values: _greatest(values)),
    "Sum": _elementwise(lambda *values: sum(values)),
    "Not": _elementwise(operator.not_, "bool"),
    "And": _elementwise(operator.and_, "bool"),
    "Or": _elementwise(operator.or_, "bool"),
    "Xor": _elementwise(operator.xor, "bool"),
    "Equal": _elementwise(operator.eq, "bool"),
    "Less": _elementwise(operator.lt, "bool"),
    "LessOrEqual": _elementwise(operator.le, "bool"),
    "Greater": _elementwise(operator.gt, "bool"),
    "GreaterOrEqual": _elementwise(operator.ge, "bool"),
    "com.microsoft.BroadcastGradientArgs": _broadcast_axes,
    "com.microsoft.ExpandDims": _same_values,
    "ReduceProd": _reduce(math.prod),
    "ReduceSum": _reduce(sum),
    "ReduceMax": _reduce(_greatest),
    "ReduceMin": _reduce(_least),
    "ReduceMean": _reduce(_mean),
}

FOLDABLE = frozenset(_RULES)
"""The operators whose values can be told, those of other domains than ONNX's own with theirs in front."""
