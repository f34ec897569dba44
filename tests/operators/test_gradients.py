"""Derivatives: their work as executed, and what they come to against differences of the functions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.operators.execution import Tally, call, shape_of, typed, work_of
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work

X = np.array([[-1.5, -0.3, 0.2], [0.9, 1.4, 2.1]])
DY = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
STEP = 1e-6


def by_differences(function, x, dy):
    """The derivative of the sum of dy times the function, element by element of x."""
    result = np.zeros(np.shape(x))
    for at in np.ndindex(*np.shape(x)):
        for sign in (1, -1):
            moved = np.array(x, float)
            moved[at] += sign * STEP
            result[at] += sign * np.sum(dy * function(moved)) / (2 * STEP)
    return result


def gelu(x):
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_by_tanh(x):
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def quick_gelu(x):
    return x / (1 + np.exp(-1.702 * x))


def of_gelu(t, x):
    share = t.mul(t.add(1, t.special(math.erf, t.mul(x, 1 / math.sqrt(2)))), 0.5)
    density = t.mul(t.special(math.exp, t.mul(t.mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
    return t.add(share, t.mul(density, x))


def of_gelu_by_tanh(t, x):
    k, c, square = math.sqrt(2 / math.pi), 0.044715, t.mul(x, x)
    y = t.tanh(t.mul(t.mul(t.add(1, t.mul(square, c)), x), k))
    slope = t.mul(t.mul(t.mul(x, k / 2), t.sub(1, t.mul(y, y))), t.add(1, t.mul(square, 3 * c)))
    return t.add(t.mul(t.add(1, y), 0.5), slope)


def of_quick_gelu(t, x):
    scaled = t.mul(x, 1.702)
    share = t.sigmoid(scaled)
    return t.mul(share, t.add(1, t.mul(scaled, t.sub(1, share))))


@pytest.mark.parametrize(
    ("approximate", "function", "derivative"),
    [("none", gelu, of_gelu), ("tanh", gelu_by_tanh, of_gelu_by_tanh), ("sigmoid", quick_gelu, of_quick_gelu)],
)
def test_gelu(approximate, function, derivative):
    t, dx = Tally(), np.zeros(X.shape)
    for at in np.ndindex(*X.shape):
        dx[at] = t.mul(derivative(t, X[at]), DY[at])
    np.testing.assert_allclose(dx, by_differences(function, X, DY), atol=1e-6)
    found = call("gelu_gradient", {"approximate": approximate}, dy=DY.shape, x=X.shape)
    assert (shape_of(found), work_of("gelu_gradient", found)) == (X.shape, t.work)


def test_functions_whose_result_tells_the_derivative():
    for name, function, derivative in (
        ("relu_gradient", lambda x: np.maximum(x, 0), lambda t, y, dy: t.select(y > 0, dy, 0)),
        ("sigmoid_gradient", lambda x: 1 / (1 + np.exp(-x)), lambda t, y, dy: t.mul(t.mul(dy, y), t.sub(1, y))),
        ("tanh_gradient", np.tanh, lambda t, y, dy: t.mul(dy, t.sub(1, t.mul(y, y)))),
    ):
        t, y, dx = Tally(), function(X), np.zeros(X.shape)
        for at in np.ndindex(*X.shape):
            dx[at] = derivative(t, y[at], DY[at])
        np.testing.assert_allclose(dx, by_differences(function, X, DY), atol=1e-6)
        found = call(name, {}, dy=DY.shape, y=y.shape)
        assert (shape_of(found), work_of(name, found)) == (X.shape, t.work), name


def test_dropout():
    mask, t, dx = X > 0, Tally(), np.zeros(X.shape)
    for at in np.ndindex(*X.shape):
        dx[at] = t.select(mask[at], t.mul(DY[at], 1 / (1 - 0.25)), 0)
    np.testing.assert_allclose(dx, by_differences(lambda x: np.where(mask, x / 0.75, 0), X, DY), atol=1e-6)
    for kind in (typed(X.shape, "bool"), typed((1,), "uint32")):
        found = call("dropout_gradient", {}, dy=DY.shape, mask=kind)
        assert (shape_of(found), work_of("dropout_gradient", found)) == (X.shape, t.work)


def softmax(x):
    powers = np.exp(x)
    return powers / powers.sum(-1, keepdims=True)


def test_softmax():
    t, y, dx = Tally(), softmax(X), np.zeros(X.shape)
    for row in range(2):
        products, total = [t.mul(DY[row, place], y[row, place]) for place in range(3)], 0
        for product in products:
            total = t.add(total, product)
        for place in range(3):
            dx[row, place] = t.mul(y[row, place], t.sub(DY[row, place], total))
    np.testing.assert_allclose(dx, by_differences(softmax, X, DY), atol=1e-6)
    for attributes in ({}, {"axis": 1, "flatten": True}):
        found = call("softmax_gradient", attributes, dy=DY.shape, y=X.shape)
        assert (shape_of(found), work_of("softmax_gradient", found)) == (X.shape, t.work)


def test_log_softmax():
    t, y, dx = Tally(), np.log(softmax(X)), np.zeros(X.shape)
    for row in range(2):
        total = 0
        for place in range(3):
            total = t.add(total, DY[row, place])
        for place in range(3):
            dx[row, place] = t.sub(DY[row, place], t.mul(t.special(math.exp, y[row, place]), total))
    np.testing.assert_allclose(dx, by_differences(lambda x: np.log(softmax(x)), X, DY), atol=1e-6)
    found = call("log_softmax_gradient", {}, dy=DY.shape, y=X.shape)
    assert (shape_of(found), work_of("log_softmax_gradient", found)) == (X.shape, t.work)


SCALE, BIAS = np.array([0.5, 2.0, -1.0]), np.array([0.1, 0.2, 0.3])


def normalised(x, centred, scale=SCALE, bias=BIAS):
    mean = x.mean(-1, keepdims=True) if centred else 0
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True)) * scale + (bias if centred else 0)


def normal_gradients(t, centred):
    mean = X.mean(-1) if centred else np.zeros(2)
    inverse = 1 / np.sqrt(((X - mean[:, None]) ** 2).mean(-1))
    dx, dscale, dbias = np.zeros(X.shape), np.zeros(3), np.zeros(3)
    for row in range(2):
        unit = [t.mul(t.sub(x, mean[row]) if centred else x, inverse[row]) for x in X[row]]
        given = [t.mul(dy, scale) for dy, scale in zip(DY[row], SCALE, strict=True)]
        total = product = 0
        for g, u in zip(given, unit, strict=True):
            total = t.add(total, g) if centred else 0
            product = t.add(product, t.mul(g, u))
        total, product = t.div(total, 3) if centred else 0, t.div(product, 3)
        for place in range(3):
            one = t.sub(given[place], total) if centred else given[place]
            dx[row, place] = t.mul(t.sub(one, t.mul(unit[place], product)), inverse[row])
            dscale[place] = t.add(dscale[place], t.mul(DY[row, place], unit[place]))
            if centred:
                dbias[place] = t.add(dbias[place], DY[row, place])
    return dx, dscale, dbias


@pytest.mark.parametrize("centred", [True, False])
def test_norms(centred):
    t = Tally()
    dx, dscale, dbias = normal_gradients(t, centred)
    np.testing.assert_allclose(dx, by_differences(lambda x: normalised(x, centred), X, DY), atol=1e-6)
    np.testing.assert_allclose(dscale, by_differences(lambda s: normalised(X, centred, s), SCALE, DY), atol=1e-6)
    outputs = ("dx", "dscale", "dbias") if centred else ("dx", "dscale")
    attributes = {"centred": centred, "outputs": outputs}
    found = call("layer_norm_gradient", attributes, dy=X.shape, x=X.shape, scale=(3,), mean=(2, 1))
    assert [output.shape for output in found.outputs] == [X.shape, (3,), (3,)][: len(outputs)]
    assert work_of("layer_norm_gradient", found) == t.work
    if centred:
        np.testing.assert_allclose(dbias, DY.sum(0))


@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(weighted):
    logs, targets, t, dx = np.log(softmax(X)), [2, 0], Tally(), np.zeros(X.shape)
    weights = [2.0, 1.0, 0.5] if weighted else [1.0, 1.0, 1.0]
    factor = t.div(1.0, sum(weights[target] for target in targets))
    for row, target in enumerate(targets):
        share = t.mul(factor, weights[target]) if weighted else factor
        for place in range(3):
            value = t.special(math.exp, logs[row, place])
            value = t.sub(value, 1) if place == target else value
            dx[row, place] = t.mul(value, share)

    def loss(x):
        rows = [weights[target] * -np.log(softmax(x))[row, target] for row, target in enumerate(targets)]
        return sum(rows) / sum(weights[target] for target in targets)

    np.testing.assert_allclose(dx, by_differences(loss, X, 1.0), atol=1e-6)
    operands = {"dy": (), "log_probabilities": (2, 3), "targets": typed((2,), "int64")}
    if weighted:
        operands["weight"] = (3,)
    found = call("softmax_cross_entropy_gradient", {}, **operands)
    assert (shape_of(found), work_of("softmax_cross_entropy_gradient", found)) == (X.shape, t.work)


def test_what_only_moves():
    found = call("slice_gradient", {"shape": (4, 5)}, dy=(2, 5))
    assert (shape_of(found), work_of("slice_gradient", found)) == ((4, 5), Work())
    axes = call("broadcast_axes", {"lengths": (2, 0)}, a=typed((3,), "int64"), b=typed((1,), "int64"))
    assert [(one.shape, one.dtype.name) for one in axes.outputs] == [((2,), "int64"), ((0,), "int64")]
    assert shape_of(call("yield", {}, x=(2, 3))) == (2, 3)
    assert call("yield", {"same_shape": False}, x=(2, 3)).outputs[0].name == "float32"
    total = call("accumulate", {"outputs": ("done", "y")}, total=(2, 3), x=(2, 3))
    assert [(one.shape, one.dtype.name) for one in total.outputs] == [((1,), "bool"), ((2, 3), "float32")]
    assert work_of("accumulate", total) == Work(add=6)


@pytest.mark.parametrize(
    ("operator", "attributes", "operands"),
    [
        ("gelu_gradient", {}, {"dy": (2, 3), "x": (3, 2)}),
        ("relu_gradient", {}, {"dy": (2, 3), "y": (3,)}),
        ("softmax_gradient", {"axis": 2}, {"dy": (2, 3), "y": (2, 3)}),
        ("layer_norm_gradient", {}, {"dy": (2, 3), "x": (2, 3), "scale": (2,)}),
        ("layer_norm_gradient", {}, {"dy": (2,), "x": (2, 3), "scale": (3,)}),
        ("softmax_cross_entropy_gradient", {}, {"dy": (), "log_probabilities": (2, 3), "targets": (3,)}),
        ("slice_gradient", {"shape": (1, 5)}, {"dy": (2, 5)}),
        ("broadcast_axes", {"lengths": (1,)}, {"a": (2,), "b": (2,)}),
        ("accumulate", {}, {"total": (2, 3), "x": (3,)}),
    ],
)
def test_a_contradiction_is_an_error(operator, attributes, operands):
    with pytest.raises(GraphError):
        call(operator, attributes, **operands)


def test_no_other_gelu_has_a_derivative():
    found = call("gelu_gradient", {"approximate": "fast"}, dy=(2,), x=(2,))
    with pytest.raises(GraphError, match="gelu has no approximation 'fast'"):
        work_of("gelu_gradient", found)
