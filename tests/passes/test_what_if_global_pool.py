"""Global average pooling in place of flattening."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.passes.what_if_running import run, values_of
from weighbridge import load, weigh
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.passes.what_if.global_pool import pool_globally

FLOAT = DTYPES["float32"]


def network(layout: str, flattening: str = "flatten", layer: str = "linear", *between: str) -> Graph:
    """A convolution to 4 channels of 3 x 5 pixels, flattened for a layer of 6 outputs."""
    builder = Builder("flattened")
    last = layout == "channels_last"
    x = builder.input("x", (2, 3, 5, 2) if last else (2, 2, 3, 5), FLOAT)
    w = builder.stored("conv.w", (4, 2, 1, 1), FLOAT)
    (y,) = builder.add("conv", [("x", x), ("w", w)], {"layout": layout}, name="conv")
    (y,) = builder.add("relu", [("x", y)])
    (y,) = builder.add(flattening, [("x", y)], {"shape": (-1, 60)} if flattening == "reshape" else {}, name="flat")
    for operator in between:
        (y,) = builder.add(operator, [("x", y)], {"shape": (2, 60)} if operator == "reshape" else {})
    w = builder.stored("fc.w", (6, 60) if layer == "linear" else (60, 6), FLOAT)
    return builder.graph(builder.add(layer, [("x", y), ("w", w)], name="fc"))


@pytest.mark.parametrize("layout", ["channels_first", "channels_last"])
@pytest.mark.parametrize("flattening", ["flatten", "reshape"])
@pytest.mark.parametrize("layer", ["linear", "matmul"])
@pytest.mark.parametrize("between", [(), ("relu", "dropout", "reshape")])
def test_it_computes_what_equal_weights_for_all_pixels_do(layout, flattening, layer, between) -> None:
    old = network(layout, flattening, layer, *between)
    new = pool_globally(old)
    values = values_of(new)
    of_channel = values["fc.w.pooled"] / 15
    axis = 1 if layer == "linear" else 0
    whole = np.repeat(of_channel, 15, axis) if layout == "channels_first" else np.concatenate([of_channel] * 15, axis)
    if "relu" in between:  # the map is positive before, as its mean is
        values["conv.w"] = abs(values["conv.w"])
        values["x"] = abs(values["x"])
    np.testing.assert_allclose(run(new, values)[0], run(old, {**values, "fc.w": whole})[0])


@pytest.mark.parametrize("name", ["alexnet", "vgg16"])
def test_it_is_the_textbook_network_with_that_head(name: str) -> None:
    pooled, written = weigh(pool_globally(load(name))), weigh(f"{name}:head=gap")
    assert pooled.facts.weights == written.facts.weights
    for figure in ("parameters", "deployed_parameters", "parameter_bytes", "macs", "work", "activations"):
        assert getattr(pooled.facts, figure) == getattr(written.facts, figure), figure
    assert pooled.memory.peak_bytes == written.memory.peak_bytes
    (fc6,) = (
        node for node in pooled.nodes if node.name == ("fc6" if name == "alexnet" else "fc1") or node.name == "fc6"
    )
    assert fc6.loops[0].k == (256 if name == "alexnet" else 512)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("resnet18", "a map of one pixel"), ("mlp", ""), ("lenet5", "a map of one pixel"), ("squeezenet", "")],
)
def test_nothing_to_replace(name: str, reason: str) -> None:
    with pytest.raises(BadSpec, match="no map that is flattened") as caught:
        pool_globally(load(name))
    assert reason in caught.value.hint


def test_a_map_of_which_nobody_says_where_its_channels_are() -> None:
    builder = Builder("unsaid")
    (y,) = builder.add("flatten", [("x", builder.input("x", (1, 4, 3, 3), FLOAT))], name="flat")
    w = builder.stored("w", (2, 36), FLOAT)
    with pytest.raises(BadSpec) as caught:
        pool_globally(builder.graph(builder.add("linear", [("x", y), ("w", w)])))
    assert "flat (which axis has the channels is not known)" in caught.value.hint


def test_what_others_read_too_is_left() -> None:
    graph = network("channels_first")
    two = Graph(graph.name, graph.tensors, graph.nodes, graph.inputs, ("fc", "flat"))
    with pytest.raises(BadSpec):
        pool_globally(two)


def test_a_file(shared: Path) -> None:
    """A Keras-like classifier of 10 classes: flattened 7 x 7 x 16 to 10, exported to ONNX."""
    path = next((shared / "data" / "onnx").rglob("mnist_example__mnist.onnx"))
    before, after = weigh(path), weigh(pool_globally(load(path)))
    assert after.facts.exact
    assert (before.facts.weights, after.facts.weights) == (26368, 1408)
