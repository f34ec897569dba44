"""A convolution and its separable form: counts against the formula and against the textbook network."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge import BadSpec, weigh
from weighbridge.calculators import Conv, separable
from weighbridge.devices.catalogue import find


@given(
    c_i=st.integers(1, 64),
    c_o=st.integers(1, 64),
    k=st.one_of(st.integers(1, 5), st.tuples(st.integers(1, 5), st.integers(1, 5))),
    stride=st.integers(1, 3),
    n=st.integers(1, 4),
    h_o=st.integers(1, 20),
    w_o=st.integers(1, 20),
    bias=st.booleans(),
)
def test_the_ratio_is_that_of_the_formula(k, c_o, **symbols) -> None:
    found = separable(Conv(k=k, c_o=c_o, **symbols))
    height, width = (k, k) if isinstance(k, int) else k
    assert found.macs_ratio == found.weights_ratio == Fraction(1, c_o) + Fraction(1, height * width)
    assert found.formula_ratio == found.macs_ratio
    assert found.pointwise.output_shape == found.standard.output_shape
    assert found.macs == found.depthwise.macs + found.pointwise.macs


@pytest.mark.parametrize(("c_i", "c_o", "k", "size"), [(32, 64, 3, 112), (16, 24, 5, 30), (8, 8, 1, 7)])
def test_both_forms_are_those_of_the_textbook_network(c_i: int, c_o: int, k: int, size: int) -> None:
    network = f"depthwise_separable:channels_in={c_i},channels_out={c_o},kernel={k},resolution={size}"
    two, one = weigh(network), weigh(f"{network},form=standard")
    found = separable(Conv(c_i=c_i, c_o=c_o, k=k, padding=k // 2, h_o=size))
    assert (found.macs, found.weights) == (two.facts.macs, two.facts.weights)
    assert (found.standard.macs, found.standard.weights) == (one.facts.macs, one.facts.weights)
    parts = (found.depthwise, found.pointwise)
    assert [(part.macs, part.weights, part.output_shape, part.moved_bytes) for part in parts] == [
        (node.macs, node.weights, node.output, node.read_bytes + node.write_bytes) for node in two.nodes
    ]


def test_widths_biases_and_devices_are_those_of_the_standard_one() -> None:
    conv = Conv(c_i=8, c_o=16, k=3, h_o=10, weight_bits=4, activation_bits=8, bias=True)
    found = separable(conv, [find("toy"), find("a100")])
    for one in (found.standard, found.depthwise, found.pointwise):
        assert (one.weight_dtype, one.activation_dtype) == ("int4", "int8")
        assert [time.device for time in one.on] == ["toy", "a100"]
    assert (found.depthwise.biases, found.pointwise.biases, found.standard.biases) == (8, 16, 16)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["macs_ratio"] == float(found.macs_ratio)


def test_a_convolution_in_groups_has_no_such_form() -> None:
    with pytest.raises(BadSpec) as caught:
        separable(Conv(c_i=8, c_o=16, k=3, h_o=10, g=2))
    assert caught.value.where == "g"
