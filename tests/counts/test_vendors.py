"""What the tools of chip vendors would print, against sums written out by hand from published reports and printed figures."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from weighbridge import load
from weighbridge.builder import Builder
from weighbridge.counts import ConventionFacts
from weighbridge.counts.conventions import CONVENTIONS, by_convention
from weighbridge.dtypes import DTYPES
from weighbridge.graph import UNKNOWN, Attribute, Graph, TensorType

ST, VELA = CONVENTIONS["st"], CONVENTIONS["vela"]
INT8, FLOAT = DTYPES["int8"], DTYPES["float32"]
Shapes = Mapping[str, tuple[int, ...]]
Attributes = Mapping[str, Attribute]
QUANTISED: Attributes = {"quantisation": "in_tensors", "output_dtype": "int8"}
LAST: Attributes = {"layout": "channels_last"}
PERMUTED = (0, 2, 1)
STORED = ("w", "b", "scale", "bias")


def one(operator: str, operands: Shapes, attributes: Attributes | None = None, dtype: str = "int8") -> Graph:
    """A graph of one node; weights, scales and biases are stored, and what is an operand twice is an input twice."""
    builder = Builder("one")
    names = []
    for name, shape in operands.items():
        operand = name.rstrip("2")
        kind = DTYPES["int32"] if operand == "b" and dtype == "int8" else DTYPES[dtype]
        if operand in STORED:
            builder.stored(name, shape, kind)
        else:
            builder.input(name, shape, kind)
        names.append((operand, name))
    return builder.graph(builder.add(operator, names, attributes))


CONV: Shapes = {"x": (1, 8, 8, 3), "w": (16, 3, 3, 3), "b": (16,)}
CONV_ATTRIBUTES: Attributes = {**QUANTISED, **LAST, "weight_layout": "o_spatial_i", "padding": "same_upper"}
DEPTHWISE: Shapes = {"x": (1, 8, 8, 16), "w": (1, 3, 3, 16), "b": (16,)}
DEPTHWISE_ATTRIBUTES: Attributes = {**CONV_ATTRIBUTES, "weight_layout": "1_spatial_o", "groups": 16}
STRETCHED: Shapes = {"x": (1, 4, 4, 6), "w": (5, 3, 3, 6)}
STRETCHED_ATTRIBUTES: Attributes = {
    **QUANTISED,
    **LAST,
    "weight_layout": "o_spatial_i",
    "stride": 2,
    "padding": "same_upper",
}
POOL: Attributes = {**LAST, "kernel": (2, 2), "stride": 2}


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "dtype", "macc"),
    [
        # once for the whole layer 16 more, whether the model has a bias or not
        ("conv", CONV, CONV_ATTRIBUTES, "int8", 64 * 16 * 27 + 16),
        ("conv", {**CONV, "b": (16,)}, CONV_ATTRIBUTES, "int8", 64 * 16 * 27 + 16),
        ("conv", DEPTHWISE, DEPTHWISE_ATTRIBUTES, "int8", 64 * 16 * 9 + 16),
        ("linear", {"x": (5, 7), "w": (3, 7), "b": (3,)}, QUANTISED, "int8", 5 * 7 * 3 + 3),
        ("matmul", {"x": (1, 2), "w": (2, 128)}, {}, "float32", 2 * 128 + 128),
        # the report has 409,601 for one place of 64 channels stretched to 80 values by 80 taps, stride 40
        (
            "conv_transpose",
            {"x": (1, 64, 1), "w": (64, 1, 80)},
            {"stride": 40, "layout": "channels_first"},
            "float32",
            409_601,
        ),
        ("add", {"a": (1, 4, 4, 8), "b2": (1, 4, 4, 8)}, {}, "float32", 128),
        ("average_pool", {"x": (1, 8, 8, 5)}, POOL, "int8", 4 * 16 * 5),
        ("max_pool", {"x": (1, 8, 8, 5)}, POOL, "int8", 4 * 16 * 5),
        ("global_average_pool", {"x": (1, 8, 8, 5)}, LAST, "int8", 64 * 5),
        ("reduce_mean", {"x": (1, 8, 8, 5)}, {"axes": (1, 2)}, "int8", 64 * 5),
        # a mean over features is a sum and, for each row, a scale and a bias
        ("reduce_mean", {"x": (1, 32, 256)}, {"axes": (2,)}, "float32", 8192 + 64),
        ("softmax", {"x": (1, 3)}, {}, "int8", 45),
        ("relu", {"x": (1, 10)}, {}, "float32", 10),
        ("clip", {"x": (1, 10)}, {"low": 0.0, "high": 6.0}, "float32", 20),
        ("sigmoid", {"x": (1, 10)}, {}, "float32", 100),
        ("sigmoid", {"x": (1, 10)}, {}, "int8", 10),
        ("sqrt", {"x": (1, 10)}, {}, "float32", 120),
        ("transpose", {"x": (4, 32, 64)}, {"permutation": PERMUTED}, "int8", 4096),
        ("transpose", {"x": (4, 1, 64)}, {"permutation": PERMUTED}, "int8", 0),
        ("transpose", {"x": (4, 8, 8)}, {"permutation": PERMUTED}, "int8", 128),
        ("quantize", {"x": (1, 10)}, {"dtype": "int8"}, "float32", 20),
        ("requantize", {"x": (1, 128, 128, 3)}, {"dtype": "int8"}, "uint8", 98_304),
        ("pad", {"x": (1, 8, 8, 5)}, {"pads": (0, 1, 1, 0, 0, 1, 1, 0)}, "int8", 0),
        ("resize", {"x": (1, 5, 4, 4)}, {"sizes": (8, 8), "axes": (2, 3), "mode": "nearest"}, "int8", 0),
    ],
    ids=str,
)
def test_st_counts_an_operator_as_its_reports_do(
    operator: str, operands: Shapes, attributes: Attributes, dtype: str, macc: int
) -> None:
    found = by_convention(_renamed(operator, operands, attributes, dtype), ST)
    assert (found.macs, found.activations, found.exact, found.uncounted) == (macc, None, True, ())


def _renamed(operator: str, operands: Shapes, attributes: Attributes, dtype: str) -> Graph:
    """``one``, where the two operands of an addition are inputs, which ``b`` is not elsewhere."""
    if operator not in ("add", "sub", "mul", "div"):
        return one(operator, operands, attributes, dtype)
    builder = Builder("one")
    for name, shape in operands.items():
        builder.input(name, shape, DTYPES[dtype])
    return builder.graph(builder.add(operator, [(name.rstrip("2"), name) for name in operands], attributes))


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "dtype"),
    [
        ("tanh", {"x": (1, 10)}, {}, "int8"),
        ("layer_norm", {"x": (1, 4, 8)}, {}, "float32"),
        ("resize", {"x": (1, 5, 4, 4)}, {"sizes": (8, 8), "axes": (2, 3), "mode": "linear"}, "int8"),
        ("matmul", {"x": (3, 4, 5), "w": (3, 5, 6)}, {}, "float32"),
    ],
    ids=str,
)
def test_what_no_report_has_st_does_not_count(
    operator: str, operands: Shapes, attributes: Attributes, dtype: str
) -> None:
    found = by_convention(one(operator, operands, attributes, dtype), ST)
    assert (found.macs, found.exact, len(found.uncounted)) == (0, False, 1)


def _conv_then(function: str, attributes: Attributes, dtype: str) -> ConventionFacts:
    builder = Builder("layer")
    kind = DTYPES[dtype]
    quantised = (
        CONV_ATTRIBUTES if dtype == "int8" else {**CONV_ATTRIBUTES, "quantisation": "by_operands", "output_dtype": ""}
    )
    builder.input("x", (1, 8, 8, 3), kind)
    builder.stored("w", (16, 3, 3, 3), kind)
    (made,) = builder.add("conv", [("x", "x"), ("w", "w")], quantised)
    return by_convention(builder.graph(builder.add(function, [("x", made)], attributes)), ST)


def test_a_function_merged_into_a_layer_costs_st_nothing_in_integers_and_its_own_in_floating_point() -> None:
    layer = 64 * 16 * 27 + 16
    assert _conv_then("relu", {}, "int8").macs == layer
    assert _conv_then("relu", {}, "float32").macs == layer + 64 * 16
    assert _conv_then("clip", {"low": 0.0, "high": 6.0}, "float32").macs == layer + 2 * 64 * 16
    assert _conv_then("sigmoid", {}, "int8").macs == layer + 64 * 16


def test_weights_of_st_have_four_bytes_for_each_output_channel_of_a_layer() -> None:
    """Also where the model has no bias, as ST gives every layer one."""
    assert by_convention(one("conv", CONV, CONV_ATTRIBUTES), ST).weight_bytes == 16 * 27 + 4 * 16
    without = {name: shape for name, shape in CONV.items() if name != "b"}
    assert by_convention(one("conv", without, CONV_ATTRIBUTES), ST).weight_bytes == 16 * 27 + 4 * 16
    dense: Shapes = {"x": (1, 2), "w": (2, 128)}
    assert by_convention(one("matmul", dense, {}, "float32"), ST).weight_bytes == 4 * (256 + 128)


def test_batch_normalisation_is_folded_before_a_compiler_counts() -> None:
    builder = Builder("folded")
    builder.input("x", (1, 3, 8, 8), FLOAT)
    builder.stored("w", (16, 3, 3, 3), FLOAT)
    for name in ("scale", "bias", "mean", "variance"):
        builder.stored(name, (16,), FLOAT)
    (made,) = builder.add("conv", [("x", "x"), ("w", "w")], {"padding": 1})
    operands = [("x", made), *((name, name) for name in ("scale", "bias", "mean", "variance"))]
    found = by_convention(builder.graph(builder.add("batch_norm", operands)), ST)
    assert (found.macs, found.weight_bytes) == (64 * 16 * 27 + 16, 4 * (16 * 27 + 16))


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "dtype", "macs"),
    [
        ("conv", CONV, CONV_ATTRIBUTES, "int8", 64 * 16 * 27),
        ("conv", DEPTHWISE, DEPTHWISE_ATTRIBUTES, "int8", 64 * 16 * 9),
        # 8 x 8 results of 5 channels, each over 9 taps of 6 channels, most of them zeros
        ("conv_transpose", STRETCHED, STRETCHED_ATTRIBUTES, "int8", 64 * 5 * 9 * 6),
        ("linear", {"x": (5, 24), "w": (10, 24)}, QUANTISED, "int8", 1200),
        ("average_pool", {"x": (1, 8, 8, 20)}, POOL, "int8", 1280),
        ("max_pool", {"x": (1, 8, 8, 20)}, POOL, "int8", 1280),
        ("reduce_mean", {"x": (1, 96, 96, 20)}, {"axes": (1, 2)}, "int8", 184_320),
        ("softmax", {"x": (1, 8, 8, 20)}, {}, "int8", 2560),
        ("relu", {"x": (1, 8, 8, 20)}, {}, "int8", 1280),
        ("sigmoid", {"x": (1, 8, 8, 20)}, {}, "int8", 1280),
        ("abs", {"x": (1, 8, 8, 20)}, {}, "int8", 0),
        ("leaky_relu", {"x": (1, 8, 8, 20)}, {}, "int8", 1280),
        ("leaky_relu", {"x": (1, 8, 8, 20)}, {}, "int16", 0),
        ("add", {"a": (1, 4, 4, 8), "b2": (1, 4, 4, 8)}, {}, "int8", 0),
        ("transpose", {"x": (4, 32, 64)}, {"permutation": PERMUTED}, "int8", 0),
        ("quantize", {"x": (1, 10)}, {"dtype": "int8"}, "float32", 0),
        ("requantize", {"x": (1, 8, 8, 20)}, {}, "int8", 1280),
        ("slice", {"x": (1, 8, 8, 5)}, {"starts": (0,), "ends": (4,), "axes": (1,)}, "int8", 4 * 8 * 5),
    ],
    ids=str,
)
def test_vela_counts_an_operator_as_it_prints_it(
    operator: str, operands: Shapes, attributes: Attributes, dtype: str, macs: int
) -> None:
    """Figures that Vela 5.2.0 prints for such an operator, alone or between two convolutions, for Ethos-U55."""
    found = by_convention(_renamed(operator, operands, attributes, dtype), VELA)
    assert (found.macs, found.activations, found.weight_bytes) == (macs, None, None)
    assert (found.exact, found.uncounted) == (True, ())


def _layers() -> tuple[Builder, str]:
    """A convolution of 4 x 20 products at 64 places, in 8 bits; the builder and what the convolution makes."""
    builder = Builder("layers")
    builder.input("x", (1, 8, 8, 4), INT8)
    return builder, _point(builder, "x", 4, 20)


def _point(builder: Builder, x: str, c_i: int, c_o: int) -> str:
    name = builder.unused("w")
    builder.stored(name, (c_o, 1, 1, c_i), INT8)
    attributes = {**CONV_ATTRIBUTES, "padding": 0}
    return builder.add("conv", [("x", x), ("w", name)], attributes)[0]


LAYER = 64 * 4 * 20


def test_vela_merges_a_function_into_the_operator_before_it_if_nothing_else_reads_that() -> None:
    builder, made = _layers()
    (merged,) = builder.add("sigmoid", [("x", made)])
    assert by_convention(builder.graph([merged]), VELA).macs == LAYER
    builder, made = _layers()
    (apart,) = builder.add("relu", [("x", made)])
    outputs = builder.add("add", [("a", made), ("b", apart)])
    assert by_convention(builder.graph(outputs), VELA).macs == LAYER + 64 * 20


def test_vela_merges_no_function_of_fewer_than_eight_channels() -> None:
    for channels, apart in ((4, 64 * 4), (8, 0)):
        builder = Builder("few")
        builder.input("x", (1, 8, 8, 4), INT8)
        (made,) = builder.add("relu", [("x", _point(builder, "x", 4, channels))])
        assert by_convention(builder.graph([made]), VELA).macs == 64 * 4 * channels + apart
    # what is no more than 16 values stays as it is
    builder = Builder("little")
    builder.input("x", (1, 2, 2, 4), INT8)
    outputs = builder.add("relu", [("x", _point(builder, "x", 4, 4))])
    assert by_convention(builder.graph(outputs), VELA).macs == 4 * 16


def test_vela_looks_the_gate_of_silu_up_apart() -> None:
    builder, made = _layers()
    (gate,) = builder.add("sigmoid", [("x", made)])
    outputs = builder.add("mul", [("a", made), ("b", gate)])
    assert by_convention(builder.graph(outputs), VELA).macs == LAYER + 64 * 20


def test_vela_copies_only_what_is_not_written_in_its_place() -> None:
    builder, made = _layers()
    other = _point(builder, "x", 4, 12)
    joined = builder.add("concat", [("xs", made), ("xs", other)], {"axis": 3})
    assert by_convention(builder.graph(joined), VELA).macs == 64 * 4 * 32
    builder, made = _layers()
    after = _point(builder, made, 20, 20)
    joined = builder.add("concat", [("xs", made), ("xs", after)], {"axis": 3})
    assert by_convention(builder.graph(joined), VELA).macs == LAYER + 64 * 400 + 64 * 20


def test_padding_costs_vela_nothing_where_a_convolution_takes_it_over_and_else_the_borders() -> None:
    padding: Attributes = {"pads": (0, 1, 1, 0, 0, 1, 1, 0)}
    builder, made = _layers()
    (padded,) = builder.add("pad", [("x", made)], padding)
    builder.stored("taps", (8, 3, 3, 20), INT8)
    outputs = builder.add("conv", [("x", padded), ("w", "taps")], {**CONV_ATTRIBUTES, "padding": 0})
    assert by_convention(builder.graph(outputs), VELA).macs == LAYER + 64 * 9 * 160
    # a window of one place cannot reach over a border of one
    builder, made = _layers()
    (padded,) = builder.add("pad", [("x", made)], padding)
    borders = 4 * 10 * 20
    assert by_convention(builder.graph([_point(builder, padded, 20, 4)]), VELA).macs == LAYER + borders + 100 * 80
    builder, made = _layers()
    (padded,) = builder.add("pad", [("x", made)], padding)
    found = by_convention(builder.graph(builder.add("max_pool", [("x", padded)], POOL)), VELA)
    assert (found.macs, found.exact) == (LAYER + borders + 25 * 20 * 4, True)
    # what comes into the network is copied
    alone = one("pad", {"x": (1, 8, 8, 5)}, padding)
    assert by_convention(alone, VELA).macs == 4 * 10 * 5 + 64 * 5


@pytest.mark.parametrize("name", ["st", "vela"])
def test_a_contraction_without_a_rule_is_named(name: str) -> None:
    recurrent = one("lstm", {"x": (5, 1, 3), "w": (1, 8, 3), "r": (1, 8, 2)}, None, "float32")
    found = by_convention(recurrent, CONVENTIONS[name])
    assert [reason.operator for reason in found.uncounted] == ["lstm"]
    assert not found.exact
    builder = Builder("unknown")
    builder.input("x", (1, 4), INT8)
    outputs = builder.opaque(UNKNOWN, [("x", "x")], [TensorType((1, 4), INT8)], origin="CUSTOM")
    assert not by_convention(builder.graph(outputs), CONVENTIONS[name]).exact


@pytest.mark.parametrize("network", ["streaming_wakeword", "person_detect", "keyword_spotting"])
def test_published_reports_of_st(network: str, shared: Path) -> None:
    with (shared / "facts" / "published.toml").open("rb") as file:
        published = tomllib.load(file)["st_edge_ai"][network]
    found = by_convention(load(shared / "data" / published["file"]), ST)
    assert (found.macs, found.weight_bytes) == (published["macc"], published["weight_bytes"])
    assert (found.exact, found.uncounted) == (True, ())


SPARSE = {
    "tflite/mlperf_tiny/kws_ref_model.tflite": 160_000,
    "tflite/mlperf_tiny/vww_96_int8.tflite": 1_032_192,
    "tflite/tflm/micro_speech_quantized.tflite": 160_000,
    "tflite/tflm/person_detect.tflite": 82_944,
}
"""For Ethos-U85 Vela counts half of the products of a layer whose weights have two zeros in four, which it sees in their values."""


def test_vela_prints_the_same(shared: Path) -> None:
    """All rows for U55 and U65; for U85 all but those of layers whose weights happen to be sparse."""
    with (shared / "facts" / "vela.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 40
    figures = {name: by_convention(load(shared / "data" / name), VELA) for name in {row["file"] for row in rows}}
    assert all(found.exact for found in figures.values())
    for row in rows:
        sparse = SPARSE.get(row["file"], 0) if "U85" in row["accelerator"] else 0
        assert figures[row["file"]].macs - sparse == int(row["macs_as_vela_counts"]), row


def test_a_function_without_a_rule_leaves_its_layer_counted() -> None:
    found = _conv_then("tanh", {}, "int8")
    assert found.macs == 64 * 16 * 27 + 16
    assert [(one.operator, one.reason) for one in found.uncounted] == [("tanh", "no report has a tanh of such values")]


BLOCKS = ((6, 8, 2, 2), (6, 16, 3, 2), (6, 24, 4, 2), (6, 32, 3, 1), (6, 56, 3, 2), (6, 112, 1, 1))
"""Expansion, channels, repeats and first stride of MobileNetV2's inverted residuals at a width of 0.35."""


