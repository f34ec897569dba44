"""The way of sound into a network, executed value by value as TensorFlow Lite Micro's signal library does it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, macs_of, shape_of, typed, work_of
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work
from weighbridge.operators.table import OPERATORS

SIZES = st.integers(1, 4)


@settings(deadline=None, max_examples=40)
@given(st.lists(SIZES, max_size=2), st.integers(1, 6), st.data())
def test_energy_of_some_frequencies(lead, frequencies, data):
    start = data.draw(st.integers(0, frequencies))
    end = data.draw(st.integers(start, frequencies))
    t, result = Tally(), np.zeros((*lead, frequencies))
    for _ in range(math.prod(lead)):
        for _ in range(start, end):
            t.add(t.mul(3, 3), t.mul(4, 4))
    found = call("spectrum_energy", {"range": (start, end)}, x=typed((*lead, 2 * frequencies), "int16"))
    assert found.outputs == (typed(result.shape, "uint32"),)
    assert work_of("spectrum_energy", found) == t.work


@settings(deadline=None, max_examples=40)
@given(st.lists(SIZES, min_size=2, max_size=5))
def test_a_filter_bank_multiplies_every_frequency_for_two_channels(widths):
    """Weights of a channel go on in the next one as what is left of them; a first channel is only there for that."""
    t, above, below, made = Tally(), 0, 0, []
    for width in widths:
        for place in range(width):
            above = t.mac(above, 1, place)
            below = t.mac(below, 2, place)
        made.append(above)
        above, below = below, 0
    stored = typed((sum(widths) + 3,), "int16")
    operands = {"x": typed((20,), "uint32"), "weights": stored, "complements": stored}
    found = call("filter_bank", {"channels": len(widths) - 1, "taps": sum(widths)}, **operands)
    assert found.outputs == (typed((len(made) - 1,), "uint64"),)
    assert macs_of("filter_bank", found) == t.macs
    assert work_of("filter_bank", found) == Work()
    assert macs_of("filter_bank", call("filter_bank", {"channels": 2}, **operands)) == 2 * (sum(widths) + 3)


def scaled(t, signal):
    largest = 0
    for value in signal:
        largest = t.maximum(largest, t.maximum(value, -value))
    return [t.mul(value, 4) for value in signal]


def subtracted(t, signal):
    """The noise as a running mean of a channel; less of it, but no less than a part of the channel itself."""
    made = []
    for value in signal:
        noise = t.add(t.mul(value, 3), t.mul(5, 7))
        rest = t.sub(value, t.minimum(noise, value))
        made.append(t.maximum(rest, t.mul(value, 1)))
    return made


def controlled(t, signal):
    """By a gain that is interpolated in a table, and compressed by a square or a difference, of which both count."""
    made = []
    for value in signal:
        piece = t.select(value > 2, 1, 0)
        gain = t.add(t.mul(t.add(t.mul(piece, 2), 1), 2), 3)
        ratio = t.mul(value, gain)
        made.append(t.select(ratio < 2, t.mul(ratio, ratio), t.sub(ratio, 1)))
    return made


def logarithms(t, signal):
    return [t.minimum(t.mul(t.special(math.log, t.maximum(value, 1)), 64), 32767) for value in signal]


def roots(t, signal):
    return [t.special(math.sqrt, abs(value)) for value in signal]


@pytest.mark.parametrize(
    ("operator", "execute", "operands", "results"),
    [
        ("auto_scale", scaled, {}, [((), "int32")]),
        ("spectral_subtraction", subtracted, {}, [((9,), "int16")]),
        ("gain_control", controlled, {"noise": (9,), "gains": (125,)}, []),
        ("channel_log", logarithms, {}, []),
        ("channel_root", roots, {"shift": ()}, []),
    ],
)
def test_an_element_counts_what_its_execution_does(operator, execute, operands, results):
    t, signal = Tally(), [(7 * i) % 11 - 5 for i in range(9)]
    assert len(execute(t, signal)) == 9
    attributes = {"dtype": "int16"} if operator.startswith("channel") else {}
    found = call(operator, attributes, x=typed((9,), "int16"), **operands)
    assert found.outputs == (typed((9,), "int16"), *(typed(*one) for one in results))
    assert work_of(operator, found) == t.work != Work()


@settings(deadline=None, max_examples=40)
@given(st.lists(SIZES, max_size=2), st.integers(1, 3), st.integers(1, 4), st.integers(1, 6))
def test_frames_of_a_signal(lead, frames, step, size):
    """A frame for every ``step`` samples, however many of the samples in it came earlier."""
    samples = np.arange(math.prod(lead) * frames * step).reshape(*lead, frames * step)
    made = [
        [row[start : start + size] for start in range(0, len(row), step)] for row in samples.reshape(-1, frames * step)
    ]
    found = call("frames", {"size": size, "step": step}, x=typed(samples.shape, "int16"))
    assert shape_of(found) == (*lead, len(made[0]), size)
    assert found.outputs[1] == typed((), "bool")
    assert OPERATORS["frames"].is_free


@settings(deadline=None, max_examples=40)
@given(st.lists(SIZES, max_size=2), SIZES, SIZES, st.data())
def test_overlapping_frames_are_added_up(lead, frames, size, data):
    step = data.draw(st.integers(1, size))
    t, rows = Tally(), []
    for _ in range(math.prod(lead)):
        kept, row = [0] * size, []
        for frame in range(frames):
            kept = [t.add(value, frame) for value in kept]
            row += kept[:step]
            kept = kept[step:] + [0] * step
        rows.append(row)
    found = call("overlap_add", {"step": step}, x=(*lead, frames, size))
    assert shape_of(found) == (*lead, len(rows[0]))
    assert work_of("overlap_add", found) == t.work


def test_frames_around_one_and_delays():
    found = call("frame_stack", {"frames": 4}, x=typed((3,), "int16"))
    assert found.outputs == (typed((12,), "int16"), typed((), "bool"))
    assert shape_of(call("delay", {"samples": 7}, x=(2, 3))) == (2, 3)


@pytest.mark.parametrize(
    ("operator", "attributes", "operands"),
    [
        ("spectrum_energy", {"range": (0, 1)}, {"x": (5,)}),
        ("spectrum_energy", {"range": (0, 1)}, {"x": ()}),
        ("spectrum_energy", {"range": (2, 1)}, {"x": (6,)}),
        ("spectrum_energy", {"range": (0, 4)}, {"x": (6,)}),
        ("spectrum_energy", {"range": (0,)}, {"x": (6,)}),
        ("filter_bank", {"channels": 0}, {"x": (6,), "weights": (4,), "complements": (4,)}),
        ("filter_bank", {"channels": 2}, {"x": (6,), "weights": (4,), "complements": (5,)}),
        ("filter_bank", {"channels": 2}, {"x": (6, 1), "weights": (4,), "complements": (4,)}),
        ("frames", {"size": 0, "step": 2}, {"x": (6,)}),
        ("frames", {"size": 4, "step": 4}, {"x": (6,)}),
        ("frames", {"size": 4, "step": 4}, {"x": ()}),
        ("frame_stack", {"frames": 0}, {"x": (6,)}),
        ("overlap_add", {"step": 4}, {"x": (6,)}),
        ("overlap_add", {"step": 7}, {"x": (2, 6)}),
    ],
)
def test_what_does_not_fit_is_an_error(operator, attributes, operands):
    with pytest.raises(GraphError):
        call(operator, attributes, **operands)
