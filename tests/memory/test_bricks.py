"""The policy that has feature maps in bricks of 16 channels, against what Arm's Vela 5.2.0 allocates.

The peaks of single operators are what ethos-u-vela 5.2.0 prints as "Allocation Peak Tensor Size" for Ethos-U55 with 128 MACs a cycle,
``--disable-cascading --disable-buffering``, of an 8-bit TensorFlow Lite model of the same layers.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from weighbridge import load, weigh
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import UNKNOWN, Attribute, Graph, TensorType
from weighbridge.memory.bricks import brick_profiles
from weighbridge.memory.lifetimes import lifetimes
from weighbridge.memory.records import NHCWB16
from weighbridge.operators.table import OPERATORS
from weighbridge.passes import deploy

INT8 = DTYPES["int8"]
QUANTISED: dict[str, Attribute] = {"quantisation": "in_tensors", "output_dtype": "int8"}
POOL: dict[str, Attribute] = {"layout": "channels_last", "kernel": (2, 2), "stride": 2}
AROUND, BEHIND = (0, 1, 1, 0, 0, 1, 1, 0), (0, 0, 0, 0, 0, 1, 1, 0)


class Layers(Builder):
    """Convolutions in 8 bits with the channels last, between an input ``x`` of 8 x 8 x 4 and a result."""

    def __init__(self, channels: int = 4) -> None:
        super().__init__("layers")
        self.input("x", (1, 8, 8, channels), INT8)

    def conv(self, x: str, c_o: int, taps: int = 1, **given: Attribute) -> str:
        shape = self.tensors[x].shape or ()
        groups = given.get("groups", 1)
        c_i = shape[3] // groups if isinstance(groups, int) else 0
        name = self.unused("w")
        depthwise = groups == shape[3] and groups != 1
        self.stored(name, (1, taps, taps, c_o) if depthwise else (c_o, taps, taps, c_i), INT8)
        layout = "1_spatial_o" if depthwise else "o_spatial_i"
        attributes = {**QUANTISED, "layout": "channels_last", "weight_layout": layout, "padding": "same_upper", **given}
        return self.add("conv", [("x", x), ("w", name)], attributes)[0]

    def then(self, operator: str, *operands: str, **attributes: Attribute) -> str:
        slots = {"concat": ("xs", "xs"), "add": ("a", "b"), "mul": ("a", "b")}.get(operator, ("x",))
        return self.add(operator, list(zip(slots, operands, strict=True)), attributes)[0]

    def made(self, result: str) -> Graph:
        return self.graph([result])


def peak(graph: Graph) -> int | str | None:
    deployed = deploy(graph)
    found = brick_profiles(deployed, lifetimes(deployed, OPERATORS), OPERATORS)
    if isinstance(found, str):
        return found
    known = [size for size in found.bytes if size is not None]
    return max(known) if len(known) == len(found.bytes) else None


def _between(middle: Callable[[Layers, str], str], channels: int = 20) -> Callable[[Layers], str]:
    """A convolution, something, and a convolution whose result is the network's."""
    return lambda layers: layers.conv(middle(layers, layers.conv("x", channels)), 4)


def _two(middle: Callable[[Layers, str, str], str], first: int, second: int) -> Callable[[Layers], str]:
    def network(layers: Layers) -> str:
        one = layers.conv("x", first)
        return layers.conv(middle(layers, one, layers.conv("x", second)), 4)

    return network


def _residual(layers: Layers) -> str:
    one = layers.conv("x", 20)
    other = layers.conv(layers.conv(one, 20, 3), 20, 3)
    return layers.conv(layers.then("add", one, other), 4)


def _dense(layers: Layers) -> str:
    one = layers.conv("x", 16)
    two = layers.then("concat", one, layers.conv(one, 16, 3), axis=3)
    three = layers.then("concat", two, layers.conv(two, 16, 3), axis=3)
    return layers.conv(three, 4)


def _gated(layers: Layers, x: str) -> str:
    return layers.then("add", x, layers.then("relu", x))


def _padded(layers: Layers, x: str, pads: tuple[int, ...] = AROUND) -> str:
    return layers.then("pad", x, pads=pads)


def _halves(axis: int) -> Callable[[Layers, str], str]:
    def middle(layers: Layers, x: str) -> str:
        one, other = layers.add("split", [("x", x)], {"axis": axis, "parts": 2})
        return layers.then("add", one, other)

    return middle


def _fully_connected(layers: Layers) -> str:
    flat = layers.then("reshape", layers.conv("x", 20), shape=(1, 1280))
    layers.stored("dense", (10, 1280), INT8)
    return layers.add("linear", [("x", flat), ("w", "dense")], QUANTISED)[0]


