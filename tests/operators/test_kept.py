"""What operators keep for the backward pass, against their formulas: a gradient that depends on a value needs it."""

from __future__ import annotations

import math

import pytest

from tests.operators.execution import Tally
from tests.operators.test_unary import FORMULAS, ONLY_OURS, points
from weighbridge.memory.training.kept import _NEEDS
from weighbridge.operators.record import Keeps
from weighbridge.operators.table import OPERATORS

STEP = 1e-6


def slopes(formula, values):
    """The derivative of a function of one variable at each of ``values``."""
    return [(formula(x + STEP) - formula(x - STEP)) / (2 * STEP) for x in values]


def differ(values):
    """How many different numbers these are, but for the error of a difference quotient."""
    return len({round(complex(value).real, 4) for value in values})


@pytest.mark.parametrize(
    ("name", "attributes", "formula"),
    [
        (name, attributes, formula)
        for name, attributes, _, _, formula in FORMULAS
        if name not in ONLY_OURS and not (name == "clip" and not attributes)
    ],
)
def test_a_unary_function_keeps_what_its_derivative_needs(name, attributes, formula):
    """A constant derivative needs nothing, one of two values a bit, every other one the value."""
    least, most = min(points(name)), max(points(name))
    inside = [least + (most - least) * (place + 0.123) / 37 for place in range(37)]
    found = differ(slopes(lambda x: formula(Tally(), x), inside))
    kept = OPERATORS[name].kept
    if name == "nan_to_number":
        assert kept == Keeps.BITS  # it switches where there is no number, and nowhere among these
    else:
        assert kept == (Keeps.NOTHING if found == 1 else Keeps.BITS if found == 2 else Keeps.INPUT)


def _smooth(d, edge):
    return d * d / (2 * edge) if d < edge else d - edge / 2


PAIRS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "squared_difference": lambda a, b: (a - b) ** 2,
    "pow": lambda a, b: a**b,
    "atan2": math.atan2,
    "hypot": math.hypot,
    "log_add_exp": lambda a, b: math.log(math.exp(a) + math.exp(b)),
    "copy_sign": math.copysign,
    "polar": lambda a, b: a * math.cos(b),
    "mean_squared_error_loss": lambda a, b: (a - b) ** 2,
    "l1_loss": lambda a, b: abs(a - b),
    "smooth_l1_loss": lambda a, b: _smooth(abs(a - b), 1.0),
    "huber_loss": lambda a, b: _smooth(abs(a - b), 1.0),
    "binary_cross_entropy_loss": lambda a, b: (b - 1) * math.log(1 - a) - b * math.log(a),
    "kl_divergence_loss": lambda a, b: b * (math.log(b) - a),
    "soft_margin_loss": lambda a, b: math.log(1 + math.exp(-a * b)),
}
BETWEEN = [(a / 10, b / 10) for a in (1, 3, 4, 7, 9) for b in (2, 5, 6, 8)]


@pytest.mark.parametrize("name", PAIRS)
def test_a_function_of_two_keeps_what_its_derivatives_need(name):
    """The derivative by an operand needs each operand with which it changes; one of two values needs a bit."""
    formula, kept = PAIRS[name], OPERATORS[name].kept
    by = [
        lambda a, b: (formula(a + STEP, b) - formula(a - STEP, b)) / (2 * STEP),
        lambda a, b: (formula(a, b + STEP) - formula(a, b - STEP)) / (2 * STEP),
    ]
    found = [differ([derivative(*pair) for pair in BETWEEN]) for derivative in by]
    if kept in (Keeps.NOTHING, Keeps.BITS):
        assert max(found) == (1 if kept == Keeps.NOTHING else 2) or name == "copy_sign"
        return
    assert max(found) > 2
    for at, derivative in enumerate(by):
        for place in (0, 1):
            rows = {}
            for pair in BETWEEN:
                rows.setdefault(pair[1 - place], []).append(derivative(*pair))
            changes = any(differ(row) > 1 for row in rows.values())
            assert _NEEDS[kept](at, place) == changes or (not changes and kept == Keeps.OPERANDS), (at, place)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("conv", Keeps.OTHERS),
        ("matmul", Keeps.OTHERS),
        ("einsum", Keeps.OTHERS),
        ("batch_norm", Keeps.OTHERS),
        ("layer_norm", Keeps.INPUT),
        ("softmax", Keeps.INPUT),
        ("attention", Keeps.OPERANDS),
        ("lstm", Keeps.OPERANDS),
        ("prelu", Keeps.INPUT),
        ("reduce_prod", Keeps.INPUT),
        ("reduce_l1", Keeps.BITS),
        ("reduce_l2", Keeps.INPUT),
        ("reduce_sum", Keeps.NOTHING),
        ("lp_pool", Keeps.INPUT),
        ("global_lp_pool", Keeps.INPUT),
        ("max_pool", Keeps.NOTHING),
        ("dropout", Keeps.NOTHING),
        ("gather", Keeps.NOTHING),
        ("grid_sample", Keeps.SECOND),
        ("cross", Keeps.OTHERS),
        ("determinant", Keeps.INPUT),
        ("inverse", Keeps.INPUT),
        ("rotary_embedding", Keeps.OTHERS),
        ("softmax_cross_entropy_loss", Keeps.INPUT),
        ("binary_cross_entropy_with_logits_loss", Keeps.OPERANDS),
    ],
)
def test_what_others_keep(name, kept):
    """Reviewed by hand: products keep their other factors, norms and smooth functions their input, sums and choices nothing."""
    assert OPERATORS[name].kept == kept
