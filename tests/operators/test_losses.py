"""Losses executed on counted arithmetic, element by element; the values are those of the formula in plain numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, shape_of, typed, work_of
from weighbridge.errors import GraphError

SIZES = st.integers(1, 4)
REDUCTIONS = ("none", "sum", "mean")


def summed(t, values):
    """A sum that starts at nothing: one addition a value."""
    total = 0.0
    for value in values:
        total = t.add(total, value)
    return total


def reduced(t, values, reduction):
    if reduction == "none":
        return values
    total = summed(t, values)
    return t.div(total, len(values)) if reduction == "mean" else total


def squared(t, x, y):
    d = t.sub(x, y)
    return t.mul(d, d)


def absolute(t, x):
    return t.maximum(x, -x)


def smooth(t, x, y):
    d = absolute(t, t.sub(x, y))
    return t.select(d < 1.0, t.mul(t.mul(d, d), 0.5), t.sub(d, 0.5))


def huber(t, x, y):
    d = absolute(t, t.sub(x, y))
    return t.select(d < 1.0, t.mul(t.mul(d, d), 0.5), t.mul(1.0, t.sub(d, 0.5)))


def cross_entropy(t, x, y):
    hit = t.maximum(t.special(math.log, x), -100.0)
    miss = t.maximum(t.special(math.log, t.sub(1.0, x)), -100.0)
    return t.sub(t.mul(t.sub(y, 1.0), miss), t.mul(y, hit))


def from_logits(t, x, y):
    negative = t.sub(0.0, absolute(t, x))
    rest = t.special(math.log, t.add(1.0, t.special(math.exp, negative)))
    return t.add(t.sub(t.maximum(x, 0.0), t.mul(x, y)), rest)


def divergence(t, x, y):
    return t.mul(y, t.sub(t.special(math.log, y), x))


def margin(t, x, y):
    return t.special(math.log, t.add(1.0, t.special(math.exp, t.sub(0.0, t.mul(y, x)))))


PAIRS = {
    "mean_squared_error_loss": (squared, lambda x, y: (x - y) ** 2),
    "l1_loss": (lambda t, x, y: absolute(t, t.sub(x, y)), lambda x, y: abs(x - y)),
    "smooth_l1_loss": (smooth, lambda x, y: np.where(abs(x - y) < 1, (x - y) ** 2 / 2, abs(x - y) - 0.5)),
    "huber_loss": (huber, lambda x, y: np.where(abs(x - y) < 1, (x - y) ** 2 / 2, abs(x - y) - 0.5)),
    "binary_cross_entropy_loss": (cross_entropy, lambda x, y: -y * np.log(x) - (1 - y) * np.log(1 - x)),
    "binary_cross_entropy_with_logits_loss": (
        from_logits,
        lambda x, y: -y * np.log(1 / (1 + np.exp(-x))) - (1 - y) * np.log(1 - 1 / (1 + np.exp(-x))),
    ),
    "kl_divergence_loss": (divergence, lambda x, y: y * (np.log(y) - x)),
    "soft_margin_loss": (margin, lambda x, y: np.log(1 + np.exp(-x * y))),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(st.lists(SIZES, max_size=3).map(tuple), st.booleans())
def test_a_loss_of_two_tensors(name, reduction, shape, weighted):
    counted, plain = PAIRS[name]
    x, y = (
        np.linspace(0.05, 0.9, math.prod(shape)).reshape(shape),
        np.linspace(0.8, 0.1, math.prod(shape)).reshape(shape),
    )
    t, weight = Tally(), 0.5 if weighted else 1.0
    values = []
    for place in np.ndindex(*shape):
        value = counted(t, x[place], y[place])
        values.append(t.mul(value, weight) if weighted else value)
    result = reduced(t, values, reduction)
    expected = plain(x, y) * weight
    expected = {"none": expected.ravel(), "sum": expected.sum(), "mean": expected.mean()}[reduction]
    np.testing.assert_allclose(result, expected)
    more = {"weight": shape} if weighted else {}
    found = call(name, {"reduction": reduction}, x=shape, targets=shape, **more)
    assert shape_of(found) == (shape if reduction == "none" else ())
    assert work_of(name, found) == t.work


@given(SIZES, SIZES)
def test_a_positive_weight_of_every_class(batch, classes):
    x, y, p = 0.3, 0.75, 2.0
    t, shape = Tally(), (batch, classes)
    for _ in np.ndindex(*shape):
        rest = t.special(math.log, t.add(1.0, t.special(math.exp, t.sub(0.0, absolute(t, x)))))
        rest = t.add(rest, t.maximum(t.sub(0.0, x), 0.0))
        factor = t.add(1.0, t.mul(t.sub(p, 1.0), y))
        value = t.add(t.mul(t.sub(1.0, y), x), t.mul(factor, rest))
        chance = 1 / (1 + math.exp(-x))
        assert value == pytest.approx(-p * y * math.log(chance) - (1 - y) * math.log(1 - chance))
    name = "binary_cross_entropy_with_logits_loss"
    found = call(name, {"reduction": "none"}, x=shape, targets=shape, positive_weight=(classes,))
    assert work_of(name, found) == t.work


def log_softmax(t, row):
    largest = -math.inf
    for x in row:
        largest = t.maximum(largest, x)
    whole = summed(t, [t.special(math.exp, t.sub(x, largest)) for x in row])
    shift = t.add(largest, t.special(math.log, whole))
    return [t.sub(x, shift) for x in row]


@given(SIZES, st.integers(1, 5), st.booleans(), st.booleans(), st.sampled_from(REDUCTIONS))
def test_targets_that_are_probabilities(batch, classes, weighted, smoothed, reduction):
    scores = np.linspace(-1, 2, batch * classes).reshape(batch, classes)
    chances = np.full((batch, classes), 1 / classes)
    t, losses = Tally(), []
    for row, chance in zip(scores, chances, strict=True):
        products = []
        for value, one in zip(log_softmax(t, row), chance, strict=True):
            share = t.add(t.mul(one, 0.9), 0.1 / classes) if smoothed else one
            product = t.mul(value, share)
            products.append(t.mul(product, 1.0) if weighted else product)
        losses.append(-summed(t, products))
    reduced(t, losses, reduction)
    attributes = {"reduction": reduction, "label_smoothing": 0.1 if smoothed else 0.0}
    more = {"weight": (classes,)} if weighted else {}
    found = call("softmax_cross_entropy_loss", attributes, x=scores.shape, targets=chances.shape, **more)
    assert shape_of(found) == ((batch,) if reduction == "none" else ())
    assert work_of("softmax_cross_entropy_loss", found) == t.work


@given(SIZES, st.integers(1, 5), st.booleans())
def test_smoothed_labels_sum_over_all_classes(batch, classes, weighted):
    """(1 - e) times the target's loss, and e / classes times the sum over all, each weighted."""
    t = Tally()
    for row in np.linspace(-1, 2, batch * classes).reshape(batch, classes):
        values = log_softmax(t, row)
        target = t.mul(values[0], 1.0) if weighted else values[0]
        whole = summed(t, [t.mul(value, 1.0) for value in values] if weighted else values)
        t.add(t.mul(target, 0.9), t.mul(whole, 0.1 / classes))
    attributes = {"reduction": "none", "label_smoothing": 0.1}
    more = {"weight": (classes,)} if weighted else {}
    found = call("softmax_cross_entropy_loss", attributes, x=(batch, classes), targets=typed((batch,), "int64"), **more)
    assert work_of("softmax_cross_entropy_loss", found) == t.work


