from __future__ import annotations

import pytest

from tests.textbook.files import BLOCKS, PARAMETERS, layers
from weighbridge.graph import Graph, Role


def shapes(graph: Graph) -> dict[str, tuple[int, ...]]:
    return {tensor.id: tensor.shape for tensor in graph.stored()}


CONSTRUCTORS = {
    "op = 'conv', out = 8, kernel = 3": {"weight": (8, 3, 3, 3), "bias": (8,)},
    "op = 'conv', out = 6, kernel = [1, 5], groups = 3, bias = false": {"weight": (6, 1, 1, 5)},
    "op = 'conv', out = 8, kernel = 3, layout = 'channels_last', bias = false": {"weight": (8, 8, 3, 3)},
    "op = 'conv_transpose', out = 6, kernel = 2, stride = 2, groups = 3": {"weight": (3, 2, 2, 2), "bias": (6,)},
    "op = 'linear', out = 5": {"weight": (5, 8), "bias": (5,)},
    "op = 'batch_norm'": {"weight": (3,), "bias": (3,), "running_mean": (3,), "running_var": (3,)},
    "op = 'batch_norm', affine = false": {"running_mean": (3,), "running_var": (3,)},
    "op = 'layer_norm'": {"weight": (8,), "bias": (8,)},
    "op = 'layer_norm', axis = 1": {"weight": (3, 8, 8), "bias": (3, 8, 8)},
    "op = 'rms_norm'": {"weight": (8,)},
    "op = 'group_norm', groups = 3": {"weight": (3,), "bias": (3,)},
    "op = 'instance_norm'": {"weight": (3,), "bias": (3,)},
    "op = 'conv', weights = { w = [4, 3, 1, 1] }": {"w": (4, 3, 1, 1)},
    "op = 'prelu', weights = { slope = [3, 1, 1] }": {"slope": (3, 1, 1)},
}


@pytest.mark.parametrize(("line", "expected"), CONSTRUCTORS.items())
def test_learned_tensors_follow_from_a_few_numbers(load, line, expected):
    graph = load(layers(f"name = 'a', {line}"))
    assert shapes(graph) == {f"a.{name}": shape for name, shape in expected.items()}
    buffers = {tensor.id for tensor in graph.stored() if tensor.role is Role.BUFFER}
    assert buffers == {name for name in shapes(graph) if "running" in name}


def test_lookups_and_recurrent_layers(load):
    top = """
name = "words"
source = "a test"
inputs = [{ name = "ids", shape = [2, 7], dtype = "int64" }]
"""
    graph = load(
        layers(
            "name = 'embed', op = 'embedding', rows = 50, out = 16",
            "name = 'lstm', op = 'lstm', hidden = 4, directions = 2",
            "name = 'gru', op = 'gru', from = 'embed', hidden = 4, bias = false",
            top=top,
        )
    )
    assert shapes(graph) == {
        "embed.weight": (50, 16),
        "lstm.weight_ih": (2, 16, 16),
        "lstm.weight_hh": (2, 16, 4),
        "lstm.bias": (2, 32),
        "gru.weight_ih": (1, 12, 16),
        "gru.weight_hh": (1, 12, 4),
    }


def test_blocks_are_scopes(load):
    graph = load(
        layers(
            "name = 'stage', block = 'residual', repeat = 2, out = '8 if index == 0 else 16'",
            "name = 'more{index + 1}', block = 'residual', repeat = 'size - 1', out = 16, norm = false, kernel = 1",
            "name = 'joined', block = 'join', from = ['stage', 'more1.b']",
            "name = 'out', op = 'relu', from = 'stage.1.norm'",
            more='outputs = ["joined", "out"]\n' + BLOCKS,
            top=PARAMETERS,
        )
    )
    assert [(node.name, node.scope) for node in graph.nodes] == [
        ("stage.0.a", "stage.0"),
        ("stage.0.norm", "stage.0"),
        ("stage.0.b.conv", "stage.0.b"),
        ("stage.0.skip.conv", "stage.0.skip"),
        ("stage.0.add", "stage.0"),
        ("stage.1.a", "stage.1"),
        ("stage.1.norm", "stage.1"),
        ("stage.1.b.conv", "stage.1.b"),
        ("stage.1.skip.conv", "stage.1.skip"),
        ("stage.1.add", "stage.1"),
        ("more1.a", "more1"),
        ("more1.b.conv", "more1.b"),
        ("more1.add", "more1"),
        ("more2.a", "more2"),
        ("more2.b.conv", "more2.b"),
        ("more2.add", "more2"),
        ("joined.concat", "joined"),
        ("joined.mix.conv", "joined.mix"),
        ("out", ""),
    ]
    reads = {node.name: node.inputs for node in graph.nodes}
    # A layer that is left out hands on what it would have read.
    assert reads["more1.add"] == ("more1.b.conv", "stage.1.add")
    assert reads["more2.a"][0] == "more1.add"
    # joined.mix reads in_channels of its scope, that of its first input: 16.
    assert graph.tensors["joined.mix.conv"].shape == (1, 16, 8, 8)
    assert reads["joined.concat"] == ("stage.1.add", "more1.b.conv")
    assert graph.outputs == ("joined.mix.conv", "out")


def test_parameters_reach_blocks_and_shapes(load):
    text = layers(
        "name = 'a', block = 'residual', out = 4, kernel = 'size'",
        more=BLOCKS,
        top=PARAMETERS.replace("[1, 3, 8, 8]", "[1, 3, '8 * size', 8]"),
    )
    assert load(text, size=5).tensors["a.add"].shape == (1, 4, 40, 8)
    assert load(text, size="5").tensors["a.a.weight"].shape == (2, 3, 5, 5)


def test_repeating_no_time_hands_the_input_on(load):
    graph = load(layers("name = 'a', op = 'relu', repeat = 0", "name = 'b', op = 'relu', from = 'a'"))
    assert [node.inputs for node in graph.nodes] == [("x",)]


def test_text_attributes_and_words(load):
    text = layers(
        "name = 'a', op = 'conv', out = 4, kernel = 3, stride = 2, padding = 'same_upper'",
        "name = 'b', op = 'conv', out = 4, kernel = 3, padding = [0, 1, 2, 1]",
        "name = 'c', op = 'einsum', from = ['b', 'b'], equation = \"'ncij,ncjk->ncik'\"",
    )
    graph = load(text)
    assert graph.tensors["a"].shape == (1, 4, 4, 4)
    assert graph.tensors["b"].shape == (1, 4, 4, 4)
    assert graph.tensors["c"].shape == (1, 4, 4, 4)


def test_outputs_of_one_layer_and_shared_weights(load):
    graph = load(
        layers(
            "name = 'embed', op = 'linear', out = 8",
            "name = 'halves', op = 'split', axis = 3, sizes = [3, 5]",
            "name = 'right', op = 'relu', from = 'halves:1'",
            "name = 'again', op = 'linear', from = 'x', weights = { w = \"'embed.weight'\" }",
        )
    )
    assert graph.tensors["right"].shape == (1, 3, 8, 5)
    assert dict(graph.nodes[-1].operands) == {"x": "x", "w": "embed.weight"}
    assert set(shapes(graph)) == {"embed.weight", "embed.bias"}
