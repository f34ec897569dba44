"""The layer calculator: its sizes are the source material's in every unit, and what is moved moves what it should."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from weighbridge.web.simulator import answered
from weighbridge.web.simulators.layer import layer

SIMULATOR = layer()


def shown(**state: object) -> dict[str, str]:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return {one.name: one.shown for one in said.readouts}


@pytest.mark.parametrize(("bits", "key"), [(8, "conv3_int8_kB"), (32, "conv3_fp32_kB")])
def test_conv3_of_alexnet_has_the_lectures_size(lecture: Mapping[str, Any], bits: int, key: str) -> None:
    kilobytes = lecture["alexnet_size"][key]
    found = shown(weight_bits=bits)
    assert found["parameter_kilobytes"] == f"{kilobytes:,.3f} kB"
    assert found["parameter_megabytes"] == f"{kilobytes / 1000:.6f} MB"
    assert found["parameter_bytes"].startswith(f"{int(kilobytes * 1000):,} B")
    assert found["parameter_bits"] == f"{int(kilobytes * 8000):,}"


@pytest.mark.parametrize(
    ("moved", "still"),
    [
        ({"h_o": 26}, {"parameters", "parameter_kilobytes", "weights"}),
        ({"n": 8}, {"parameters", "parameter_kilobytes", "weights"}),
        ({"weight_bits": 8}, {"parameters", "weights", "macs", "activation_bytes"}),
        ({"activation_bits": 8}, {"parameters", "parameter_bytes", "macs", "output_values"}),
        ({"bias": 1}, {"weights", "macs", "output_values"}),
    ],
)
def test_what_is_moved_moves_some_figures_and_not_others(moved: dict[str, int], still: set[str]) -> None:
    before, after = shown(), shown(**moved)
    assert {name for name in before if before[name] != after[name]}
    assert all(before[name] == after[name] for name in still)


def test_the_height_of_the_output_moves_macs_and_uses() -> None:
    before, after = shown(h_o=13), shown(h_o=26)
    changed = {name for name in before if before[name] != after[name]}
    assert {"macs", "flops", "uses_per_weight", "output_values"} <= changed
    assert not {"parameters", "weights", "parameter_bits"} & changed


def test_a_sentence_says_both_figures_and_what_lies_between() -> None:
    _, said = answered(SIMULATOR, [])
    assert said is not None
    assert said.sentences == ("884,736 parameters and 149,520,384 MACs: each weight is used 169.0 times",)
    _, said = answered(SIMULATOR, [("kind", "matmul")])
    assert said is not None
    assert said.sentences[0].startswith("0 parameters and ")


def test_no_meaning_offers_what_its_box_refuses() -> None:
    found, _ = answered(SIMULATOR, [("k", "1x7")])
    assert "k" in found.faults
    assert not [one.name for one in SIMULATOR.controls if "1x7" in one.meaning or "unless given" in one.meaning]


def test_a_number_is_taken_as_the_page_writes_it() -> None:
    assert shown(c_o="1,000") == shown(c_o="1_000") == shown(c_o="1e3") == shown(c_o=1000)


@pytest.mark.parametrize("text", ["-3", "0", "1e9999", "9" * 40, "1,0", "12,34"])
def test_an_absurd_symbol_is_said_beside_its_field(text: str) -> None:
    found, said = answered(SIMULATOR, [("c_o", text)])
    assert set(found.faults) == {"c_o"}
    assert found.faults["c_o"].startswith("must be a whole number from 1 to ")
    assert said is not None, "with the default in its place"
