"""Batch normalisations and added vectors become part of the layer before them, if that feeds nothing else."""

from __future__ import annotations

import pytest

from weighbridge.builder import Builder
from weighbridge.counts import count
from weighbridge.dtypes import DTYPES
from weighbridge.graph import LOOP, Body, Role, TensorType
from weighbridge.passes import deploy, fold_batch_norm, fuse_bias

FLOAT, INT8, INT64 = DTYPES["float32"], DTYPES["int8"], DTYPES["int64"]
CONSTANT = Role.CONSTANT


def norm(builder: Builder, x: str, channels: int, name: str = "bn", **attributes) -> str:
    operands = [("x", x)]
    for slot in ("scale", "bias", "mean", "variance"):
        role = Role.PARAMETER if slot in ("scale", "bias") else Role.BUFFER
        operands.append((slot, builder.stored(f"{name}.{slot}", (channels,), FLOAT, role)))
    return builder.add("batch_norm", operands, attributes, name=name)[0]


def layer(builder: Builder, operator: str) -> tuple[str, int]:
    """A layer without a bias; (its output, output channels)."""
    if operator == "conv":
        x, w = builder.input("x", (1, 3, 8, 8), FLOAT), builder.stored("w", (5, 3, 1, 1), FLOAT)
    elif operator == "conv_transpose":
        x, w = builder.input("x", (1, 3, 8, 8), FLOAT), builder.stored("w", (3, 5, 2, 2), FLOAT)
    elif operator == "linear":
        x, w = builder.input("x", (4, 3), FLOAT), builder.stored("w", (5, 3), FLOAT)
    else:
        x, w = builder.input("x", (4, 3), FLOAT), builder.stored("w", (3, 5), FLOAT)
    return builder.add(operator, [("x", x), ("w", w)], name="layer")[0], 5


LAYERS = ["conv", "conv_transpose", "linear", "matmul"]


@pytest.mark.parametrize("operator", LAYERS)
def test_a_normalisation_is_folded_and_brings_a_bias(operator: str) -> None:
    builder = Builder("folded")
    y, channels = layer(builder, operator)
    graph = fold_batch_norm(builder.graph([norm(builder, y, channels)]))
    (node,) = graph.nodes
    assert (node.name, node.operator, node.outputs) == ("layer", operator, ("bn",))
    bias = graph.tensors[dict(node.operands)["b"]]
    assert (bias.shape, bias.role) == ((channels,), Role.PARAMETER)
    assert [name for name, _ in node.operands] == ["x", "w", "b"]


def test_a_bias_that_is_there_is_kept() -> None:
    builder = Builder("biased")
    x, w, b = builder.input("x", (4, 3), FLOAT), builder.stored("w", (5, 3), FLOAT), builder.stored("b", (5,), FLOAT)
    (y,) = builder.add("linear", [("x", x), ("w", w), ("b", b)])
    (node,) = fold_batch_norm(builder.graph([norm(builder, y, 5)])).nodes
    assert node.inputs == ("x", "w", "b")


def test_a_layer_with_another_reader_keeps_its_normalisation() -> None:
    builder = Builder("read twice")
    y, channels = layer(builder, "conv")
    graph = builder.graph([norm(builder, y, channels), y])
    assert fold_batch_norm(graph) is graph


def test_a_normalisation_of_another_axis_stays() -> None:
    builder = Builder("axis")
    x, w = builder.input("x", (2, 7, 3), FLOAT), builder.stored("w", (5, 3), FLOAT)
    (y,) = builder.add(
        "linear", [("x", x), ("w", w)]
    )  # 2 x 7 x 5: the features are last, the normalisation takes the 7
    graph = builder.graph([norm(builder, y, 7)])
    assert fold_batch_norm(graph) is graph


def test_a_normalisation_in_training_mode_stays() -> None:
    builder = Builder("training")
    y, channels = layer(builder, "conv")
    graph = builder.graph([norm(builder, y, channels, training=True)])
    assert fold_batch_norm(graph) is graph


def test_a_normalisation_before_the_layer_stays() -> None:
    builder = Builder("pre-activation")
    x = norm(builder, builder.input("x", (1, 3, 8, 8), FLOAT), 3)
    (y,) = builder.add("conv", [("x", x), ("w", builder.stored("w", (5, 3, 1, 1), FLOAT))])
    graph = builder.graph([y])
    assert fold_batch_norm(graph) is graph


