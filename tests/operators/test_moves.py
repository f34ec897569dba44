"""Views, moves, and picking by index against numpy, which executes them on small arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import call, shape_of, typed, work_of
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work
from weighbridge.operators.table import OPERATORS

SHAPES = st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple)
FULL_SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
BOUNDS = st.integers(-6, 6) | st.sampled_from([-(1 << 63), (1 << 63) - 1])


def expect(operator, attributes, executed, **operands):
    """Whether the rule and the execution agree: on the shape, or that there is none."""
    try:
        wanted = executed()
    except (ValueError, IndexError, np.exceptions.AxisError):
        with pytest.raises(GraphError):
            call(operator, attributes, **operands)
        return None
    found = call(operator, attributes, **operands)
    assert shape_of(found) == wanted.shape
    return found


@given(SHAPES, st.data())
def test_reshape(shape, data):
    target = tuple(data.draw(st.lists(st.integers(-1, 6), min_size=1, max_size=4)))
    resolved = [shape[i] if size == 0 and i < len(shape) else size for i, size in enumerate(target)]
    impossible = any(size == 0 and i >= len(shape) for i, size in enumerate(target))
    expect("reshape", {"shape": target, "allow_zero": True}, lambda: np.zeros(shape).reshape(target), x=shape)
    if impossible:
        with pytest.raises(GraphError):
            call("reshape", {"shape": target}, x=shape)
    else:
        expect("reshape", {"shape": target}, lambda: np.zeros(shape).reshape(resolved), x=shape)


@given(FULL_SHAPES, st.data())
def test_reshape_keeps_what_a_factorisation_holds(shape, data):
    """Targets that do fit, which random ones seldom do."""
    target = list(data.draw(st.permutations(shape)))
    if data.draw(st.booleans()):
        target[data.draw(st.integers(0, len(target) - 1))] = -1
    expect("reshape", {"shape": tuple(target)}, lambda: np.zeros(shape).reshape(target), x=shape)


@given(SHAPES, st.data())
def test_flatten(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape)))

    def executed():
        rows = list(np.ndindex(*shape[:axis]))
        columns = list(np.ndindex(*shape[axis:]))
        return np.zeros((len(rows), len(columns)))

    expect("flatten", {"axis": axis}, executed, x=shape)


@given(SHAPES, st.lists(st.integers(-5, 5), max_size=3).map(tuple))
def test_squeeze_and_unsqueeze(shape, axes):
    if axes:
        expect("squeeze", {"axes": axes}, lambda: np.squeeze(np.zeros(shape), axes), x=shape)
    expect("squeeze", {}, lambda: np.squeeze(np.zeros(shape)), x=shape)
    expect("unsqueeze", {"axes": axes}, lambda: np.expand_dims(np.zeros(shape), axes), x=shape)


@given(SHAPES, st.data())
def test_transpose(shape, data):
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    expect("transpose", {"permutation": order}, lambda: np.transpose(np.zeros(shape), order), x=shape)
    expect("transpose", {}, lambda: np.transpose(np.zeros(shape)), x=shape)
    wrong = (*order[:-1], data.draw(st.integers(-6, 6)))
    expect("transpose", {"permutation": wrong}, lambda: np.transpose(np.zeros(shape), wrong), x=shape)


@given(st.lists(SHAPES, min_size=1, max_size=3), st.integers(-4, 4))
def test_concat_of_any_shapes(shapes, axis):
    expect("concat", {"axis": axis}, lambda: np.concatenate([np.zeros(s) for s in shapes], axis), xs=shapes)


@given(SHAPES, st.data())
def test_concat_that_fits(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    shapes = []
    for size in sizes:
        one = list(shape)
        one[axis] = size
        shapes.append(tuple(one))
    found = expect("concat", {"axis": axis}, lambda: np.concatenate([np.zeros(s) for s in shapes], axis), xs=shapes)
    assert found is not None


@given(SHAPES, st.data())
def test_split(shape, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    cuts = sorted(data.draw(st.lists(st.integers(0, shape[axis]), max_size=3)))
    sizes = tuple(np.diff([0, *cuts, shape[axis]]).tolist())
    found = call("split", {"axis": axis, "sizes": sizes}, x=shape)
    wanted = np.split(np.zeros(shape), cuts, axis)
    assert [output.shape for output in found.outputs] == [part.shape for part in wanted]
    with pytest.raises(GraphError):
        call("split", {"axis": axis, "sizes": (*sizes, 1)}, x=shape)


def test_nothing_splits_into_no_parts():
    with pytest.raises(GraphError, match="0 elements do not split into"):
        call("split", {"sizes": ()}, x=(0,))


@given(st.integers(0, 12), st.integers(1, 5))
def test_split_into_equal_parts_takes_from_the_front(size, parts):
    chunk = next(c for c in range(size + 1) if c * parts >= size)
    left, wanted = size, []
    for _ in range(parts):
        wanted.append(min(chunk, left))
        left -= wanted[-1]
    if wanted[-1] == size - chunk * (parts - 1):
        found = call("split", {"parts": parts}, x=(size,))
        assert [output.shape[0] for output in found.outputs] == wanted
    else:
        with pytest.raises(GraphError):
            call("split", {"parts": parts}, x=(size,))


@given(SHAPES, st.data())
def test_slice(shape, data):
    axes = tuple(data.draw(st.permutations(range(len(shape)))))[: data.draw(st.integers(0, len(shape)))]
    count = len(axes)
    starts, ends = (tuple(data.draw(st.lists(BOUNDS, min_size=count, max_size=count))) for _ in "se")
    steps = tuple(data.draw(st.lists(st.sampled_from([-3, -2, -1, 1, 2, 3]), min_size=count, max_size=count)))
    chosen = [slice(None)] * len(shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        chosen[axis] = slice(start, end, step)
    attributes = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    found = expect("slice", attributes, lambda: np.zeros(shape)[tuple(chosen)], x=shape)
    out = found.outputs[0].elements * 4
    assert OPERATORS["slice"].traffic(found) == (out, out)


@given(FULL_SHAPES, FULL_SHAPES)
def test_expand_stretches_both_ways(shape, target):
    def executed():
        return np.zeros(shape) * np.ones(target)

    found = expect("expand", {"shape": target}, executed, x=shape)
    if found:
        assert OPERATORS["expand"].traffic(found) == (4 * np.zeros(shape).size, 4 * executed().size)


@given(SHAPES, st.data())
def test_tile(shape, data):
    repeats = tuple(data.draw(st.lists(st.integers(0, 3), min_size=len(shape), max_size=len(shape))))
    expect("tile", {"repeats": repeats}, lambda: np.tile(np.zeros(shape), repeats), x=shape)


@given(FULL_SHAPES, st.data())
def test_pad_and_crop(shape, data):
    axes = tuple(data.draw(st.permutations(range(len(shape)))))[: data.draw(st.integers(1, len(shape)))]
    pads = tuple(data.draw(st.lists(st.integers(-2, 3), min_size=2 * len(axes), max_size=2 * len(axes))))
    before, after = dict(zip(axes, pads, strict=False)), dict(zip(axes, pads[len(axes) :], strict=True))

    def executed():
        """Pad by what is positive, then cut off what is negative; a cut deeper than the rest is no shape."""
        widths = [(max(before.get(a, 0), 0), max(after.get(a, 0), 0)) for a in range(len(shape))]
        padded = np.pad(np.zeros(shape), widths)
        for axis in range(len(shape)):
            cut = -min(before.get(axis, 0), 0) - min(after.get(axis, 0), 0)
            if cut > padded.shape[axis]:
                raise ValueError("nothing is left")
            padded = np.delete(padded, np.arange(cut), axis)
        return padded

    expect("pad", {"pads": pads, "axes": axes}, executed, x=shape)


@given(SHAPES, SHAPES, st.integers(-5, 5))
def test_gather(shape, indices, axis):
    def executed():
        return np.take(np.zeros(shape), np.zeros(indices, dtype=int), axis, mode="clip" if 0 not in shape else "raise")

    if 0 in shape:
        return
    found = expect("gather", {"axis": axis}, executed, x=shape, indices=typed(indices, "int64"))
    if found:
        read = 4 * min(found.outputs[0].elements, np.zeros(shape).size) + 8 * np.zeros(indices).size
        assert OPERATORS["gather"].traffic(found) == (read, 4 * found.outputs[0].elements)


@given(FULL_SHAPES, st.data())
def test_gather_elements(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    indices = list(shape)
    indices[axis] = data.draw(st.integers(1, 5))
    places = np.zeros(indices, dtype=int)
    expect(
        "gather_elements",
        {"axis": axis},
        lambda: np.take_along_axis(np.zeros(shape), places, axis),
        x=shape,
        indices=typed(tuple(indices), "int64"),
    )


@given(FULL_SHAPES, FULL_SHAPES, st.integers(0, 2))
def test_gather_nd(shape, indices, batch):
    def executed():
        """An index for every position but the last of the indices, walked one by one."""
        if batch >= len(indices) or shape[:batch] != indices[:batch] or not 1 <= indices[-1] <= len(shape) - batch:
            raise ValueError("the index does not fit")
        data, tails = np.zeros(shape), []
        for place in np.ndindex(*indices[:-1]):
            tails.append(data[place[:batch]][(0,) * indices[-1]])
        return np.array(tails).reshape((*indices[:-1], *np.shape(tails[0])))

    expect("gather_nd", {"batch_dims": batch}, executed, x=shape, indices=typed(indices, "int64"))


@settings(max_examples=200)
@given(FULL_SHAPES, st.data(), st.sampled_from(["none", "add", "mul", "max", "min"]))
def test_scatter_nd_combines_each_update_once(shape, data, reduction):
    depth = data.draw(st.integers(1, len(shape)))
    places = data.draw(st.lists(st.integers(1, 3), max_size=2))
    indices = (*places, depth)
    target, done = np.zeros(shape), 0
    picked = np.zeros(indices, dtype=int)
    updates = np.zeros((*places, *target[(0,) * depth].shape))
    for place in np.ndindex(*places):
        for inner in np.ndindex(*updates.shape[len(places) :]):
            target[(*picked[place], *inner)] += updates[(*place, *inner)]
            done += 1
    found = call(
        "scatter_nd", {"reduction": reduction}, x=shape, indices=typed(indices, "int64"), updates=updates.shape
    )
    assert shape_of(found) == shape
    kind = {"add": "add", "mul": "mul", "max": "compare", "min": "compare"}.get(reduction)
    assert work_of("scatter_nd", found) == (Work(**{kind: done}) if kind else Work())
    with pytest.raises(GraphError):
        call("scatter_nd", {}, x=shape, indices=typed(indices, "int64"), updates=(*updates.shape, 2))


@given(FULL_SHAPES, st.data())
def test_scatter_elements(shape, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    indices = tuple(data.draw(st.integers(1, size)) for size in shape)
    target, done = np.zeros(shape), 0
    for place in np.ndindex(*indices):
        target[(*place[:axis], 0, *place[axis + 1 :])] += 1
        done += 1
    found = call(
        "scatter_elements",
        {"axis": axis, "reduction": "add"},
        x=shape,
        indices=typed(indices, "int64"),
        updates=indices,
    )
    assert shape_of(found) == target.shape
    assert work_of("scatter_elements", found) == Work(add=done)


@given(st.lists(st.integers(0, 3), max_size=3).map(tuple), st.integers(1, 5), st.data())
def test_one_hot(indices, depth, data):
    axis = data.draw(st.integers(-len(indices) - 1, len(indices)))
    wanted = np.moveaxis(np.eye(depth)[np.zeros(indices, dtype=int)], -1, axis)
    found = call(
        "one_hot",
        {"depth": depth, "axis": axis},
        indices=typed(indices, "int64"),
        values=typed((2,), "float16"),
    )
    assert shape_of(found) == wanted.shape
    assert found.outputs[0].dtype.name == "float16"


@given(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_depth_to_space_and_back(batch, channels, block, space):
    """Every element of the image finds its channel and its place."""
    deep = (batch, channels * block ** len(space), *space)
    wide = np.zeros((batch, channels, *(size * block for size in space)))
    seen = {
        (n, c, *(p % block for p in place), *(p // block for p in place)) for n, c, *place in np.ndindex(*wide.shape)
    }
    assert len(seen) == np.zeros(deep).size
    assert shape_of(call("depth_to_space", {"block_size": block}, x=deep)) == wide.shape
    assert shape_of(call("space_to_depth", {"block_size": block}, x=wide.shape)) == deep
    last = {"block_size": block, "layout": "channels_last"}
    assert (
        shape_of(call("space_to_depth", last, x=np.moveaxis(wide, 1, -1).shape))
        == np.moveaxis(np.zeros(deep), 1, -1).shape
    )
    if block > 1:
        with pytest.raises(GraphError):
            call("space_to_depth", {"block_size": block}, x=(batch, channels, *(size * block + 1 for size in space)))


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-3, 3).filter(bool), st.sampled_from([1, 0.5, 0.1, 0.3]))
def test_range(start, limit, step, scale):
    numbers = {"start": start * scale, "limit": limit * scale, "step": step * scale}
    found = call("range", {**numbers, "dtype": "int64" if scale == 1 else "float32"})
    assert shape_of(found) == np.arange(*numbers.values()).shape


@given(SHAPES, st.integers(-6, 6), st.integers(-6, 6) | st.just("last"))
def test_shape(shape, start, end):
    wanted = shape[slice(start, None if end == "last" else end)]
    found = call("shape", {"start": start, "end": end}, x=shape)
    assert shape_of(found) == (len(wanted),)
    assert found.outputs[0].dtype.name == "int64"
    assert OPERATORS["shape"].traffic(found) == (0, 8 * len(wanted))


def test_a_value_that_nobody_knows_leaves_the_shape_open():
    x = typed((2, 3), "int8")
    for operator, unknown in {
        "reshape": ["shape"],
        "slice": ["starts", "ends"],
        "expand": ["shape"],
        "tile": ["repeats"],
        "pad": ["pads"],
        "squeeze": ["axes"],
        "unsqueeze": ["axes"],
        "reduce_sum": ["axes"],
        "top_k": ["k"],
        "center_crop_pad": ["shape"],
    }.items():
        found = call(operator, dict.fromkeys(unknown, "unknown"), x=x)
        assert found.outputs[0] == x.dtype, operator
    assert [one.name for one in call("split", {"sizes": "unknown", "parts": 3}, x=x).outputs] == ["int8"] * 3


@pytest.mark.parametrize("operator", ["reshape", "flatten", "squeeze", "unsqueeze"])
def test_views_move_and_compute_nothing(operator):
    found = call(operator, {"reshape": {"shape": (4, 1)}, "unsqueeze": {"axes": 0}}.get(operator), x=(2, 2))
    assert OPERATORS[operator].traffic(found) == (0, 0)
    assert OPERATORS[operator].view_of == "x"
    assert OPERATORS[operator].is_free


def test_only_the_four_views_are_views():
    """And a tensor under the id that it has after a write in place."""
    views = {"reshape", "flatten", "squeeze", "unsqueeze", "updated", "part"}
    assert {op.name for op in OPERATORS.values() if op.view_of} == views


def test_a_part_is_a_box_where_it_lies():
    found = call("part", {"starts": (0, 1, 2), "sizes": (2, 3, 1)}, x=(2, 4, 3))
    assert shape_of(found) == (2, 3, 1)
    assert OPERATORS["part"].traffic(found) == (0, 0)


@pytest.mark.parametrize(
    ("starts", "sizes"),
    [((0, 0), (1, 1)), ((0, 0, 0), (1, 1)), ((0, 2, 0), (2, 3, 3)), ((-1, 0, 0), (1, 1, 1)), ((0, 0, 0), (-1, 1, 1))],
)
def test_a_part_lies_inside(starts, sizes):
    with pytest.raises(GraphError):
        call("part", {"starts": starts, "sizes": sizes}, x=(2, 4, 3))
