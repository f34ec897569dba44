"""Elementwise functions, reductions, quantisation and losses against numpy and counted execution."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, shape_of, typed, work_of
from tests.operators.reference import run
from weighbridge.errors import GraphError
from weighbridge.operators.record import Kind, Work
from weighbridge.operators.table import OPERATORS

SHAPES = st.lists(st.sampled_from([1, 2, 3]), max_size=3).map(tuple)
ARITHMETIC = {
    "add": ("add", operator.add),
    "sub": ("add", operator.sub),
    "mul": ("mul", operator.mul),
    "div": ("div", operator.floordiv),
    "mod": ("div", operator.mod),
    "pow": ("special", operator.pow),
    "bitwise_and": ("compare", operator.and_),
    "bitwise_or": ("compare", operator.or_),
    "bitwise_xor": ("compare", operator.xor),
    "bit_shift": ("compare", operator.lshift),
}
COMPARISONS = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_or_equal": np.greater_equal,
    "less": np.less,
    "less_or_equal": np.less_equal,
}


class Counted:
    """An element that notes which operator touched it."""

    def __init__(self, tally):
        self.tally = tally


def note(name):
    def method(self, other):
        self.tally[name] = self.tally.get(name, 0) + 1
        return self

    return method


for _name, (_, _function) in ARITHMETIC.items():
    setattr(Counted, f"__{_function.__name__.rstrip('_')}__", note(_name))


def filled(shape, tally):
    array = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        array[place] = Counted(tally)
    return array


@settings(max_examples=25)
@given(SHAPES, SHAPES)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_broadcasts_and_counts(name, a, b):
    kind, function = ARITHMETIC[name]
    tally = {}
    try:
        result = np.asarray(function(filled(a, tally), filled(b, tally)), dtype=object)
    except ValueError:
        with pytest.raises(GraphError, match="do not broadcast"):
            call(name, {}, a=a, b=b)
        return
    found = call(name, {}, a=typed(a, "int32"), b=typed(b, "int32"))
    assert (shape_of(found), found.outputs[0].dtype.name) == (result.shape, "int32")
    assert work_of(name, found) == Work(**{kind: tally.get(name, 0)})


@settings(max_examples=25)
@given(SHAPES, SHAPES)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_boolean(name, a, b):
    try:
        result = COMPARISONS[name](np.zeros(a), np.zeros(b))
    except ValueError:
        return
    found = call(name, {}, a=a, b=b)
    assert (shape_of(found), found.outputs[0].dtype.name) == (result.shape, str(result.dtype))
    assert work_of(name, found) == Work(compare=result.size)


@given(st.lists(SHAPES, min_size=1, max_size=4))
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
def test_functions_of_many_tensors(name, shapes):
    try:
        whole = np.broadcast_shapes(*shapes)
    except ValueError:
        return
    t = Tally()
    for _ in np.ndindex(*whole):
        value = 1.0
        for other in shapes[1:]:
            value = t.maximum(value, len(other)) if name in ("max", "min") else t.add(value, 1.0)
        if name == "mean":
            t.div(value, len(shapes))
    found = call(name, {}, xs=shapes)
    assert (shape_of(found), work_of(name, found)) == (whole, t.work)
    with pytest.raises(GraphError):
        call(name, {}, xs=[])


@given(SHAPES, SHAPES, SHAPES)
def test_where(condition, x, y):
    try:
        wanted = np.where(np.zeros(condition, dtype=bool), np.zeros(x), np.zeros(y))
    except ValueError:
        with pytest.raises(GraphError):
            call("where", {}, condition=condition, x=x, y=y)
        return
    found = call("where", {}, condition=typed(condition, "bool"), x=typed(x, "int64"), y=typed(y, "int64"))
    assert (shape_of(found), found.outputs[0].dtype.name) == (wanted.shape, "int64")
    assert work_of("where", found) == Work(compare=wanted.size)


@settings(max_examples=25)
@given(SHAPES, SHAPES)
def test_prelu_stretches_the_slope_only(x, slope):
    t, values = Tally(), np.arange(math.prod(x)).reshape(x) - 2.0
    try:
        slopes = np.broadcast_to(np.full(slope, 0.5), x)
    except ValueError:
        with pytest.raises(GraphError):
            call("prelu", {}, x=x, slope=slope)
        return
    for place in np.ndindex(*x):
        t.select(values[place] < 0, t.mul(slopes[place], values[place]), values[place])
    found = call("prelu", {}, x=x, slope=slope)
    assert (shape_of(found), work_of("prelu", found)) == (x, t.work)
    assert {slot.use for slot in OPERATORS["prelu"].slots} == {"data", "affine"}


def test_types_that_change():
    x = typed((2, 3))
    assert call("cast", {"dtype": "float16"}, x=x).outputs == (typed((2, 3), "float16"),)
    assert call("cast_like", {}, x=x, like=typed((), "int8")).outputs == (typed((2, 3), "int8"),)
    assert call("is_nan", {}, x=x).outputs == call("is_inf", {}, x=x).outputs == (typed((2, 3), "bool"),)
    assert call("bit_cast", {"dtype": "int32"}, x=x).outputs == (typed((2, 3), "int32"),)
    for name, wrong in (("cast", "float33"), ("bit_cast", "string")):
        with pytest.raises(GraphError):
            call(name, {"dtype": wrong}, x=x)


def test_bounds_known_at_run_time_are_compared_where_they_are_there():
    assert work_of("clip_by_tensor", call("clip_by_tensor", {}, x=(2, 3), low=())) == Work(compare=6)
    assert work_of("clip_by_tensor", call("clip_by_tensor", {}, x=(2, 3), low=(), high=())) == Work(compare=12)


def test_which_producers_a_function_is_fused_into():
    mine = {Kind.ELEMENTWISE, Kind.MOVE, Kind.REDUCTION, Kind.NORMALISATION, Kind.INDEX}
    assert {op.name for op in OPERATORS.values() if op.fuses and op.kind in mine} == {"add", "sum", "concat"}


def accumulate(step, row):
    """From the first value on."""
    value, *rest = row
    for x in rest:
        value = step(value, x)
    return value


def log_sum_exp(t, row):
    largest = accumulate(t.maximum, row)
    raised = [t.special(math.exp, t.sub(x, largest)) for x in row]
    return t.add(largest, t.special(math.log, accumulate(t.add, raised)))


REDUCTIONS = {
    "reduce_sum": lambda t, row: accumulate(t.add, row),
    "reduce_mean": lambda t, row: t.div(accumulate(t.add, row), len(row)),
    "reduce_max": lambda t, row: accumulate(t.maximum, row),
    "reduce_min": lambda t, row: accumulate(t.minimum, row),
    "reduce_prod": lambda t, row: accumulate(t.mul, row),
    "reduce_l1": lambda t, row: accumulate(t.add, [t.maximum(x, -x) for x in row]),
    "reduce_l2": lambda t, row: t.special(math.sqrt, accumulate(t.add, [t.mul(x, x) for x in row])),
    "reduce_sum_square": lambda t, row: accumulate(t.add, [t.mul(x, x) for x in row]),
    "reduce_log_sum": lambda t, row: t.special(math.log, accumulate(t.add, row)),
    "reduce_log_sum_exp": log_sum_exp,
}


@settings(max_examples=30)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple), st.data(), st.booleans())
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, shape, data, keep):
    axes = tuple(data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), unique_by=lambda a: a % len(shape))))
    x, t = (np.arange(math.prod(shape)).reshape(shape) % 5 + 1).astype(np.float32), Tally()
    kept = [axis for axis in range(len(shape)) if axis not in {a % len(shape) for a in axes}]
    rows = np.transpose(x, [*kept, *(a % len(shape) for a in axes)]).reshape([*(shape[a] for a in kept), -1])
    values = [REDUCTIONS[name](t, [float(v) for v in rows[place]]) for place in np.ndindex(*rows.shape[:-1])]
    found = call(name, {"axes": axes, "keep_dims": keep}, x=shape)
    wanted = np.sum(x, axis=axes, keepdims=keep)
    assert (shape_of(found), work_of(name, found)) == (wanted.shape, t.work)
    if axes:
        theirs = "".join(part.capitalize() for part in name.split("_"))
        executed = run(theirs, [x, np.array(axes)], keepdims=int(keep))[0]
        np.testing.assert_allclose(np.ravel(values), executed.ravel(), rtol=1e-5)


def test_every_reduction_over_axes_is_executed():
    assert {name for name, op in OPERATORS.items() if {"axes", "keep_dims"} == set(op.attributes)} == set(REDUCTIONS)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple), st.data(), st.booleans())
def test_positions_of_extremes(shape, data, keep):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    for name, function in (("arg_max", np.argmax), ("arg_min", np.argmin)):
        wanted = function(np.zeros(shape), axis=axis, keepdims=keep)
        found = call(name, {"axis": axis, "keep_dims": keep}, x=shape)
        assert found.outputs == (typed(wanted.shape, "int64"),)
        assert work_of(name, found) == Work(compare=math.prod(shape) - wanted.size)


def test_running_sums_and_products():
    x = np.ones((2, 3))
    assert shape_of(call("cumsum", {"axis": 1}, x=x.shape)) == np.cumsum(x, 1).shape
    assert work_of("cumsum", call("cumsum", {"axis": 1}, x=x.shape)) == Work(add=4)
    assert work_of("cumprod", call("cumprod", {"axis": 0}, x=x.shape)) == Work(mul=3)
    with pytest.raises(GraphError):
        call("cumsum", {"axis": 2}, x=x.shape)
