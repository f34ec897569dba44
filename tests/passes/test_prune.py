"""Which channels go with which, operator by operator, and what is left whole."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.passes.pruning import FLOAT, Net, check, facts_of, note_of, pruned_by
from weighbridge.arena import Arena
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import LOOP, UNKNOWN, Allocation, Body, Role, Shape, TensorType

HALF = Fraction(1, 2)


@pytest.mark.parametrize(("ratio", "left"), [(Fraction(3, 10), 7), (Fraction(29, 100), 8), (Fraction(99, 100), 1)])
def test_floor(ratio: Fraction, left: int) -> None:
    """Of 10 channels floor(10 x ratio) go, exactly: 0.3 is three tenths."""
    net = Net()
    check(net.graph(net.conv("a", net.x, 10)), ratio, **{"a.w": (left, 3, 1, 1), "a.b": (left,), "a": (1, left, 8, 8)})


def test_depthwise_follows_and_keeps_a_group_a_channel() -> None:
    net = Net()
    y = net.conv("b", net.conv("a", net.x, 6), 12, 3, groups=6)
    pruned = check(net.graph(y), **{"a": (1, 3, 8, 8), "b": (1, 6, 8, 8), "b.w": (6, 1, 3, 3)})
    assert next(node for node in pruned.nodes if node.name == "b").attributes["groups"] == 3


def test_depthwise_of_the_input_stays() -> None:
    net = Net()
    y = net.conv("b", net.conv("a", net.x, 3, 3, groups=3), 8)
    pruned = check(net.graph(y), a=(1, 3, 8, 8), b=(1, 4, 8, 8))
    assert "a (a (conv) ties channels to a size that stays)" in note_of(pruned)


def test_groups_keep_their_number() -> None:
    """Of 4 groups of 5 channels each loses floor(5 / 2), and so do the channels that they read, 4 x 3."""
    net = Net()
    y = net.conv("b", net.conv("a", net.x, 12), 20, groups=4)
    pruned = check(net.graph(y), **{"a": (1, 8, 8, 8), "b": (1, 12, 8, 8), "b.w": (12, 2, 1, 1)})
    assert next(node for node in pruned.nodes if node.name == "b").attributes["groups"] == 4


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_transposed_convolution(groups: int) -> None:
    net = Net()
    x, w = net.conv("a", net.x, 6), net.stored("b.w", 6, 4 // groups or 1, 2, 2)
    y = net.add("conv_transpose", "b", ("x", x), ("w", w), stride=2, groups=groups)
    left, width = {1: (3, 2), 2: (4, 2), 6: (3, 3)}[groups]
    check(net.graph(y), a=(1, left, 8, 8), b=(1, width, 16, 16))


def test_a_sum_is_pruned_together() -> None:
    net = Net()
    a, b = net.conv("a", net.x, 8), net.conv("b", net.x, 8)
    y = net.add("add", "y", ("a", net.add("relu", "r", ("x", a))), ("b", b))
    check(net.graph(y), Fraction(1, 4), "b", a=(1, 6, 8, 8), b=(1, 6, 8, 8))


def test_a_gate_stretches() -> None:
    """Squeeze and excitation: the gate has the channels of what it scales."""
    net = Net()
    a = net.conv("a", net.x, 8)
    squeezed = net.conv("s", net.add("global_average_pool", "p", ("x", a)), 4)
    gate = net.add("sigmoid", "g", ("x", net.conv("e", squeezed, 8)))
    y = net.add("mul", "y", ("a", gate), ("b", a))
    check(net.graph(y), a=(1, 4, 8, 8), s=(1, 2, 1, 1), e=(1, 4, 1, 1), y=(1, 4, 8, 8))


def test_parts_of_a_concatenation_by_their_own_layers() -> None:
    net = Net()
    a, b = net.conv("a", net.x, 8), net.conv("b", net.x, 5)
    y = net.add("concat", "y", ("xs", a), ("xs", net.x), ("xs", b), axis=1)
    check(net.graph(net.conv("c", y, 6)), **{"y": (1, 4 + 3 + 3, 8, 8), "c.w": (3, 10, 1, 1)})


def test_a_sum_with_a_concatenation_cuts_the_other_layer() -> None:
    net = Net()
    joined = net.add("concat", "y", ("xs", net.conv("a", net.x, 6)), ("xs", net.x), axis=1)
    z = net.add("add", "z", ("a", joined), ("b", net.conv("b", net.x, 9)))
    pruned = check(net.graph(z), a=(1, 3, 8, 8), b=(1, 6, 8, 8))
    assert "b (in part: y (concat) ties channels to a size that stays)" in note_of(pruned)


def test_flattened_channels_take_all_their_values() -> None:
    net = Net()
    check(net.graph(net.conv("a", net.x, 6)), **{"flat0": (1, 3 * 64), "last0.w": (3, 3 * 64)})


def test_flattened_with_channels_last() -> None:
    net = Net(1, 8, 8, 3)
    y = net.conv("a", net.x, 6, layout="channels_last")
    check(net.graph(y), **{"a.w": (3, 1, 1, 3), "flat0": (1, 3 * 64), "last0.w": (3, 3 * 64)})


def test_a_linear_layer_becomes_a_map() -> None:
    """A generator: which axis has the channels is told by the convolution behind the reshape."""
    net = Net(1, 10)
    x = net.add("reshape", "m", ("x", net.linear("a", net.x, 6 * 4 * 4)), shape=(1, 6, 4, 4))
    check(net.graph(net.conv("b", x, 4)), **{"a.w": (3 * 16, 10), "m": (1, 3, 4, 4), "b.w": (2, 3, 1, 1)})


@pytest.mark.parametrize("shape", [(0, 2, 4, 8, 8), (1, 2, -1, 8, 8), (-1, 2, 4, 8, 8)])
def test_a_shuffle_keeps_its_groups(shape: Shape) -> None:
    net = Net()
    joined = net.add("concat", "j", ("xs", net.conv("a", net.x, 4)), ("xs", net.conv("b", net.x, 4)), axis=1)
    parts = net.add("reshape", "parts", ("x", joined), shape=shape)
    turned = net.add("transpose", "t", ("x", parts), permutation=(0, 2, 1, 3, 4))
    y = net.add("reshape", "y", ("x", turned), shape=(1, 8, 8, 8))
    (left, right) = net.builder.add("split", [("x", y)], {"axis": 1, "parts": 2}, name="halves")
    shapes = {"a": (1, 2, 8, 8), "b": (1, 2, 8, 8), "y": (1, 4, 8, 8), left: (1, 2, 8, 8)}
    check(net.graph(left, net.conv("c", right, 2)), **shapes)


def test_cuts_are_renewed() -> None:
    net = Net()
    a = net.conv("a", net.x, 10)
    first = net.add("slice", "first", ("x", a), starts=(0,), ends=(4,), axes=(1,))
    rest = net.add("slice", "rest", ("x", a), starts=(-6,), ends=(1 << 40,), axes=(1,))
    pruned = check(net.graph(first, rest), a=(1, 2 + 3, 8, 8), first=(1, 2, 8, 8), rest=(1, 3, 8, 8))
    bounds = {
        node.name: (node.attributes["starts"], node.attributes["ends"])
        for node in pruned.nodes
        if "starts" in node.attributes
    }
    assert bounds == {"first": ((0,), (2,)), "rest": ((2,), (5,))}


def test_unequal_parts_are_renewed() -> None:
    net = Net()
    parts = net.builder.add("split", [("x", net.conv("a", net.x, 10))], {"axis": 1, "sizes": (3, 7)}, name="s")
    pruned = check(net.graph(*parts), **{parts[0]: (1, 2, 8, 8), parts[1]: (1, 4, 8, 8)})
    assert next(node for node in pruned.nodes if node.name == "s").attributes["sizes"] == (2, 4)


def test_a_border_of_channels_stays() -> None:
    """A shortcut without a projection: zeros in the place of the channels that there are more."""
    net = Net()
    a = net.conv("a", net.x, 4)
    y = net.add("add", "y", ("a", net.add("pad", "p", ("x", a), pads=(2, 2), axes=(1,))), ("b", net.conv("b", a, 8)))
    check(net.graph(y), a=(1, 2, 8, 8), b=(1, 6, 8, 8))


def test_expanded_and_filled_tensors_follow() -> None:
    net = Net()
    a = net.conv("a", net.x, 6)
    zeros = net.add("constant_of_shape", "zeros", shape=(1, 6, 1, 1))
    ones = net.add("expand", "ones", ("x", net.stored("one", 1, 1, 1, role=Role.CONSTANT)), shape=(1, 6, 8, 8))
    y = net.add("add", "y", ("a", net.add("mul", "m", ("a", a), ("b", ones))), ("b", zeros))
    pruned = check(net.graph(y), zeros=(1, 3, 1, 1), ones=(1, 3, 8, 8), one=(1, 1, 1))
    assert {node.attributes["shape"] for node in pruned.nodes if "shape" in node.attributes} == {
        (1, 3, 1, 1),
        (1, 3, 8, 8),
    }


def test_resized_blocks_and_reductions() -> None:
    net = Net()
    wide = net.add("resize", "wide", ("x", net.conv("a", net.x, 16)), sizes=(1, 16, 16, 16), mode="nearest")
    space = net.add("depth_to_space", "space", ("x", wide), block_size=2)
    depth = net.add("space_to_depth", "depth", ("x", space), block_size=4)
    y = net.add("reduce_mean", "y", ("x", depth), axes=(2, 3), keep_dims=True)
    shapes = {"wide": (1, 8, 16, 16), "space": (1, 2, 32, 32), "depth": (1, 32, 8, 8), "y": (1, 32, 1, 1)}
    check(net.graph(y), **shapes)


@pytest.mark.parametrize("operator", ["layer_norm", "rms_norm", "group_norm", "batch_norm", "prelu"])
def test_vectors_of_channels(operator: str) -> None:
    net = Net(1, 5, 6)
    x = net.linear("a", net.x, 8)
    if operator in ("group_norm", "batch_norm"):
        x = net.add("transpose", "t", ("x", x), permutation=(0, 2, 1))
    names = {"prelu": ["slope"], "rms_norm": ["scale"], "batch_norm": ["scale", "bias", "mean", "variance"]}
    vectors = [(name, net.stored(name, 8)) for name in names.get(operator, ["scale", "bias"])]
    y = net.add(operator, "y", ("x", x), *vectors, **({"groups": 2} if operator == "group_norm" else {}))
    check(net.graph(y), **{"a": (1, 5, 4), **{name: (4,) for name, _ in vectors}})


def test_a_transformers_layer() -> None:
    """Attention keeps its heads, of 8 features 4 each; the width, the hidden layer and the features go by themselves."""
    net = Net(2, 7)
    x = net.add(
        "embedding",
        "e",
        ("w", net.stored("e.w", 20, 24)),
        ("indices", net.builder.input("ids", (2, 7), DTYPES["int64"])),
    )
    q, k, v = (net.linear(name, x, 24) for name in "qkv")
    y = net.linear("o", net.add("attention", "att", ("q", q), ("k", k), ("v", v), heads=3), 24)
    x = net.add("layer_norm", "n", ("x", net.add("add", "r", ("a", x), ("b", y))), ("scale", net.stored("n.scale", 24)))
    y = net.linear("m", net.add("gelu", "g", ("x", net.linear("h", x, 10))), 24)
    graph = net.graph(net.add("add", "s", ("a", x), ("b", y)))
    shapes = {"e.w": (20, 12), "q.w": (12, 12), "o.w": (12, 12), "h.w": (5, 12), "m.w": (12, 5), "n.scale": (12,)}
    pruned = check(graph, **shapes)
    assert next(node for node in pruned.nodes if node.name == "att").attributes["heads"] == 3
    inner = check(graph, HALF, "q", **{"q.w": (12, 24), "k.w": (12, 24), "v.w": (24, 24), "att": (2, 7, 24)})
    assert facts_of(inner).exact


def test_shared_weights_are_one() -> None:
    net = Net()
    a = net.conv("a", net.x, 4)
    w = net.stored("w", 4, 4, 1, 1)
    y = net.add("conv", "two", ("x", net.add("conv", "one", ("x", a), ("w", w))), ("w", w))
    check(net.graph(y), a=(1, 2, 8, 8), w=(2, 2, 1, 1), two=(1, 2, 8, 8))


def test_quantised_weights_take_their_scales_along() -> None:
    net = Net()
    w = net.builder.stored("w", (6, 3, 1, 1), DTYPES["int8"])
    scale = net.stored("scale", 6, role=Role.BUFFER)
    real = net.add("dequantize", "real", ("x", w), ("scale", scale), axis=0)
    y = net.add("conv", "a", ("x", net.x), ("w", real))
    check(net.graph(y), w=(3, 3, 1, 1), scale=(3,), a=(1, 3, 8, 8))


def test_values_that_are_not_zero_stay_in_proportion() -> None:
    net = Net()
    graph = net.graph(net.conv("a", net.x, 6))
    sparse = replace(graph, tensors={**graph.tensors, "a.w": replace(graph.tensors["a.w"], nonzeros=5)})
    assert pruned_by(sparse, 50).tensors["a.w"].nonzeros == 2


def mystery(net: Net, x: str) -> str:
    return net.builder.opaque(UNKNOWN, [("x", x)], [TensorType(net.shape(x), FLOAT)], name="odd", origin="Odd")[0]


def looped(net: Net, x: str) -> str:
    body = Builder("body")
    body.tensors[x] = net.builder.tensors[x]
    body.inputs.append(x)
    last = body.add("relu", [("x", x)], name="inside")
    bodies = [Body("body", body.graph(list(last)), 3)]
    kind = TensorType(net.shape(x), FLOAT)
    return net.builder.opaque(LOOP, [("captures", x)], [kind], name="again", bodies=bodies)[0]


def picked(net: Net, x: str) -> str:
    return net.add("top_k", "top", ("x", x), k=2, axis=1)


@pytest.mark.parametrize(
    ("strange", "reason"),
    [
        (mystery, "nobody knows how odd (Odd) ties channels"),
        (looped, "nobody knows how again (loop) ties channels"),
        (picked, "nobody knows how top (top_k) ties channels"),
    ],
    ids=["an unknown operator", "a loop", "an operator without a rule"],
)
def test_what_cannot_be_followed_stays(strange, reason: str) -> None:
    net = Net()
    a, c = net.conv("a", net.x, 8), net.conv("c", net.x, 8)
    b = net.add("add", "s", ("a", a), ("b", net.conv("b", net.x, 8)))
    pruned = check(net.graph(strange(net, b), c), a=(1, 8, 8, 8), b=(1, 8, 8, 8), c=(1, 4, 8, 8))
    assert f"a, b ({reason})" in note_of(pruned)


def test_a_layer_in_a_body_stays() -> None:
    net = Net()
    x = net.conv("a", net.x, 4)
    body = Builder("body")
    body.tensors[x] = net.builder.tensors[x]
    body.inputs.append(x)
    w = body.stored("inner.w", (4, 4, 1, 1), FLOAT)
    inner = body.add("conv", [("x", x), ("w", w)], name="inner")
    kind = TensorType((1, 4, 8, 8), FLOAT)
    y = net.builder.opaque(
        LOOP, [("captures", x)], [kind], name="again", bodies=[Body("body", body.graph(list(inner)), 3)]
    )
    with pytest.raises(BadSpec, match="no layer whose channels can be pruned") as error:
        pruned_by(net.graph(y[0]), 50)
    assert "inner (it lies in a loop or a branch)" in error.value.hint


def test_inputs_and_outputs_keep_their_sizes() -> None:
    net = Net()
    graph = net.builder.graph([net.conv("a", net.x, 8), net.conv("b", net.conv("c", net.x, 6), 4)])
    pruned = check(graph, **{"a": (1, 8, 8, 8), "b": (1, 4, 8, 8), "c": (1, 3, 8, 8), "b.w": (4, 3, 1, 1)})
    assert "a, b (its channels are the network's outputs)" in note_of(pruned)


def test_records_of_a_run_are_dropped() -> None:
    net = Net()
    graph = net.graph(net.conv("a", net.x, 8))
    ran = replace(graph, allocations=(Allocation(4, 0, 1),), blocks=frozenset({"block"}), arena=Arena(reason=""))
    pruned = pruned_by(ran, 50)
    assert (pruned.allocations, pruned.blocks) == ((), frozenset({"block"}))
    assert any("eager memory is not known" in note for note in pruned.notes)
