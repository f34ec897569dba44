"""Sorting, selection, quantisation, generators, losses and sequences."""

from __future__ import annotations

import heapq
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, least_of, shape_of, typed, work_of
from tests.operators.reference import run
from tests.operators.test_normalisation import log_soft
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.operators.table import OPERATORS

FEW = settings(max_examples=25, deadline=None)
SIZES = st.integers(1, 4)
SHAPES = st.lists(SIZES, min_size=1, max_size=3).map(tuple)


class Compared:
    """A value that counts the comparisons made with it."""

    count = 0

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        Compared.count += 1
        return self.value < other.value


@FEW
@given(SHAPES, st.data())
def test_top_k(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    k = data.draw(st.integers(1, shape[axis]))
    x = np.zeros(shape, dtype=np.float32)
    values, positions = run("TopK", [x, np.array([k])], outputs=2, axis=axis)
    found = call("top_k", {"k": k, "axis": axis}, x=shape)
    assert found.outputs == (typed(values.shape), typed(positions.shape, "int64"))
    with pytest.raises(GraphError):
        call("top_k", {"k": shape[axis] + 1, "axis": axis}, x=shape)


@FEW
@given(st.permutations(range(16)), st.integers(1, 16))
def test_top_k_takes_no_fewer_comparisons_than_stated(values, k):
    """Insertion by halving into the k best so far, one comparison with the worst of them first."""
    Compared.count, best = 0, []
    for value in map(Compared, values):
        if len(best) == k and not best[0] < value:
            continue
        low, high = 0, len(best) - (len(best) == k)
        rest = best[1:] if len(best) == k else best
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if rest[middle] < value else (low, middle)
        best = [*rest[:low], value, *rest[low:]]
    assert sorted(one.value for one in best) == heapq.nlargest(k, values)[::-1]
    found = call("top_k", {"k": k}, x=(16,))
    assert Compared.count >= least_of("top_k", found).compare == 15
    # The largest alone takes as many in any order.
    assert work_of("top_k", found) == (least_of("top_k", found) if k == 1 else None)


def test_all_values_in_any_order_are_there_already():
    assert work_of("top_k", call("top_k", {"k": 16, "sorted": False}, x=(16,))).compare == 0
    assert least_of("top_k", call("top_k", {"k": 15, "sorted": False}, x=(3, 16))).compare == 3 * 15
    assert work_of("top_k", call("top_k", {"k": 0}, x=(3, 16))).compare == 0


@FEW
@given(st.permutations(range(13)))
def test_distinct_values_take_no_fewer_comparisons_than_stated(values):
    Compared.count = 0
    ordered = sorted(map(Compared, values))
    for a, b in itertools.pairwise(ordered):
        assert a < b
    found = call("unique", {"outputs": ("inverse",)}, x=(13,))
    assert Compared.count >= least_of("unique", found).compare == 12
    assert OPERATORS["unique"].work(found) is None
    slices = call("unique", {"axis": 1, "outputs": ("inverse",)}, x=(5, 3))
    assert least_of("unique", slices).compare == 2
    assert OPERATORS["unique"].work(call("unique", {"outputs": ("inverse",)}, x=(1,))).compare == 0


def test_shapes_that_values_decide():
    x = typed((3, 4))
    assert call("non_zero", {}, x=x).outputs == (DTYPES["int64"],)
    assert call("compress", {"axis": 1}, x=x, condition=typed((4,), "bool")).outputs == (x.dtype,)
    int64 = DTYPES["int64"]
    every = {"outputs": ("y", "indices", "inverse", "counts")}
    assert call("unique", every, x=x).outputs == (x.dtype, int64, typed((12,), "int64"), int64)
    assert call("unique", {**every, "axis": 1}, x=x).outputs[2] == typed((4,), "int64")
    assert call("non_max_suppression", {}, boxes=(1, 6, 4), scores=(1, 2, 6)).outputs == (int64,)
    with pytest.raises(GraphError):
        call("non_max_suppression", {}, boxes=(1, 6, 4), scores=(1, 2, 5))


@FEW
@given(st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_suppression_compares_every_score_and_pairs_as_they_lie(places):
    """Intervals of length 4, the best first; whatever overlaps a kept one is never looked at again."""
    t, left = Tally(), list(enumerate(places))
    for _ in places:
        t.select(True, 1, 0)
    while left:
        (_, best), *others = left
        left = [other for other in others if t.select(abs(other[1] - best) < 4, 0, 1)]
    found = call("non_max_suppression", {}, boxes=(len(places), 4), scores=(len(places),))
    assert least_of("non_max_suppression", found).compare == len(places) <= t.compares
    assert work_of("non_max_suppression", found) is None


@given(SHAPES, st.sampled_from(["int8", "uint8", "int16", "int4", None]))
def test_quantisation(shape, kind):
    t = Tally()
    for _ in np.ndindex(*shape):
        value = t.div(3.0, 0.5)
        value = t.add(value, 0.4)  # rounding
        value = t.add(value, 1) if kind else value
        t.minimum(t.maximum(value, -128), 127)
    zero = {"zero_point": typed((), kind)} if kind else {}
    found = call("quantize", {}, x=shape, scale=(), **zero)
    assert found.outputs == (typed(shape, kind or "uint8"),)
    assert work_of("quantize", found) == t.work
    t = Tally()
    for _ in np.ndindex(*shape):
        t.mul(t.sub(3, 1) if kind else 3, 0.5)
    back = call("dequantize", {}, x=typed(shape, kind or "uint8"), scale=typed((), "float16"), **zero)
    assert back.outputs == (typed(shape, "float16"),)
    assert work_of("dequantize", back) == t.work
    assert call("quantize", {"dtype": "int2"}, x=shape, scale=()).outputs == (typed(shape, "int2"),)


def test_scales_of_axes_and_blocks():
    x = (4, 6)
    for attributes, scale in (({}, (6,)), ({"axis": 0}, (4,)), ({"block_size": 4}, (4, 2)), ({}, (1,))):
        assert shape_of(call("dequantize", attributes, x=x, scale=scale)) == x
    for attributes, scale in (({}, (4,)), ({"block_size": 4}, (4, 3)), ({"block_size": -4}, (4, 2)), ({}, (1, 2))):
        with pytest.raises(GraphError):
            call("dequantize", attributes, x=x, scale=scale)
    with pytest.raises(GraphError):
        call("quantize", {}, x=x, scale=(6,), zero_point=typed((4,), "int8"))


def test_dynamic_quantisation():
    x = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
    wanted = run("DynamicQuantizeLinear", [x], outputs=3)
    found = call("dynamic_quantize", {}, x=x.shape)
    assert [(out.shape, out.dtype.name) for out in found.outputs] == [(np.shape(w), str(w.dtype)) for w in wanted]
    t = Tally()
    low = high = 0.0
    for value in x.ravel():
        low, high = t.minimum(low, value), t.maximum(high, value)
    low, high = t.minimum(low, 0), t.maximum(high, 0)
    scale = t.div(t.sub(high, low), 255)
    zero = t.div(t.sub(0, low), scale)
    zero = t.minimum(t.maximum(t.add(zero, round(zero) - zero), 0), 255)
    values = []
    for value in x.ravel():
        scaled = t.div(value, scale)
        placed = t.add(t.add(scaled, np.rint(scaled) - scaled), zero)
        values.append(t.minimum(t.maximum(placed, 0), 255))
    np.testing.assert_array_equal(np.reshape(values, x.shape), wanted[0])
    assert work_of("dynamic_quantize", found) == t.work


def test_generators_write_and_do_not_read():
    assert call("constant_of_shape", {"shape": (2, 0), "dtype": "int64"}).outputs == (typed((2, 0), "int64"),)
    assert call("constant_of_shape", {"shape": "unknown"}).outputs == (DTYPES["float32"],)
    for name in ("random_normal_like", "random_uniform_like", "eye_like", "shape", "size"):
        found = call(name, {}, x=(2, 3))
        assert OPERATORS[name].traffic(found) == (0, found.outputs[0].bytes)
    assert call("random_normal", {"shape": (4,), "dtype": "float16"}).outputs == (typed((4,), "float16"),)
    assert call("size", {}, x=(2, 3)).outputs == (typed((), "int64"),)
    assert call("eye_like", {"dtype": "int8"}, x=(2, 3)).outputs == (typed((2, 3), "int8"),)
    assert call("multinomial", {"sample_size": 7}, x=(2, 3)).outputs == (typed((2, 7), "int32"),)
    for name in ("hann_window", "hamming_window", "blackman_window"):
        executed = run(name.split("_")[0].capitalize() + "Window", [np.array(10)])[0]
        assert shape_of(call(name, {"size": 10})) == executed.shape


def test_random_operators_are_marked_as_such():
    assert {op.name for op in OPERATORS.values() if op.random} == {
        *("random_normal", "random_normal_like", "random_uniform", "random_uniform_like", "bernoulli", "multinomial"),
    }


@FEW
@given(st.lists(SIZES, max_size=2), st.sampled_from(["none", "sum", "mean"]), st.booleans(), st.booleans())
def test_losses(space, reduction, weighted, both):
    batch, classes = 2, 3
    scores = (np.arange(batch * classes * math.prod(space)) % 5).astype(np.float32).reshape(batch, classes, *space)
    targets, weight = np.ones((batch, *space), dtype=np.int64), np.full(classes, 0.5, dtype=np.float32)
    outputs = 2 if both else 1
    operands = [scores, targets, *([weight] if weighted else [])]
    wanted = run("SoftmaxCrossEntropyLoss", operands, outputs=outputs, reduction=reduction)
    types = {"x": scores.shape, "targets": typed(targets.shape, "int64"), **({"weight": (3,)} if weighted else {})}
    names = ("loss", "log_probabilities")[:outputs]
    found = call("softmax_cross_entropy_loss", {"reduction": reduction, "outputs": names}, **types)
    assert [out.shape for out in found.outputs] == [np.shape(one) for one in wanted]
    t, losses, weights = Tally(), [], []
    for n, *place in np.ndindex(*targets.shape):
        probabilities = log_soft(t, [float(x) for x in scores[(n, slice(None), *place)]])
        losses.append(t.mul(0.5, -probabilities[1]) if weighted else -probabilities[1])
        weights.append(0.5)
    result = np.reshape(losses, targets.shape)
    if reduction != "none":
        result, whole = 0.0, 0.0
        for loss in losses:
            result = t.add(result, loss)
        if weighted and reduction == "mean":
            for one in weights:
                whole = t.add(whole, one)
        result = t.div(result, whole or len(losses)) if reduction == "mean" else result
    assert work_of("softmax_cross_entropy_loss", found) == t.work
    np.testing.assert_allclose(result, wanted[0], rtol=1e-5)


def test_negative_log_likelihood_is_the_loss_without_the_softmax():
    both = call("softmax_cross_entropy_loss", {}, x=(2, 3, 4), targets=(2, 4), weight=(3,))
    alone = call("negative_log_likelihood_loss", {}, x=(2, 3, 4), targets=(2, 4), weight=(3,))
    softmax = call("log_softmax", {"axis": 1}, x=(2, 3, 4))
    together = work_of("negative_log_likelihood_loss", alone).plus(work_of("log_softmax", softmax))
    assert work_of("softmax_cross_entropy_loss", both) == together
    with pytest.raises(GraphError):
        call("negative_log_likelihood_loss", {}, x=(2, 3, 4), targets=(2, 5))


@FEW
@given(st.integers(0, 5), st.integers(1, 2))
def test_determinants_by_elimination(n, batch):
    x = (np.arange(batch * n * n) * 7 % 11 + np.tile(np.eye(n).ravel() * 20, batch)).reshape(batch, n, n)
    t, values = Tally(), []
    for matrix in x.astype(float):
        for pivot in range(n):
            for row in range(pivot + 1, n):
                factor = t.div(matrix[row, pivot], matrix[pivot, pivot])
                for column in range(pivot + 1, n):
                    matrix[row, column] = t.sub(matrix[row, column], t.mul(factor, matrix[pivot, column]))
        value = matrix[0, 0] if n else 1.0
        for pivot in range(1, n):
            value = t.mul(value, matrix[pivot, pivot])
        values.append(value)
    np.testing.assert_allclose(values, np.linalg.det(x), rtol=1e-9)
    found = call("determinant", {}, x=x.shape)
    assert (shape_of(found), work_of("determinant", found)) == ((batch,), t.work)


@FEW
@given(SIZES, SIZES, SIZES, st.sampled_from([2, 4, 6]), st.sampled_from([0, 2]))
def test_rotary_embedding(batch, heads, length, head, size):
    x = (np.arange(batch * heads * length * head) % 5).astype(np.float32).reshape(batch, heads, length, head)
    rotated = size or head
    angle = np.linspace(0, 1, batch * length * rotated // 2, dtype=np.float32).reshape(batch, length, -1)
    t, values = Tally(), x.astype(float).copy()
    for b, h, p, i in np.ndindex(batch, heads, length, rotated // 2):
        u, v = float(x[b, h, p, i]), float(x[b, h, p, i + rotated // 2])
        cos, sin = math.cos(angle[b, p, i]), math.sin(angle[b, p, i])
        values[b, h, p, i] = t.sub(t.mul(u, cos), t.mul(v, sin))
        values[b, h, p, i + rotated // 2] = t.add(t.mul(u, sin), t.mul(v, cos))
    found = call("rotary_embedding", {"size": size}, x=x.shape, cos=angle.shape, sin=angle.shape)
    assert (shape_of(found), work_of("rotary_embedding", found)) == (x.shape, t.work)
    flat = call("rotary_embedding", {"size": size, "heads": heads}, x=(batch, length, heads * head), cos=(), sin=())
    assert work_of("rotary_embedding", flat) == t.work
    wanted = run("RotaryEmbedding", [x, np.cos(angle), np.sin(angle)], opset=23, rotary_embedding_dim=size)[0]
    np.testing.assert_allclose(values, wanted, rtol=1e-4, atol=1e-5)


def test_sequences_carry_an_element_type_and_no_shape():
    builder = Builder("sequences")
    x = builder.input("x", (4, 2), DTYPES["float16"])
    (parts,) = builder.add("split_to_sequence", [("x", x)])
    (one,) = builder.add("sequence_at", [("sequence", parts), ("position", builder.input("i", (), DTYPES["int64"]))])
    (whole,) = builder.add("concat_from_sequence", [("sequence", parts)], declared=[typed((4, 2), "float16")])
    graph = builder.graph([one, whole])
    assert [(graph.tensors[t].shape, graph.tensors[t].dtype.name) for t in (parts, one, whole)] == [
        (None, "float16"),
        (None, "float16"),
        ((4, 2), "float16"),
    ]
    assert call("sequence_length", {}, sequence=(2,)).outputs == (typed((), "int64"),)
    assert call("optional_has_element", {}).outputs == (typed((), "bool"),)
    assert call("optional", {"dtype": "int8"}).outputs == (DTYPES["int8"],)
    assert call("string_split", {}, x=typed((3,), "string")).outputs == (DTYPES["string"], typed((3,), "int64"))
    with pytest.raises(GraphError):
        call("sequence_construct", {}, xs=[])


def test_identities_pass_their_operand_on():
    assert call("identity", {}, x=(2,)).outputs == (typed((2,)),)
    assert call("dropout", {"outputs": ("y", "mask")}, x=(2,)).outputs == (typed((2,)), typed((2,), "bool"))


def test_boxes_of_one_image_and_one_class_need_no_axes_for_them():
    one = call("non_max_suppression", {}, boxes=(6, 4), scores=(6,))
    same = call("non_max_suppression", {}, boxes=(1, 6, 4), scores=(1, 1, 6))
    assert one.outputs == same.outputs
    assert least_of("non_max_suppression", one) == least_of("non_max_suppression", same)


@given(SHAPES)
def test_fake_quantisation_goes_there_and_back(shape):
    t = Tally()
    for _ in np.ndindex(*shape):
        value = t.add(t.add(t.div(3.0, 0.5), 0.4), 1)  # by the scale, rounded, the zero point
        t.mul(t.sub(t.minimum(t.maximum(value, 0), 255), 1), 0.5)
    found = call("fake_quantize", {"outputs": ("y", "mask")}, x=shape, scale=(), zero_point=())
    assert found.outputs == (typed(shape), typed(shape, "bool"))
    assert work_of("fake_quantize", found) == t.work
    assert work_of("fake_quantize", call("fake_quantize", {"observes": True}, x=shape)) is None


def test_a_quantised_tensor_may_hold_its_scale_itself():
    x = (4, 6)
    for name in ("quantize", "dequantize"):
        found = call(name, {}, x=x)
        assert shape_of(found) == x
        with_both = call(name, {}, x=x, scale=(), zero_point=typed((), "int8"))
        assert work_of(name, found) == work_of(name, with_both)
        with pytest.raises(GraphError, match="zero points"):
            call(name, {}, x=x, zero_point=typed((), "int8"))


def sorted_line(line, compares):
    """By insertion, as good as any where the values lie well; every comparison is counted."""
    done = []
    for value in line:
        place = len(done)
        while place and compares(done[place - 1], value):
            place -= 1
        done.insert(place, value)
    return done


@given(st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple), st.data())
def test_sort_takes_at_least_what_a_line_in_order_takes(shape, data) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    tally = Tally()
    values = np.arange(math.prod(shape)).reshape(shape)
    lines = np.moveaxis(values, axis, -1).reshape(-1, shape[axis]) if values.size else []
    for line in lines:
        assert sorted_line(line, lambda a, b: tally.select(a > b, 1, 0)) == list(line)
    found = call("sort", {"axis": axis}, xs=[shape, shape])
    assert [one.shape for one in found.outputs] == [shape, shape]
    assert least_of("sort", found) == tally.work
    assert work_of("sort", found) == (tally.work if shape[axis] < 3 else None)


def test_sort_orders_tensors_of_one_shape() -> None:
    with pytest.raises(GraphError):
        call("sort", {}, xs=[(3, 4), (3,)])
    with pytest.raises(GraphError):
        call("sort", {"axis": 2}, xs=[(3, 4)])
