"""Model size: the figures are those of the report, and a larger image adds to nothing but a layer behind a flattened map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weighbridge
from weighbridge.web.controls import Choice, Number
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
    table = answer(**state).tables[0]
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
    for step in (1, 2, 3):
        assert read(step=step)["kept"] == lecture["deep_compression_alexnet"]["kept_weights"]
    assert read(step=3)["published_mb"] == 6.9
    assert read(step=1)["published_pruned_ratio"] == 9


def test_each_step_of_deep_compression_is_the_cores() -> None:
    from weighbridge.compressing import compress

    coded = compress("alexnet", plan="deep-compression")
    pruned = compress("alexnet", keep=[f"{one.name}={one.kept_share}" for one in coded.layers])
    sizes = [
        coded.total.dense_bytes,
        pruned.total.before_huffman_bytes,
        coded.total.before_huffman_bytes,
        coded.total.bytes,
    ]
    assert [read(step=step)["compressed_bytes"] for step in range(4)] == sizes == sorted(sizes, reverse=True)
    assert [read(step=step)["saved_bytes"] for step in (1, 2, 3)] == [sizes[0] - one for one in sizes[1:]]
    assert [row["bytes"] for row in answer(step=2).plots[1].rows] == sizes


@pytest.mark.parametrize(("step", "column"), [(2, 5), (3, 6)])
def test_the_published_sizes_of_layers_stand_beside_ours(lecture: Mapping[str, Any], step: int, column: int) -> None:
    """Which says how far ours are away from them: our lower bounds are below or at most a percent point above."""
    rows = {row.cells[0]: row.cells for row in answer(step=step).tables[1].rows}
    for name, cells in rows.items():
        published = lecture["deep_compression_alexnet"][name][column]
        assert float(cells[-1]) == published
        assert abs(float(cells[-2].removeprefix(">= ")) - published) < 1


def test_a_lower_bound_of_a_compressed_size_is_marked() -> None:
    for step in (1, 2, 3):
        shown = {one.name: one for one in answer(step=step).readouts}
        assert shown["compressed_bytes"].shown.startswith(">= ")
        assert shown["compressed_bytes"].meaning.startswith("at most ")
        assert shown["saved_bytes"].shown.startswith("<= ")
    assert not {one.name: one for one in answer().readouts}["compressed_bytes"].shown.startswith(">=")


@pytest.mark.parametrize("widths", ["conv2=4 fc6=2", "conv2=4, fc6=2", "fc6=2   conv2=4;"])
def test_single_layers_have_the_widths_that_are_written(widths: str) -> None:
    facts = weighbridge.weigh("alexnet", weight_bits=["rest=8", "conv2=4", "fc6=2"]).facts
    assert read(bits=8, widths=widths)["weight_bytes"] == facts.weight_bytes
    bits = {row.cells[0]: row.cells[2] for row in answer(bits=8, widths=widths).tables[0].rows}
    assert bits == {**dict.fromkeys(bits, "8"), "conv2": "4", "fc6": "2"}


def test_one_layer_by_itself_has_its_width() -> None:
    assert read(bits=8, layer=6, layer_bits=4) == read(bits=8, widths="fc6=4")
    assert read(bits=8, layer=54, layer_bits=4) == read(bits=8, layer=8, layer_bits=4) == read(bits=8, widths="last=4")
    assert "layer_bits" in answer().unused
    assert "layer_bits" not in answer(layer=1).unused


def test_what_is_written_overrides_the_controls() -> None:
    bits = [row.cells[2] for row in answer(bits=4, mixed=1, layer=2, widths="first=1 conv2=3").tables[0].rows]
    assert bits == ["1", "3", "4", "4", "4", "4", "4", "8"]


@pytest.mark.parametrize(
    ("widths", "said"),
    [
        ("conv9=4", "conv5"),
        ("conv2=65", "1 to 64"),
        ("conv2=x", "1 to 64"),
        ("=4", "names no layer"),
        ("fc6", "1 to 64"),
    ],
)
def test_a_width_that_cannot_be_is_said_beside_the_line(widths: str, said: str) -> None:
    found, none = answered(SIMULATOR, [("widths", widths)])
    assert none is None
    assert set(found.faults) == {"widths"}
    assert said in found.faults["widths"]


def test_controls_that_mean_nothing_say_so() -> None:
    assert answer().unused == ("first_bits", "last_bits", "layer_bits")
    assert answer(mixed=1, layer=1).unused == ()
    assert answer(mixed=1, layer=1, network="resnet18", step=2).unused == ("step",)


def test_the_slider_of_layers_ends_at_the_last_of_the_longest_network() -> None:
    (control,) = (one for one in SIMULATOR.controls if one.name == "layer")
    assert isinstance(control, Number)
    assert control.maximum == max(len(by_layer(network=name)) for name in networks())