@pytest.mark.parametrize(
    ("name", "network", "allocated"),
    [
        ("max pool", _between(lambda layers, x: layers.then("max_pool", x, **POOL)), 2560),
        ("depthwise", _between(lambda layers, x: layers.conv(x, 20, 3, groups=20)), 4096),
        ("stride 2", _between(lambda layers, x: layers.conv(x, 8, 3, stride=2)), 2304),
        ("stride 4", _between(lambda layers, x: layers.conv(x, 8, 3, stride=4)), 1536),
        ("groups", _between(lambda layers, x: layers.conv(x, 8, 3, groups=4)), 1792),
        ("two results a channel", _between(lambda layers, x: layers.conv(x, 8, 3, groups=4), 4), 1536),
        ("six results of one channel", _between(lambda layers, x: layers.conv(x, 6, 3), 1), 2048),
        ("add", _two(lambda layers, one, other: layers.then("add", one, other), 20, 20), 4352),
        ("residual", _residual, 6144),
        ("square", _between(lambda layers, x: layers.then("mul", x, x)), 4096),
        ("a function of what is read elsewhere", _between(_gated), 4096),
        ("a function merged into a layer", _between(lambda layers, x: layers.then("sigmoid", x)), 2304),
        ("requantised", _between(lambda layers, x: layers.then("requantize", x)), 2304),
        ("mean of places", _between(lambda layers, x: layers.then("reduce_mean", x, axes=(1, 2))), 2304),
        ("mean of channels", _between(lambda layers, x: layers.then("reduce_mean", x, axes=(3,))), 1536),
        ("four channels without a function", _between(lambda layers, x: layers.conv(x, 4), 8), 2048),
        ("a function of four channels", _between(lambda layers, x: layers.then("relu", x), 4), 512),
        (
            "a sum of seven channels",
            _two(lambda layers, one, other: layers.then("add", one, other), 7, 7),
            448 * 2 + 256,
        ),
        ("join at a brick", _two(lambda layers, *two: layers.then("concat", *two, axis=3), 16, 32), 3328),
        ("join within a brick", _two(lambda layers, *two: layers.then("concat", *two, axis=3), 20, 12), 2304),
        ("join rows", _two(lambda layers, *two: layers.then("concat", *two, axis=1), 20, 20), 4608),
        ("join what is read elsewhere", _dense, 5120),
        ("parts of channels", _between(_halves(3), 24), 2560),
        ("parts of whole bricks", _between(_halves(3), 32), 3072),
        (
            "some rows",
            _between(lambda layers, x: layers.then("slice", x, starts=(2,), ends=(6,), axes=(1,)), 32),
            2304,
        ),
        ("padding that a convolution of one tap cannot do", _between(_padded), 3600),
        (
            "padding of a convolution",
            lambda layers: layers.conv(_padded(layers, layers.conv("x", 20)), 8, 3, padding=0),
            2560,
        ),
        (
            "padding of a depthwise convolution",
            _between(lambda layers, x: layers.conv(_padded(layers, x, BEHIND), 20, 3, groups=20, stride=2, padding=0)),
            2560,
        ),
        (
            "padding of a pool",
            _between(lambda layers, x: layers.then("max_pool", _padded(layers, x), **{**POOL, "kernel": (3, 3)})),
            3712,
        ),
        ("reshape of rows", _between(lambda layers, x: layers.then("reshape", x, shape=(1, 64, 1, 20))), 1536),
        ("reshape of maps", _between(lambda layers, x: layers.then("reshape", x, shape=(8, 1, 8, 20))), 2304),
        ("flattened", _fully_connected, 1536),
        ("transpose", _between(lambda layers, x: layers.then("transpose", x, permutation=(0, 2, 1, 3))), 2560),
        (
            "nearest neighbour",
            _between(lambda layers, x: layers.then("resize", x, sizes=(16, 16), axes=(1, 2), mode="nearest")),
            10_240,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_peaks_are_what_vela_allocates(name: str, network: Callable[[Layers], str], allocated: int) -> None:
    layers = Layers()
    assert peak(layers.made(network(layers))) == allocated, name


ALLOCATED = {
    "mlperf_tiny/kws_ref_model.tflite": 16_000,
    "mlperf_tiny/model_ToyCar_quant_fullint.tflite": 3_200,
    "mlperf_tiny/model_ToyCar_quant_fullint_micro_intio.tflite": 768,
    "mlperf_tiny/pretrainedResnet_large_int8.tflite": 147_456,
    "mlperf_tiny/pretrainedResnet_quant.tflite": 49_152,
    "mlperf_tiny/str_ww_ref_model.tflite": 6_656,
    "mlperf_tiny/vww_96_int8.tflite": 73_728,
    "tflm/hello_world_int8.tflite": 32,
    "tflm/micro_speech_quantized.tflite": 5_968,
    "tflm/person_detect.tflite": 73_728,
    "tflm_seanet_int16x8/conv16.tflite": 10_624,
}
"""Bytes that ethos-u-vela 5.2.0 allocates in SRAM for these files, cascades and staged weights off."""


def test_peaks_of_real_files_are_what_vela_allocates(shared: Path) -> None:
    root = shared / "data" / "tflite"
    assert {name: peak(load(root / name)) for name in ALLOCATED} == ALLOCATED


def test_what_vela_allocates_by_default_is_more_by_the_weights_that_it_stages(shared: Path) -> None:
    """All rows but two, in which it runs two layers as a cascade and saves more than it stages."""
    with (shared / "facts" / "vela.csv").open() as file:
        rows = list(csv.DictReader(file))
    ours = {name: peak(load(shared / "data" / name)) for name in {row["file"] for row in rows}}
    more = {
        (row["file"].rpartition("/")[2], row["accelerator"]): 1024 * float(row["sram_KiB"]) - _known(ours[row["file"]])
        for row in rows
    }
    less = {key: size for key, size in more.items() if size < 0}
    micro_speech = "micro_speech_quantized.tflite"
    assert less == {(micro_speech, "Ethos_U65_256"): -928, (micro_speech, "Ethos_U85_256"): -736}
    assert sum(size == 0 for size in more.values()) == 7


def _known(size: int | str | None) -> int:
    assert isinstance(size, int)
    return size


def test_mobilenet_v2_is_the_published_figure_less_the_staged_weights() -> None:
    """1,509,728 B (Vela 5.2, U55) are 1,505,280 B of feature maps and 4,448 B of weights on their way."""
    assert weigh("mobilenet_v2", precision="int8").memory.peak_bytes[NHCWB16] == 1_505_280


def _image(layout: str) -> Graph:
    """Two convolutions of 20 and 40 channels, a pool between and a residual, in either layout."""
    last = layout == "channels_last"
    builder = Builder(layout)
    builder.input("x", (1, 16, 12, 3) if last else (1, 3, 16, 12), INT8)
    weight = "o_spatial_i" if last else "oi_spatial"

    def conv(x: str, name: str, c_i: int, c_o: int) -> str:
        builder.stored(name, (c_o, 3, 3, c_i) if last else (c_o, c_i, 3, 3), INT8)
        attributes: dict[str, Attribute] = {**QUANTISED, "layout": layout, "weight_layout": weight, "padding": 1}
        return builder.add("conv", [("x", x), ("w", name)], attributes)[0]

    first = conv("x", "w1", 3, 20)
    (pooled,) = builder.add("max_pool", [("x", first)], {"layout": layout, "kernel": (2, 2), "stride": 2})
    second = conv(pooled, "w2", 20, 20)
    (added,) = builder.add("add", [("a", pooled), ("b", second)])
    return builder.graph([conv(added, "w3", 20, 40)])


def test_a_layout_changes_nothing() -> None:
    """The first map and the pooled one, 32 channels for 20; the result is in rows and larger than both behind it."""
    expected = 16 * 12 * 32 + 8 * 6 * 32
    assert peak(_image("channels_first")) == peak(_image("channels_last")) == expected


def test_what_vela_would_not_take_or_takes_apart_has_no_figure() -> None:
    builder = Builder("float")
    builder.input("x", (1, 8, 8, 4), DTYPES["float32"])
    builder.stored("w", (8, 1, 1, 4), DTYPES["float32"])
    attributes: dict[str, Attribute] = {"layout": "channels_last", "weight_layout": "o_spatial_i"}
    found = peak(builder.graph(builder.add("conv", [("x", "x"), ("w", "w")], attributes)))
    assert found == "Vela takes integers, not floating point"
    builder = Builder("product")
    for name in ("x", "w"):
        builder.input(name, (2, 4, 4), INT8)
    product = builder.graph(builder.add("matmul", [("x", "x"), ("w", "w")], QUANTISED))
    assert peak(product) == "what Vela makes of matmul is not modelled"
    layers = Layers()
    foreign = layers.opaque(UNKNOWN, [("x", layers.conv("x", 8))], [TensorType((1, 8), INT8)], origin="CUSTOM")
    assert peak(layers.graph(foreign)) == "what Vela makes of CUSTOM is not modelled"
    builder = Builder("no layer")
    builder.input("x", (1, 8), INT8)
    assert peak(builder.graph(builder.add("add", [("a", "x"), ("b", "x")]))) == "there is no layer that Vela would take"


def test_where_nobody_says_which_axis_holds_channels_there_is_no_figure() -> None:
    builder = Builder("unsaid")
    builder.input("x", (1, 4, 8, 8), INT8)
    builder.stored("w", (8, 4, 1, 1), INT8)
    (made,) = builder.add("conv", [("x", "x"), ("w", "w")], QUANTISED)
    (shaped,) = builder.add("reshape", [("x", made)], {"shape": (2, 4, 8, 8)})
    (named,) = builder.add("relu", [("x", shaped)])
    found = peak(builder.graph(builder.add("add", [("a", named), ("b", named)])))
    assert found == f"which axis of {shaped} holds channels is not known"


def test_a_size_that_nobody_knows_makes_the_peak_unknown() -> None:
    builder = Builder("open")
    builder.input("x", None, INT8)
    builder.stored("w", (8, 4), INT8)
    assert peak(builder.graph(builder.add("linear", [("x", "x"), ("w", "w")], QUANTISED))) is None