def test_classes_alone_are_one_row():
    targets = typed((), "int64")
    for name in ("negative_log_likelihood_loss", "softmax_cross_entropy_loss"):
        assert shape_of(call(name, {"reduction": "none"}, x=(5,), targets=targets)) == ()
        with pytest.raises(GraphError, match="classes"):
            call(name, {}, x=(), targets=targets)
    both = call("negative_log_likelihood_loss", {"outputs": ("loss", "total_weight")}, x=(5,), targets=targets)
    assert [output.shape for output in both.outputs] == [(), ()]


@pytest.mark.parametrize(
    ("shape", "reduction", "result"), [((9, 2, 5), "none", (2,)), ((9, 2, 5), "mean", ()), ((9, 5), "none", ())]
)
def test_alignments_take_what_only_values_tell(shape, reduction, result):
    found = call("ctc_loss", {"reduction": reduction}, x=shape, targets=typed((2, 4), "int64"))
    assert shape_of(found) == result
    assert work_of("ctc_loss", found) is None
    with pytest.raises(GraphError):
        call("ctc_loss", {}, x=(5,), targets=(4,))


@given(SIZES, st.integers(1, 5), st.booleans(), st.sampled_from([1, 2]), st.sampled_from(REDUCTIONS))
def test_margins_to_all_other_classes(batch, classes, weighted, p, reduction):
    t, losses = Tally(), []
    for row in np.linspace(-1, 2, batch * classes).reshape(batch, classes):
        reach, margins = t.sub(1.0, row[0]), []
        for value in row[1:]:
            margin = t.maximum(0.0, t.add(reach, value))
            margin = t.mul(margin, margin) if p == 2 else margin
            margins.append(t.mul(margin, 1.0) if weighted else margin)
        losses.append(t.div(summed(t, margins), classes))
    reduced(t, losses, reduction)
    more = {"weight": (classes,)} if weighted else {}
    found = call("multi_margin_loss", {"reduction": reduction, "p": p}, x=(batch, classes), targets=(batch,), **more)
    assert shape_of(found) == ((batch,) if reduction == "none" else ())
    assert work_of("multi_margin_loss", found) == t.work
    with pytest.raises(GraphError):
        call("multi_margin_loss", {}, x=(batch, classes), targets=(batch + 1,))


def test_margins_between_labels_take_what_only_values_tell():
    found = call("multilabel_margin_loss", {"outputs": ("loss", "is_target")}, x=(3, 4), targets=(3, 4))
    assert [output.shape for output in found.outputs] == [(), (3, 4)]
    assert work_of("multilabel_margin_loss", found) is None
    with pytest.raises(GraphError):
        call("multilabel_margin_loss", {}, x=(3, 4), targets=(3,))
