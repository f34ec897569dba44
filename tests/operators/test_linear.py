"""Matrix products against their execution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, everywhere, integers, loops_of, macs_of, shape_of, typed, work_of
from weighbridge.errors import GraphError
from weighbridge.operators.table import OPERATORS

SIZES = st.integers(1, 4)


def multiply(x, w, tally):
    """A matrix product by loops, after numpy has aligned the leading axes."""
    rows, columns = x[None, :] if x.ndim == 1 else x, w[:, None] if w.ndim == 1 else w
    batch = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    rows = np.broadcast_to(rows, batch + rows.shape[-2:])
    columns = np.broadcast_to(columns, batch + columns.shape[-2:])
    result = np.zeros((*batch, rows.shape[-2], columns.shape[-1]), dtype=object)
    touched = set()
    for *lead, i, j in everywhere(result.shape):
        for k in range(rows.shape[-1]):
            touched.add((k, j))
            result[(*lead, i, j)] = tally.mac(result[(*lead, i, j)], rows[(*lead, i, k)], columns[(*lead, k, j)])
    if w.ndim == 1:
        result = result[..., 0]
    return (result[..., 0, :] if w.ndim > 1 else result[..., 0]) if x.ndim == 1 else result, len(touched)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(SIZES, max_size=3),
    SIZES,
    SIZES,
    st.sampled_from(["oi", "io"]),
    st.booleans(),
    st.sampled_from([None, "features", "one", "full"]),
)
def test_a_linear_layer_counts_what_its_execution_does(lead, k, features, layout, transpose, bias):
    transpose = transpose and bool(lead)
    x, w = integers((*lead, k)), integers((k, features), 3)
    tally = Tally()
    result, touched = multiply(x, w, tally)
    shapes = {"features": (features,), "one": (1,), "full": result.shape}
    if bias:
        for _ in everywhere(result.shape):
            tally.add(0, 0)
    given_x = (*lead[:-1], k, lead[-1]) if transpose else (*lead, k)
    found = call(
        "linear",
        {"weight_layout": layout, "transpose_x": transpose},
        x=given_x,
        w=(features, k) if layout == "oi" else (k, features),
        **({"b": shapes[bias]} if bias else {}),
    )
    (loops,) = loops_of("linear", found)
    assert shape_of(found) == result.shape == np.matmul(x, w).shape
    assert np.array_equal(result, np.matmul(x, w))
    assert macs_of("linear", found) == loops.groups * loops.m * loops.n * loops.k == tally.macs
    assert work_of("linear", found) == tally.work
    assert touched == found.w.elements


def test_factors_of_a_linear_layer_cost_a_multiplication_each():
    found = call("linear", {"alpha": 0.5, "beta": 2.0}, x=(4, 8), w=(5, 8), b=(5,))
    assert work_of("linear", found).mul == 4 * 5 + 5


@st.composite
def broadcasting(draw):
    """Two shapes that numpy multiplies."""
    rank = draw(st.integers(0, 2))
    batch = draw(st.lists(SIZES, min_size=rank, max_size=rank))

    def some():
        kept = batch[draw(st.integers(0, rank)) :]
        return tuple(1 if draw(st.booleans()) else size for size in kept)

    m, n, k = draw(SIZES), draw(SIZES), draw(SIZES)
    left = (k,) if draw(st.booleans()) and draw(st.booleans()) else (*some(), m, k)
    right = (k,) if draw(st.booleans()) and draw(st.booleans()) else (*some(), k, n)
    return left, right


@settings(deadline=None, max_examples=80)
@given(broadcasting(), st.booleans(), st.booleans())
def test_a_matrix_product_counts_what_its_execution_does(shapes, transpose_x, transpose_w):
    x, w = integers(shapes[0]), integers(shapes[1], 3)
    transpose_x, transpose_w = transpose_x and x.ndim > 1, transpose_w and w.ndim > 1
    tally = Tally()
    result, touched = multiply(x, w, tally)
    found = call(
        "matmul",
        {"transpose_x": transpose_x, "transpose_w": transpose_w},
        x=np.swapaxes(x, -1, -2).shape if transpose_x else x.shape,
        w=np.swapaxes(w, -1, -2).shape if transpose_w else w.shape,
    )
    (loops,) = loops_of("matmul", found)
    expected = np.matmul(x, w)
    assert shape_of(found) == np.shape(expected) == np.shape(result)
    assert np.array_equal(result, expected)
    assert macs_of("matmul", found) == loops.groups * loops.m * loops.n * loops.k == tally.macs
    if w.ndim <= 2:
        assert touched == found.w.elements
        assert loops.groups == 1


@pytest.mark.parametrize(
    ("operator", "attributes", "operands"),
    [
        ("linear", {}, {"x": (4, 8), "w": (8, 5)}),
        ("linear", {}, {"x": (), "w": (8, 5)}),
        ("linear", {}, {"x": (4, 8), "w": (2, 5, 8)}),
        ("linear", {}, {"x": (4, 8), "w": (5, 8), "b": (4,)}),
        ("linear", {"transpose_x": True}, {"x": (8,), "w": (5, 8)}),
        ("linear", {"weight_layout": "ab"}, {"x": (4, 8), "w": (5, 8)}),
        ("linear", {"output_dtype": "float31"}, {"x": (4, 8), "w": (5, 8)}),
        ("linear", {"alpha": float("nan")}, {"x": (4, 8), "w": (5, 8)}),
        ("matmul", {}, {"x": (), "w": (8, 5)}),
        ("matmul", {}, {"x": (4, 8), "w": (5, 8)}),
        ("matmul", {}, {"x": (2, 4, 8), "w": (3, 8, 5)}),
        ("matmul", {"transpose_w": True}, {"x": (4, 8), "w": (8,)}),
        ("matmul", {}, {"x": (4, 8), "w": (8, 5), "b": (2, 4, 5)}),
    ],
)
def test_a_contradiction_is_an_error(operator, attributes, operands):
    with pytest.raises(GraphError):
        work_of(operator, call(operator, attributes, **operands))


def test_a_quantised_product_has_the_counts_of_the_float_one():
    """QLinearMatMul and MatMulInteger: the same record, with scales and zero points beside it."""
    x, w = typed((4, 8), "uint8"), typed((8, 5), "int8")
    integer = call("matmul", {"output_dtype": "int32"}, x=x, w=w, x_zero_point=typed((), "uint8"))
    assert integer.outputs[0] == typed((4, 5), "int32")
    assert work_of("matmul", integer) == (0, 32, 0, 0, 0, 0)
    requantised = call("matmul", {}, x=x, w=w, y_scale=(), y_zero_point=typed((), "uint8"))
    assert requantised.outputs[0] == typed((4, 5), "uint8")
    assert work_of("matmul", requantised) == (0, 20, 20, 0, 40, 0)
    assert macs_of("matmul", integer) == macs_of("matmul", requantised) == 160


@settings(deadline=None, max_examples=40)
@given(st.lists(SIZES, max_size=2), SIZES, SIZES, SIZES, st.booleans())
def test_a_bilinear_layer_counts_what_its_execution_does(lead, i, j, o, bias):
    """The first input meets all of the weight; what it leaves of it meets the second."""
    x, z, w = integers((*lead, i)), integers((*lead, j), 2), integers((o, i, j), 3)
    tally, result = Tally(), np.zeros((*lead, o), dtype=object)
    for *row, feature in everywhere(result.shape):
        for second in range(j):
            left = 0
            for first in range(i):
                left = tally.mac(left, x[(*row, first)], w[feature, first, second])
            result[(*row, feature)] = tally.mac(result[(*row, feature)], left, z[(*row, second)])
        if bias:
            tally.add(0, 0)
    found = call("bilinear", {}, x=x.shape, z=z.shape, w=w.shape, **({"b": (o,)} if bias else {}))
    assert shape_of(found) == result.shape
    assert np.array_equal(result, np.einsum("...i,oij,...j->...o", x, w, z))
    assert macs_of("bilinear", found) == tally.macs
    assert work_of("bilinear", found) == tally.work


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), SIZES, SIZES, st.sampled_from(["rows", "columns", "inner"]))
def test_a_product_in_groups_counts_what_its_execution_does(lengths, a, b, runs):
    """Every run meets the matrix of its group, one after the other."""
    groups, length = len(lengths), sum(lengths)
    shapes = {
        "rows": ((length, a), (groups, a, b), (length, b)),
        "columns": ((groups, a, b), (b, length), (a, length)),
        "inner": ((a, length), (length, b), (groups, a, b)),
    }
    x, w, expected = shapes[runs]
    tally, places = Tally(), 0
    for size in lengths:
        rows, inner, columns = {"rows": (size, a, b), "columns": (a, b, size), "inner": (a, size, b)}[runs]
        for _ in everywhere((rows, inner, columns)):
            tally.mac(0, 0, 0)
        places += rows * columns
    found = call("grouped_matmul", {}, x=x, w=w, ends=typed((groups,), "int32"), b=(groups, expected[-1]))
    assert shape_of(found) == expected
    assert macs_of("grouped_matmul", found) == tally.macs
    assert work_of("grouped_matmul", found).add == places


@pytest.mark.parametrize(
    ("x", "w", "bias", "read"),
    [
        ((1, 5), (8, 5, 7), (8, 7), 5 + 35 + 7),  # one row meets one matrix of eight, and adds its bias
        ((3, 5), (8, 5, 7), (8, 7), 15 + 3 * 35 + 3 * 7),
        ((20, 5), (8, 5, 7), (8, 7), 100 + 8 * 35 + 8 * 7),
        ((0, 5), (8, 5, 7), (8, 7), 0),
        ((8, 3, 5), (5, 2), (8, 2), 2 * 15 + 10 + 2 * 2),  # two columns meet two matrices
        ((3, 5), (5, 2), (8, 2), 15 + 10 + 8 * 2),  # runs on the inner axis: all of both
    ],
)
def test_of_the_matrices_of_groups_no_more_are_read_than_rows_can_meet(x, w, bias, read):
    found = call("grouped_matmul", {}, x=x, w=w, ends=typed((8,), "int32"), b=bias)
    assert OPERATORS["grouped_matmul"].traffic(found).read_bytes == 4 * (read + 8)


def test_factors_of_a_product_cost_a_multiplication_each():
    found = call("matmul", {"alpha": 0.5, "beta": 2.0}, x=(2, 4, 8), w=(2, 8, 5), b=(5,))
    assert work_of("matmul", found).mul == 2 * 4 * 5 + 5


@pytest.mark.parametrize(
    ("operator", "operands"),
    [
        ("bilinear", {"x": (2, 4), "z": (3, 5), "w": (6, 4, 5)}),
        ("bilinear", {"x": (2, 4), "z": (2, 5), "w": (6, 5, 4)}),
        ("bilinear", {"x": (2, 4), "z": (2, 5), "w": (6, 4, 5), "b": (5,)}),
        ("bilinear", {"x": (), "z": (), "w": (6, 4, 5)}),
        ("grouped_matmul", {"x": (6, 4), "w": (3, 5, 7), "ends": (3,)}),
        ("grouped_matmul", {"x": (6, 5), "w": (3, 5, 7), "ends": (2,)}),
        ("grouped_matmul", {"x": (3, 6, 5), "w": (3, 5, 7), "ends": (3,)}),
        ("grouped_matmul", {"x": (6, 5), "w": (3, 5, 7), "ends": (3,), "b": (7,)}),
    ],
)
def test_operands_that_do_not_fit_are_an_error(operator, operands):
    with pytest.raises(GraphError):
        call(operator, {}, **operands)


def test_quantisation_that_is_no_operand():
    """The steps that PyTorch's kernels take, counted one by one for 4 rows of 8 features and 5 results each."""
    x, results = 32, 20
    in_tensors, dynamic, weight_only = Tally(), Tally(), Tally()
    for _ in range(x):
        in_tensors.sub(3, 1)  # the zero point of x
        value = dynamic.add(dynamic.div(0.5, 0.1), 0.4)  # divided by the scale, rounded
        value = dynamic.add(value, 1)  # the zero point of x
        dynamic.minimum(dynamic.maximum(value, -128), 127)
        dynamic.minimum(dynamic.maximum(0.5, 0.1), 0.9)  # the range of the tensor
        dynamic.sub(value, 1)
    for _ in range(results):
        value = in_tensors.add(in_tensors.mul(7, 0.1), 3)  # by the scales, to the zero point of the result
        in_tensors.minimum(in_tensors.maximum(value, 0), 255)
        dynamic.mul(7, 0.1)
        weight_only.mul(7.0, 0.1)
    # Once a tensor: the range includes 0 (2), its width, the scale; the zero point from it, kept in range (2).
    low, high = dynamic.minimum(0, 0.1), dynamic.maximum(0, 0.9)
    scale = dynamic.div(dynamic.sub(high, low), 255)
    zero_point = dynamic.add(dynamic.sub(0, dynamic.div(low, scale)), 0.4)
    dynamic.minimum(dynamic.maximum(zero_point, 0), 255)
    for name, tally in (("in_tensors", in_tensors), ("dynamic", dynamic), ("weight_only", weight_only)):
        found = call("linear", {"quantisation": name}, x=(4, 8), w=typed((5, 8), "int8"))
        assert work_of("linear", found) == tally.work, name
        assert macs_of("linear", found) == 160
    with pytest.raises(GraphError, match="no quantisation"):
        work_of("linear", call("linear", {"quantisation": "by magic"}, x=(4, 8), w=(5, 8)))
