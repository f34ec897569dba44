"""Values placed by index, blocks of images, windows over all axes, and what else has a shape of its own, against executions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, everywhere, least_of, shape_of, starts, typed, work_of
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work
from weighbridge.operators.table import OPERATORS

FULL_SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
COMBINE = {
    "add": lambda t, a, b: t.add(a, b),
    "mul": lambda t, a, b: t.mul(a, b),
    "max": lambda t, a, b: t.maximum(a, b),
    "min": lambda t, a, b: t.minimum(a, b),
}


def positions(data, shape, depth, count):
    """``count`` indices over the first ``depth`` axes."""
    return np.array(
        [[data.draw(st.integers(0, size - 1)) for size in shape[:depth]] for _ in range(count)], dtype=int
    ).reshape(count, depth)


@given(FULL_SHAPES, st.integers(0, 3), st.data())
@pytest.mark.parametrize("reduction", COMBINE)
def test_scatter_zeros(reduction, shape, count, data):
    depth = data.draw(st.integers(0, len(shape)))
    indices, t = positions(data, shape, depth, count), Tally()
    made, updates = np.zeros(shape), np.ones((count, *shape[depth:]))
    for index, update in zip(indices, updates, strict=True):
        for place in np.ndindex(*shape[depth:]):
            at = (*index, *place)
            made[at] = COMBINE[reduction](t, made[at], update[place])
    attributes = {"shape": shape, "reduction": reduction}
    found = call("scatter_zeros", attributes, indices=indices.shape, updates=typed(updates.shape, "int16"))
    assert (shape_of(found), found.outputs[0].dtype.name) == (made.shape, "int16")
    assert work_of("scatter_zeros", found) == t.work
    with pytest.raises(GraphError, match="are written"):
        call("scatter_zeros", attributes, indices=indices.shape, updates=(count + 1, *shape[depth:]))


@given(FULL_SHAPES, st.integers(1, 3), st.data())
def test_sparse_to_dense(shape, count, data):
    indices = positions(data, shape, len(shape), count)
    made = np.full(shape, -1.0)
    for index in indices:
        made[tuple(index)] = 2.0
    for values in ((count,), ()):
        found = call("sparse_to_dense", {"shape": shape}, indices=indices.shape, values=typed(values, "int64"))
        assert (shape_of(found), found.outputs[0].dtype.name) == (made.shape, "int64")
    with pytest.raises(GraphError):
        call("sparse_to_dense", {"shape": (*shape, 2)}, indices=indices.shape, values=(count,))
    with pytest.raises(GraphError):
        call("sparse_to_dense", {"shape": shape}, indices=indices.shape, values=(count + 1,))


def test_sparse_to_dense_in_a_row():
    """One index, and one for every value, need no axis for their one number."""
    assert shape_of(call("sparse_to_dense", {"shape": (5,)}, indices=(), values=())) == (5,)
    assert shape_of(call("sparse_to_dense", {"shape": (5,)}, indices=(2,), values=(2,))) == (5,)
    with pytest.raises(GraphError):
        call("sparse_to_dense", {"shape": (5, 5)}, indices=(2,), values=(2,))


@given(FULL_SHAPES, st.data())
def test_slice_update(shape, data):
    updates = tuple(data.draw(st.integers(0, size)) for size in shape)
    made = np.zeros(shape)
    made[tuple(slice(0, size) for size in updates)] = np.ones(updates)
    assert shape_of(call("slice_update", {}, x=shape, updates=updates, starts=(len(shape),))) == made.shape
    with pytest.raises(GraphError):
        call("slice_update", {}, x=shape, updates=(*updates[:-1], shape[-1] + 1))


@given(FULL_SHAPES)
def test_set_diagonal(shape):
    if len(shape) < 2:
        with pytest.raises(GraphError):
            call("set_diagonal", {}, x=shape, diagonal=(1,))
        return
    made = np.zeros(shape)
    diagonal = np.diagonal(made, axis1=-2, axis2=-1)
    assert shape_of(call("set_diagonal", {}, x=shape, diagonal=diagonal.shape)) == made.shape
    with pytest.raises(GraphError):
        call("set_diagonal", {}, x=shape, diagonal=(*diagonal.shape[:-1], diagonal.shape[-1] + 1))


@settings(max_examples=60)
@given(st.integers(1, 3), st.lists(st.integers(1, 4), min_size=1, max_size=2), st.data())
def test_space_to_batch_and_back(batch, space, data):
    """Every element of the padded image walks into its place, and back out of it."""
    block = [data.draw(st.integers(1, 3)) for _ in space]
    before = [data.draw(st.integers(0, 2)) for _ in space]
    after = [-(size + b) % s for size, b, s in zip(space, before, block, strict=True)]
    x = np.zeros((batch, *space, 2))
    padded = np.pad(x, [(0, 0), *zip(before, after, strict=True), (0, 0)])
    places = set()
    for n, *at, c in everywhere(padded.shape):
        inside = 0
        for one, size in zip(at, block, strict=True):
            inside = inside * size + one % size
        places.add((inside * batch + n, *(one // size for one, size in zip(at, block, strict=True)), c))
    made = tuple(max(axis) + 1 for axis in zip(*places, strict=True))
    assert len(places) == math.prod(made)
    pads = (*before, *after)
    found = call("space_to_batch", {"block_shape": tuple(block), "pads": pads}, x=x.shape)
    assert shape_of(found) == made
    back = call("batch_to_space", {"block_shape": tuple(block), "crops": pads}, x=made)
    assert shape_of(back) == x.shape
    if any(size > 1 for size in block):
        with pytest.raises(GraphError):
            call("space_to_batch", {"block_shape": tuple(block), "pads": (*before, *(a + 1 for a in after))}, x=x.shape)
        with pytest.raises(GraphError):
            call("batch_to_space", {"block_shape": tuple(block)}, x=(batch * math.prod(block) + 1, *made[1:]))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=3), st.data())
def test_dilate(shape, data):
    steps = [data.draw(st.integers(1, 3)) for _ in shape]
    reached = [{at * step for at in range(size)} for size, step in zip(shape, steps, strict=True)]
    made = tuple(max(axis, default=-1) + 1 for axis in reached)
    assert shape_of(call("dilate", {"dilations": tuple(steps)}, x=tuple(shape))) == made
    with pytest.raises(GraphError):
        call("dilate", {"dilations": (*steps, 1)}, x=tuple(shape))


@settings(max_examples=60)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=2), st.data())
@pytest.mark.parametrize("reduction", COMBINE)
def test_reduce_window(reduction, shape, data):
    window = [data.draw(st.integers(1, 3)) for _ in shape]
    stride, dilation, before, after, spread = ([data.draw(st.integers(1, 2)) for _ in shape] for _ in range(5))
    sizes = [(size - 1) * step + 1 + b + a for size, step, b, a in zip(shape, spread, before, after, strict=True)]
    reach = [(size - 1) * step + 1 for size, step in zip(window, dilation, strict=True)]
    attributes = {
        "kernel": tuple(window),
        "stride": tuple(stride),
        "dilation": tuple(dilation),
        "padding": (*before, *after),
        "x_dilation": tuple(spread),
        "reduction": reduction,
    }
    walked = [starts(*axis) for axis in zip(sizes, reach, stride, strict=True)]
    if not all(walked):
        with pytest.raises(GraphError):
            call("reduce_window", attributes, x=tuple(shape))
        return
    t = Tally()
    for _ in everywhere(map(len, walked)):
        values = [1.0 for _ in everywhere(window)]
        total = values[0]
        for value in values[1:]:
            total = COMBINE[reduction](t, total, value)
    found = call("reduce_window", attributes, x=tuple(shape), initial=())
    assert shape_of(found) == tuple(map(len, walked))
    assert work_of("reduce_window", found) == t.work
    assert (
        work_of("reduce_window", call("reduce_window", {**attributes, "reduction": "unknown"}, x=tuple(shape))) is None
    )


@given(FULL_SHAPES, st.integers(1, 4), st.data())
@pytest.mark.parametrize("reduction", COMBINE)
def test_unsorted_segments(reduction, shape, count, data):
    rank = data.draw(st.integers(1, len(shape)))
    made, t = np.zeros((count, *shape[rank:])), Tally()
    for place in np.ndindex(*shape):
        at = (data.draw(st.integers(0, count - 1)), *place[rank:])
        made[at] = COMBINE[reduction](t, made[at], 1.0)
    found = call("unsorted_segments", {"count": count, "reduction": reduction}, x=shape, segments=shape[:rank])
    assert (shape_of(found), work_of("unsorted_segments", found)) == (made.shape, t.work)
    with pytest.raises(GraphError):
        call("unsorted_segments", {"count": count, "reduction": reduction}, x=shape, segments=(*shape[:rank], 9))


@given(FULL_SHAPES, st.data())
def test_gather_with_batches(shape, data):
    """Row by row: every batch has indices of its own."""
    batch = data.draw(st.integers(0, len(shape) - 1))
    axis = data.draw(st.integers(batch, len(shape) - 1))
    own = data.draw(st.lists(st.integers(1, 3), max_size=2))
    x, indices = np.zeros(shape), np.zeros((*shape[:batch], *own), dtype=int)
    rows = [np.take(x[at], indices[at], axis - batch) for at in np.ndindex(*shape[:batch])]
    made = (*shape[:batch], *rows[0].shape)
    attributes = {"axis": axis, "batch_dims": batch}
    assert shape_of(call("gather", attributes, x=shape, indices=indices.shape)) == made
    with pytest.raises(GraphError):
        call("gather", {"axis": axis, "batch_dims": axis + 1}, x=shape, indices=shape)


@given(FULL_SHAPES, st.sampled_from(["int8", "int16", "int32", "float32", "int64"]), st.data())
def test_bit_cast_between_sizes(shape, dtype, data):
    wanted = data.draw(st.sampled_from(["uint8", "int16", "float32", "int64"]))
    old, new = np.dtype(dtype).itemsize, np.dtype(wanted).itemsize
    if new > old:
        shape = (*shape, data.draw(st.sampled_from([new // old, 3])))
    if new > old and shape[-1] != new // old:
        with pytest.raises(GraphError):
            call("bit_cast", {"dtype": wanted}, x=typed(shape, dtype))
        return
    raw = np.zeros(shape, dtype).tobytes()
    made = np.frombuffer(raw, wanted).reshape(
        *(shape[:-1] if new > old else shape), *((old // new,) if old > new else ())
    )
    found = call("bit_cast", {"dtype": wanted}, x=typed(shape, dtype))
    assert (shape_of(found), found.outputs[0].dtype.name) == (made.shape, wanted)


@given(st.lists(st.sampled_from([1, 3]), max_size=3), st.lists(st.sampled_from([1, 3]), max_size=3))
def test_broadcast_shape(a, b):
    found = call("broadcast_shape", {}, a=typed((len(a),), "int32"), b=typed((len(b),), "int32"))
    assert shape_of(found) == (len(np.broadcast_shapes(tuple(a), tuple(b))),)
    assert found.outputs[0].dtype.name == "int32"
    with pytest.raises(GraphError):
        call("broadcast_shape", {}, a=(), b=(1,))


def test_rank_looks_at_no_value():
    found = call("rank", {}, x=(3, 4))
    assert (shape_of(found), OPERATORS["rank"].traffic(found)) == (np.array(np.ndim(np.zeros((3, 4)))).shape, (0, 8))


@given(st.lists(st.sampled_from([1, 2, 3]), max_size=3).map(tuple))
def test_squared_difference_and_floor_division(shape):
    t, u = Tally(), Tally()
    for _ in np.ndindex(*shape):
        difference = t.sub(5.0, 2.0)
        t.mul(difference, difference)
        u.add(math.floor(u.div(5.0, 2.0)), 0)  # rounding is done in the adder
    assert work_of("squared_difference", call("squared_difference", {}, a=shape, b=())) == t.work
    assert work_of("floor_div", call("floor_div", {}, a=shape, b=())) == u.work


@given(st.lists(st.integers(-128, 127), min_size=1, max_size=5))
def test_requantize(values):
    t = Tally()
    for value in values:
        shifted = t.mul(t.sub(value, -3), 0.25)
        rounded = t.add(round(shifted), 0)
        t.minimum(t.maximum(t.add(rounded, 7), -128), 127)
    found = call("requantize", {"dtype": "int16"}, x=typed((len(values),), "int8"))
    assert (shape_of(found), found.outputs[0].dtype.name) == ((len(values),), "int16")
    assert work_of("requantize", found) == t.work


def test_padded_non_max_suppression():
    outputs = {"outputs": ("indices", "scores", "count"), "size": 3}
    found = call("padded_non_max_suppression", outputs, boxes=(7, 4), scores=(7,))
    assert [shape_of(found, index) for index in range(3)] == [(3,), (3,), ()]
    assert work_of("padded_non_max_suppression", found) is None
    assert least_of("padded_non_max_suppression", found) == Work(compare=7)
    open_ended = call("padded_non_max_suppression", {"size": "unknown"}, boxes=(7, 4), scores=(7,))
    assert open_ended.outputs[0].name == "int64"
    with pytest.raises(GraphError):
        call("padded_non_max_suppression", outputs, boxes=(7, 4), scores=(6,))


def test_tables_of_keys():
    """A value for every key, of the type of the value that stands for none."""
    table = {1: 2.0}
    keys = [[1, 5], [7, 1]]
    made = np.array([[table.get(key, 0.0) for key in row] for row in keys], "float32")
    found = call("hash_table_find", {}, keys=typed((2, 2), "string"), default=typed((), "float32"))
    assert (shape_of(found), found.outputs[0].dtype.name) == (made.shape, made.dtype.name)
    assert call("hash_table_import", {}, keys=(3,), values=(3,)).outputs == ()
    with pytest.raises(GraphError):
        call("hash_table_import", {}, keys=(3,), values=(4,))
    assert shape_of(call("hash_table_size", {})) == (1,)


def test_a_value_that_nobody_knows_leaves_the_shape_open():
    x, row = typed((2, 3), "int8"), typed((1,), "int64")
    cases = {
        "transpose": ({"permutation": "unknown"}, {"x": x}),
        "dilate": ({"dilations": "unknown"}, {"x": x}),
        "space_to_batch": ({"block_shape": "unknown"}, {"x": x}),
        "batch_to_space": ({"block_shape": (1,), "crops": "unknown"}, {"x": x}),
        "unsorted_segments": ({"count": "unknown"}, {"x": x, "segments": (2,)}),
        "scatter_zeros": ({"shape": "unknown"}, {"indices": row, "updates": x}),
        "sparse_to_dense": ({"shape": "unknown"}, {"indices": row, "values": x}),
        "reduce_window": ({"kernel": "unknown", "reduction": "add"}, {"x": x}),
    }
    for operator, (attributes, operands) in cases.items():
        assert call(operator, attributes, **operands).outputs[0] == x.dtype, operator
    assert call("arg_max", {"axis": "unknown"}, x=x).outputs[0].name == "int64"
    assert call("multinomial", {"sample_size": "unknown"}, x=x).outputs[0].name == "int32"
