"""SVDF filters over features and time, and the cells of an LSTM, executed product by product."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.execution import Tally, call, dynamic, macs_of, typed, values, work_of
from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.operators.record import Work
from weighbridge.operators.table import OPERATORS

SIZES = st.integers(1, 3)


@st.composite
def filters(draw):
    rank = draw(SIZES)
    return {
        "batch": draw(SIZES),
        "features": draw(SIZES),
        "rank": rank,
        "units": draw(SIZES),
        "memory": draw(SIZES),
        "bias": draw(st.booleans()),
        "quantisation": draw(st.sampled_from(["by_operands", "in_tensors", "dynamic"])),
    }


def filtered(layer, tally):
    """SVDF executed: the input by every filter, which goes to the end of its memory; the memory by the filter over time; units."""
    t, count = tally, layer["rank"] * layer["units"]
    x, features, time = (
        values((layer["batch"], layer["features"])),
        values((count, layer["features"])),
        values((count, layer["memory"])),
    )
    where = layer["quantisation"]
    if where == "dynamic":
        dynamic(t, x.size)
    result = np.zeros((layer["batch"], layer["units"]), dtype=object)
    for row in range(layer["batch"]):
        if where == "in_tensors":
            for value in x[row]:
                t.add(value, 0)
        made = []
        for number in range(count):
            total = 0
            for weight, value in zip(features[number], x[row], strict=True):
                total = t.mac(total, weight, value)
            if where != "by_operands":
                total = t.mul(total, 1)
            if where == "in_tensors":
                total = t.clip(total, 1e9)
            memory, total_in_time = [0] * (layer["memory"] - 1) + [total], 0
            for weight, value in zip(time[number], memory, strict=True):
                total_in_time = t.mac(total_in_time, weight, value)
            made.append(total_in_time)
        for unit in range(layer["units"]):
            total = made[unit * layer["rank"]]
            for value in made[unit * layer["rank"] + 1 : (unit + 1) * layer["rank"]]:
                total = t.add(total, value)
            if layer["bias"]:
                total = t.add(total, 1)
            if where == "in_tensors":
                total = t.clip(t.add(t.mul(total, 1), 0), 1e9)
            result[row, unit] = total
    return result


@settings(deadline=None, max_examples=80)
@given(filters())
def test_filters_count_what_their_execution_does(layer):
    tally = Tally()
    result = filtered(layer, tally)
    count = layer["rank"] * layer["units"]
    operands = {
        "x": (layer["batch"], layer["features"]),
        "w_features": (count, layer["features"]),
        "w_time": (count, layer["memory"]),
        "state": (layer["batch"], count * layer["memory"]),
    }
    if layer["bias"]:
        operands["b"] = (layer["units"],)
    found = call("svdf", {"rank": layer["rank"], "quantisation": layer["quantisation"]}, **operands)
    assert found.outputs[0].shape == result.shape
    assert macs_of("svdf", found) == tally.macs
    assert work_of("svdf", found) == tally.work
    elements = sum(math.prod(shape) for shape in operands.values())
    traffic = OPERATORS["svdf"].traffic(found)
    assert traffic.read_bytes == 4 * elements
    assert traffic.write_bytes == 4 * (result.size + math.prod(operands["state"]))


SVDF = {"x": (2, 3), "w_features": (8, 3), "w_time": (8, 5), "b": (4,), "state": (2, 40)}


@pytest.mark.parametrize(
    ("attributes", "operands"),
    [
        ({"rank": 3}, SVDF),
        ({"rank": 0}, SVDF),
        ({"rank": 1}, SVDF),
        ({"rank": 2, "quantisation": "weight_only"}, SVDF),
        ({"rank": 2}, {**SVDF, "x": (2, 4)}),
        ({"rank": 2}, {**SVDF, "x": (3,)}),
        ({"rank": 2}, {**SVDF, "w_time": (4, 5)}),
        ({"rank": 2}, {**SVDF, "state": (2, 41)}),
        ({"rank": 2}, {**SVDF, "state": []}),
    ],
)
def test_filters_that_do_not_fit_are_an_error(attributes, operands):
    assert call("svdf", {"rank": 2}, **SVDF)
    with pytest.raises(GraphError):
        call("svdf", attributes, **operands)


def test_results_may_have_another_type():
    found = call("svdf", {"rank": 2, "output_dtype": "int8"}, **SVDF)
    assert found.outputs[0].dtype == DTYPES["int8"]


@settings(deadline=None, max_examples=30)
@given(st.lists(SIZES, max_size=2), SIZES)
def test_a_cell_makes_its_states(lead, hidden):
    t = Tally()
    for _ in range(math.prod(lead)):
        for _ in range(hidden):
            i, f, o = (t.sigmoid(0.5) for _ in range(3))
            c = t.add(t.mul(f, 0.1), t.mul(i, t.tanh(0.2)))
            t.mul(o, t.tanh(c))
    found = call("lstm_cell", {"output_dtype": "uint8"}, gates=(*lead, 4 * hidden), c=typed((*lead, hidden), "int16"))
    assert found.outputs == (typed((*lead, hidden), "uint8"), typed((*lead, hidden), "int16"))
    assert work_of("lstm_cell", found) == t.work != Work()


def test_gates_that_are_not_four_are_an_error():
    with pytest.raises(GraphError):
        call("lstm_cell", {}, gates=(2, 9), c=(2, 3))
