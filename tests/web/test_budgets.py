"""Two budgets: the figures are those of the report on the board, and each verdict that of its memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weighbridge
from weighbridge.web.controls import Choice
from weighbridge.web.simulator import Answer, answered
from weighbridge.web.simulators.budgets import budgets

SIMULATOR = budgets()
CONTROLS = {one.name: one for one in SIMULATOR.controls}
NETWORKS = ("resnet18", "mobilenet_v2", "mcunet_in4")


def answer(**state: object) -> Answer:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def read(**state: object) -> dict[str, Any]:
    return {one.name: one.value for one in answer(**state).readouts}


def blocks(**state: object) -> list[Mapping[str, Any]]:
    return next(list(one.rows) for one in answer(**state).plots if one.name == "blocks")


def test_the_networks_are_the_lectures(lecture: Mapping[str, Any]) -> None:
    said, found = lecture["imagenet_on_mcu"], read()
    assert found["resnet18.peak_bytes"] == said["resnet18_peak_B"]
    assert found["mobilenet_v2.peak_bytes"] == said["mobilenetv2_peak_B"]
    assert found["mobilenet_v2.parameters"] == said["mobilenetv2_075_parameters"]
    assert round(found["mobilenet_v2.peak_bytes"] / found["resnet18.peak_bytes"], 2) == said["ratio"]
    assert {found[f"{name}.{memory}_verdict"] for name in NETWORKS for memory in ("flash", "sram")} == {"does not fit"}


def test_the_smaller_network_fits_the_larger_board() -> None:
    """The one that was made for 512 kB; of the two others neither."""
    said = answer(on="stm32h743")
    assert said.sentences[0].endswith("of the three MCUNet-in4 fits")
    found = read(on="stm32h743")
    assert found["mcunet_in4.sram_verdict"] == found["mcunet_in4.flash_verdict"] == "fits"


def test_five_blocks_are_above_256_kib(lecture: Mapping[str, Any]) -> None:
    table = lecture["mobilenetv2_blocks"]
    rows = blocks(width=1)
    assert [row["alive_bytes"] / 1024 for row in rows] == table["KiB"]
    assert [row["verdict"] == "does not fit" for row in rows] == [place < table["over_256_KiB"] for place in range(18)]
    for width in (0.75, 1):
        assert read(width=width)["blocks_over"] == table["over_256_KiB"]
    assert read(width=1)["most_bytes"] == table["block2_B"]


@given(st.integers(1, 2000))
def test_blocks_above_a_line_are_those_that_need_more(line_kib: int) -> None:
    rows = blocks(line_kib=line_kib)
    assert read(line_kib=line_kib)["blocks_over"] == sum(row["alive_bytes"] > line_kib * 1024 for row in rows)


def test_width_moves_the_weights_and_resolution_the_activations() -> None:
    start, thin, small = read(), read(width=0.5), read(resolution=96)
    for changed in (thin, small):
        for name in ("resnet18", "mcunet_in4"):
            assert changed[f"{name}.peak_bytes"] == start[f"{name}.peak_bytes"]
    assert thin["mobilenet_v2.stored_bytes"] < start["mobilenet_v2.stored_bytes"]
    assert small["mobilenet_v2.stored_bytes"] == start["mobilenet_v2.stored_bytes"]
    assert small["mobilenet_v2.peak_bytes"] < start["mobilenet_v2.peak_bytes"]


def choices(name: str) -> list[str]:
    control = CONTROLS[name]
    assert isinstance(control, Choice)
    return list(control.choices)


@pytest.mark.parametrize("board", choices("on"))
def test_the_figures_are_those_of_the_report_on_each_board(board: str) -> None:
    is_alone = not any("left out here" in note for note in answer(on=board).notes)
    for name in NETWORKS:
        source = "mobilenet_v2:width=0.75" if name == "mobilenet_v2" else name
        report = weighbridge.weigh(source, precision="int8", on=board)
        regions = report.on[0].fit.regions
        flash, sram = (next(one for one in regions if what in one.holds) for what in ("weights", "activations"))
        for policy in choices("policy"):
            found = read(on=board, policy=policy)
            assert found[f"{name}.stored_bytes"] == flash.needed_bytes
            assert found[f"{name}.peak_bytes"] == report.memory.peak_bytes[policy]
            if policy == "live" and is_alone:
                assert found[f"{name}.flash_verdict"] == flash.verdict
                assert found[f"{name}.sram_verdict"] == sram.verdict


def test_of_several_memories_the_first_is_meant_and_the_others_are_named() -> None:
    found = read(on="esp32-s3-psram")
    assert found["mcunet_in4.sram_verdict"] == "does not fit"
    assert any(
        "PSRAM of esp32-s3-psram could hold activations too" in note for note in answer(on="esp32-s3-psram").notes
    )
    assert not any("left out here" in note for note in answer(on="stm32f746").notes)


@given(st.sampled_from(choices("on")), st.sampled_from(choices("policy")), st.integers(1, 32))
@settings(max_examples=30, deadline=None)
def test_a_verdict_is_of_what_is_needed_and_what_there_is(board: str, policy: str, bits: int) -> None:
    for row in next(one.rows for one in answer(on=board, policy=policy, bits=bits).plots if one.name == "budgets"):
        assert row["verdict"] == ("fits" if row["needed_bytes"] <= row["available_bytes"] else "does not fit")
