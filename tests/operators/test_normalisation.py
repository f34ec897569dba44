"""Softmax and normalisations, executed on counted arithmetic row by row; ONNX's reference implementation confirms the values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, shape_of, typed, work_of
from tests.operators.reference import run
from weighbridge.errors import GraphError

EPSILON = 1e-5
SIZES = st.integers(1, 4)


def softmax(t, row):
    largest = -math.inf
    for x in row:
        largest = t.maximum(largest, x)
    raised = [t.special(math.exp, t.sub(x, largest)) for x in row]
    return raised, total(t, raised), largest


def total(t, values):
    done = 0.0
    for value in values:
        done = t.add(done, value)
    return done


def soft(t, row):
    raised, whole, _ = softmax(t, row)
    return [t.div(x, whole) for x in raised]


def log_soft(t, row):
    _, whole, largest = softmax(t, row)
    shift = t.add(largest, t.special(math.log, whole))
    return [t.sub(x, shift) for x in row]


def hard(t, row):
    best = 0
    for index in range(len(row)):
        best = t.select(row[index] > row[best], index, best)
    return [t.select(index == best, 1.0, 0.0) for index in range(len(row))]


def normalised(t, row, scale=None, bias=None):
    """Mean, centring, variance, inverse deviation, then scale and bias, each a value of the row or absent."""
    mean = t.div(total(t, row), len(row))
    centred = [t.sub(x, mean) for x in row]
    variance = t.div(total(t, [t.mul(x, x) for x in centred]), len(row))
    inverse = t.div(1, t.special(math.sqrt, t.add(variance, EPSILON)))
    return affine(t, [t.mul(x, inverse) for x in centred], scale, bias)


def affine(t, row, scale, bias):
    if scale is not None:
        row = [t.mul(x, s) for x, s in zip(row, scale, strict=True)]
    if bias is not None:
        row = [t.add(x, b) for x, b in zip(row, bias, strict=True)]
    return row


def root_mean_square(t, row, scale=None):
    square = t.div(total(t, [t.mul(x, x) for x in row]), len(row))
    inverse = t.div(1, t.special(math.sqrt, t.add(square, EPSILON)))
    return affine(t, [t.mul(x, inverse) for x in row], scale, None)


def rows_of(x, axes):
    """The rows that are normalised together, as views into a copy, and the copy."""
    y = np.moveaxis(x.astype(np.float64), axes, range(-len(axes), 0))
    return y.reshape(-1, math.prod(y.shape[y.ndim - len(axes) :])), y.shape


def by_rows(function, x, axes):
    """(Values in the shape of x, work done) of a function of rows."""
    tally = Tally()
    rows, shape = rows_of(x, axes)
    done = np.array([function(tally, list(row)) for row in rows]).reshape(shape)
    return np.moveaxis(done, range(-len(axes), 0), axes), tally.work


def numbers(shape):
    return (np.arange(math.prod(shape)).reshape(shape) * 7 % 5 - 1.5).astype(np.float32)


@settings(max_examples=30)
@given(st.lists(SIZES, min_size=1, max_size=3).map(tuple), st.data())
@pytest.mark.parametrize(
    ("name", "theirs", "function"),
    [("softmax", "Softmax", soft), ("log_softmax", "LogSoftmax", log_soft), ("hardmax", "Hardmax", hard)],
)
def test_softmaxes(name, theirs, function, shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = numbers(shape)
    values, work = by_rows(function, x, [axis])
    found = call(name, {"axis": axis}, x=shape)
    assert (shape_of(found), work_of(name, found)) == (shape, work)
    np.testing.assert_allclose(values, run(theirs, [x], axis=axis)[0], rtol=1e-5, atol=1e-6)


def test_a_factor_other_than_one_multiplies_every_value():
    _, work = by_rows(lambda t, row: soft(t, [t.mul(x, 0.5) for x in row]), numbers((2, 3)), [-1])
    assert work_of("softmax", call("softmax", {"beta": 0.5}, x=(2, 3))) == work


@given(st.lists(SIZES, min_size=2, max_size=4).map(tuple), st.data())
def test_a_softmax_that_flattens_has_longer_rows(shape, data):
    axis = data.draw(st.integers(0, len(shape)))
    _, work = by_rows(log_soft, numbers((math.prod(shape[:axis]), math.prod(shape[axis:]))), [1])
    found = call("log_softmax", {"axis": axis, "flatten": True}, x=shape)
    assert work_of("log_softmax", found) == work


@settings(max_examples=30)
@given(st.lists(SIZES, min_size=1, max_size=4).map(tuple), st.data(), st.booleans())
def test_layer_norm(shape, data, biased):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    axes = list(range(axis % len(shape), len(shape)))
    tail = shape[axes[0] :]
    scale, bias = numbers(tail) + 0.25, numbers(tail) if biased else None
    flat = (scale.ravel(), bias.ravel() if biased else None)
    x = numbers(shape)
    values, work = by_rows(lambda t, row: normalised(t, row, *flat), x, axes)
    operands = {"x": shape, "scale": tail, **({"bias": tail} if biased else {})}
    asked = ("y", "mean", "inverse_deviation")
    found = call("layer_norm", {"axis": axis, "outputs": asked}, **operands)
    assert work_of("layer_norm", found) == work
    wanted = run("LayerNormalization", [x, scale, *([bias] if biased else [])], outputs=3, axis=axis)
    assert [output.shape for output in found.outputs] == [one.shape for one in wanted]
    np.testing.assert_allclose(values, wanted[0], rtol=1e-3, atol=1e-4)


@settings(max_examples=30)
@given(st.lists(SIZES, min_size=1, max_size=3).map(tuple), st.data())
def test_rms_norm(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    axes = list(range(axis % len(shape), len(shape)))
    scale = numbers(shape[axes[0] :]) + 0.25
    values, work = by_rows(lambda t, row: root_mean_square(t, row, scale.ravel()), numbers(shape), axes)
    found = call("rms_norm", {"axis": axis}, x=shape, scale=scale.shape)
    assert (shape_of(found), work_of("rms_norm", found)) == (shape, work)
    wanted = run("RMSNormalization", [numbers(shape), scale], opset=23, axis=axis)[0]
    np.testing.assert_allclose(values, wanted, rtol=1e-3, atol=1e-4)


@settings(max_examples=30)
@given(SIZES, SIZES, SIZES, st.lists(SIZES, max_size=2))
def test_group_and_instance_norm(batch, groups, each, space):
    channels = groups * each
    shape = (batch, channels, *space)
    x, scale, bias = numbers(shape), numbers((channels,)) + 0.25, numbers((channels,))
    grouped = x.reshape(batch, groups, each, *space)
    place = np.arange(channels).reshape(groups, each, *[1] * len(space)) + np.zeros((groups, each, *space), dtype=int)
    tally, values = Tally(), np.zeros(shape)
    for n in range(batch):
        for g in range(groups):
            which = place[g].ravel()
            row = normalised(tally, list(grouped[n, g].astype(float).ravel()), scale[which], bias[which])
            values[n].reshape(groups, each, *space)[g] = np.array(row).reshape(each, *space)
    found = call("group_norm", {"groups": groups}, x=shape, scale=(channels,), bias=(channels,))
    assert (shape_of(found), work_of("group_norm", found)) == (shape, tally.work)
    wanted = run("GroupNormalization", [x, scale, bias], num_groups=groups, epsilon=EPSILON)[0]
    np.testing.assert_allclose(values, wanted, rtol=1e-2, atol=1e-3)
    if each == 1:
        found = call("instance_norm", {}, x=shape, scale=(channels,), bias=(channels,))
        assert work_of("instance_norm", found) == tally.work
    with pytest.raises(GraphError):
        call("group_norm", {"groups": channels + 1}, x=shape)


@given(SIZES, SIZES, st.lists(SIZES, max_size=2), st.sampled_from(["channels_first", "channels_last"]))
def test_batch_norm_at_inference(batch, channels, space, layout):
    shape = (batch, channels, *space) if layout == "channels_first" else (batch, *space, channels)
    t, x = Tally(), np.moveaxis(numbers((batch, channels, *space)), 1, -1)
    statistics = [numbers((channels,)) + 2 for _ in range(4)]
    scale, bias, mean, variance = statistics
    factor = scale / np.sqrt(variance + EPSILON)
    shift = bias - mean * factor
    values = [t.add(t.mul(x[p], factor[p[-1]]), shift[p[-1]]) for p in np.ndindex(*x.shape)]
    names = ("scale", "bias", "mean", "variance")
    found = call("batch_norm", {"layout": layout}, x=shape, **dict.fromkeys(names, (channels,)))
    assert (shape_of(found), work_of("batch_norm", found)) == (shape, t.work)
    wanted = run("BatchNormalization", [np.moveaxis(x, -1, 1), *statistics])[0]
    np.testing.assert_allclose(np.moveaxis(np.reshape(values, x.shape), -1, 1), wanted, rtol=1e-4, atol=1e-5)
    with pytest.raises(GraphError):
        call("batch_norm", {"layout": layout}, x=shape, **dict.fromkeys(names, (channels + 1,)))


def test_batch_norm_in_training_also_moves_its_statistics():
    shape, t = (3, 2, 4), Tally()
    for channel in range(2):
        row = [float(x) for x in numbers(shape)[:, channel].ravel()]
        normalised(t, row, [1.0] * len(row), [0.0] * len(row))
        for old, new in ((0.5, 1.5), (1.0, 2.0)):
            t.add(t.mul(old, 0.9), t.mul(new, 0.1))
    names = ("scale", "bias", "mean", "variance")
    attributes = {"training": True, "outputs": ("y", "mean", "variance")}
    found = call("batch_norm", attributes, x=shape, **dict.fromkeys(names, (2,)))
    assert [output.shape for output in found.outputs] == [shape, (2,), (2,)]
    assert work_of("batch_norm", found) == t.work


@given(SIZES, st.integers(1, 6), SIZES, st.integers(1, 5))
def test_local_response_norm_sums_a_nominal_window(batch, channels, space, size):
    shape = (batch, channels, space)
    x, t = numbers(shape), Tally()
    values = np.zeros(shape)
    for n, c, p in np.ndindex(*shape):
        window = range(c - (size - 1) // 2, c + size // 2 + 1)
        squares = 0.0
        for other in window:
            value = float(x[n, other, p]) if 0 <= other < channels else 0.0
            squares = t.add(squares, value * value)
        t.mul(float(x[n, c, p]), float(x[n, c, p]))
        power = t.special(math.pow, t.add(1.0, t.mul(1e-4 / size, squares)), 0.75)
        values[n, c, p] = t.div(float(x[n, c, p]), power)
    found = call("local_response_norm", {"size": size}, x=shape)
    assert (shape_of(found), work_of("local_response_norm", found)) == (shape, t.work)
    if size % 2 and batch == channels:  # the reference implementation mistakes one for the other
        np.testing.assert_allclose(values, run("LRN", [x[..., None]], size=size)[0][..., 0], rtol=1e-4)


@given(st.lists(SIZES, min_size=1, max_size=3).map(tuple), st.sampled_from([1, 2]), st.data())
def test_lp_norm(shape, p, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))

    def function(t, row):
        whole = total(t, [t.maximum(x, -x) if p == 1 else t.mul(x, x) for x in row])
        norm = whole if p == 1 else t.special(math.sqrt, whole)
        return [t.div(x, norm) for x in row]

    x = np.abs(numbers(shape)) + 0.25  # the reference implementation forgets the absolute values of p = 1
    values, work = by_rows(function, x, [axis])
    found = call("lp_norm", {"axis": axis, "p": p}, x=shape)
    assert (shape_of(found), work_of("lp_norm", found)) == (shape, work)
    np.testing.assert_allclose(values, run("LpNormalization", [x], axis=axis, p=p)[0], rtol=1e-5)


@given(st.lists(SIZES, min_size=2, max_size=4).map(tuple), st.data())
def test_mean_variance_norm(shape, data):
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    _, work = by_rows(normalised, numbers(shape), axes)
    found = call("mean_variance_norm", {"axes": tuple(axes)}, x=shape)
    assert (shape_of(found), work_of("mean_variance_norm", found)) == (shape, work)


def test_quantised_values_keep_their_type():
    assert call("softmax", {}, x=typed((2, 3), "int8")).outputs[0].dtype.name == "int8"


def test_batch_norm_in_training_by_the_batch_alone():
    """Without running statistics none are moved; at inference there must be some."""
    shape, t = (3, 2, 4), Tally()
    for channel in range(2):
        normalised(t, [float(x) for x in numbers(shape)[:, channel].ravel()])
    found = call("batch_norm", {"training": True, "outputs": ("y", "batch_mean", "inverse_deviation")}, x=shape)
    assert [output.shape for output in found.outputs] == [shape, (2,), (2,)]
    assert work_of("batch_norm", found) == t.work
    with pytest.raises(GraphError, match="running mean"):
        call("batch_norm", {}, x=shape, mean=(2,))
    with pytest.raises(GraphError, match="outputs"):
        call("batch_norm", {"outputs": ("y", "batch_mean")}, x=shape, mean=(2,), variance=(2,))


@given(SIZES, SIZES, SIZES)
def test_instance_norm_may_move_running_statistics(images, channels, space):
    """Every image moves them on its own, and what is kept is the mean over the images."""
    t = Tally()
    for _ in range(images * channels):
        normalised(t, [float(x) for x in range(space)])
    for _ in range(2 * channels):
        moved = [t.add(t.mul(0.5, 0.9), t.mul(1.5, 0.1)) for _ in range(images)]
        whole = moved[0]
        for one in moved[1:]:
            whole = t.add(whole, one)
        t.div(whole, images)
    found = call("instance_norm", {}, x=(images, channels, space), mean=(channels,), variance=(channels,))
    assert work_of("instance_norm", found) == t.work


def test_statistics_of_rows_are_results_where_they_are_asked_for():
    group = call("group_norm", {"groups": 3, "outputs": ("y", "mean", "inverse_deviation")}, x=(2, 6, 4, 4))
    assert [output.shape for output in group.outputs] == [(2, 6, 4, 4), (2, 3), (2, 3)]
    root = call("rms_norm", {"axis": -2, "outputs": ("y", "inverse_root")}, x=(2, 6, 4, 4))
    assert [output.shape for output in root.outputs] == [(2, 6, 4, 4), (2, 6, 1, 1)]
