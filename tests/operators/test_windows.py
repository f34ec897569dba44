"""Windows, diagonals, rolls and indexing over several axes against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from tests.operators.execution import call, shape_of, typed, work_of
from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work

SHAPES = st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple)


@given(SHAPES, st.data())
def test_windows(shape, data):
    axis, step = data.draw(st.integers(-len(shape), len(shape) - 1)), data.draw(st.integers(1, 3))
    size = data.draw(st.integers(1, shape[axis]))
    wanted = sliding_window_view(np.zeros(shape), size, axis)
    wanted = np.take(wanted, range(0, wanted.shape[axis % len(shape)], step), axis % len(shape))
    assert shape_of(call("windows", {"axis": axis, "size": size, "step": step}, x=shape)) == wanted.shape
    with pytest.raises(GraphError):
        call("windows", {"axis": axis, "size": shape[axis] + 1}, x=shape)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(3, 6), st.integers(1, 3), st.integers(1, 2))
def test_im2col(batch, channels, size, block, stride):
    image = np.zeros((batch, channels, size, size))
    found = sliding_window_view(image, (block, block), (2, 3))[:, :, ::stride, ::stride]
    columns = channels * block * block, found.shape[2] * found.shape[3]
    attributes = {"block_shape": (block, block), "stride": stride}
    assert shape_of(call("im2col", attributes, x=image.shape)) == (batch, *columns)
    assert shape_of(call("im2col", attributes, x=image.shape[1:])) == columns


@given(SHAPES, st.integers(-5, 5), st.data())
def test_diagonals_and_back(shape, offset, data):
    rank = len(shape)
    axes = tuple(data.draw(st.lists(st.integers(0, rank - 1), min_size=2, max_size=2, unique=True)))
    wanted = np.diagonal(np.zeros(shape), offset, *axes)
    found = call("diagonal", {"offset": offset, "axes": axes}, x=shape)
    assert shape_of(found) == wanted.shape
    matrix = np.diag(np.zeros(shape[-1]), offset)
    embedded = call("diagonal_embed", {"offset": offset}, x=shape)
    assert shape_of(embedded) == (*shape[:-1], *matrix.shape)


@given(SHAPES, st.integers(-5, 5))
def test_roll(shape, shift):
    assert (
        shape_of(call("roll", {"shifts": (shift,), "axes": (0,)}, x=shape)) == np.roll(np.zeros(shape), shift, 0).shape
    )
    with pytest.raises(GraphError):
        call("roll", {"shifts": (1, 2), "axes": (0,)}, x=shape)


@given(st.lists(st.integers(1, 4), min_size=3, max_size=4).map(tuple), st.data())
def test_several_indices_stand_where_numpy_puts_them(shape, data):
    axes = tuple(sorted(data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=3, unique=True))))
    shapes = [data.draw(st.sampled_from([(), (5,), (2, 1), (2, 5)])) for _ in axes]
    places = [slice(None)] * len(shape)
    for axis, one in zip(axes, shapes, strict=True):
        places[axis] = np.zeros(one, dtype=int)
    wanted = np.zeros(shape)[tuple(places)]
    indices = [typed(one, "int64") for one in shapes]
    if len(set(axes)) == axes[-1] - axes[0] + 1 or any(shapes):
        assert shape_of(call("index", {"axes": axes}, x=shape, indices=indices)) == wanted.shape
    put = call("index_put", {"axes": axes, "accumulate": True}, x=shape, updates=wanted.shape, indices=indices)
    assert (shape_of(put), work_of("index_put", put)) == (shape, Work(add=wanted.size))
    kept = call("index_put", {"axes": axes}, x=shape, updates=(), indices=indices)
    assert work_of("index_put", kept) == Work()


def test_masks_are_looked_at_and_leave_the_shape_open():
    mask = typed((2, 3), "bool")
    found = call("index", {"axes": (0,)}, x=(2, 3, 4), indices=[mask])
    assert found.outputs == (DTYPES["float32"],)
    assert work_of("index", found) == Work(compare=6)
    put = call("index_put", {"axes": (0,)}, x=(2, 3, 4), updates=(), indices=[mask])
    assert work_of("index_put", put) == Work(compare=6)
    added = call("index_put", {"axes": (0,), "accumulate": True}, x=(2, 3, 4), updates=(), indices=[mask])
    assert work_of("index_put", added) is None
    scattered = call("masked_scatter", {}, x=(2, 3), mask=typed((2, 1), "bool"), updates=(5,))
    assert work_of("masked_scatter", scattered) == Work(add=6, compare=6)
    with pytest.raises(GraphError):
        call("masked_scatter", {}, x=(2, 3), mask=typed((4,), "bool"), updates=(5,))


def test_indices_that_do_not_fit_are_refused():
    for attributes, count in (({"axes": (0, 1)}, 1), ({"axes": ()}, 0), ({"axes": (7,)}, 1)):
        with pytest.raises(GraphError):
            call("index", attributes, x=(2, 3), indices=[typed((4,), "int64")] * count)
    with pytest.raises(GraphError, match="updates of shape"):
        call("index_put", {"axes": (0,)}, x=(2, 3), updates=(2, 4, 3), indices=[typed((4,), "int64")])
