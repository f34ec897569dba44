"""Values that a model computes before inference: each fold against numpy, and shapes that follow from them, batch or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite.build import graph, load, model, op, shapes, tensor
from tests.tflite.single import operand, result, runs, single, stored
from weighbridge import weigh
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadModel
from weighbridge.frontends.foreign import Foreign
from weighbridge.frontends.onnx_arrays import Array
from weighbridge.frontends.tflite_fold import FOLDABLE, fold
from weighbridge.graph import Graph, TensorType

INTS = np.dtype("int32")


def array(values: Any) -> Array:
    found = np.asarray(values)
    return Array(found.dtype.name, found.shape, tuple(found.ravel().tolist()))


def folded(name: str, operands: list[Any], wanted: list[Any], **options: Any) -> list[np.ndarray] | None:
    """What a fold makes of arrays; it is told the shapes of the results, as our rules would."""
    inputs = tuple(f"x{place}" for place in range(len(operands)))
    outputs = tuple(f"y{place}" for place in range(len(wanted)))
    stated = [TensorType(np.shape(one), DTYPES[np.asarray(one).dtype.name]) for one in wanted]
    call = Foreign("node", "", name, inputs, outputs, options, 1, None, stated)
    found = fold(call, [None if one is None else array(one) for one in operands], [np.shape(one) for one in wanted])
    return None if found is None else [np.array(one.values, one.dtype).reshape(one.shape) for one in found]


def ints(*values: Any) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, INTS)


ROW, OTHER, MATRIX = ints(4, -7, 9, 2), ints(3, 2, -4, 5), ints([[1, 2, 3], [4, 5, 6]])
TRUTHS = np.array([True, False, True, True])
# (operator, operands, options, what numpy makes of them)
CASES: list[tuple[str, list[Any], dict[str, Any], list[Any]]] = [
    ("ADD", [ROW, OTHER], {}, [ROW + OTHER]),
    ("SUB", [ROW, ints(1)], {}, [ROW - 1]),
    ("MUL", [MATRIX, ints([2, 3, 4])], {}, [MATRIX * ints(2, 3, 4)]),
    ("DIV", [ROW, OTHER], {}, [np.trunc(ROW / OTHER).astype(INTS)]),
    ("FLOOR_DIV", [ROW, OTHER], {}, [ROW // OTHER]),
    ("FLOOR_MOD", [ROW, OTHER], {}, [ROW % OTHER]),
    ("POW", [ROW, ints(2)], {}, [ROW**2]),
    ("ADD_N", [ROW, OTHER, ROW], {}, [ROW + OTHER + ROW]),
    ("MAXIMUM", [ROW, OTHER], {}, [np.maximum(ROW, OTHER)]),
    ("MINIMUM", [ROW, OTHER], {}, [np.minimum(ROW, OTHER)]),
    ("SQUARED_DIFFERENCE", [ROW, OTHER], {}, [(ROW - OTHER) ** 2]),
    ("SQUARE", [ROW], {}, [ROW**2]),
    ("EQUAL", [ROW, ints(9)], {}, [ROW == 9]),
    ("NOT_EQUAL", [ROW, ints(9)], {}, [ROW != 9]),
    ("LESS", [ROW, OTHER], {}, [ROW < OTHER]),
    ("LESS_EQUAL", [ROW, OTHER], {}, [ROW <= OTHER]),
    ("GREATER", [ROW, OTHER], {}, [ROW > OTHER]),
    ("GREATER_EQUAL", [ROW, OTHER], {}, [ROW >= OTHER]),
    ("LOGICAL_AND", [TRUTHS, TRUTHS[::-1].copy()], {}, [TRUTHS & TRUTHS[::-1]]),
    ("LOGICAL_OR", [TRUTHS, TRUTHS[::-1].copy()], {}, [TRUTHS | TRUTHS[::-1]]),
    ("LOGICAL_NOT", [TRUTHS], {}, [~TRUTHS]),
    ("NEG", [ROW], {}, [-ROW]),
    ("ABS", [ROW], {}, [abs(ROW)]),
    ("SIGN", [ROW], {}, [np.sign(ROW)]),
    ("RELU", [ROW], {}, [np.maximum(ROW, 0)]),
    ("FLOOR", [np.float32([1.5, -1.5])], {}, [np.float32([1, -2])]),
    ("CEIL", [np.float32([1.5, -1.5])], {}, [np.float32([2, -1])]),
    ("ROUND", [np.float32([1.5, 2.5, -0.6])], {}, [np.float32([2, 2, -1])]),
    ("SQRT", [np.float32([4, 9])], {}, [np.float32([2, 3])]),
    ("CAST", [np.float32([1.7, -1.7])], {}, [ints(1, -1)]),
    ("RANGE", [ints(1), ints(9), ints(3)], {}, [np.arange(1, 9, 3, INTS)]),
    ("SELECT", [TRUTHS, ROW, OTHER], {}, [np.where(TRUTHS, ROW, OTHER)]),
    ("SELECT_V2", [TRUTHS, ROW, ints(0)], {}, [np.where(TRUTHS, ROW, 0)]),
    ("RESHAPE", [MATRIX, ints(3, 2)], {}, [MATRIX.reshape(3, 2)]),
    ("SQUEEZE", [ints([[5]])], {}, [ints(5)]),
    ("EXPAND_DIMS", [ROW, ints(0)], {}, [ROW[None]]),
    ("BROADCAST_TO", [ROW, ints(2, 4)], {}, [np.broadcast_to(ROW, (2, 4))]),
    ("FILL", [ints(2, 3), ints(7)], {}, [np.full((2, 3), 7, INTS)]),
    ("TILE", [MATRIX, ints(2, 1)], {}, [np.tile(MATRIX, (2, 1))]),
    ("ZEROS_LIKE", [None], {}, [np.zeros((2, 2), INTS)]),
    ("TRANSPOSE", [MATRIX, ints(1, 0)], {}, [MATRIX.T]),
    ("CONCATENATION", [MATRIX, MATRIX], {"axis": -1}, [np.concatenate([MATRIX, MATRIX], -1)]),
    ("PACK", [ROW, OTHER], {"axis": 1}, [np.stack([ROW, OTHER], 1)]),
    ("PACK", [ints(3), ints(5)], {"axis": 0}, [ints(3, 5)]),
    ("UNPACK", [MATRIX], {"axis": 1}, [MATRIX[:, 0], MATRIX[:, 1], MATRIX[:, 2]]),
    ("SPLIT", [ints(0), ROW], {"num_splits": 2}, [ROW[:2], ROW[2:]]),
    ("SPLIT_V", [ROW, ints(1, -1), ints(0)], {"num_splits": 2}, [ROW[:1], ROW[1:]]),
    ("GATHER", [ROW, ints(2, 0)], {"axis": 0}, [ROW[[2, 0]]]),
    ("GATHER", [MATRIX, ints(1)], {"axis": 1}, [MATRIX[:, 1]]),
    ("SLICE", [ROW, ints([1]), ints([-1])], {}, [ROW[1:]]),
    ("SLICE", [MATRIX, ints(0, 1), ints(2, 1)], {}, [MATRIX[:, 1:2]]),
    ("STRIDED_SLICE", [ROW, ints([1]), ints([2]), ints([1])], {"shrink_axis_mask": 1}, [ROW[1]]),
    ("STRIDED_SLICE", [ROW, ints([-1]), ints([0]), ints([-2])], {"end_mask": 1}, [ROW[::-2]]),
    ("STRIDED_SLICE", [ROW, ints([-9]), ints([0]), ints([-2])], {"end_mask": 1}, [ROW[-9::-2]]),
    ("REVERSE_V2", [MATRIX, ints([1])], {}, [MATRIX[:, ::-1]]),
    ("CUMSUM", [ROW, ints(0)], {}, [np.cumsum(ROW, dtype=INTS)]),
    ("BROADCAST_ARGS", [ints(4, 1, 3), ints(5, 1)], {}, [ints(4, 5, 3)]),
    ("SUM", [MATRIX, ints([0])], {}, [MATRIX.sum(0, INTS)]),
    ("SUM", [MATRIX, np.zeros(0, INTS)], {}, [MATRIX]),
    ("MEAN", [ints(3, 5), ints([0])], {"keep_dims": True}, [ints([4])]),
    ("REDUCE_PROD", [MATRIX, ints(1)], {"keep_dims": True}, [MATRIX.prod(1, INTS, keepdims=True)]),
    ("REDUCE_MAX", [MATRIX, ints(0, 1)], {}, [MATRIX.max()]),
    ("REDUCE_MIN", [MATRIX, ints([0])], {}, [MATRIX.min(0)]),
    ("REDUCE_ANY", [TRUTHS, ints([0])], {}, [TRUTHS.any()]),
    ("REDUCE_ALL", [TRUTHS, ints([0])], {}, [TRUTHS.all()]),
]


@pytest.mark.parametrize(("name", "operands", "options", "wanted"), CASES, ids=[case[0] for case in CASES])
def test_a_fold_is_what_numpy_computes(name, operands, options, wanted):
    found = folded(name, operands, wanted, **options)
    assert found is not None
    assert [(one.dtype, one.tolist()) for one in found] == [(np.asarray(one).dtype, one.tolist()) for one in wanted]


def test_every_fold_is_computed_here():
    assert {case[0] for case in CASES} == FOLDABLE


@pytest.mark.parametrize(
    ("name", "operands", "options", "wanted"),
    [
        ("ADD", [ROW, None], {}, ROW),
        ("ADD", [ROW, ROW], {"fused_activation_function": 1}, ROW),
        ("DIV", [ROW, ints(0)], {}, ROW),
        ("FLOOR_DIV", [ROW, ints(0)], {}, ROW),
        ("STRIDED_SLICE", [ROW, ints([9]), ints([10]), ints([1])], {"shrink_axis_mask": 1}, ints(0)),
        ("STRIDED_SLICE", [ROW, ints([0])], {}, ROW),
        ("GATHER", [ROW, ints([4])], {"axis": 0}, ints([0])),
        ("GATHER", [MATRIX, ints([[0], [1]])], {"axis": 1, "batch_dims": 1}, ints([[0], [1]])),
        ("TRANSPOSE", [MATRIX, ints(0, 5)], {}, MATRIX),
        ("BROADCAST_ARGS", [ints([2]), ints([3])], {}, ints([2])),
        ("SPLIT", [None, ROW], {}, ROW),
        ("RANGE", [ints(0), ints(5), ints(0)], {}, ROW),
        ("TILE", [ROW, ints([3])], {}, ints(0)),
        ("CUMSUM", [ROW, ints(0)], {"reverse": True}, ROW),
    ],
)
def test_what_cannot_be_told_is_not_known(name, operands, options, wanted):
    assert folded(name, operands, [wanted], **options) is None


# Shapes that follow


def classifier(batch: int, *, signature: int | None = None) -> bytes:
    """A layer of 12 x 5 behind a reshape to [shape(x)[0], -1], as converters write a flatten."""
    first = -1 if signature is None else signature

    def moving(name: str, *sizes: int) -> Any:
        return tensor(name, (batch, *sizes), signature=(first, *sizes))

    tensors = [
        moving("x", 4, 3),
        tensor("shape", (2 + 1,), "INT32"),
        *(stored(name, [value]) for name, value in (("zero", 0), ("one", 1))),
        tensor("n", (), "INT32"),
        stored("rest", -1),
        tensor("target", (2,), "INT32"),
        tensor("flat", (1, 1), signature=(-1, -1)),
        tensor("w", (5, 12), data=True),
        moving("y", 5),
    ]
    operators = [
        op("SHAPE", "x", "shape", {"out_type": 2}),
        op("STRIDED_SLICE", "shape zero one one", "n", {"shrink_axis_mask": 1}),
        op("PACK", "n rest", "target", {"axis": 0, "values_count": 2}),
        op("RESHAPE", "x target", "flat"),
        op("FULLY_CONNECTED", "flat w -", "y"),
    ]
    return model(graph(tensors, operators, "x", "y"))


@pytest.mark.parametrize("batch", [None, 1, 2, 8, 33])
def test_a_reshape_that_follows_the_batch_is_exact_with_any_batch(batch: int | None) -> None:
    found = load(classifier(1), **({} if batch is None else {"batch": batch}))
    assert shapes(found) == [(batch or 1, 5)]
    facts = weigh(found).facts
    assert (facts.macs, facts.exact) == ((batch or 1) * 60, True)
    moving = {node.operator for node in weigh(found).nodes}
    assert moving == {"reshape", "linear"}, "the shape is worked out once, before the first inference"


def test_a_reshape_to_sizes_that_are_written_down_takes_no_other_batch() -> None:
    tensors = [tensor("x", (1, 4, 3)), stored("s", [1, 12]), tensor("y", (1, 12))]
    made = model(graph(tensors, [op("RESHAPE", "x s", "y")], "x", "y"))
    assert shapes(load(made)) == [(1, 12)]
    with pytest.raises(BadModel, match="96 elements do not fill") as caught:
        load(made, batch=8)
    assert "other sizes" in caught.value.hint


def computed(operators: list[Any], between: list[Any]) -> Graph:
    """``target`` worked out from the shape of x, 2 x 6 x 4, and x under that shape."""
    tensors = [operand("x", (2, 6, 4)), tensor("shape", (3,), "INT32"), *between, tensor("y", None)]
    last = [op("RESHAPE", "x target", "y")]
    return load(model(graph(tensors, [op("SHAPE", "x", "shape"), *operators, *last], "x", "y")))


def test_sizes_through_arithmetic():
    """[shape[0] * shape[1], 2 * shape[2] / 2] of 2 x 6 x 4."""
    between = [
        *(stored(name, value) for name, value in (("i0", 0), ("i1", 1), ("i2", 2), ("two", 2))),
        *(tensor(name, (), "INT32") for name in ("a", "b", "c", "rows", "twice", "columns")),
        tensor("target", (2,), "INT32"),
    ]
    operators = [
        *(op("GATHER", f"shape {index}", one, {"axis": 0}) for index, one in (("i0", "a"), ("i1", "b"), ("i2", "c"))),
        op("MUL", "a b", "rows"),
        op("MUL", "c two", "twice"),
        op("FLOOR_DIV", "twice two", "columns"),
        op("PACK", "rows columns", "target", {"values_count": 2}),
    ]
    assert shapes(computed(operators, between)) == [(12, 4)]


def test_sizes_through_a_product_and_a_join():
    """concat([shape[:1], prod(shape[1:])])."""
    between = [
        *(stored(name, [value]) for name, value in (("zero", 0), ("one", 1))),
        stored("axis", [0]),
        tensor("head", (1,), "INT32"),
        tensor("tail", (2,), "INT32"),
        tensor("product", (1,), "INT32"),
        tensor("target", (2,), "INT32"),
    ]
    operators = [
        op("STRIDED_SLICE", "shape zero one one", "head", {"begin_mask": 1}),
        op("STRIDED_SLICE", "shape one zero one", "tail", {"end_mask": 1}),
        op("REDUCE_PROD", "tail axis", "product", {"keep_dims": True}),
        op("CONCATENATION", "head product", "target", {"axis": 0}),
    ]
    assert shapes(computed(operators, between)) == [(2, 24)]


def test_numbers_that_stand_for_fractions_are_not_computed_with():
    """The sum of quantised values is not that of the numbers that stand for them."""
    between = [
        tensor("k", (3,), "INT32", data=[1, 1, 1], scales=1),
        tensor("sum", (3,), "INT32", scales=1),
        tensor("target", (3,), "INT32"),
        stored("zero", [0, 0, 0]),
    ]
    operators = [op("ADD", "shape k", "sum"), op("ADD", "sum zero", "target")]
    assert shapes(computed(operators, between)) == [None]


def test_values_of_an_input_are_not_known():
    tensors = [operand("x", (2, 6)), operand("n", (1,), "INT32"), stored("r", [-1]), tensor("target", (2,), "INT32")]
    operators = [op("CONCATENATION", "n r", "target", {"axis": 0}), op("RESHAPE", "x target", "y")]
    found = load(model(graph([*tensors, tensor("y", None)], operators, "x n", "y")))
    assert shapes(found) == [None]


def test_large_tensors_are_not_computed():
    """Half a million zeros are not written down to learn a shape."""
    x = operand("x", (4,))
    between = [stored("dims", [1 << 19]), stored("v", 2), tensor("wide", (1 << 19,), "INT32"), stored("b", [0])]
    tensors = [x, *between, stored("s", [1]), tensor("target", (1,), "INT32"), tensor("y", None)]
    operators = [
        op("FILL", "dims v", "wide"),
        op("SLICE", "wide b s", "target"),
        op("RESHAPE", "x target", "y"),
    ]
    assert shapes(load(model(graph(tensors, operators, "x", "y")))) == [None]


def test_a_long_chain_of_sums_is_followed():
    """As deep as a file likes: nothing recurses."""
    count = 3000
    between = [stored("zero", [0, 0, 0]), *(tensor(f"t{place}", (3,), "INT32") for place in range(count))]
    operators = [op("ADD", f"{'shape' if not place else f't{place - 1}'} zero", f"t{place}") for place in range(count)]
    tensors = [operand("x", (2, 6, 4)), tensor("shape", (3,), "INT32"), *between, tensor("y", None)]
    last = op("RESHAPE", f"x t{count - 1}", "y")
    found = load(model(graph(tensors, [op("SHAPE", "x", "shape"), *operators, last], "x", "y")))
    assert shapes(found) == [(2, 6, 4)]


@settings(max_examples=20)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(-3, 3))
def test_rank_and_shape_are_known_of_whatever_has_a_type(sizes, more):
    """FILL makes as many values as rank(x) + more."""
    tensors = [
        operand("x", sizes),
        tensor("rank", (), "INT32"),
        stored("more", more),
        tensor("count", (), "INT32"),
        tensor("dims", (1,), "INT32"),
        operand("v", ()),
        tensor("y", None),
    ]
    operators = [
        op("RANK", "x", "rank"),
        op("ADD", "rank more", "count"),
        op("PACK", ["count"], "dims", {"values_count": 1}),
        op("FILL", "dims v", "y"),
    ]
    if len(sizes) + more < 0:
        with_unknown = load(model(graph(tensors, operators, "x v", "y")))
        assert shapes(with_unknown) == [None]
        return
    found = load(model(graph(tensors, operators, "x v", "y")))
    assert shapes(found) == [(len(sizes) + more,)]


def test_a_condition_that_is_computed_decides_a_branch():
    """rank(x) < 4 is known: the branch that is taken stands in the place of the call."""
    x, y = operand("x", (2, 3, 4)), tensor("y", (2, 3, 4))
    branches = [graph([x, y], [op(name, "x", "y")], "x", "y", name) for name in ("EXP", "LOG")]
    tensors = [x, tensor("rank", (), "INT32"), stored("four", 4), tensor("small", (), "BOOL"), y]
    operators = [
        op("RANK", "x", "rank"),
        op("LESS", "rank four", "small"),
        op("IF", "small x", "y", {"then_subgraph_index": 1, "else_subgraph_index": 2}),
    ]
    found = load(model(graph(tensors, operators, "x", "y"), *branches))
    assert runs(found) == ["rank", "less", "exp"]


def test_computed_axes_and_pads_are_known():
    """An operand that a fold tells is as good as a stored one, for every rule."""
    tensors = [
        operand("x", (3, 4)),
        stored("a", [[1, 0], [0, 2]]),
        stored("b", [[0, 1], [1, 0]]),
        tensor("p", (2, 2), "INT32"),
        tensor("y", None),
    ]
    operators = [op("ADD", "a b", "p"), op("PAD", "x p", "y")]
    found = load(model(graph(tensors, operators, "x", "y")))
    assert shapes(found) == [np.pad(np.zeros((3, 4)), [[1, 1], [1, 2]]).shape]


def test_a_single_operator_with_known_operands_is_static():
    found = single("ADD", [stored("a", [1, 2]), stored("b", [3, 4])], types=["INT32"])
    assert (result(found), runs(found)) == (((2,), "int32"), ["add"])
    assert weigh(found).nodes == ()


# What the shared files state


def test_a_shape_without_axes_is_a_scalar_only_where_the_file_says_so(shared: Path) -> None:
    """The runtime makes 2 x 2 x 2 of it: how often it repeats x is an input, and the converter wrote no shape."""
    from weighbridge.frontends.from_tflite import load_tflite

    assert shapes(load_tflite(shared / "data" / "tflite" / "litert" / "tile_with_bool_input.bin")) == [None]
    tensors = [operand("x", (4,)), operand("s", (0,), "INT32"), tensor("y", ())]
    assert shapes(load(model(graph(tensors, [op("TILE", "x s", "y")], "x s", "y")))) == [()]


def test_every_size_of_the_shared_files_is_theirs(shared: Path) -> None:
    """A size that our rules tell is the one that the file states; the one file that errs is known, and so is why."""
    from tests.tflite.files import tflite_files
    from weighbridge.frontends.from_tflite import load_tflite

    wrong = {}
    for name, path in tflite_files(shared).items():
        if name == "litert/0_subgraphs.bin":
            continue
        notes = [note for note in load_tflite(path).notes if "contradict" in note]
        if notes:
            wrong[name] = notes
    # The converter that made this one kept the shape of the image before it was unpooled.
    assert set(wrong) <= {"litert/max_unpooling_2d.tflite"}
