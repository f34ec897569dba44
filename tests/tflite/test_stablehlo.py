"""StableHLO's operators in TensorFlow Lite files: shapes and work against numpy, which executes them as the specification says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite.build import Tensor, graph, load, model, op, tensor
from tests.tflite.single import operand, result, runs, single, stored, work
from weighbridge import weigh
from weighbridge.frontends.tflite_control import SPECIAL
from weighbridge.frontends.tflite_schema import BUILTIN_OPERATORS
from weighbridge.frontends.tflite_table import RULES
from weighbridge.graph import UNKNOWN, Graph
from weighbridge.operators.record import Work

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def stated(name: str, operands: list[Tensor], y: Tensor, options: dict[str, Any] | None = None) -> Graph:
    """The graph of one operator whose result has the shape that the file states."""
    inputs = [one.name for one in operands if one.data is None]
    operator = op(name, [one.name for one in operands], y.name, options)
    return load(model(graph([*operands, y], [operator], inputs, y.name)))


def test_every_operator_of_stablehlo_is_known() -> None:
    theirs = {name for name in BUILTIN_OPERATORS if name.startswith("STABLEHLO_")}
    assert len(theirs) == 46
    assert theirs <= set(RULES) | set(SPECIAL)


@pytest.mark.parametrize(
    ("name", "ours", "unit"),
    [
        ("ABS", "abs", Work(compare=1)),
        ("CBRT", "cbrt", Work(special=1)),
        ("COSINE", "cos", Work(special=1)),
        ("EXPONENTIAL", "exp", Work(special=1)),
        ("FLOOR", "floor", Work(add=1)),
        ("LOG", "log", Work(special=1)),
        ("LOGISTIC", "sigmoid", Work(add=1, div=1, special=1)),
        ("NEGATE", "neg", Work(add=1)),
        ("RSQRT", "rsqrt", Work(div=1, special=1)),
        ("TANH", "tanh", Work(special=1)),
    ],
)
def test_functions_of_one_tensor(name: str, ours: str, unit: Work) -> None:
    found = single(f"STABLEHLO_{name}", [operand("x", (3, 4))])
    assert (runs(found), result(found), work(found)) == ([ours], ((3, 4), "float32"), unit.times(12))


@pytest.mark.parametrize(
    ("name", "dtype", "ours", "unit"),
    [
        ("ADD", "FLOAT32", "add", Work(add=1)),
        ("SUBTRACT", "FLOAT32", "sub", Work(add=1)),
        ("MULTIPLY", "FLOAT32", "mul", Work(mul=1)),
        ("DIVIDE", "FLOAT32", "div", Work(div=1)),
        ("POWER", "FLOAT32", "pow", Work(special=1)),
        ("REMAINDER", "INT32", "mod", Work(div=1)),
        ("SHIFT_LEFT", "INT32", "bit_shift", Work(compare=1)),
        ("MAXIMUM", "FLOAT32", "max", Work(compare=1)),
        ("MINIMUM", "FLOAT32", "min", Work(compare=1)),
        ("AND", "BOOL", "and", Work(compare=1)),
        ("OR", "BOOL", "or", Work(compare=1)),
        ("AND", "INT32", "bitwise_and", Work(compare=1)),
        ("OR", "INT8", "bitwise_or", Work(compare=1)),
    ],
)
def test_functions_of_two_tensors(name: str, dtype: str, ours: str, unit: Work) -> None:
    found = single(f"STABLEHLO_{name}", [operand("a", (3, 4), dtype), operand("b", (3, 4), dtype)], None, [dtype])
    assert (runs(found), result(found), work(found)) == ([ours], ((3, 4), dtype.lower()), unit.times(12))


@pytest.mark.parametrize(
    ("direction", "ours"),
    list(enumerate(("equal", "not_equal", "greater_or_equal", "greater", "less_or_equal", "less"))),
)
def test_comparisons(direction: int, ours: str) -> None:
    given_ = [operand("a", (3, 4)), operand("b", (3, 4))]
    found = single("STABLEHLO_COMPARE", given_, {"comparison_direction": direction}, ["BOOL"])
    assert (runs(found), result(found)) == ([ours], ((3, 4), "bool"))
    (node,) = single("STABLEHLO_COMPARE", given_, {"comparison_direction": 6}, ["BOOL"]).nodes
    assert (node.operator, node.reason) == (UNKNOWN, "the comparison 6 is not known")


def test_a_clamp_has_bounds_that_are_stored_or_not() -> None:
    x = operand("x", (3, 4))
    found = single("STABLEHLO_CLAMP", [stored("low", 0.0, "FLOAT32"), x, stored("high", 6.0, "FLOAT32")])
    assert (runs(found), dict(found.nodes[0].attributes)) == (["clip"], {"low": 0.0, "high": 6.0})
    found = single("STABLEHLO_CLAMP", [stored("low", 0.0, "FLOAT32"), x, operand("high", ())])
    assert (runs(found), work(found)) == (["clip_by_tensor"], Work(compare=24))


def test_conversion_selection_and_joining() -> None:
    found = single("STABLEHLO_CONVERT", [operand("x", (3, 4))], None, ["INT8"])
    assert (runs(found), result(found)) == (["cast"], ((3, 4), "int8"))
    found = single("STABLEHLO_SELECT", [operand("c", (), "BOOL"), operand("x", (3, 4)), operand("y0", (3, 4))])
    assert (runs(found), work(found)) == (["where"], Work(compare=12))
    parts = [operand(name, (3, size)) for name, size in (("a", 1), ("b", 2), ("c", 4))]
    assert result(single("STABLEHLO_CONCATENATE", parts, {"dimension": 1}))[0] == (3, 7)


@given(SHAPES, st.data())
def test_transposes_and_slices(shape, data) -> None:
    x = operand("x", shape)
    order = data.draw(st.permutations(range(len(shape))))
    wanted = np.zeros(shape).transpose(order).shape
    assert result(single("STABLEHLO_TRANSPOSE", [x], {"permutation": order}))[0] == wanted
    starts = [data.draw(st.integers(0, size)) for size in shape]
    ends = [data.draw(st.integers(start, size)) for start, size in zip(starts, shape, strict=True)]
    steps = [data.draw(st.integers(1, 3)) for _ in shape]
    taken = tuple(slice(*one) for one in zip(starts, ends, steps, strict=True))
    options = {"start_indices": starts, "limit_indices": ends, "strides": steps}
    assert result(single("STABLEHLO_SLICE", [x], options))[0] == np.zeros(shape)[taken].shape


def test_what_follows_from_no_option_is_as_the_file_states_it() -> None:
    found = stated("STABLEHLO_RESHAPE", [operand("x", (3, 4))], tensor("y", (2, 6)))
    assert (runs(found), result(found)[0]) == (["reshape"], (2, 6))
    found = stated("STABLEHLO_RESHAPE", [operand("x", (3, 4))], tensor("y", (1, 6), signature=(-1, 6)))
    assert result(found)[0] == (2, 6)
    (node,) = stated("STABLEHLO_RESHAPE", [operand("x", (3, 4))], tensor("y", (5,))).nodes
    assert (node.operator, node.reason) == (UNKNOWN, "12 elements do not fill the shape (5,)")


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple), st.data())
def test_a_broadcast_puts_axes_anywhere(target, data) -> None:
    places = data.draw(st.lists(st.sampled_from(range(len(target))), unique=True, max_size=len(target)))
    shape = tuple(data.draw(st.sampled_from([1, target[place]])) for place in places)
    x = operand("x", shape)
    found = stated("STABLEHLO_BROADCAST_IN_DIM", [x], tensor("y", target), {"broadcast_dimensions": places})
    # As numpy does it: axes in the order of the result, then ones where there are none.
    values = np.arange(math.prod(shape)).reshape(shape).transpose(np.argsort(places, kind="stable"))
    values = values.reshape(
        [values.shape[sorted(places).index(axis)] if axis in places else 1 for axis in range(len(target))]
    )
    assert result(found)[0] == np.broadcast_to(values, target).shape
    assert runs(found)[-1] == "expand"
    assert ("transpose" in runs(found)) == (sorted(places) != list(places))


@given(SHAPES, st.data())
def test_pads_between_and_around(shape, data) -> None:
    """Numbers put in with a step, then cut or extended: what the specification does to an array."""
    low, high = ([data.draw(st.integers(-2, 3)) for _ in shape] for _ in range(2))
    between = [data.draw(st.integers(0, 2)) for _ in shape]
    values = np.arange(1, math.prod(shape) + 1).reshape(shape)
    for axis in range(len(shape)):
        row = [values.take([place], axis) for place in range(values.shape[axis])]
        zeros = np.zeros_like(row[0])
        spread = [part for one in row for part in (one, *[zeros] * between[axis])][
            : len(row) + (len(row) - 1) * between[axis]
        ]
        spread = [zeros] * max(low[axis], 0) + spread + [zeros] * max(high[axis], 0)
        spread = spread[max(-low[axis], 0) : len(spread) - max(-high[axis], 0)]
        if len(spread) < 1:
            return
        values = np.concatenate(spread, axis)
    options = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": between}
    found = single("STABLEHLO_PAD", [operand("x", shape), stored("v", 0.0, "FLOAT32")], options)
    assert result(found)[0] == values.shape
    assert ("dilate" in runs(found)) == any(between)


@pytest.mark.parametrize(("shape", "axis"), [((5,), 0), ((3, 4), 1), ((2, 3, 4), 0)])
def test_an_iota_depends_on_nothing(shape, axis) -> None:
    y = tensor("y", shape, "INT32")
    zero = operand("x", shape, "INT32")
    made, added = op("STABLEHLO_IOTA", "", "y", {"iota_dimension": axis}), op("ADD", "x y", "z")
    found = load(model(graph([y, zero, y._replace(name="z")], [made, added], "x", "z")))
    assert found.tensors["y"].shape == shape
    assert [node.operator for node in weigh(found).facts.nodes] == ["add"]


def test_random_bits_follow_from_a_state() -> None:
    states, bits = tensor("s1", (2,), "UINT64"), tensor("bits", (3, 4), "UINT32")
    state = operand("s0", (2,), "UINT64")
    generator = op("STABLEHLO_RNG_BIT_GENERATOR", "s0", "s1 bits", {"algorithm": 2})
    found = load(model(graph([state, states, bits], [generator], "s0", "s1 bits")))
    assert [found.tensors[one].shape for one in found.outputs] == [(2,), (3, 4)]
    facts = weigh(found).facts
    assert (facts.macs, facts.exact, facts.work_exact) == (0, True, False)


def test_a_custom_call_is_named_and_not_counted() -> None:
    found = single("STABLEHLO_CUSTOM_CALL", [operand("x", (3, 4))], {"call_target_name": "top_secret"})
    (node,) = found.nodes
    assert (node.operator, node.origin) == (UNKNOWN, "STABLEHLO_CUSTOM_CALL")
    assert node.reason.startswith("top_secret: ")
    assert not weigh(found).facts.exact


ROW = st.lists(st.sampled_from([-(1 << 63), -2, -1, 0, 1, 1, 2, 3, 1 << 40, (1 << 63) - 1]), max_size=5)
NUMBER = st.sampled_from([-(1 << 63), -1, 0, 1, 2, 3, (1 << 63) - 1])
OPTIONS = {
    "BROADCAST_IN_DIM": {"broadcast_dimensions": ROW},
    "CONCATENATE": {"dimension": NUMBER},
    "CONVOLUTION": {
        **dict.fromkeys(("window_strides", "padding", "lhs_dilation", "rhs_dilation"), ROW),
        **dict.fromkeys((f"{side}_spatial_dimensions" for side in ("input", "kernel", "output")), ROW),
        **dict.fromkeys(("input_batch_dimension", "input_feature_dimension", "output_batch_dimension"), NUMBER),
        **dict.fromkeys(("kernel_input_feature_dimension", "kernel_output_feature_dimension"), NUMBER),
        **dict.fromkeys(("feature_group_count", "batch_group_count"), NUMBER),
    },
    "DOT_GENERAL": {
        f"{side}_{what}_dimensions": ROW for side in ("lhs", "rhs") for what in ("batching", "contracting")
    },
    "DYNAMIC_SLICE": {"slice_sizes": ROW},
    "GATHER": {
        **dict.fromkeys(("offset_dims", "collapsed_slice_dims", "start_index_map", "slice_sizes"), ROW),
        "index_vector_dim": NUMBER,
    },
    "IOTA": {"iota_dimension": NUMBER},
    "PAD": dict.fromkeys(("edge_padding_low", "edge_padding_high", "interior_padding"), ROW),
    "REDUCE": {"dimensions": ROW, "body_subgraph_index": st.sampled_from([-1, 0, 7])},
    "REDUCE_WINDOW": dict.fromkeys(
        ("window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding"), ROW
    ),
    "RNG_BIT_GENERATOR": {"algorithm": st.sampled_from([-1, 0, 9])},
    "SCATTER": {
        **dict.fromkeys(("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"), ROW),
        "index_vector_dim": NUMBER,
    },
    "SLICE": dict.fromkeys(("start_indices", "limit_indices", "strides"), ROW),
    "SORT": {"dimension": NUMBER},
    "TRANSPOSE": {"permutation": ROW},
}


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=40)
@given(data=st.data())
def test_whatever_the_numbers_are_the_operator_is_weighed_or_left_unknown(name, data) -> None:
    options = {key: data.draw(kind) for key, kind in OPTIONS[name].items()}
    given_ = [operand(f"x{place}", data.draw(SHAPES)) for place in range(data.draw(st.integers(0, 3)))]
    y = tensor("y", data.draw(st.none() | SHAPES))
    found = stated(f"STABLEHLO_{name}", given_, y, options)
    report = weigh(found)
    assert report.facts.macs >= 0
    assert report.facts.exact or any(node.operator == UNKNOWN for node in found.nodes)
