"""One layer from its symbols, against lecture.toml, textbook networks and networks of one layer written as TOML."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge import BadSpec, load, weigh
from weighbridge.calculators import (
    SYMBOLS,
    Conv,
    Depthwise,
    Layer,
    Linear,
    Matmul,
    Transposed,
    given_device,
    layer,
    preset,
)
from weighbridge.calculators.presets import layer_of
from weighbridge.counts import count
from weighbridge.devices.catalogue import find
from weighbridge.devices.device import PRECISIONS
from weighbridge.textbook import names


@pytest.fixture(scope="session")
def lecture(shared: Path) -> dict[str, dict[str, object]]:
    return tomllib.loads((shared / "facts" / "lecture.toml").read_text(encoding="utf-8"))


def test_every_layer_of_alexnet(lecture) -> None:
    stated = {name: value for name, value in lecture["alexnet_layers"].items() if isinstance(value, list)}
    assert len(stated) == 11
    for name, figures in stated.items():
        found = layer(preset(f"alexnet.{name}"))
        assert [found.weights, found.macs, found.output_values] == figures
        assert found.parameters == found.weights


def test_the_symbols_of_conv3_are_those_of_the_lecture(lecture) -> None:
    found = layer(Conv(c_i=256, c_o=384, k=3, h_o=13, w_o=13, weight_bits=8))
    assert found.weights == lecture["alexnet_conv3_weights"]["value"]
    assert found.weight_bytes == 1000 * Fraction(str(lecture["alexnet_size"]["conv3_int8_kB"]))
    wide = layer(Conv(c_i=256, c_o=384, k=3, h_o=13, w_o=13))
    assert wide.parameter_bytes == 1000 * Fraction(str(lecture["alexnet_size"]["conv3_fp32_kB"]))
    assert found.uses_per_weight == lecture["alexnet_totals"]["uses_per_weight"]["conv3"]
    assert layer(Linear(c_i=5, c_o=3)).weights == lecture["linear_5_to_3"]["value"]


def test_gemm_views_of_the_lecture() -> None:
    """m x n by an n-vector: m n MACs, each weight used once; g products of m = c_o/g, k = c_i/g k_h k_w, n = batch h_o w_o."""
    vector = layer(Linear(c_i=4096, c_o=1000))
    assert (vector.macs, vector.uses_per_weight, vector.gemm[0][:4]) == (4_096_000, 1, (1, 1000, 4096, 1))
    found = layer(Conv(c_i=96, c_o=256, k=(5, 3), g=2, h_o=27, w_o=20, n=3))
    assert found.gemm == ((2, 128, 48 * 15, 3 * 27 * 20, 96 * 15 * 3 * 27 * 20),)
    product = layer(Matmul(m=3, k=5, n=7))
    assert (product.macs, product.flops, product.gemm[0][:4]) == (105, 210, (1, 3, 5, 7))
    assert (product.parameters, product.uses_per_weight, product.input_values) == (0, None, 15 + 35)


def test_the_u_curve_of_the_lecture(lecture) -> None:
    conv1, conv3 = layer(preset("alexnet.conv1")), layer(preset("alexnet.conv3"))
    assert round(conv1.output_values / conv1.weights, 2) == lecture["u_curve"]["conv1_ratio"]
    assert round(conv3.weights / conv3.output_values, 1) == lecture["u_curve"]["conv3_ratio"]


@pytest.mark.parametrize("network", names())
def test_every_node_of_every_textbook_network(network: str) -> None:
    """What a preset counts is what the node counts in its network, but for the bias."""
    graph = load(network)
    for each, node in zip(graph.nodes, count(graph, graph).nodes, strict=True):
        found = layer(layer_of(each, graph))
        assert (found.macs, found.weights, found.uses_per_weight) == (node.macs, node.weights, node.uses_per_weight)
        assert found.output_values == _product(node.output)
        assert tuple((one.products, one.m, one.k, one.n, one.im2col_values) for one in found.gemm) == tuple(
            (one.groups, one.m, one.k, one.n, one.im2col_elements) for one in node.loops
        )
        biases = node.parameters - found.parameters
        assert biases in (0, found.symbols.get("c_o"))
        assert found.moved_bytes == node.read_bytes + node.write_bytes - 4 * biases


def _product(shape) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


def test_a_preset_takes_the_parameters_of_its_network() -> None:
    small, large = layer(preset("alexnet.conv1")), layer(preset("alexnet.conv1:resolution=256,batch=2"))
    assert large.weights == small.weights
    assert large.output_shape == (2, 96, 63, 63)
    assert layer(preset("alexnet.fc6:resolution=256")).weights == 51_380_224


SIZES = st.integers(1, 9)
PAIRS = st.one_of(st.integers(1, 3), st.tuples(st.integers(1, 3), st.integers(1, 3)))
COMMON = {"n": SIZES, "bias": st.booleans(), "weight_bits": st.integers(1, 64), "activation_bits": st.integers(1, 64)}


@st.composite
def windows(draw, kind: type) -> Conv | Depthwise | Transposed:
    """A layer with a kernel whose symbols fit each other."""
    dilation, k = draw(PAIRS), draw(PAIRS)
    reach = min(_both(dilation)) * (min(_both(k)) - 1)
    symbols = {name: draw(strategy) for name, strategy in COMMON.items()}
    symbols |= {"k": k, "dilation": dilation, "stride": draw(PAIRS), "padding": draw(st.integers(0, reach))}
    symbols |= {"h_i": draw(st.integers(7, 20)), "w_i": draw(st.integers(7, 20))}
    groups = draw(SIZES)
    if kind is Depthwise:
        return Depthwise(c_i=groups, c_o=groups * draw(SIZES), **symbols)
    return kind(c_i=groups * draw(SIZES), c_o=groups * draw(SIZES), g=groups, **symbols)


def _both(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


def as_network(folder: Path, shape: list[int], op: str, spec, **arguments: object):
    """A report on the network of one layer that says the same in TOML."""
    written = {"name": "layer", "op": op, "bias": spec.bias, **arguments}
    text = ", ".join(f"{key} = {json.dumps(value)}" for key, value in written.items())
    path = folder / "one.toml"
    path.write_text(
        f'name = "one"\nsource = "a test"\ninputs = [{{ name = "x", shape = {shape} }}]\nlayers = [{{ {text} }}]\n'
    )
    return weigh(path, weight_bits=spec.weight_bits, activation_bits=spec.activation_bits, on="toy", as_written=True)


def agree(found: Layer, report) -> None:
    (node,) = report.nodes
    facts = report.facts
    assert (found.weights, found.biases, found.parameters) == (facts.weights, facts.biases, facts.parameters)
    assert (found.parameter_bytes, found.weight_bytes) == (facts.parameter_bytes, facts.weight_bytes)
    assert (found.macs, found.flops, found.ops, found.work) == (facts.macs, facts.flops, facts.ops, facts.work)
    assert (found.activation_values, found.activation_bytes) == facts.activations[:2]
    assert (found.output_shape, found.output_bytes) == (node.output, node.output_bytes)
    assert found.moved_bytes == node.read_bytes + node.write_bytes
    time, estimate = found.on[0], report.on[0]
    assert time[5:9] == (
        estimate.nodes[0].compute_s,
        estimate.nodes[0].memory_s,
        estimate.nodes[0].time_s,
        estimate.nodes[0].bound,
    )
    assert found.intensity_ops_per_byte == estimate.nodes[0].intensity_ops_per_byte
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["macs"] == found.macs


def agrees_with_toml(folder: Path, spec: Conv | Depthwise | Transposed, op: str) -> None:
    found = layer(spec, [find("toy")])
    height, width = _both(spec.k)
    written = {name: list(_both(getattr(spec, name))) for name in ("stride", "dilation")}
    groups = spec.c_i if isinstance(spec, Depthwise) else spec.g
    shape = [spec.n, spec.c_i, spec.h_i, spec.w_i]
    more = {"padding": spec.padding, "groups": groups, "out": spec.c_o, "kernel": [height, width]}
    agree(found, as_network(folder, shape, op, spec, **written, **more))


@given(spec=windows(Conv))
def test_convolutions_against_networks(spec, tmp_path_factory) -> None:
    agrees_with_toml(tmp_path_factory.getbasetemp(), spec, "conv")


@given(spec=windows(Depthwise))
def test_depthwise_convolutions_against_networks(spec, tmp_path_factory) -> None:
    agrees_with_toml(tmp_path_factory.getbasetemp(), spec, "conv")


@given(spec=windows(Transposed))
def test_transposed_convolutions_against_networks(spec, tmp_path_factory) -> None:
    agrees_with_toml(tmp_path_factory.getbasetemp(), spec, "conv_transpose")


@given(spec=st.builds(Linear, c_i=st.integers(1, 99), c_o=st.integers(1, 99), **COMMON))
def test_linear_layers_against_networks(spec, tmp_path_factory) -> None:
    report = as_network(tmp_path_factory.getbasetemp(), [spec.n, spec.c_i], "linear", spec, out=spec.c_o)
    agree(layer(spec, [find("toy")]), report)


@given(spec=st.one_of(windows(Conv), windows(Depthwise), windows(Transposed)))
def test_the_size_of_the_output_stands_for_that_of_the_input(spec) -> None:
    """The input that follows makes the output, and no smaller one does."""
    whole = layer(spec)
    symbols = {field.name: getattr(spec, field.name) for field in fields(spec)}
    h_o, w_o = whole.symbols["h_o"], whole.symbols["w_o"]
    again = layer(type(spec)(**{**symbols, "h_i": None, "w_i": None, "h_o": h_o, "w_o": w_o}))
    assert (again.output_shape, again.macs, again.weights) == (whole.output_shape, whole.macs, whole.weights)
    for axis, name in ((2, "h_i"), (3, "w_i")):
        size = again.input_shapes[0][axis]
        assert size <= whole.input_shapes[0][axis]
        smaller = {**symbols, "h_i": again.symbols["h_i"], "w_i": again.symbols["w_i"], name: size - 1}
        if size > 1:
            try:
                assert layer(type(spec)(**smaller)).output_shape[axis] < whole.output_shape[axis]
            except BadSpec as error:  # the kernel no longer fits
                assert error.where in ("k", "padding")


def test_a_width_that_is_not_given_is_the_height() -> None:
    assert layer(Conv(c_i=1, c_o=1, k=3, h_o=5)).output_shape == (1, 1, 5, 5)
    assert layer(Conv(c_i=1, c_o=1, k=3, w_i=5)).input_shapes == ((1, 1, 5, 5),)


def test_padding_of_four_sides() -> None:
    found = layer(Conv(c_i=1, c_o=1, k=3, h_i=4, w_i=6, padding=(0, 1, 1, 2)))
    assert found.output_shape == (1, 1, 3, 7)
    assert layer(Conv(c_i=1, c_o=1, k=3, h_o=3, w_o=7, padding=(0, 1, 1, 2))).input_shapes == ((1, 1, 4, 6),)


def test_sizes_are_exact_in_bits_and_rounded_up_a_tensor() -> None:
    found = layer(Linear(c_i=3, c_o=3, bias=True, weight_bits=3, activation_bits=1))
    assert (found.parameter_bits, found.parameter_bytes, found.weight_bytes) == (27 + 96, 4 + 12, 4)
    assert (found.input_bytes, found.output_bytes, found.activation_bytes) == (1, 1, 2)


def test_a_layer_without_a_bias_says_so() -> None:
    assert layer(preset("alexnet.conv3")).notes == ("weights only: a bias would add 384 parameters",)
    assert layer(Linear(c_i=2, c_o=3, bias=True)).notes == ()


def test_an_input_that_could_be_larger_is_said_to_be_the_smallest() -> None:
    derived = layer(Conv(c_i=3, c_o=96, k=11, stride=4, padding=2, h_o=55, bias=True))
    assert derived.input_shapes == ((1, 3, 223, 223),)
    assert derived.notes[0].startswith("the input is the smallest that makes this output")
    assert layer(Conv(c_i=3, c_o=96, k=11, stride=4, padding=2, h_i=224, bias=True)).notes == ()
    assert layer(Conv(c_i=3, c_o=96, k=11, h_o=55, bias=True)).notes == ()


def test_times_on_rates_that_are_given() -> None:
    """T = max(operations / OPS, bytes / bandwidth), by hand."""
    spec = Linear(c_i=1000, c_o=1000, weight_bits=8, activation_bits=8)
    (time,) = layer(spec, [given_device(10**9, 10**9)]).on
    assert (time.compute_s, time.memory_s, time.bound) == (0.002, 0.001002, "compute")
    assert (time.time_s, time.ridge_ops_per_byte) == (0.002, pytest.approx(1.0))
    (slow,) = layer(spec, [given_device(4 * 10**9, 10**9)]).on
    assert (slow.time_s, slow.bound, slow.ridge_ops_per_byte) == (0.001002, "memory", pytest.approx(4.0))
    (half,) = layer(spec, [given_device(bandwidth_bytes_per_s=10**9)]).on
    assert (half.compute_s, half.time_s, half.bound) == (None, None, None)
    assert half.notes[0].startswith("no latency, as the dense peak rate at int8 is not known")


@pytest.mark.parametrize("bits", range(1, 65))
@pytest.mark.parametrize("activation_bits", [None, 3, 8])
def test_a_given_rate_holds_at_any_width(bits: int, activation_bits: int | None) -> None:
    """Also at those that no device has a name for, such as integers of 3 bits."""
    spec = Linear(c_i=1000, c_o=500, weight_bits=bits, activation_bits=activation_bits or bits)
    (time,) = layer(spec, [given_device(10**9, 10**12)]).on
    assert (time.compute_s, time.time_s, time.bound, time.peak_ops_per_s) == (0.001, 0.001, "compute", 10**9)
    assert (time.ridge_ops_per_byte, time.notes) == (pytest.approx(0.001), ())
    (none,) = layer(spec, [given_device(bandwidth_bytes_per_s=10**9)]).on
    assert (none.compute_s, none.time_s) == (None, None)


def test_no_rate_of_another_precision_is_taken_for_a_width_without_a_name() -> None:
    spec = Linear(c_i=1000, c_o=500, weight_bits=3, activation_bits=3)
    for name in ("toy", "a100", "stm32f746"):
        (time,) = layer(spec, [find(name)]).on
        rates = {peak.ops_per_s.value for peak in find(name).peaks}
        assert len(find(name).peaks) < len(PRECISIONS) or len(rates) > 1
        assert (time.compute_s, time.time_s) == (None, None)


@pytest.mark.parametrize("name", ["toy", "a100", "stm32f746", "raspberry-pi-5"])
def test_times_on_devices_are_those_of_the_network(name: str) -> None:
    device = find(name)
    for bits, precision in ((32, "float32"), (8, "int8")):
        spec = Conv(c_i=16, c_o=32, k=3, h_i=20, weight_bits=bits, activation_bits=bits)
        (time,) = layer(spec, [device]).on
        latency = weigh(spec.graph(), on=device, precision=precision).on[0].latency
        assert (time.compute_s, time.memory_s) == (latency.compute_s, latency.memory_s)
        assert (time.ridge_ops_per_byte, time.precision) == (latency.ridge_ops_per_byte, precision)
        assert time.verified == latency.verified


@pytest.mark.parametrize(
    "rates", [(0, None), (-1, None), (None, 0), (True, None), (1.5, 1), (None, 10**31), (None, None)]
)
def test_rates_that_are_none(rates) -> None:
    with pytest.raises(BadSpec):
        given_device(*rates)


def symbols_of(spec: type) -> list[str]:
    return [field.name for field in fields(spec) if field.name in SYMBOLS]


IMPOSSIBLE = {
    "zero": 0,
    "negative": -1,
    "too large": 10**18,
    "beyond all sense": 1 << 20_000,
    "float": 1.0,
    "nan": float("nan"),
    "text": "3",
    "truth": True,
    "none": None,
    "three": (1, 2, 3),
    "empty": (),
}


@pytest.mark.parametrize("value", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
@pytest.mark.parametrize("spec", [Linear, Conv, Depthwise, Transposed, Matmul])
def test_what_no_symbol_can_be(spec: type, value: object) -> None:
    """Every symbol of every kind refuses it, by its name; 0 where it may be, and None where it is not given."""
    good = {name: 4 for name in symbols_of(spec) if name in ("c_i", "c_o", "k", "m", "n")}
    for name in symbols_of(spec):
        default = next(field.default for field in fields(spec) if field.name == name)
        if (value is None and default is None) or (value == 0 and value is not False and SYMBOLS[name].minimum == 0):
            continue
        with pytest.raises(BadSpec) as caught:
            spec(**{**good, name: value})
        assert caught.value.where == name


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        (Conv(c_i=4, c_o=3, k=3, h_i=8, g=2), "g"),
        (Conv(c_i=3, c_o=4, k=3, h_i=8, g=2), "g"),
        (Conv(c_i=3, c_o=4, k=5, h_i=4), "k"),
        (Conv(c_i=3, c_o=4, k=3, h_i=4, dilation=2), "k"),
        (Conv(c_i=3, c_o=4, k=3, h_i=4, padding=3), "padding"),
        (Conv(c_i=3, c_o=4, k=(3, 1), h_i=4, padding=(0, 1)), "padding"),
        (Conv(c_i=3, c_o=4, k=3, h_o=1, padding=2), "h_o"),
        (Conv(c_i=3, c_o=4, k=3), "h_o"),
        (Conv(c_i=3, c_o=4, k=3, h_i=4, h_o=2), "h_i"),
        (Depthwise(c_i=3, c_o=4, k=3, h_i=4), "c_o"),
        (Transposed(c_i=3, c_o=4, k=3, h_i=4, g=3), "g"),
        (Transposed(c_i=3, c_o=4, k=3, h_i=1, padding=2), "padding"),
        (Transposed(c_i=3, c_o=4, k=3, h_i=4, output_padding=1), "output_padding"),
        (Transposed(c_i=3, c_o=4, k=3, h_o=4, stride=2), "h_o"),
        (Transposed(c_i=3, c_o=4, k=3, h_o=2), "h_o"),
        (Matmul(m=1, n=1, k=(2, 3)), "k"),
    ],
    ids=str,
)
def test_symbols_that_do_not_fit_each_other(spec, where: str) -> None:
    with pytest.raises(BadSpec) as caught:
        layer(spec)
    assert caught.value.where == where


def test_the_largest_symbols_are_still_counted() -> None:
    largest = {name: SYMBOLS[name].maximum for name in ("c_i", "c_o", "n", "k", "stride", "dilation", "h_o")}
    found = layer(Conv(**largest))
    assert found.weights == 10**9 * 10**9 * 10**16
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_a_layer_lies_where_it_has_room() -> None:
    """6,422,528 B of activations are too large for the SRAM of the chip: 40.14 ms through PSRAM at 160 MB/s."""
    board = find("esp32-s3-psram")
    (time,) = layer(Conv(c_i=64, c_o=64, k=3, h_i=224, padding=1, weight_bits=8, activation_bits=8), [board]).on
    assert time.memory_s == 6_422_528 / 160_000_000
    assert "the activations are placed in PSRAM: SRAM is 6,094,848 B too small for them" in time.notes
    (inside,) = layer(Linear(c_i=4096, c_o=1000, weight_bits=8, activation_bits=8), [board]).on
    assert inside.memory_s == 4_096_000 / 40_000_000
    assert not any("placed" in note for note in inside.notes)
