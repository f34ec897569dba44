"""What the lecture counts and weighs, as the pages of layers and sizes show it, literally."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.browser.lecture_shown import Shown, State

__all__ = ["COUNTS"]


def _of_layers(column: str, place: int, texts: Mapping[str, str]) -> tuple[Shown, ...]:
    return tuple(
        Shown(f"alexnet_layers.{layer}[{place}]", (layer, column), text, text.replace(",", ""))
        for layer, text in texts.items()
    )


def _of_compression(place: int, stated: Mapping[str, str]) -> tuple[Shown, ...]:
    """The page writes a published number without a nought behind its point."""
    return tuple(
        Shown(f"deep_compression_alexnet.{layer}[{place}]", (layer, "published, %"), one.removesuffix(".0"), one)
        for layer, one in stated.items()
    )


_WEIGHTS: Final = {
    "conv1": "34,848",
    "pool1": "0",
    "conv2": "307,200",
    "pool2": "0",
    "conv3": "884,736",
    "conv4": "663,552",
    "conv5": "442,368",
    "pool5": "0",
    "fc6": "37,748,736",
    "fc7": "16,777,216",
    "fc8": "4,096,000",
}
_MACS: Final = {
    "conv1": "105,415,200",
    "pool1": "0",
    "conv2": "223,948,800",
    "pool2": "0",
    "conv3": "149,520,384",
    "conv4": "112,140,288",
    "conv5": "74,760,192",
    "pool5": "0",
    "fc6": "37,748,736",
    "fc7": "16,777,216",
    "fc8": "4,096,000",
}
_OUTPUTS: Final = {
    "conv1": "290,400",
    "pool1": "69,984",
    "conv2": "186,624",
    "pool2": "43,264",
    "conv3": "64,896",
    "conv4": "64,896",
    "conv5": "43,264",
    "pool5": "9,216",
    "fc6": "4,096",
    "fc7": "4,096",
    "fc8": "1,000",
}
_BEFORE_CODING: Final = {
    "conv1": "32.6",
    "conv2": "14.5",
    "conv3": "13.1",
    "conv4": "14.1",
    "conv5": "14.0",
    "fc6": "3.0",
    "fc7": "3.0",
    "fc8": "7.3",
}
_CODED: Final = {
    "conv1": "20.53",
    "conv2": "9.43",
    "conv3": "8.44",
    "conv4": "9.11",
    "conv5": "9.43",
    "fc6": "2.39",
    "fc7": "2.46",
    "fc8": "5.85",
}

COUNTS: Final = (
    State("arrows", {"stage": "vector"}, (Shown("linear_5_to_3.value", "weights", "15", "15"),)),
    State("arrows", {"batch": "8"}, (Shown("linear_5_to_3.value", "weights", "15", "15"),)),
    State(
        "arrows",
        {"stage": "vector", "inputs": "4", "outputs": "2"},
        (Shown("gemm.matrix_vector", "sentence", "2 x 4 arrows are a matrix of 8 weights, each used once", None),),
    ),
    State(
        "arrows",
        {"stage": "neuron", "inputs": "4"},
        (
            Shown("gemm.neuron", "macs", "4", None),
            Shown("gemm.neuron", "sentence", "4 inputs: 4 weights and 4 MACs", None),
        ),
    ),
    State("arrows", {"batch": "4"}, (Shown("gemm.matrix_matrix", "gemm", "3 x 5 by 5 x 4", None),), "?batch=3"),
    State(
        "layer",
        {"h_o": "26"},
        (
            Shown("alexnet_conv3_weights.value", "parameters", "884,736", "884736"),
            Shown(
                "alexnet_size.conv3_fp32_kB",
                "parameter_bytes",
                "3,538,944 B = 3.539 MB = 3.375 MiB",
                "3538.944",
                "1000",
            ),
        ),
    ),
    State(
        "layer",
        {"weight_bits": "8", "h_o": "13"},
        (
            Shown(
                "alexnet_size.conv3_int8_kB", "parameter_bytes", "884,736 B = 884.7 kB = 864.0 KiB", "884.736", "1000"
            ),
            Shown("alexnet_totals.uses_per_weight.conv3", "uses_per_weight", "169.0", "169"),
            Shown("gemm.conv_as_gemm", "gemm", "384 x 2,304 by 2,304 x 169", None),
        ),
        "?h_o=26",
    ),
    State(
        "layer",
        {"c_i": "3", "c_o": "96", "k": "11", "h_o": "55", "stride": "4", "padding": "2"},
        (Shown("alexnet_totals.uses_per_weight.conv1", "uses_per_weight", "3,025", "3025"),),
    ),
    State(
        "layer",
        {"kind": "linear", "c_i": "9216", "c_o": "4096"},
        (Shown("alexnet_totals.uses_per_weight.fc6", "uses_per_weight", "1.000", "1"),),
    ),
    State(
        "table",
        {"column": "macs", "shown": "1"},
        (Shown("alexnet_totals.macs", "total", "724,406,816", "724406816"), *_of_layers("MACs", 1, _MACS)),
    ),
    State("table", {"shown": "1"}, _of_layers("weights", 0, _WEIGHTS)),
    State("table", {"column": "activations", "shown": "1"}, _of_layers("activations", 2, _OUTPUTS)),
    State(
        "size",
        {"bits": "32"},
        (
            Shown("alexnet_totals.weights", "weights", "60,954,656", "60954656"),
            Shown("alexnet_totals.conv_weights", "conv_weights", "2,332,704", "2332704"),
            Shown("alexnet_totals.linear_weights", "linear_weights", "58,621,952", "58621952"),
            Shown("alexnet_totals.parameters_with_bias", "parameters", "60,965,224", "60965224"),
            Shown("alexnet_size.fp32_MB", "weight_bytes", "243,818,624 B = 243.8 MB = 232.5 MiB", "243.818624", "1e6"),
        ),
        "?bits=16",
    ),
    State(
        "size",
        {"bits": "8"},
        (Shown("alexnet_size.int8_MB", "weight_bytes", "60,954,656 B = 60.95 MB = 58.13 MiB", "60.954656", "1e6"),),
    ),
    State(
        "size",
        {"bits": "4", "mixed": "1"},
        (
            Shown(
                "alexnet_size.mixed_first_last_8_rest_4_B",
                "weight_bytes",
                "32,542,752 B = 32.54 MB = 31.04 MiB",
                "32542752",
            ),
            Shown("alexnet_size.mixed", ("conv1", "bits each"), "8", None),
            Shown("alexnet_size.mixed", ("fc6", "bits each"), "4", None),
        ),
    ),
    State(
        "size",
        {"resolution": "256"},
        (
            Shown("alexnet_totals.at_256_pixels.fc6_inputs", "first_linear_inputs", "12,544", "12544"),
            Shown("alexnet_totals.at_256_pixels.fc6_weights", "first_linear_weights", "51,380,224", "51380224"),
        ),
    ),
    State(
        "size",
        {"step": "1"},
        (
            Shown("deep_compression_alexnet.kept_weights", "kept", "6,796,192", "6796192"),
            Shown("alexnet_size.deep_compression", "published_pruned_ratio", "9.000 times", None),
        ),
    ),
    State("size", {"step": "2"}, _of_compression(5, _BEFORE_CODING)),
    State(
        "size",
        {"step": "3"},
        (
            *_of_compression(6, _CODED),
            Shown("alexnet_size.deep_compression", "published_mb", "6.9 MB", None),
        ),
    ),
    State(
        "size",
        {"step": "0"},
        (Shown("alexnet_size.deep_compression", "published_dense_mb", "240 MB", None),),
        "?step=1",
    ),
    State(
        "size",
        {"resolution": "448"},
        (
            Shown("resolution.what", "conv_weights", "2,332,704", None),
            Shown("resolution.what", "first_linear_inputs", "43,264", None),
        ),
    ),
    State(
        "size",
        {"resolution": "448", "pool": "1"},
        (Shown("resolution.what", "first_linear_inputs", "256", None),),
    ),
    State(
        "separable",
        {"c_o": "64", "k": "3"},
        (
            Shown("depthwise_separable.what", "macs_ratio", "0.1267 = 73/576", None),
            Shown("depthwise_separable.what", "weights_ratio", "0.1267 = 73/576", None),
            Shown("depthwise_separable.what", "sentence", "1/64 + 1/3² = 0.1267", None),
        ),
        "?c_o=8&k=5",
    ),
)
