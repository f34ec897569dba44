"""Values that are known before inference: every fold against onnx's reference implementation, on random tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.onnx.build import graph, load, model, node, operators, shapes, tensor, value
from weighbridge.frontends.onnx_arrays import Array, Question
from weighbridge.frontends.onnx_fold import FOLDABLE, fold

_BINARY = ("Add", "Sub", "Mul", "Min", "Max", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
_LOGIC = ("And", "Or", "Xor")
_REDUCTIONS = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean")
_TYPES = {
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "float32": TensorProto.FLOAT,
    "bool": TensorProto.BOOL,
}


@st.composite
def arrays(draw: st.DrawFn, dtype: str, rank: tuple[int, int] = (0, 3), low: int = -9) -> np.ndarray[Any, Any]:
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=rank[0], max_size=rank[1])))
    count = int(np.prod(shape))
    drawn = draw(st.lists(st.integers(low, 9), min_size=count, max_size=count))
    return np.array(drawn).reshape(shape).astype(dtype)


def check(
    op: str, inputs: Sequence[np.ndarray[Any, Any]], outputs: int = 1, opset: int = 18, **attributes: Any
) -> None:
    """The fold's values, shapes and types are those of the reference."""
    names = [f"x{index}" for index in range(len(inputs))]
    results = [f"y{index}" for index in range(outputs)]
    declared = [
        helper.make_tensor_value_info(n, _TYPES[str(x.dtype)], x.shape) for n, x in zip(names, inputs, strict=True)
    ]
    made = graph([node(op, names, results, **attributes)], declared, [value(one, None) for one in results])
    run = ReferenceEvaluator(model(made, opset=opset)).run(None, dict(zip(names, inputs, strict=True)))
    expected = [np.asarray(one) for one in run]
    given_arrays = tuple(Array(str(x.dtype), x.shape, tuple(x.ravel().tolist())) for x in inputs)
    asked = {**attributes, "dtype": str(expected[0].dtype)} if op == "Cast" else attributes
    found = fold(Question(op, given_arrays, asked, tuple(one.shape for one in expected), opset))
    assert found is not None
    for one, reference in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (str(reference.dtype), reference.shape)
        assert one.values == tuple(reference.ravel().tolist())


def broadcasting(dtype: str, count: int) -> st.SearchStrategy[list[np.ndarray[Any, Any]]]:
    """Tensors that broadcast: parts of one shape, some of its axes of one element."""

    @st.composite
    def draw_all(draw: st.DrawFn) -> list[np.ndarray[Any, Any]]:
        whole = draw(st.lists(st.integers(1, 3), max_size=3))
        made = []
        for _ in range(count):
            cut = draw(st.integers(0, len(whole)))
            shape = [size if draw(st.booleans()) else 1 for size in whole[cut:]]
            total = int(np.prod(shape))
            made.append(
                np.array(draw(st.lists(st.integers(-9, 9), min_size=total, max_size=total)))
                .reshape(shape)
                .astype(dtype)
            )
        return made

    return draw_all()


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(_BINARY), st.sampled_from(["int64", "float32"]))
def test_arithmetic_and_comparison(data: st.DataObject, op: str, dtype: str) -> None:
    check(op, data.draw(broadcasting(dtype, 2)))


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from(_LOGIC))
def test_logic(data: st.DataObject, op: str) -> None:
    check(op, data.draw(broadcasting("bool", 2)))


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(["float32", "int64"]))
def test_choice(data: st.DataObject, dtype: str) -> None:
    condition, x, y = data.draw(broadcasting(dtype, 3))
    check("Where", [condition > 0, x, y])


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from([-7, -2, 2, 3]))
def test_division(data: st.DataObject, divisor: int) -> None:
    x = data.draw(arrays("float32"))
    check("Div", [x, np.array(divisor, "float32")])
    whole = np.abs(data.draw(arrays("int64")))
    check("Div", [whole, np.array(abs(divisor))])
    check("Mod", [whole, np.array(abs(divisor))])


def test_integers_divide_towards_zero() -> None:
    """The operator's text says so; onnx's reference rounds down."""
    found = fold(
        Question("Div", (Array("int64", (4,), (7, -7, 7, -7)), Array("int64", (4,), (2, 2, -2, -2))), {}, ((4,),), 18)
    )
    assert found == (Array("int64", (4,), (3, -3, -3, 3)),)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(["Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Identity", "Relu"]))
