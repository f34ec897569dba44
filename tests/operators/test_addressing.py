"""Slices by indices known at run time, against executions that follow StableHLO's specification element by element."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, everywhere, integers, least_of, shape_of, typed, work_of
from weighbridge.errors import GraphError
from weighbridge.graph import UNKNOWN
from weighbridge.operators.record import Work
from weighbridge.operators.table import OPERATORS

SHAPES = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple)


def split(index, places):
    """(the rest of an index, what it has at these places)."""
    rest = tuple(one for axis, one in enumerate(index) if axis not in places)
    return rest, tuple(index[axis] for axis in places)


@st.composite
def addressed(draw):
    """(x's shape, batches, axes that an index is along, axis of the indices, slice sizes, axes without extent)."""
    shape, batches = draw(SHAPES), draw(st.lists(st.integers(1, 3), max_size=2))
    along = draw(st.lists(st.sampled_from(range(len(shape))), unique=True, min_size=1))
    axis = draw(st.integers(0, len(batches)))
    sizes = [draw(st.integers(1, size)) for size in shape]
    lost = draw(st.lists(st.sampled_from(range(len(shape))), unique=True))
    for one in lost:
        sizes[one] = 1
    indices = (*batches[:axis], len(along), *batches[axis:])
    if len(along) == 1 and draw(st.booleans()):
        axis, indices = len(batches), tuple(batches)
    return shape, indices, tuple(along), axis, tuple(sizes), tuple(sorted(lost))


@given(addressed(), st.data())
def test_gathered_slices(case, data) -> None:
    shape, indices_shape, along, axis, sizes, lost = case
    kept = [one for one in range(len(shape)) if one not in lost]
    batches = indices_shape[:axis] + indices_shape[axis + 1 :]
    rank = len(batches) + len(kept)
    offsets = tuple(sorted(data.draw(st.permutations(range(rank)))[: len(kept)]))
    x, indices = integers(shape), np.zeros(indices_shape, int)
    inside, outside = iter([sizes[one] for one in kept]), iter(batches)
    wanted = tuple(next(inside if place in offsets else outside) for place in range(rank))
    made = np.empty(wanted, object)
    for place in everywhere(wanted):
        batch, offset = split(place, offsets)
        start = [0] * len(shape)
        for number, one in enumerate(along):
            where = (*batch[:axis], number, *batch[axis:]) if axis < len(indices_shape) else batch
            start[one] = min(int(indices[where]), shape[one] - sizes[one])
        for one, more in zip(kept, offset, strict=True):
            start[one] += more
        made[place] = x[tuple(start)]
    attributes = {
        "slice_sizes": sizes,
        "offset_axes": offsets,
        "collapsed_axes": lost,
        "start_axes": along,
        "index_axis": axis,
    }
    found = call("gather_slices", attributes, x=shape, indices=indices_shape)
    assert shape_of(found) == made.shape
    traffic = OPERATORS["gather_slices"].traffic(found)
    assert traffic.read_bytes == 4 * (min(made.size, x.size) + indices.size)


@given(addressed(), st.sampled_from(["none", "add", "mul", "max", "min"]), st.data())
def test_scattered_slices(case, reduction, data) -> None:
    shape, indices_shape, along, axis, sizes, lost = case
    kept = [one for one in range(len(shape)) if one not in lost]
    batches = indices_shape[:axis] + indices_shape[axis + 1 :]
    rank = len(batches) + len(kept)
    windows = tuple(sorted(data.draw(st.permutations(range(rank)))[: len(kept)]))
    inside, outside = iter([sizes[one] for one in kept]), iter(batches)
    updates = integers(tuple(next(inside if place in windows else outside) for place in range(rank)))
    x, tally = integers(shape), Tally()
    functions = {"none": lambda _, new: new, "add": tally.add, "mul": tally.mul}
    function = functions.get(reduction) or getattr(tally, f"{reduction}imum")
    for place in everywhere(updates.shape):
        _, offset = split(place, windows)
        where = [0] * len(shape)
        for one, more in zip(kept, offset, strict=True):
            where[one] += more
        x[tuple(where)] = function(x[tuple(where)], updates[place])
    attributes = {
        "window_axes": windows,
        "inserted_axes": lost,
        "start_axes": along,
        "index_axis": axis,
        "reduction": reduction,
    }
    found = call("scatter_slices", attributes, x=shape, indices=indices_shape, updates=updates.shape)
    assert (shape_of(found), work_of("scatter_slices", found)) == (x.shape, tally.work)
    unknown = call(
        "scatter_slices", {**attributes, "reduction": UNKNOWN}, x=shape, indices=indices_shape, updates=updates.shape
    )
    assert (work_of("scatter_slices", unknown), least_of("scatter_slices", unknown)) == (None, Work())


@given(SHAPES, st.data())
def test_a_slice_from_a_place_that_is_not_known(shape, data) -> None:
    sizes = tuple(data.draw(st.integers(0, size)) for size in shape)
    taken = np.zeros(shape)[tuple(slice(0, size) for size in sizes)]
    found = call("slice_at", {"sizes": sizes}, x=shape, starts=[()] * len(shape))
    assert shape_of(found) == taken.shape
    assert OPERATORS["slice_at"].traffic(found).read_bytes == 4 * (taken.size + len(shape))


GATHER = {"slice_sizes": (1, 4), "offset_axes": (1,), "collapsed_axes": (0,), "start_axes": (0,), "index_axis": 1}
SCATTER = {"window_axes": (1,), "inserted_axes": (0,), "start_axes": (0,), "index_axis": 1}


@pytest.mark.parametrize(
    ("operator", "attributes", "wrong"),
    [
        ("gather_slices", GATHER, {"slice_sizes": (1, 5)}),
        ("gather_slices", GATHER, {"slice_sizes": (2, 4)}),
        ("gather_slices", GATHER, {"slice_sizes": (1,)}),
        ("gather_slices", GATHER, {"offset_axes": (0, 1)}),
        ("gather_slices", GATHER, {"offset_axes": (3,)}),
        ("gather_slices", GATHER, {"start_axes": (0, 1)}),
        ("gather_slices", GATHER, {"index_axis": 3}),
        ("scatter_slices", SCATTER, {"window_axes": ()}),
        ("scatter_slices", SCATTER, {"inserted_axes": (1,)}),
        ("scatter_slices", SCATTER, {"index_axis": 0}),
        ("scatter_slices", SCATTER, {"reduction": "twice"}),
    ],
)
def test_what_does_not_fit_is_refused(operator, attributes, wrong) -> None:
    operands = {"x": (3, 4), "indices": (2, 1)}
    if operator == "scatter_slices":
        operands["updates"] = (2, 4)
    assert call(operator, attributes, **operands)
    with pytest.raises(GraphError):
        work_of(operator, call(operator, {**attributes, **wrong}, **operands))


def test_random_bits_are_as_many_as_asked_for() -> None:
    state = np.zeros(2, "uint64")
    bits = np.random.default_rng(int(state[0])).integers(0, 1 << 32, (3, 4), "uint32")
    found = call("random_bits", {"shape": (3, 4), "dtype": "uint32"}, state=typed(state.shape, "uint64"))
    assert [(one.shape, one.dtype.name) for one in found.outputs] == [
        (state.shape, state.dtype.name),
        (bits.shape, bits.dtype.name),
    ]
    assert (work_of("random_bits", found), least_of("random_bits", found)) == (None, Work())
