"""Model size: the figures are those of the report, and a larger image adds to nothing but a layer behind a flattened map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weighbridge
from weighbridge.web.controls import Choice
from weighbridge.web.simulator import Answer, answered
from weighbridge.web.simulators.model_size import model_size

SIMULATOR = model_size()


def networks() -> list[str]:
    (control,) = (one for one in SIMULATOR.controls if one.name == "network")
    assert isinstance(control, Choice)
    return list(control.choices)


def answer(**state: object) -> Answer:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def read(**state: object) -> dict[str, Any]:
    return {one.name: one.value for one in answer(**state).readouts}


def by_layer(**state: object) -> dict[str, int]:
    (table,) = answer(**state).tables
    return {row.cells[0]: int(row.cells[1].replace(",", "")) for row in table.rows}


def test_alexnet_has_the_lectures_sizes(lecture: Mapping[str, Any]) -> None:
    sizes, totals = lecture["alexnet_size"], lecture["alexnet_totals"]
    full, narrow, mixed = read(), read(bits=8), read(bits=4, mixed=1, first_bits=8, last_bits=8)
    assert full["weight_bytes"] / 1e6 == sizes["fp32_MB"]
    assert narrow["weight_bytes"] / 1e6 == sizes["int8_MB"]
    assert mixed["weight_bytes"] == sizes["mixed_first_last_8_rest_4_B"]
    assert full["weights"] == narrow["weights"] == mixed["weights"] == totals["weights"]
    assert (full["conv_weights"], full["linear_weights"]) == (totals["conv_weights"], totals["linear_weights"])
    assert full["parameters"] == totals["parameters_with_bias"]


def test_each_layer_of_alexnet_is_the_lectures(lecture: Mapping[str, Any]) -> None:
    table = {name: row[0] for name, row in lecture["alexnet_layers"].items() if isinstance(row, list) and row[0]}
    assert by_layer() == table


def test_conv3_has_the_lectures_bytes(lecture: Mapping[str, Any]) -> None:
    for bits, key in ((8, "conv3_int8_kB"), (32, "conv3_fp32_kB")):
        rows = {row["layer"]: row for row in answer(bits=bits).plots[0].rows}
        assert rows["conv3"]["weight_bytes"] / 1000 == lecture["alexnet_size"][key]


def test_a_larger_image_leaks_into_fc6_and_averaging_closes_the_leak(lecture: Mapping[str, Any]) -> None:
    leak = lecture["alexnet_totals"]["at_256_pixels"]
    large = read(resolution=256)
    assert (large["first_linear"], large["first_linear_inputs"]) == ("fc6", leak["fc6_inputs"])
    assert large["first_linear_weights"] == leak["fc6_weights"]
    assert large["conv_weights"] == read()["conv_weights"]
    assert by_layer(pool=1) == by_layer(pool=1, resolution=256) == by_layer(pool=1, resolution=512)


@pytest.mark.parametrize("network", networks())
def test_resolution_moves_the_layer_behind_a_flattened_map_alone(network: str) -> None:
    small, large = by_layer(network=network), by_layer(network=network, resolution=320)
    changed = {name for name in small if small[name] != large[name]}
    assert changed == ({"fc6"} if network in ("alexnet", "vgg16") else set())


@given(st.sampled_from(networks()), st.integers(1, 64), st.integers(1, 64), st.integers(1, 64))
@settings(max_examples=20, deadline=None)
def test_the_figures_are_those_of_the_report(network: str, rest: int, first: int, last: int) -> None:
    widths = [f"rest={rest}", f"first={first}", f"last={last}"]
    facts = weighbridge.weigh(network, weight_bits=widths).facts
    found = read(network=network, bits=rest, mixed=1, first_bits=first, last_bits=last)
    for name in ("weights", "weight_bytes", "parameters", "parameter_bytes"):
        assert found[name] == getattr(facts, name)


@given(st.integers(1, 64), st.integers(64, 512))
@settings(max_examples=20, deadline=None)
def test_the_size_is_the_sum_of_weights_times_their_width(bits: int, resolution: int) -> None:
    layers = by_layer(resolution=resolution)
    assert read(bits=bits, resolution=resolution)["weight_bytes"] == sum(-(-one * bits // 8) for one in layers.values())


@pytest.mark.parametrize("network", [name for name in networks() if name not in ("alexnet", "vgg16")])
def test_where_nothing_is_flattened_the_switch_says_so(network: str) -> None:
    found, said = answered(SIMULATOR, [("network", network), ("pool", "1")])
    assert said is None
    assert set(found.faults) == {"pool"}


def test_deep_compression_keeps_the_lectures_weights(lecture: Mapping[str, Any]) -> None:
    found = read(compressed=1)
    assert found["kept"] == lecture["deep_compression_alexnet"]["kept_weights"]
    assert found["published_mb"] == 6.9
    assert found["bytes"] < found["before_huffman_bytes"] < found["dense_bytes"]


def test_a_lower_bound_of_a_compressed_size_is_marked() -> None:
    shown = {one.name: one for one in answer(compressed=1).readouts}
    for name in ("before_huffman_bytes", "bytes"):
        assert shown[name].shown.startswith(">= ")
        assert shown[name].meaning.startswith("at most ")
    assert shown["published_mb"].group != shown["bytes"].group


def test_controls_that_mean_nothing_say_so() -> None:
    assert answer().unused == ("first_bits", "last_bits")
    assert answer(mixed=1).unused == ()
    assert answer(mixed=1, network="resnet18", compressed=1).unused == ("compressed",)