def test_a_published_report_of_a_whole_network() -> None:
    """ST Edge AI Core 2.1 on mobilenet_v2_0.35_128_fft_int8.tflite, which takes uint8 and gives one probability in float32.

    The report (nammannam/GR1_MobileNetV2_Person_Validation_STM32F429ZI on GitHub) has 19,094,660 MACC, 411,492 B of weights and
    390,369 parameters.
    """
    builder = Builder("mobilenet_v2")
    builder.input("image", (1, 128, 128, 3), DTYPES["uint8"])
    (x,) = builder.add("quantize", [("x", "image")], {"dtype": "int8"})
    x = _mobile(builder, _mobile(builder, _mobile(builder, x, 16, 2, 3), 16, 1, 3, depthwise=True), 8, clipped=False)
    for expansion, channels, repeats, stride in BLOCKS:
        for repeat in range(repeats):
            wide = (builder.tensors[x].shape or ())[3] * expansion
            y = _mobile(builder, _mobile(builder, x, wide), wide, 1 if repeat else stride, 3, depthwise=True)
            y = _mobile(builder, y, channels, clipped=False)
            x = builder.add("add", [("a", x), ("b", y)])[0] if repeat else y
    (x,) = builder.add("reduce_mean", [("x", _mobile(builder, x, 1280))], {"axes": (1, 2), "keep_dims": False})
    builder.stored("dense", (1, 1280), INT8)
    builder.stored("dense.bias", (1,), DTYPES["int32"])
    (x,) = builder.add("linear", [("x", x), ("w", "dense"), ("b", "dense.bias")], QUANTISED)
    (x,) = builder.add("sigmoid", [("x", x)])
    found = by_convention(builder.graph(builder.add("dequantize", [("x", x)], {"dtype": "float32"})), ST)
    assert (found.macs, found.weight_bytes, found.parameters) == (19_094_660, 411_492, 390_369)
    assert (found.exact, found.uncounted) == (True, ())


def _mobile(
    builder: Builder, x: str, c_o: int, stride: int = 1, taps: int = 1, *, depthwise: bool = False, clipped: bool = True
) -> str:
    """A convolution with a bias, of c_o channels, and a ReLU6 behind it if it is ``clipped``."""
    c_i, name = (builder.tensors[x].shape or ())[3], builder.unused("w")
    builder.stored(name, (1, taps, taps, c_o) if depthwise else (c_o, taps, taps, c_i), INT8)
    builder.stored(f"{name}.bias", (c_o,), DTYPES["int32"])
    attributes = {**(DEPTHWISE_ATTRIBUTES if depthwise else CONV_ATTRIBUTES), "stride": stride}
    attributes["groups"] = c_o if depthwise else 1
    (made,) = builder.add("conv", [("x", x), ("w", name), ("b", f"{name}.bias")], attributes)
    return builder.add("clip", [("x", made)], {"low": 0.0, "high": 6.0})[0] if clipped else made
