"""Layers by the name of their kind or of a textbook network, with symbols by name."""

from __future__ import annotations

import pytest

from weighbridge import BadSpec
from weighbridge.calculators import KINDS, SYMBOLS, Conv, Depthwise, Linear, Operation, layer, named, preset

CONV3 = {"c_i": 256, "c_o": 384, "k": 3, "padding": 1, "h_o": 13, "w_o": 13}
SYMBOLS_OF = {
    "linear": {"c_i": 5, "c_o": 3},
    "conv": CONV3,
    "grouped": {**CONV3, "g": 2},
    "depthwise": {"c_i": 32, "k": 3, "h_o": 112},
    "transposed": {"c_i": 8, "c_o": 4, "k": 2, "stride": 2, "h_o": 28},
    "matmul": {"m": 3, "k": 5, "n": 7},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_what_it_is_called(kind: str) -> None:
    found = layer(named(kind, SYMBOLS_OF[kind]))
    assert found.kind == kind
    assert SYMBOLS_OF[kind].keys() <= found.symbols.keys() | {"bias"}
    for name in SYMBOLS_OF[kind]:
        assert name in KINDS[kind].symbols


@pytest.mark.parametrize("kind", KINDS)
def test_symbols_of_every_kind_are_explained_and_needed_ones_are_asked_for(kind: str) -> None:
    symbols = KINDS[kind].symbols
    assert set(symbols) - {"bias"} <= set(SYMBOLS)
    for needed in KINDS[kind].needs:
        others = {name: value for name, value in SYMBOLS_OF[kind].items() if name != needed}
        with pytest.raises(BadSpec, match="is missing") as caught:
            named(kind, others)
        assert caught.value.where == needed
    for other in set(SYMBOLS) - {*symbols, "bits"}:
        with pytest.raises(BadSpec, match=f"has no {other}") as caught:
            named(kind, {**SYMBOLS_OF[kind], other: 1})
        assert caught.value.where == other


def test_one_group_is_an_ordinary_convolution() -> None:
    assert layer(named("grouped", {**CONV3, "g": 1})).kind == "conv"
    assert layer(named("conv", {**CONV3, "g": 2})).kind == "grouped"


def test_bits_are_those_of_weights_and_activations() -> None:
    found = layer(named("conv", {**CONV3, "bits": 8}))
    assert (found.weight_dtype, found.activation_dtype) == ("int8", "int8")
    mixed = layer(named("conv", {**CONV3, "bits": 8, "weight_bits": 4}))
    assert (mixed.weight_dtype, mixed.activation_dtype) == ("int4", "int8")
    assert layer(named("matmul", {**SYMBOLS_OF["matmul"], "bits": 16})).activation_dtype == "float16"
    with pytest.raises(BadSpec) as caught:
        named("matmul", {**SYMBOLS_OF["matmul"], "weight_bits": 8})
    assert caught.value.where == "weight_bits"


def test_a_preset_is_the_layer_that_its_symbols_describe() -> None:
    assert layer(named("alexnet.conv3", {})) == layer(named("conv", CONV3))
    assert isinstance(preset("mobilenet_v2.block1.depthwise.conv"), Depthwise)
    assert isinstance(preset("alexnet.fc6"), Linear)
    assert isinstance(preset("alexnet.conv2"), Conv)
    assert isinstance(preset("alexnet.pool1"), Operation)


def test_symbols_beside_a_preset_take_the_place_of_its_own() -> None:
    found = layer(named("alexnet.conv3", {"n": 8, "bits": 8}))
    assert (found.macs, found.weight_bytes) == (8 * 149_520_384, 884_736)
    assert layer(named("alexnet.conv2", {"g": 1})).weights == 2 * 307_200
    assert layer(named("alexnet.conv3", {"bias": True})).biases == 384
    assert layer(named("mobilenet_v2.block1.depthwise.conv", {"c_i": 64})).weights == 64 * 9


def test_the_size_of_the_output_beside_a_preset() -> None:
    """The input follows; the side that is not given stays as it is."""
    found = layer(named("alexnet.conv3", {"h_o": 27}))
    assert (found.output_shape, found.input_shapes) == ((1, 384, 27, 13), ((1, 256, 27, 13),))
    assert layer(named("alexnet.conv1", {"h_i": 227, "w_i": 227})).output_shape == (1, 96, 56, 56)
    with pytest.raises(BadSpec) as caught:
        layer(named("alexnet.conv3", {"h_o": 27, "h_i": 27}))
    assert caught.value.where == "h_i"


def test_operations_have_widths_alone() -> None:
    pool = layer(named("alexnet.pool1", {"bits": 8}))
    assert (pool.input_bytes, pool.output_values, pool.macs) == (290_400, 69_984, 0)
    assert pool.work.compare == 8 * 69_984
    norm = layer(named("resnet18.bn1", {"activation_bits": 16}))
    assert (norm.parameters, norm.other_parameters, norm.activation_dtype) == (128, 128, "float16")
    with pytest.raises(BadSpec) as caught:
        named("alexnet.pool1", {"weight_bits": 4})
    assert caught.value.where == "weight_bits"
    with pytest.raises(BadSpec, match=r"alexnet\.pool1:batch=8") as caught:
        named("alexnet.pool1", {"n": 8})
    assert caught.value.where == "n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cnov", "there is no kind of layer 'cnov'; did you mean conv?"),
        ("alexnet", "alexnet is a network, not a layer; its layers are conv1, relu1"),
        ("alexnet:resolution=256.conv1", "write alexnet.conv1, and parameters behind it, as in alexnet.conv1:batch=8"),
        ("alexnte.conv3", "there is no textbook network 'alexnte'; did you mean alexnet"),
        ("alexnet.conv33", "alexnet has no layer 'conv33'; did you mean conv3"),
        ("alexnet.zzz", "alexnet has no layer 'zzz'; its layers are conv1, relu1"),
        ("alexnet.conv1:resolution=7", "resolution: must be a whole number from 63"),
        ("alexnet.conv1:reso=256", "reso"),
        ("alexnet.", "alexnet has no layer ''"),
        (".", "there is no textbook network ''"),
        ("", "there is no kind of layer ''"),
    ],
)
def test_names_that_do_not_exist(name: str, said: str) -> None:
    with pytest.raises(BadSpec) as caught:
        named(name, {})
    assert said in str(caught.value)