def test_functions_of_one_number(data: st.DataObject, op: str) -> None:
    check(op, [data.draw(arrays("float32")) / np.float32(4)])


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(sorted(_TYPES)), st.sampled_from(sorted(_TYPES)))
def test_casts(data: st.DataObject, source: str, target: str) -> None:
    check("Cast", [data.draw(arrays(source))], to=_TYPES[target])


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from(_REDUCTIONS), st.booleans())
def test_reductions(data: st.DataObject, op: str, keep: bool) -> None:
    x = data.draw(arrays("float32", (1, 3)))
    axes = data.draw(st.lists(st.integers(-x.ndim, x.ndim - 1), unique_by=lambda axis: axis % x.ndim, max_size=x.ndim))
    operands = [x, np.array(axes, "int64")] if axes else [x]
    if op == "ReduceMean":
        x[...] = x[(0,) * x.ndim]
    check(op, operands, keepdims=int(keep))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_slices(data: st.DataObject) -> None:
    x = data.draw(arrays("int64", (1, 3)))
    axes = data.draw(st.lists(st.integers(0, x.ndim - 1), min_size=1, max_size=x.ndim, unique=True))
    bounds = st.lists(st.integers(-5, 5), min_size=len(axes), max_size=len(axes))
    steps = data.draw(st.lists(st.sampled_from([-2, -1, 1, 2]), min_size=len(axes), max_size=len(axes)))
    starts, ends = data.draw(bounds), data.draw(bounds)
    # numpy, and so the reference, counts a start or an end before the first element from the back once more.
    starts = [max(start, -x.shape[axis]) for start, axis in zip(starts, axes, strict=True)]
    ends = [max(end, -x.shape[axis]) for end, axis in zip(ends, axes, strict=True)]
    check("Slice", [x, *(np.array(one, "int64") for one in (starts, ends, axes, steps))])


