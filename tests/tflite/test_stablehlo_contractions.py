"""StableHLO's convolution and product against loops that follow its specification: axes in any order, groups, spread inputs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite.build import tensor
from tests.tflite.single import operand, result, runs, single, stored
from weighbridge import weigh
from weighbridge.graph import UNKNOWN

FEW = st.integers(1, 3)


class Case:
    """A convolution of small sizes with its axes shuffled."""

    def __init__(
        self, data, space: int, *, spread: bool = False, features: int = 1, batches: int = 1, crops: bool = True
    ):
        draw = data.draw
        self.space, self.groups, self.batch_groups = space, features, batches
        self.sizes = [draw(st.integers(2, 5)) for _ in range(space)]
        self.taps = [draw(FEW) for _ in range(space)]
        self.stride = [1 if spread else draw(FEW) for _ in range(space)]
        self.spread = [draw(FEW) if spread else 1 for _ in range(space)]
        self.dilation = [draw(st.integers(1, 2)) for _ in range(space)]
        low = -1 if crops else 0
        self.pads = [(draw(st.integers(low, 2)), draw(st.integers(low, 2))) for _ in range(space)]
        self.batch, self.c_i, self.c_o = batches * draw(FEW), draw(FEW), features * batches * draw(FEW)
        self.orders = [draw(st.permutations(range(space + 2))) for _ in range(3)]

    def laid(self, which: int, first: int, second: int, rest: list[int]) -> tuple[int, ...]:
        """A shape with the two named sizes and those of space where the axes are."""
        shape = [0] * (self.space + 2)
        for axis, size in zip(self.orders[which], (first, second, *rest), strict=True):
            shape[axis] = size
        return tuple(shape)

    @property
    def options(self):
        (n, i, *x), (k, o, *w), (m, f, *y) = self.orders
        return {
            "window_strides": self.stride,
            "padding": [one for pair in self.pads for one in pair],
            "lhs_dilation": self.spread,
            "rhs_dilation": self.dilation,
            "input_batch_dimension": n,
            "input_feature_dimension": i,
            "input_spatial_dimensions": x,
            "kernel_input_feature_dimension": k,
            "kernel_output_feature_dimension": o,
            "kernel_spatial_dimensions": w,
            "output_batch_dimension": m,
            "output_feature_dimension": f,
            "output_spatial_dimensions": y,
            "feature_group_count": self.groups,
            "batch_group_count": self.batch_groups,
        }

    def places(self) -> list[list[int]]:
        """Where windows start along every axis of space of the padded input, walked one by one."""
        found = []
        for size, tap, step, apart, far, (low, high) in zip(
            self.sizes, self.taps, self.stride, self.spread, self.dilation, self.pads, strict=True
        ):
            line = [0] * max(low, 0) + ([*([1] + [0] * (apart - 1)) * size][: (size - 1) * apart + 1])
            line = line + [0] * max(high, 0)
            line = line[max(-low, 0) : len(line) - max(-high, 0)]
            found.append([at for at in range(0, len(line), step) if at + (tap - 1) * far < len(line)])
        return found

    def executed(self):
        """(shape of the result, products): each output value is a sum over taps and the features of its group."""
        places, products = self.places(), 0
        for _ in itertools.product(*places):
            for _ in range(self.batch // self.batch_groups * self.c_o):
                products += math.prod(self.taps) * self.c_i
        shape = self.laid(2, self.batch // self.batch_groups, self.c_o, [len(one) for one in places])
        return shape, products

    def read(self):
        x = operand("x", self.laid(0, self.batch, self.c_i * self.groups, self.sizes))
        w = tensor("w", self.laid(1, self.c_i, self.c_o, self.taps), data=True)
        return single("STABLEHLO_CONVOLUTION", [x, w], self.options)


@settings(max_examples=60)
@given(st.data(), st.integers(1, 3))
def test_convolutions_with_their_axes_in_any_order(data, space) -> None:
    case = Case(data, space)
    if min(map(len, case.places())) < 1:
        return
    shape, products = case.executed()
    found = case.read()
    facts = weigh(found).facts
    assert (result(found)[0], facts.macs, facts.exact) == (shape, products, True)
    assert "conv" in runs(found)


@settings(max_examples=60)
@given(st.data(), st.integers(1, 2), st.integers(1, 3), st.booleans())
def test_groups_of_features_and_of_batches(data, space, groups, by_batch) -> None:
    case = Case(data, space, crops=False, **{"batches" if by_batch else "features": groups})
    if min(map(len, case.places())) < 1:
        return
    shape, products = case.executed()
    found = case.read()
    facts = weigh(found).facts
    assert (result(found)[0], facts.macs, facts.exact) == (shape, products, True)


@settings(max_examples=60)
@given(st.data(), st.integers(1, 2), st.integers(1, 2))
def test_an_input_that_is_spread_out_makes_it_transposed(data, space, groups) -> None:
    """Each product of a real value counts once, wherever it lands."""
    case = Case(data, space, spread=True, features=groups)
    if min(map(len, case.places())) < 1 or max(case.spread) == 1:
        return
    shape, _ = case.executed()
    products = 0
    for _ in itertools.product(*map(range, case.sizes)):
        for _ in range(case.batch * groups * case.c_i):
            products += math.prod(case.taps) * (case.c_o // groups)
    found = case.read()
    facts = weigh(found).facts
    assert (result(found)[0], facts.macs, facts.exact) == (shape, products, True)
    assert "conv_transpose" in runs(found)


def test_the_usual_orders_move_nothing() -> None:
    for orders in (((0, 3, 1, 2), (2, 3, 0, 1), (0, 3, 1, 2)), ((0, 1, 2, 3), (1, 0, 2, 3), (0, 1, 2, 3))):
        case = Case.__new__(Case)
        case.space, case.groups, case.batch_groups, case.orders = 2, 1, 1, orders
        case.sizes, case.taps, case.stride, case.spread, case.dilation = [8, 8], [3, 3], [2, 2], [1, 1], [1, 1]
        case.pads, case.batch, case.c_i, case.c_o = [(1, 1), (1, 1)], 1, 4, 6
        found = case.read()
        assert runs(found) == ["conv"]
        assert weigh(found).facts.macs == 4 * 4 * 9 * 4 * 6


def test_stride_and_spread_at_once_are_left_unknown() -> None:
    options = {
        "window_strides": [2],
        "lhs_dilation": [2],
        "input_feature_dimension": 1,
        "input_spatial_dimensions": [2],
        "kernel_output_feature_dimension": 1,
        "kernel_spatial_dimensions": [2],
        "output_feature_dimension": 1,
        "output_spatial_dimensions": [2],
    }
    (node,) = single("STABLEHLO_CONVOLUTION", [operand("x", (1, 2, 8)), operand("w", (2, 3, 3))], options).nodes
    assert (node.operator, "a stride over an input that is spread out" in node.reason) == (UNKNOWN, True)


def test_a_convolution_without_axes_to_slide_along_is_a_product() -> None:
    options = {"input_feature_dimension": 1, "kernel_output_feature_dimension": 1, "output_feature_dimension": 1}
    found = single("STABLEHLO_CONVOLUTION", [operand("x", (2, 4)), operand("w", (4, 6))], options)
    assert (result(found)[0], weigh(found).facts.macs) == ((2, 6), 48)


@st.composite
def products(draw):
    """Sizes of batches, of what is summed, and of the rest of both sides, with axes shuffled."""
    batch, summed, left, right = (draw(st.lists(FEW, max_size=2)) for _ in range(4))
    shapes, places = [], []
    for rest in (left, right):
        sizes = [*batch, *summed, *rest]
        order = draw(st.permutations(range(len(sizes))))
        shapes.append(tuple(sizes[one] for one in order))
        places.append(
            (
                [order.index(one) for one in range(len(batch))],
                [order.index(len(batch) + one) for one in range(len(summed))],
            )
        )
    return shapes, places, math.prod([*batch, *summed, *left, *right])


@settings(max_examples=100)
@given(products(), st.booleans())
def test_products_with_their_axes_in_any_order(case, is_stored) -> None:
    (x, w), ((xb, xc), (wb, wc)), count = case
    options = {
        "lhs_batching_dimensions": xb,
        "rhs_batching_dimensions": wb,
        "lhs_contracting_dimensions": xc,
        "rhs_contracting_dimensions": wc,
    }
    right = tensor("w", w, data=True) if is_stored else operand("w", w)
    found = single("STABLEHLO_DOT_GENERAL", [operand("x", x), right], options)
    # As numpy multiplies it, with a letter an axis.
    letters = iter("abcdefghijklmnop")
    left = [next(letters) for _ in x]
    other = [left[(xb + xc)[(wb + wc).index(axis)]] if axis in wb + wc else next(letters) for axis in range(len(w))]
    rest = [a for i, a in enumerate(left) if i not in xb + xc] + [a for i, a in enumerate(other) if i not in wb + wc]
    equation = f"{''.join(left)},{''.join(other)}->{''.join([left[axis] for axis in xb] + rest)}"
    shape = np.einsum(equation, np.zeros(x), np.zeros(w)).shape
    facts = weigh(found).facts
    assert (result(found)[0], facts.macs, facts.exact) == (shape, count, True)


@pytest.mark.parametrize(
    ("x", "w", "axes", "ours"),
    [
        ((5, 4), (4, 6), (1, 0), "linear"),
        ((5, 4), (6, 4), (1, 1), "linear"),
        ((4, 5), (4, 6), (0, 0), "linear"),
        ((2, 5, 4), (4, 6), (2, 0), "linear"),
        ((4, 2, 5), (4, 6), (0, 0), "einsum"),
    ],
)
def test_a_stored_matrix_is_a_linear_layer(x, w, axes, ours) -> None:
    options = {"lhs_contracting_dimensions": axes[:1], "rhs_contracting_dimensions": axes[1:]}
    found = single("STABLEHLO_DOT_GENERAL", [operand("x", x), tensor("w", w, data=True)], options)
    assert runs(found) == [ours]
    assert weigh(found).facts.weights == math.prod(w)


@pytest.mark.parametrize(("x_axis", "w_axis"), [(2, 1), (2, 2), (1, 1), (1, 2)])
def test_batches_of_matrices_are_products_of_matrices(x_axis, w_axis) -> None:
    x, w = [3, 5, 5], [3, 6, 6]
    x[x_axis] = w[w_axis] = 4
    options = {
        "lhs_batching_dimensions": [0],
        "rhs_batching_dimensions": [0],
        "lhs_contracting_dimensions": [x_axis],
        "rhs_contracting_dimensions": [w_axis],
    }
    found = single("STABLEHLO_DOT_GENERAL", [operand("x", x), operand("w", w)], options)
    assert (runs(found), result(found)[0], weigh(found).facts.macs) == (["matmul"], (3, 5, 6), 3 * 5 * 4 * 6)


def test_axes_that_do_not_meet_are_left_unknown() -> None:
    options = {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}
    (node,) = single("STABLEHLO_DOT_GENERAL", [operand("x", (2, 4)), operand("w", (5, 6))], options).nodes
    assert (node.operator, "do not meet" in node.reason) == (UNKNOWN, True)


def test_sums_of_whole_numbers_are_no_quantised_product() -> None:
    """int8 by int8 to int32 is a sum; to int8 the tensors have scales."""
    options = {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}
    for dtype, quantisation in (("INT32", "by_operands"), ("INT8", "in_tensors")):
        w = stored("w", np.zeros((4, 6), int), "INT8")
        found = single("STABLEHLO_DOT_GENERAL", [operand("x", (2, 4), "INT8"), w], options, [dtype])
        assert found.nodes[0].attributes["quantisation"] == quantisation
        assert result(found) == ((2, 6), dtype.lower())
