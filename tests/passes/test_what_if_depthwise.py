"""Standard convolutions made depthwise separable."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.passes.what_if_running import run, values_of
from weighbridge import load, weigh
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.passes.what_if.depthwise import separate_convolutions

FLOAT = DTYPES["float32"]


def convolution(layout: str, weight_layout: str, **attributes: int) -> Graph:
    """A convolution of 3 x 2 taps from 4 to 5 channels with a bias and a function behind it."""
    builder = Builder("one")
    last = layout == "channels_last"
    x = builder.input("x", (2, 7, 6, 4) if last else (2, 4, 7, 6), FLOAT)
    w = builder.stored("w", (5, 3, 2, 4) if weight_layout == "o_spatial_i" else (5, 4, 3, 2), FLOAT)
    b = builder.stored("b", (5,), FLOAT)
    given = {"layout": layout, "weight_layout": weight_layout, **attributes}
    (y,) = builder.add("conv", [("x", x), ("w", w), ("b", b)], given, name="conv")
    return builder.graph(builder.add("relu", [("x", y)]))


@pytest.mark.parametrize("layout", ["channels_first", "channels_last"])
@pytest.mark.parametrize("weight_layout", ["oi_spatial", "o_spatial_i"])
@pytest.mark.parametrize("attributes", [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": (2, 1)}])
def test_it_computes_what_the_standard_one_of_these_filters_does(layout, weight_layout, attributes) -> None:
    """A standard convolution whose filters are products of a spatial and a channel part is the two of them."""
    old = convolution(layout, weight_layout, **attributes)
    new = separate_convolutions(old)
    values = values_of(new)
    by_channel, across = values["w.depthwise"], values["w.pointwise"]
    if weight_layout == "o_spatial_i":
        whole = np.einsum("cuvi,oxyc->ouvc", by_channel, across)
    else:
        whole = np.einsum("ciuv,ocxy->ocuv", by_channel, across)
    (separable,) = run(new, values)
    (standard,) = run(old, {**values, "w": whole})
    np.testing.assert_allclose(separable, standard)


@pytest.mark.parametrize(("out", "kernel"), [(64, 3), (128, 3), (24, 5)])
def test_it_is_the_textbook_layer(out: int, kernel: int) -> None:
    """The lecture's 1/N + 1/D_K^2, and the figures of the network that is written as separable."""
    spec = f"depthwise_separable:channels_out={out},kernel={kernel}"
    before, after = weigh(f"{spec},form=standard"), weigh(separate_convolutions(load(f"{spec},form=standard")))
    written = weigh(spec)
    assert Fraction(after.facts.macs, before.facts.macs) == Fraction(1, out) + Fraction(1, kernel**2)
    assert (after.facts.macs, after.facts.parameters) == (written.facts.macs, written.facts.parameters)
    assert after.facts.activations == written.facts.activations
    assert after.memory.peak_bytes == written.memory.peak_bytes


def test_of_alexnet_what_has_no_groups() -> None:
    graph = separate_convolutions(load("alexnet"))
    assert [node.name for node in graph.nodes][:3] == ["conv1.depthwise", "conv1.pointwise", "relu1"]
    assert weigh(graph).facts.macs == 724_406_816 - 105_415_200 - 149_520_384 + 3025 * 3 * (121 + 96) + 169 * 256 * (
        9 + 384
    )
    assert graph.notes == ("depthwise: left as they are: conv2, conv4, conv5 (its channels are in groups)",)


def test_a_target_and_its_parts_as_targets() -> None:
    graph = separate_convolutions(load("alexnet"), "conv3")
    assert [node.name for node in graph.nodes if "." in node.name] == ["conv3.depthwise", "conv3.pointwise"]
    assert {node.scope for node in graph.nodes if "." in node.name} == {"conv3"}
    with pytest.raises(BadSpec, match="no standard convolution") as caught:
        separate_convolutions(graph, "conv3")
    assert "conv3.depthwise (its channels are in groups)" in caught.value.hint
    assert "conv3.pointwise (a kernel of one tap)" in caught.value.hint


@pytest.mark.parametrize(
    ("target", "hint"), [("conv2", "in groups"), ("fc6", ""), ("conv2.weight", ""), ("conv9", "conv5")]
)
def test_nothing_to_replace(target: str, hint: str) -> None:
    with pytest.raises(BadSpec) as caught:
        separate_convolutions(load("alexnet"), target)
    assert hint in caught.value.hint


def test_a_layer_of_one_input_channel_stays() -> None:
    """It is a depthwise one already, and two layers would be more."""
    builder = Builder("grey")
    operands = [("x", builder.input("x", (1, 1, 5, 5), FLOAT)), ("w", builder.stored("w", (4, 1, 3, 3), FLOAT))]
    with pytest.raises(BadSpec) as caught:
        separate_convolutions(builder.graph(builder.add("conv", operands, name="conv")))
    assert "conv (one input channel)" in caught.value.hint


def test_a_weight_of_two_layers_stays() -> None:
    builder = Builder("tied")
    y, w = builder.input("x", (1, 4, 5, 5), FLOAT), builder.stored("w", (4, 4, 3, 3), FLOAT)
    for _ in range(2):
        (y,) = builder.add("conv", [("x", y), ("w", w)], {"padding": 1}, name="conv")
    with pytest.raises(BadSpec) as caught:
        separate_convolutions(builder.graph([y]))
    assert "other nodes read the weight too" in caught.value.hint


@pytest.mark.parametrize(("out", "kernel"), [(1, 3), (1, 1), (2, (1, 2)), (2, 3), (3, (1, 2)), (4, (2, 1))])
def test_it_never_makes_a_layer_larger(out: int, kernel: int | tuple[int, int]) -> None:
    """1/N + 1/D^2 is 1 and more of a layer with one output, or with two of each."""
    builder = Builder("one")
    x = builder.input("x", (1, 4, 7, 6), FLOAT)
    taps = (kernel, kernel) if isinstance(kernel, int) else kernel
    w = builder.stored("w", (out, 4, *taps), FLOAT)
    graph = builder.graph(builder.add("conv", [("x", x), ("w", w)], name="conv"))
    part = Fraction(1, out) + Fraction(1, taps[0] * taps[1])
    if part < 1:
        assert Fraction(weigh(separate_convolutions(graph)).facts.macs, weigh(graph).facts.macs) == part
    else:
        with pytest.raises(BadSpec) as caught:
            separate_convolutions(graph)
        assert "one tap" in caught.value.hint or "weights in place of" in caught.value.hint
