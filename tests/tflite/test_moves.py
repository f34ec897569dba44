"""Operators that reshape, join, part, pad, place and make values, against the same done to real arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite.build import graph, load, model, one, op, shapes, tensor
from tests.tflite.single import operand, result, runs, single, stored
from weighbridge.graph import UNKNOWN

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)
FEW = settings(max_examples=25)


@FEW
@given(SHAPES, st.data())
def test_reshape_by_an_operand_or_an_option(shape, data):
    target = list(data.draw(st.permutations(shape)))
    if data.draw(st.booleans()):
        target[data.draw(st.integers(0, len(target) - 1))] = -1
    wanted = np.zeros(shape).reshape(target).shape
    x = operand("x", shape, "INT8")
    assert result(single("RESHAPE", [x, stored("s", target)], types=["INT8"])) == (wanted, "int8")
    assert result(single("RESHAPE", [x], {"new_shape": target}, ["INT8"])) == (wanted, "int8")


def test_an_operand_that_is_no_row_of_numbers_gives_way_to_the_option():
    """As in the runtime: reshape.cc takes the operand only where it has one axis."""
    found = single("RESHAPE", [operand("x", (2, 6)), stored("s", 12)], {"new_shape": [3, 4]})
    assert result(found)[0] == (3, 4)


def test_no_axes_at_all():
    x = operand("x", (1, 1))
    assert result(single("RESHAPE", [x], {"new_shape": [0]}))[0] == ()
    assert result(single("RESHAPE", [x, stored("s", np.zeros(0, int))]))[0] == ()


def test_a_size_of_0_is_kept_as_it_is():
    assert result(single("RESHAPE", [operand("x", (0, 3)), stored("s", [3, 0])]))[0] == (3, 0)


@pytest.mark.parametrize(
    ("shape", "signature", "wanted"), [((2, 6), None, (2, 6)), ((1, 6), (-1, 6), None), (None, None, None)]
)
def test_a_shape_that_only_runs_tell_is_what_the_file_says_unless_it_leaves_that_open(shape, signature, wanted):
    tensors = [operand("x", (3, 4)), operand("s", (2,), "INT32"), tensor("y", shape, signature=signature)]
    found = one(tensors, op("RESHAPE", "x s", "y"))
    assert shapes(found) == [wanted]
    assert runs(found) == ["reshape"]


def test_a_shape_that_does_not_hold_the_values_leaves_the_operator_unknown():
    (node,) = single("RESHAPE", [operand("x", (2, 3)), stored("s", [4, 4])]).nodes
    assert node.operator == UNKNOWN
    assert "6 elements do not fill the shape (4, 4)" in node.reason


@FEW
@given(st.lists(st.sampled_from([1, 2]), min_size=1, max_size=4).map(tuple), st.data())
def test_squeeze_and_expand(shape, data):
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    axes = data.draw(st.lists(st.sampled_from(ones), unique=True)) if ones else []
    named = [axis - len(shape) if data.draw(st.booleans()) else axis for axis in axes]
    x = operand("x", shape)
    wanted = np.squeeze(np.zeros(shape), tuple(axes) or None).shape
    assert result(single("SQUEEZE", [x], {"squeeze_dims": named} if named else {}))[0] == wanted
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    assert result(single("EXPAND_DIMS", [x, stored("a", axis)]))[0] == np.expand_dims(np.zeros(shape), axis).shape


@FEW
@given(SHAPES, st.data())
def test_transpose(shape, data):
    order = data.draw(st.permutations(range(len(shape))))
    found = single("TRANSPOSE", [operand("x", shape), stored("p", order)])
    assert result(found)[0] == np.transpose(np.zeros(shape), order).shape


@FEW
@given(SHAPES, st.integers(1, 4), st.data())
def test_pack_and_unpack(shape, count, data):
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    operands = [operand(f"x{place}", shape, "INT8") for place in range(count)]
    made = np.stack([np.zeros(shape)] * count, axis)
    found = single("PACK", operands, {"axis": axis, "values_count": count}, ["INT8"])
    assert result(found) == (made.shape, "int8")
    assert runs(found) == ["unsqueeze"] * count + ["concat"]
    back = single("UNPACK", [operand("x", made.shape)], {"axis": axis, "num": count}, ["FLOAT32"] * count)
    assert [result(back, place)[0] for place in range(count)] == [shape] * count
    assert runs(back) == ["split"] + ["squeeze"] * count


@FEW
@given(st.lists(SHAPES, min_size=1, max_size=1), st.integers(1, 4), st.data())
def test_concatenation(first, count, data):
    (shape,) = first
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    given_shapes = [list(shape) for _ in range(count)]
    for one_shape in given_shapes:
        one_shape[axis] = data.draw(st.integers(1, 4))
    wanted = np.concatenate([np.zeros(one_shape) for one_shape in given_shapes], axis).shape
    operands = [operand(f"x{place}", one_shape) for place, one_shape in enumerate(given_shapes)]
    assert result(single("CONCATENATION", operands, {"axis": axis}))[0] == wanted


@FEW
@given(SHAPES, st.integers(1, 3), st.data())
def test_split(shape, parts, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    whole = list(shape)
    whole[axis] *= parts
    wanted = [part.shape for part in np.split(np.zeros(whole), parts, axis)]
    types = ["FLOAT32"] * parts
    found = single("SPLIT", [stored("a", axis), operand("x", whole)], {"num_splits": parts}, types)
    assert [result(found, place)[0] for place in range(parts)] == wanted
    sizes = [size[axis] for size in wanted]
    sizes[data.draw(st.integers(0, parts - 1))] = -1
    operands = [operand("x", whole), stored("s", sizes), stored("a", axis)]
    found = single("SPLIT_V", operands, {"num_splits": parts}, types)
    assert [result(found, place)[0] for place in range(parts)] == wanted


def test_parts_that_do_not_come_out_even_leave_the_operator_unknown():
    (node,) = single("SPLIT", [stored("a", 0), operand("x", (5,))], {"num_splits": 2}, ["FLOAT32"] * 2).nodes
    assert node.operator == UNKNOWN
    operands = [operand("x", (5,)), stored("s", [-1, -1]), stored("a", 0)]
    (node,) = single("SPLIT_V", operands, {"num_splits": 2}, ["FLOAT32"] * 2).nodes
    assert node.operator == UNKNOWN


@FEW
@given(SHAPES, st.data())
def test_slice(shape, data):
    begin = [data.draw(st.integers(0, size)) for size in shape]
    size = [data.draw(st.integers(0, whole - first)) for whole, first in zip(shape, begin, strict=True)]
    wanted = np.zeros(shape)[tuple(slice(b, b + s) for b, s in zip(begin, size, strict=True))].shape
    x = operand("x", shape)
    assert result(single("SLICE", [x, stored("b", begin), stored("s", size)]))[0] == wanted
    to_end = np.zeros(shape)[tuple(slice(b, None) for b in begin)].shape
    assert result(single("SLICE", [x, stored("b", begin), stored("s", [-1] * len(shape))]))[0] == to_end
    moving = single("SLICE", [x, operand("b", (len(shape),), "INT32"), stored("s", size)])
    assert result(moving)[0] == wanted, "where a slice begins does not say how large it is"
    (node,) = single("SLICE", [x, stored("b", begin), stored("s", [size + 1 for size in shape])]).nodes
    assert node.operator == UNKNOWN


@FEW
@given(SHAPES, st.data())
def test_pads(shape, data):
    pads = [[data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))] for _ in shape]
    pads = [[min(one, size - 1) for one in pair] for pair, size in zip(pads, shape, strict=True)]
    wanted = np.pad(np.zeros(shape), pads).shape
    x, given_pads = operand("x", shape), stored("p", pads)
    assert result(single("PAD", [x, given_pads]))[0] == wanted
    assert result(single("PADV2", [x, given_pads, operand("v", ())]))[0] == wanted
    for number, mode in enumerate(("reflect", "symmetric")):
        found = single("MIRROR_PAD", [x, given_pads], {"mode": number})
        assert result(found)[0] == np.pad(np.zeros(shape), pads, mode=mode).shape
        assert found.nodes[0].attributes["mode"] == mode


@FEW
@given(SHAPES, st.data())
def test_repeated_stretched_and_reversed(shape, data):
    times = [data.draw(st.integers(1, 3)) for _ in shape]
    x, array = operand("x", shape), np.zeros(shape)
    assert result(single("TILE", [x, stored("m", times)]))[0] == np.tile(array, times).shape
    wide = [2, *(data.draw(st.integers(1, 3)) if size == 1 else size for size in shape)]
    assert result(single("BROADCAST_TO", [x, stored("s", wide)]))[0] == np.broadcast_to(array, wide).shape
    axes = data.draw(st.lists(st.sampled_from(range(len(shape))), unique=True, min_size=1))
    assert result(single("REVERSE_V2", [x, stored("a", axes)]))[0] == np.flip(array, axes).shape
    assert result(single("REVERSE_V2", [x, operand("a", (1,), "INT32")]))[0] == shape


def test_reverse_sequence():
    found = single(
        "REVERSE_SEQUENCE", [operand("x", (4, 2, 3)), operand("l", (2,), "INT32")], {"seq_dim": 0, "batch_dim": 1}
    )
    assert (result(found)[0], runs(found)) == ((4, 2, 3), ["reverse_sequence"])


@FEW
@given(st.integers(1, 3), st.lists(st.integers(1, 5), min_size=2, max_size=2), st.data())
def test_blocks(batch, space, data):
    """Block by block, as a convolution with dilation was written before there was one."""
    block = [data.draw(st.integers(1, 3)) for _ in space]
    pads = [[before, -(size + before) % one] for size, one, before in zip(space, block, [1, 0], strict=True)]
    x = np.pad(np.zeros((batch, *space, 2)), [[0, 0], *pads, [0, 0]])
    parts = [x[:, i :: block[0], j :: block[1]] for i in range(block[0]) for j in range(block[1])]
    wanted = np.concatenate(parts).shape
    given_operands = [stored("b", block), stored("p", pads)]
    found = single("SPACE_TO_BATCH_ND", [operand("x", (batch, *space, 2)), *given_operands])
    assert (result(found)[0], runs(found)) == (wanted, ["space_to_batch"])
    back = single("BATCH_TO_SPACE_ND", [operand("x", wanted), *given_operands])
    assert (result(back)[0], runs(back)) == ((batch, *space, 2), ["batch_to_space"])


def test_a_convolution_between_blocks_counts_as_it_is_written():
    """Of an image of 8 x 8 in four parts, each padded by nothing: 4 x 2 x 2 places of 3 x 3 x 2 x 3."""
    tensors = [
        operand("x", (1, 8, 8, 2)),
        stored("b", [2, 2]),
        stored("p", [[0, 0], [0, 0]]),
        tensor("w", (3, 3, 3, 2), data=True),
        *(tensor(name, None) for name in ("s", "c", "y")),
    ]
    operators = [
        op("SPACE_TO_BATCH_ND", "x b p", "s"),
        op("CONV_2D", "s w -", "c", {"stride_h": 1, "stride_w": 1, "padding": 1}),
        op("BATCH_TO_SPACE_ND", "c b p", "y"),
    ]
    from weighbridge import weigh

    found = load(model(graph(tensors, operators, "x", "y")))
    assert shapes(found) == [(1, 4, 4, 3)]
    assert weigh(found).facts.macs == 4 * 2 * 2 * 3 * 3 * 2 * 3


def test_placed_into_others():
    x = operand("x", (4, 5))
    cases = {
        "DYNAMIC_UPDATE_SLICE": ([x, operand("u", (2, 5)), operand("s", (2,), "INT32")], (4, 5), "slice_update"),
        "DILATE": ([x, stored("d", [3, 1]), operand("v", ())], (10, 5), "dilate"),
        "MATRIX_DIAG": ([x], (4, 5, 5), "diagonal_embed"),
        "MATRIX_SET_DIAG": ([x, operand("d", (4,))], (4, 5), "set_diagonal"),
    }
    for name, (operands, wanted, ours) in cases.items():
        found = single(name, operands)
        assert (result(found)[0], runs(found)) == (wanted, [ours]), name


@pytest.mark.parametrize(
    ("shape", "theirs", "wanted", "made"),
    [((2, 3), "INT32", "FLOAT32", (2, 3)), ((2,), "INT64", "INT8", (2, 8)), ((2, 2), "INT16", "UINT32", (2,))],
)
def test_the_same_bits_as_another_type(shape, theirs, wanted, made):
    size = np.dtype(theirs.lower()).itemsize * np.prod(shape)
    assert size == np.dtype(wanted.lower()).itemsize * np.prod(made)
    assert result(single("BITCAST", [operand("x", shape, theirs)], types=[wanted])) == (made, wanted.lower())


def test_what_is_made_of_a_shape():
    x, dims = operand("x", (3, 4), "INT16"), stored("s", [2, 5])
    cases = {
        "SHAPE": ([x], (2,), "INT32", "shape"),
        "RANK": ([x], (), "INT32", "rank"),
        "ZEROS_LIKE": ([x], (3, 4), "INT16", "constant_of_shape"),
        "FILL": ([dims, operand("v", (), "INT8")], (2, 5), "INT8", "expand"),
        "RANGE": ([stored("b", 1), stored("e", 8), stored("s", 3)], (3,), "INT32", "range"),
        "RANDOM_UNIFORM": ([dims], (2, 5), "FLOAT32", "random_uniform"),
        "RANDOM_STANDARD_NORMAL": ([dims], (2, 5), "FLOAT32", "random_normal"),
        "MULTINOMIAL": ([operand("x", (3, 7)), stored("n", 4)], (3, 4), "INT64", "multinomial"),
        "BROADCAST_ARGS": (
            [operand("a", (2,), "INT32"), operand("b", (3,), "INT32")],
            (3,),
            "INT32",
            "broadcast_shape",
        ),
    }
    for name, (operands, wanted, dtype, ours) in cases.items():
        found = single(name, operands, types=[dtype])
        assert (result(found), runs(found)) == ((wanted, dtype.lower()), [ours]), name


@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(1, 3), st.booleans())
@settings(max_examples=20)
def test_ranges(start, limit, step, backwards):
    bounds = (limit, start, -step) if backwards else (start, limit, step)
    for dtype in ("INT32", "FLOAT32"):
        operands = [stored(name, value, dtype) for name, value in zip("bes", bounds, strict=True)]
        assert result(single("RANGE", operands, types=[dtype])) == (np.arange(*bounds).shape, dtype.lower())


def test_sizes_that_only_runs_tell():
    """No shape, no error, and the operator has its rule."""
    x, row = operand("x", (2, 3)), operand("n", (2,), "INT32")
    cases = {
        "TRANSPOSE": [x, row],
        "TILE": [x, row],
        "BROADCAST_TO": [x, row],
        "PAD": [x, operand("p", (2, 2), "INT32")],
        "FILL": [row, operand("v", ())],
        "RANDOM_UNIFORM": [row],
        "RANGE": [operand(name, ()) for name in "bes"],
        "EXPAND_DIMS": [x, operand("a", (), "INT32")],
        "SPACE_TO_BATCH_ND": [operand("x", (2, 3, 4, 5)), row, operand("p", (2, 2), "INT32")],
        "DILATE": [x, row, operand("v", ())],
    }
    for name, operands in cases.items():
        found = single(name, operands)
        assert (result(found)[0], len(runs(found))) == (None, 1), name


def test_operands_of_unknown_shape():
    """What follows is unknown, too, unless the operator itself says it."""
    follow = {
        "RESHAPE": ([stored("s", [2, 3])], {}, (2, 3)),
        "SLICE": ([stored("b", [0, 0]), stored("s", [2, 2])], {}, (2, 2)),
        "STRIDED_SLICE": ([stored(name, [1]) for name in "bes"], {}, None),
        "SQUEEZE": ([], {}, None),
        "TRANSPOSE": ([stored("p", [0, 1])], {}, None),
        "SHAPE": ([], {}, None),
        "SPLIT_V": ([stored("s", [1]), stored("a", 0)], {}, None),
        "REVERSE_V2": ([stored("a", [0])], {}, None),
        "ZEROS_LIKE": ([], {}, None),
        "RANK": ([], {}, ()),
    }
    for name, (rest, options, wanted) in follow.items():
        tensors = [operand("x", (6,)), operand("n", (2,), "INT32"), tensor("u", None), *rest, tensor("y", None)]
        operators = [op("RESHAPE", "x n", "u"), op(name, ["u", *(each.name for each in rest)], "y", options)]
        found = load(model(graph(tensors, operators, "x n", "y")))
        assert shapes(found) == [wanted], name
        assert len(runs(found)) == 2