def test_layers_that_share_a_weight_each_get_their_own_copy() -> None:
    builder = Builder("shared")
    x, w = builder.input("x", (1, 3, 8, 8), FLOAT), builder.stored("w", (3, 3, 1, 1), FLOAT)
    (y,) = builder.add("conv", [("x", x), ("w", w)], name="one")
    y = norm(builder, y, 3, "bn1")
    (y,) = builder.add("conv", [("x", y), ("w", w)], name="two")
    y = norm(builder, y, 3, "bn2")
    one, two = fold_batch_norm(builder.graph([y])).nodes
    assert len({"w", dict(one.operands)["w"], dict(two.operands)["w"]}) == 3


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("in_body", [True, False])
def test_a_weight_that_is_turned_around_first_is_folded_into_a_copy(tied: bool, in_body: bool) -> None:
    """A table of 10 x 4 that is looked up, too, stays as it is: the product scaled by 10 numbers has a table of its own."""
    builder = Builder("tied")
    table = builder.stored("table", (10, 4), FLOAT)
    x = builder.input("x", (3, 4), FLOAT)
    if tied:
        (looked_up,) = builder.add("embedding", [("w", table), ("indices", builder.stored("i", (3,), INT64, CONSTANT))])
        (x,) = builder.add("mul", [("a", x), ("b", looked_up)])
    (turned,) = builder.add("transpose", [("x", table)], name="turned")
    (y,) = builder.add("matmul", [("x", x), ("w", turned)], name="product")
    graph = builder.graph([norm(builder, y, 10)])
    if in_body:
        outer = Builder("loop")
        outer.input("x", (3, 4), FLOAT)
        body = Body("body", graph, 2)
        result = TensorType((3, 10), FLOAT)
        graph = outer.graph(outer.opaque(LOOP, [("captures", "x")], [result], name="loop", bodies=[body]))
    facts = count(graph, deploy(graph))
    assert (facts.parameters, facts.weights) == (40 + 20, 40)
    assert facts.deployed_parameters == (40 + 40 + 10 if tied else 40 + 10)


@pytest.mark.parametrize("operator", LAYERS)
@pytest.mark.parametrize("first", [True, False])
def test_an_added_vector_of_the_channels_becomes_the_bias(operator: str, first: bool) -> None:
    builder = Builder("bias")
    y, channels = layer(builder, operator)
    shape = (channels, 1, 1) if operator.startswith("conv") else (channels,)
    pair = [builder.stored("v", shape, FLOAT), y] if first else [y, builder.stored("v", shape, FLOAT)]
    (z,) = builder.add("add", list(zip("ab", pair, strict=True)), name="sum")
    (node,) = fuse_bias(builder.graph([z])).nodes
    assert (node.name, node.operands, node.outputs) == ("layer", (("x", "x"), ("w", "w"), ("b", "v")), ("sum",))


@pytest.mark.parametrize("shape", [(8,), (1, 1, 8), (8, 8), (), (2, 5, 1, 1), (5, 8, 8)])
def test_other_additions_stay(shape: tuple[int, ...]) -> None:
    builder = Builder("no bias")
    y, _ = layer(builder, "conv")
    (z,) = builder.add("add", [("a", y), ("b", builder.stored("v", shape, FLOAT))])
    graph = builder.graph([z])
    assert fuse_bias(graph) is graph


def test_a_layer_that_requantises_its_result_takes_in_nothing() -> None:
    builder = Builder("quantised")
    x, w = builder.input("x", (4, 3), INT8), builder.stored("w", (5, 3), INT8)
    scale = builder.stored("scale", (), FLOAT, Role.BUFFER)
    (y,) = builder.add("linear", [("x", x), ("w", w), ("x_scale", scale), ("w_scale", scale), ("y_scale", scale)])
    (z,) = builder.add("add", [("a", y), ("b", builder.stored("v", (5,), INT8))])
    graph = builder.graph([z])
    assert fuse_bias(graph) is graph


def test_a_normalisation_whose_statistics_are_read_stays() -> None:
    builder = Builder("statistics")
    y, channels = layer(builder, "conv")
    y = norm(builder, y, channels, outputs=("y", "mean"))
    assert len(fold_batch_norm(builder.graph([y])).nodes) == 1
    graph = builder.graph([y, f"{y}:1"])
    assert fold_batch_norm(graph) is graph


@pytest.mark.parametrize("follower", ["add", "batch_norm"])
def test_a_layer_that_scales_its_bias_takes_in_nothing(follower: str) -> None:
    builder = Builder("scaled bias")
    x, w = builder.input("x", (4, 3), FLOAT), builder.stored("w", (5, 3), FLOAT)
    (y,) = builder.add("linear", [("x", x), ("w", w)], {"beta": 0.5})
    if follower == "add":
        (y,) = builder.add("add", [("a", y), ("b", builder.stored("v", (5,), FLOAT))])
    else:
        y = norm(builder, y, 5)
    graph = builder.graph([y])
    assert fuse_bias(graph) is graph
    assert fold_batch_norm(graph) is graph


def test_a_product_of_two_activations_takes_no_bias() -> None:
    builder = Builder("scores")
    q, k = builder.input("q", (1, 4, 6), FLOAT), builder.input("k", (1, 6, 4), FLOAT)
    (scores,) = builder.add("matmul", [("x", q), ("w", k)])
    (masked,) = builder.add("add", [("a", scores), ("b", builder.stored("mask", (4,), FLOAT, Role.CONSTANT))])
    graph = builder.graph([masked])
    assert fuse_bias(graph) is graph


def test_a_vector_that_is_computed_later_is_there_when_the_layer_runs() -> None:
    builder = Builder("late")
    y, channels = layer(builder, "conv")
    v = builder.stored("v", (1, channels), FLOAT)
    (v,) = builder.add("reshape", [("x", v)], {"shape": (channels, 1, 1)}, name="late")
    (z,) = builder.add("add", [("a", y), ("b", v)], name="sum")
    assert [node.name for node in fuse_bias(builder.graph([z])).nodes] == ["late", "layer"]
