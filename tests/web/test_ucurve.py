"""The U-curve: every layer's figures are those of the report, and its three parts add up."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weighbridge
from weighbridge.textbook import names
from weighbridge.web.controls import Number
from weighbridge.web.simulator import Answer, answered
from weighbridge.web.simulators.ucurve import ucurve

SIMULATOR = ucurve()


def answer(**state: object) -> Answer:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def read(**state: object) -> dict[str, Any]:
    return {one.name: one.value for one in answer(**state).readouts}


def test_the_ratios_are_the_lectures(lecture: Mapping[str, Any]) -> None:
    said = lecture["u_curve"]
    conv1, conv3 = read(layer=1), read(layer=3)
    assert (conv1["name"], round(conv1["outputs_per_weight"], 2)) == ("conv1", said["conv1_ratio"])
    assert (conv3["name"], round(1 / conv3["outputs_per_weight"], 1)) == ("conv3", said["conv3_ratio"])
    assert "8.333 times more outputs than weights" in answer(layer=1).sentences[0]
    assert "13.63 times more weights than outputs" in answer(layer=3).sentences[0]


def test_by_stages_activations_halve_and_weights_grow_fourfold() -> None:
    """At the second convolution of each second block of ResNet-18."""
    (table,) = answer(network="resnet18").tables
    rows = {row.cells[0]: [int(cell.replace(",", "")) for cell in row.cells[1:3]] for row in table.rows}
    stages = [rows[f"layer{stage}.1.conv2"] for stage in (1, 2, 3, 4)]
    for (outputs, weights), (later_outputs, later_weights) in pairwise(stages):
        assert (outputs, later_weights) == (2 * later_outputs, 4 * weights)


@pytest.mark.parametrize("network", names())
def test_each_layer_is_the_reports(network: str) -> None:
    report = weighbridge.weigh(network, batch=2, train="sgd")
    assert report.memory.training is not None
    trained = {one.name: one for one in report.memory.training.layers}
    layers = [one for one in report.nodes if one.weights]
    for place, node in enumerate(layers, 1):
        found = read(network=network, batch=2, layer=place)
        assert (found["name"], found["weights"]) == (node.name, node.weights)
        assert found["output_values"] == prod(node.output or ())
        assert found["outputs_per_weight"] == float(Fraction(prod(node.output or ()), node.weights or 1))
        for name in ("saved_bytes", "parameter_bytes", "gradient_bytes", "training_bytes"):
            assert found[name] == getattr(trained[node.name], name)
    assert read(network=network, batch=2, layer=55) == found


def test_the_last_layer_is_that_of_the_longest_network() -> None:
    (control,) = (one for one in SIMULATOR.controls if one.name == "layer")
    assert isinstance(control, Number)
    assert control.maximum == max(sum(bool(one.weights) for one in weighbridge.weigh(name).nodes) for name in names())


@given(st.sampled_from(names()), st.integers(1, 64))
@settings(max_examples=20, deadline=None)
def test_the_parts_of_a_bar_are_stacked_without_gaps(network: str, batch: int) -> None:
    rows = next(one.rows for one in answer(network=network, batch=batch).plots if one.name == "trained")
    ends: dict[Any, Any] = {}
    for row in rows:
        assert row["begin"] == ends.get(row["layer"], 0)
        ends[row["layer"]] = row["end"]
    assert ends == {row["layer"]: row["together"] for row in rows}


def test_the_batch_multiplies_activations_alone() -> None:
    one, eight = read(layer=2), read(layer=2, batch=8)
    assert (eight["output_values"], eight["saved_bytes"]) == (8 * one["output_values"], 8 * one["saved_bytes"])
    assert (eight["weights"], eight["parameter_bytes"]) == (one["weights"], one["parameter_bytes"])


def test_the_axis_moves_no_figure() -> None:
    linear, log = answer(log=0), answer(log=1)
    assert linear.readouts == log.readouts
    assert [one.rows for one in linear.plots] == [one.rows for one in log.plots]
    assert linear.plots[0].spec != log.plots[0].spec
