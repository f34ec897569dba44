"""The simulator of depthwise separable convolutions: its ratio is 1/N + 1/D_K², and every count that of the calculator."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.calculators import Conv
from weighbridge.calculators import separable as weighed
from weighbridge.calculators.separation import formula
from weighbridge.web.controls import Number
from weighbridge.web.simulator import Answer, Figure, answered
from weighbridge.web.simulators.separable import separable

SIMULATOR = separable()
NUMBERS = {one.name: one for one in SIMULATOR.controls if isinstance(one, Number)}


def answer(**state: object) -> Answer:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def readouts(**state: object) -> dict[str, Figure]:
    return {one.name: one.value for one in answer(**state).readouts}


@pytest.mark.parametrize(("c_o", "k"), list(product((1, 8, 64, 300, 1024), (1, 2, 3, 5, 7))))
def test_the_ratio_of_the_counts_is_the_formula_of_the_lecture(c_o: int, k: int) -> None:
    found = readouts(c_o=c_o, k=k)
    expected = pytest.approx(1 / c_o + 1 / k**2)
    assert (found["macs_ratio"], found["weights_ratio"], found["formula_ratio"]) == (expected, expected, expected)
    assert found["times_fewer"] == pytest.approx(1 / (1 / c_o + 1 / k**2))


@given(st.fixed_dictionaries({name: st.integers(1, int(one.reach or one.maximum)) for name, one in NUMBERS.items()}))
def test_every_count_is_that_of_the_two_layers(state: dict[str, int]) -> None:
    c_i, c_o, k, values = state["c_i"], state["c_o"], state["k"], state["n"] * state["h_o"] ** 2
    found = readouts(**state)
    assert found["standard.macs"] == c_i * c_o * k * k * values
    assert found["depthwise.macs"] == c_i * k * k * values
    assert found["pointwise.macs"] == c_i * c_o * values
    assert found["macs"] == c_i * (k * k + c_o) * values
    assert found["weights"] == c_i * (k * k + c_o)


@given(st.fixed_dictionaries({name: st.integers(1, int(one.reach or one.maximum)) for name, one in NUMBERS.items()}))
def test_a_point_of_each_chart_is_the_calculator_at_its_value_and_one_is_now(state: dict[str, int]) -> None:
    filters, kernel = answer(**state).plots
    for plot, field, symbol in ((filters, "filters", "c_o"), (kernel, "kernel", "k")):
        points = {row[field]: row for row in plot.rows if "ratio" in row}
        assert [row[field] for row in points.values() if row["now"]] == [state[symbol]]
        at = {**state, symbol: int(min(points))}  # type: ignore[type-var]
        both = weighed(Conv(**{name: at[name] for name in ("c_i", "c_o", "k", "h_o")}, padding=0))
        assert points[at[symbol]]["ratio"] == float(both.macs_ratio)
        floor = {row["floor"] for row in plot.rows if "floor" in row}
        assert all(float(row["ratio"] or 0) > one for row in points.values() for one in floor)  # type: ignore[operator]


def test_fewer_macs_are_not_fewer_bytes() -> None:
    found = readouts()
    assert found["moved_bytes"] == int(found["depthwise.moved_bytes"] or 0) + int(found["pointwise.moved_bytes"] or 0)
    assert int(found["moved_bytes"] or 0) > int(found["standard.moved_bytes"] or 0)
    assert answer().sentences[1] == "bytes moved: 1.643 times as many"
    assert answer(c_i=512, c_o=512, h_o=1).sentences[1].endswith("times fewer"), (
        "where the weights are most of the bytes"
    )


@pytest.mark.parametrize("k", [1, 2, 3, 11])
def test_at_the_smallest_output_every_kernel_has_an_input(k: int) -> None:
    assert readouts(h_o=1, k=k)["macs"]


def test_where_nothing_is_won_it_says_so() -> None:
    assert "nothing is won" in answer(k=1).sentences[0]
    assert "nothing is won" in answer(c_o=1).sentences[0]
    assert answer().sentences[0] == "1/64 + 1/3² = 0.1267: 7.890 times fewer MACs and weights"


def test_the_batch_moves_the_macs_and_no_ratio_and_no_weight() -> None:
    one, many = readouts(n=1), readouts(n=8)
    moved = {name for name in one if one[name] != many[name]}
    assert {"macs", "standard.macs"} <= moved
    assert moved.isdisjoint({"weights", "standard.weights", "macs_ratio", "weights_ratio", "formula_ratio"})


def test_a_bias_is_told_beside_the_weights() -> None:
    found = readouts(bias=1, c_i=32, c_o=64)
    assert (found["standard.biases"], found["depthwise.biases"], found["pointwise.biases"]) == (64, 32, 64)
    assert found["weights_ratio"] == readouts(c_i=32, c_o=64)["weights_ratio"]


@given(st.integers(1, 10**9), st.integers(1, 10**4), st.integers(1, 10**4))
def test_the_formula_is_exact(c_o: int, k_h: int, k_w: int) -> None:
    assert formula(c_o, k_h, k_w) == Fraction(k_h * k_w + c_o, c_o * k_h * k_w)


@pytest.mark.parametrize("preset", SIMULATOR.presets, ids=lambda preset: preset.title)
def test_a_preset_is_a_state(preset: object) -> None:
    assert answer(**preset.state)  # type: ignore[attr-defined]