def test_a_slice_may_walk_back_to_the_first_element() -> None:
    x, least = Array("int64", (4,), (1, 2, 3, 4)), -(1 << 63)
    operands = (x, *(Array("int64", (1,), (one,)) for one in (-1, least, 0, -1)))
    assert fold(Question("Slice", operands, {}, ((4,),), 18)) == (Array("int64", (4,), (4, 3, 2, 1)),)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_moves(data: st.DataObject) -> None:
    x = data.draw(arrays("int64", (1, 3)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    check("Transpose", [x], perm=data.draw(st.permutations(range(x.ndim))))
    check("Concat", [x, x, x], axis=axis)
    size = x.shape[axis]
    check("Gather", [x, data.draw(arrays("int64", (0, 2), 0)) % (2 * size) - size], axis=axis)
    check("Tile", [x, np.array(data.draw(st.lists(st.integers(1, 3), min_size=x.ndim, max_size=x.ndim)), "int64")])
    check("Expand", [x, np.array([2, *x.shape], "int64")])
    check("Reshape", [x, np.array([-1], "int64")])
    check("Unsqueeze", [x, np.array([0], "int64")])
    check("Squeeze", [x[np.newaxis], np.array([0], "int64")])
    check("Flatten", [x], axis=1)
    first = data.draw(st.integers(0, size))
    check("Split", [x, np.array([first, size - first], "int64")], outputs=2, axis=axis)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_positions(data: st.DataObject) -> None:
    x = data.draw(arrays("int64", (1, 1)))
    check("ArgMax", [x], keepdims=data.draw(st.integers(0, 1)))
    check("ArgMin", [x], keepdims=data.draw(st.integers(0, 1)))
    check("CumSum", [x, np.array(0)])
    check("NonZero", [data.draw(arrays("int64", (1, 3), 0))])


@given(st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([-3, -1, 1, 2]))
@settings(max_examples=40, deadline=None)
def test_ranges(start: int, limit: int, delta: int) -> None:
    check("Range", [np.array(one) for one in (start, limit, delta)])
    check("Range", [np.array(one, "float32") for one in (start, limit, delta)])


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_limits_and_powers(data: st.DataObject) -> None:
    x = data.draw(arrays("float32"))
    check("Clip", [x, np.array(-2, "float32"), np.array(3, "float32")])
    check("Pow", [np.abs(x), np.array(2, "float32")])
    check("Sqrt", [np.abs(x) ** 2])
    check("Sum", [x, x, x])
    check("Not", [x > 0])


def test_every_fold_is_tested() -> None:
    tested = {*_BINARY, *_LOGIC, *_REDUCTIONS}
    tested |= {
        "Where",
        "Div",
        "Mod",
        "Neg",
        "Abs",
        "Sign",
        "Floor",
        "Ceil",
        "Round",
        "Identity",
        "Relu",
        "Cast",
        "Slice",
    }
    tested |= {"Transpose", "Concat", "Gather", "Tile", "Expand", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Split"}
    tested |= {"ArgMax", "ArgMin", "CumSum", "NonZero", "Range", "Clip", "Pow", "Sqrt", "Sum", "Not"}
    # In test_microsoft_training.
    tested |= {f"com.microsoft.{name}" for name in ("ConcatTraining", "BroadcastGradientArgs", "ExpandDims")}
    assert tested | {"ConstantOfShape"} == FOLDABLE


@pytest.mark.parametrize(
    ("op", "values", "more"),
    [
        ("Sqrt", (-1.0,), ()),
        ("Div", (1,), (0,)),
        ("Gather", (1, 2), (9,)),
        ("Range", (0,), (1 << 40, 1)),
        ("Pow", (3,), (1 << 40,)),
    ],
)
def test_what_has_no_value_is_not_known(op: str, values: tuple[float, ...], more: tuple[int, ...]) -> None:
    dtype = "float32" if op == "Sqrt" else "int64"
    first = Array(dtype, (len(values),), values)
    others = tuple(Array(dtype, (1,), (one,)) for one in more)
    assert fold(Question(op, (first, *others), {}, (None,), 18)) is None


# Through a whole model


def test_shapes_that_a_model_computes_are_known() -> None:
    """The way exporters flatten: Shape, Gather, Unsqueeze, Concat, Reshape."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Unsqueeze", ["n", "axes"], ["n1"]),
        node("Concat", ["n1", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"]),
    ]
    stored = [tensor("zero", 0), tensor("axes", [0]), tensor("rest", [-1])]
    made = graph(nodes, [value("x", ["N", 3, 4, 4])], [value("y", None)], stored)
    found = load(model(made), batch=5)
    assert shapes(found) == [(5, 48)]
    # The shape of a tensor with known sizes is a constant, and what depends on it alone is computed before inference.
    assert operators(found) == ["gather", "unsqueeze", "concat", "reshape"]
    assert found.tensors["s"].role.is_stored


def test_scales_that_a_model_computes_are_known() -> None:
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["s", "two", "four"], ["space"]),
        node("Cast", ["space"], ["f"], to=TensorProto.FLOAT),
        node("Mul", ["f", "factor"], ["g"]),
        node("Floor", ["g"], ["h"]),
        node("Div", ["h", "f"], ["ratio"]),
        node("Concat", ["ones", "ratio"], ["scales"], axis=0),
        node("Resize", ["x", "", "scales"], ["y"], mode="linear"),
    ]
    stored = [
        tensor("two", [2]),
        tensor("four", [4]),
        tensor("factor", 1.5, "float32"),
        tensor("ones", [1, 1], "float32"),
    ]
    found = load(model(graph(nodes, [value("x", [1, 3, 7, 10])], [value("y", None)], stored)))
    assert shapes(found) == [(1, 3, 10, 15)]


def test_what_depends_on_data_is_not_known() -> None:
    nodes = [node("Cast", ["x"], ["s"], to=TensorProto.INT64), node("Reshape", ["z", "s"], ["y"])]
    found = load(model(graph(nodes, [value("x", [2]), value("z", [2, 8])], [value("y", None)])))
    assert shapes(found) == [None]


def test_large_tensors_are_not_evaluated() -> None:
    """A shape computed from 2^40 values would take hours; its nodes are kept and its shape is not known."""
    nodes = [
        node("ConstantOfShape", ["many"], ["big"]),
        node("ReduceSum", ["big"], ["total"], keepdims=0),
        node("Cast", ["total"], ["n"], to=TensorProto.INT64),
        node("Reshape", ["x", "n"], ["y"]),
    ]
    found = load(model(graph(nodes, [value("x", [2, 8])], [value("y", None)], [tensor("many", [1 << 20, 1 << 20])])))
    assert shapes(found) == [None]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_a_root_of_a_negative_number_is_not_known(dtype: str) -> None:
    question = Question("Pow", (Array(dtype, (1,), (-8,)), Array("float32", (1,), (0.5,))), {}, ((1,),), 18)
    assert fold(question) is None


@pytest.mark.parametrize("a", [2**63 - 1, -(2**63), 2**53 + 1, -7, 7, 0])
@pytest.mark.parametrize("b", [5, -5, 2**62 + 1])
def test_the_remainder_of_large_whole_numbers_is_exact(a: int, b: int) -> None:
    for fmod in (0, 1):
        question = Question(
            "Mod", (Array("int64", (1,), (a,)), Array("int64", (1,), (b,))), {"fmod": fmod}, ((1,),), 18
        )
        found = fold(question)
        assert found is not None
        towards_zero = abs(a) % abs(b) * (-1 if a < 0 else 1)
        floored = towards_zero + (b if towards_zero and (towards_zero < 0) != (b < 0) else 0)
        assert found[0].values == ((towards_zero if fmod else floored),)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("number", [1e20, -1e20, float("nan"), float("inf"), 1e300])
def test_a_cast_of_a_float_out_of_range_is_not_known(dtype: str, number: float) -> None:
    """C leaves it open, and processors differ."""
    assert fold(Question("Cast", (Array("float64", (1,), (number,)),), {"dtype": dtype}, ((1,),), 18)) is None


@pytest.mark.parametrize("op", ["Min", "Max", "ReduceMin", "ReduceMax"])
@pytest.mark.parametrize("numbers", [(math.nan, 2.0), (2.0, math.nan)])
def test_the_least_and_the_greatest_of_what_is_no_number_is_none(op: str, numbers: tuple[float, float]) -> None:
    arrays = (
        (Array("float32", (2,), numbers),)
        if op.startswith("Reduce")
        else tuple(Array("float32", (1,), (one,)) for one in numbers)
    )
    found = fold(Question(op, arrays, {"keepdims": 1}, ((1,),), 13))
    assert found is not None
    assert math.isnan(found[0].values[0])
