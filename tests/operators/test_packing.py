"""Packed integers, padding, and the small records that ONNX Runtime's operators needed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.operators.execution import Tally, call, shape_of, typed, work_of
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work


def types_of(found):
    return [(one.shape, one.dtype.name) for one in found.outputs]


@pytest.mark.parametrize(("bits", "held", "shape"), [(4, (3, 2), (3, 4)), (2, (3, 1, 4), (3, 16)), (8, (6,), (2, 3))])
def test_packed_integers(bits, held, shape):
    found = call("unpack", {"shape": shape, "dtype": f"uint{bits}"}, x=typed(held, "uint8"))
    assert types_of(found) == [(shape, f"uint{bits}")]
    assert work_of("unpack", found) == Work()


def test_rows_of_packed_integers_may_end_early():
    assert shape_of(call("unpack", {"shape": (3, 5), "dtype": "uint4"}, x=typed((3, 4), "uint8"))) == (3, 5)
    with pytest.raises(GraphError, match=r"\(3, 2\) of uint8 do not hold \(3, 5\) of uint4"):
        call("unpack", {"shape": (3, 5), "dtype": "uint4"}, x=typed((3, 2), "uint8"))


def test_padding():
    operands = {"x": (2, 5, 8), "counts": typed((2,), "int32")}
    results = ("y", "offsets", "ends", "longest")
    found = call("remove_padding", {"tokens": 7, "outputs": results}, **operands)
    assert types_of(found) == [((7, 8), "float32"), ((2, 5), "int32"), ((3,), "int32"), ((1,), "int32")]
    assert call("remove_padding", {"tokens": "unknown"}, **operands).outputs[0].name == "float32"
    back = call("restore_padding", {}, x=(7, 8), offsets=typed((2, 5), "int32"))
    assert (shape_of(back), work_of("restore_padding", back)) == ((2, 5, 8), Work())


@pytest.mark.parametrize(
    ("operator", "attributes", "operands"),
    [
        ("remove_padding", {"tokens": 11}, {"x": (2, 5, 8), "counts": (2,)}),
        ("remove_padding", {"tokens": 7}, {"x": (2, 5, 8), "counts": (3,)}),
        ("remove_padding", {"tokens": 7}, {"x": (5, 8), "counts": (5,)}),
        ("restore_padding", {}, {"x": (11, 8), "offsets": (2, 5)}),
        ("restore_padding", {}, {"x": (7, 8), "offsets": (10,)}),
        ("inverse", {}, {"x": (2, 3)}),
        ("barred_repeats", {"size": 0}, {"ids": (2, 5), "scores": (2, 9)}),
        ("barred_repeats", {"size": 2}, {"ids": (3, 5), "scores": (2, 9)}),
        ("crop_and_resize", {"size": (5, 6)}, {"x": (1, 4, 8, 8), "regions": (3, 5), "batches": (3,)}),
        ("crop_and_resize", {"size": (5,)}, {"x": (1, 4, 8, 8), "regions": (3, 4), "batches": (3,)}),
        ("crop_and_resize", {"size": (5, 6)}, {"x": (1, 4, 8, 8), "regions": (3, 4), "batches": (2,)}),
    ],
)
def test_a_contradiction_is_an_error(operator, attributes, operands):
    with pytest.raises(GraphError):
        call(operator, attributes, **operands)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_inverses(n):
    a = np.sin(np.arange(1, n * n + 1)).reshape(n, n) + 3 * np.eye(n)
    t, m = Tally(), a.copy()
    for k in range(n):
        pivot = t.div(1, m[k, k])
        for j in range(n):
            if j != k:
                m[k, j] = t.mul(m[k, j], pivot)
        for i in range(n):
            if i == k:
                continue
            for j in range(n):
                if j != k:
                    m[i, j] = t.sub(m[i, j], t.mul(m[i, k], m[k, j]))
            m[i, k] = -t.mul(m[i, k], pivot)
        m[k, k] = pivot
    np.testing.assert_allclose(m, np.linalg.inv(a), atol=1e-12)
    found = call("inverse", {}, x=(5, n, n))
    assert (shape_of(found), work_of("inverse", found)) == ((5, n, n), t.work.times(5))


def test_runs_of_words_are_compared():
    """The last ``size`` - 1 words against those in front of every place."""
    ids, size, t = np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4]]), 3, Tally()
    scores = np.zeros((2, 9))
    for row in range(2):
        for start in range(5 - size + 1):
            same = True
            for place in range(size - 1):
                same = t.select(ids[row, start + place] == ids[row, 5 - size + 1 + place], same, False)
            if same:
                scores[row, ids[row, start + size - 1]] = -math.inf
    assert np.isinf(scores).nonzero()[1].tolist() == [3, 4]
    found = call("barred_repeats", {"size": size}, ids=typed(ids.shape, "int64"), scores=scores.shape)
    assert (shape_of(found), work_of("barred_repeats", found)) == ((2, 9), t.work)


@pytest.mark.parametrize(("mode", "taps"), [("linear", 4), ("nearest", 0)])
def test_crops(mode, taps):
    """Of four neighbours: products, and one sum less."""
    found = call("crop_and_resize", {"size": (5, 6), "mode": mode}, x=(1, 4, 8, 8), regions=(3, 4), batches=(3,))
    assert shape_of(found) == (3, 4, 5, 6)
    assert work_of("crop_and_resize", found) == Work(mul=taps, add=max(taps - 1, 0)).times(3 * 4 * 5 * 6)


def test_a_squared_distance_has_no_root():
    plain, squared = (call("distance_matrix", {"squared": one}, a=(3, 4), b=(5, 4)) for one in (False, True))
    assert work_of("distance_matrix", squared).plus(Work(special=15)) == work_of("distance_matrix", plain)


def test_a_rotation_without_tables_computes_its_angles():
    """Position times frequency, and its cosine and sine, for every pair."""
    with_tables = call("rotary_embedding", {}, x=(2, 4, 3, 8), cos=(3, 4), sin=(3, 4))
    without = call("rotary_embedding", {}, x=(2, 4, 3, 8))
    pairs = 2 * 4 * 3 * 4
    assert work_of("rotary_embedding", without) == work_of("rotary_embedding", with_tables).plus(
        Work(mul=pairs, special=2 * pairs)
    )


@pytest.mark.parametrize(("elements", "words"), [((2, 16), 1), ((3, 11), 2), ((0,), 0)])
def test_a_mask_of_bits(elements, words):
    found = call("dropout", {"outputs": ("y", "bitmask")}, x=elements)
    assert types_of(found) == [(elements, "float32"), ((words,), "uint32")]


def test_a_product_of_quantised_operands_that_is_float_is_scaled_once_a_value():
    x, w = typed((2, 3), "uint8"), typed((3, 5), "int8")
    layout = {"weight_layout": "io", "output_dtype": "float32"}
    sums = call("linear", layout, x=x, w=w)
    floats = call("linear", layout, x=x, w=w, x_scale=(), w_scale=(5,))
    assert work_of("linear", floats) == work_of("linear", sums).plus(Work(mul=10))


def test_a_dynamic_recurrent_layer_quantises_what_comes_in_and_every_state():
    operands = {"x": (5, 3, 10), "w": (2, 80, 10), "r": (2, 80, 20)}
    plain, dynamic = (call("lstm", {"dynamic": one}, **operands) for one in (False, True))
    quantising = Work()
    for size in (5 * 3 * 10, *[3 * 20] * 5):
        quantising = quantising.plus(work_of("dynamic_quantize", call("dynamic_quantize", {}, x=(size,))))
    assert work_of("lstm", dynamic) == work_of("lstm", plain).plus(quantising.times(2))
