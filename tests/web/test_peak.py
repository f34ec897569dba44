"""The peak sweep: what is alive at each step is what the plan says, and the verdict is that of the peak and the room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weighbridge
from weighbridge.devices.catalogue import find
from weighbridge.textbook import names
from weighbridge.web.controls import Choice, Number
from weighbridge.web.simulator import Simulator, answered
from weighbridge.web.simulators.peak import peak

SIMULATOR = peak()


def read(**state: object) -> dict[str, object]:
    """The readouts of a state by their names."""
    return {one.name: one.value for one in answer(**state).readouts}


def answer(**state: object):
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def control(simulator: Simulator, name: str):
    return next(one for one in simulator.controls if one.name == name)


def test_the_steps_of_alexnet_are_the_lectures(lecture: Mapping[str, Any]) -> None:
    totals = lecture["alexnet_totals"]
    conv1, pool1 = read(step=1), read(step=2)
    assert (conv1["node"], conv1["alive_bytes"]) == ("conv1", totals["activations_peak"])
    assert (pool1["node"], pool1["alive_bytes"]) == ("pool1", totals["activations_at_pool1"])
    assert pool1["running_peak_bytes"] == pool1["peak_bytes"] == totals["activations_peak"]
    assert pool1["running_peak_node"] == "conv1"


def test_the_image_is_gone_at_pool1() -> None:
    (conv1,), (pool1,) = answer(step=1).tables, answer(step=2).tables
    assert [row.cells[0] for row in conv1.rows] == ["image", "relu1"]
    assert "image" not in [row.cells[0] for row in pool1.rows]


def test_mobilenet_has_the_lectures_peaks_with_and_without_depthwise_in_place(lecture: Mapping[str, Any]) -> None:
    blocks = lecture["mobilenetv2_blocks"]
    assert read(network="mobilenet_v2", policy="pair_in_place")["peak_bytes"] == blocks["block2_B"]
    assert read(network="mobilenet_v2", policy="pair")["peak_bytes"] == blocks["plain_in_plus_out_B"]


@pytest.mark.parametrize("network", names())
def test_each_step_is_the_plans_under_each_policy(network: str) -> None:
    report = weighbridge.weigh(network, precision="int8")
    policies = control(SIMULATOR, "policy")
    assert isinstance(policies, Choice)
    for policy in policies.choices:
        profile = report.memory.profile[policy]
        for place, alive in enumerate(profile):
            found = read(network=network, policy=policy, step=place + 1)
            assert (found["node"], found["alive_bytes"]) == (report.nodes[place].name, alive)
            assert found["running_peak_bytes"] == max(profile[: place + 1])
        assert found["running_peak_bytes"] == found["peak_bytes"] == report.memory.peak_bytes[policy]


@given(st.sampled_from(names()), st.integers(1, 80))
def test_what_is_listed_as_alive_adds_up(network: str, step: int) -> None:
    said = answer(network=network, step=step)
    (table,) = said.tables
    alive = {one.name: one.value for one in said.readouts}["alive_bytes"]
    assert sum(int(row.cells[1].replace(",", "")) for row in table.rows) == alive


@pytest.mark.parametrize("network", names())
def test_the_slider_ends_at_the_last_step_of_the_network(network: str) -> None:
    steps = control(SIMULATOR, "step")
    assert isinstance(steps, Number)
    end = len(weighbridge.weigh(network).nodes)
    assert answer(network=network).reaches == {"step": end}
    assert end <= steps.maximum


def test_a_batch_multiplies_what_is_alive() -> None:
    assert read(batch=8)["peak_bytes"] == 8 * read()["peak_bytes"]
    assert (
        read(batch=8)["peak_bytes"] == weighbridge.weigh("alexnet", batch=8, precision="int8").memory.peak_bytes["live"]
    )


def test_beyond_the_last_step_the_run_is_over() -> None:
    last, beyond = answer(step=12), answer(step=13)
    assert last.readouts == beyond.readouts
    assert "the run is over" in beyond.sentences[0]
    assert "the run is over" not in last.sentences[0]


def test_the_verdict_turns_at_the_byte() -> None:
    """440,928 B are between 430 and 431 KiB."""
    short, enough = read(budget_kib=430), read(budget_kib=431)
    assert (short["verdict"], short["short_bytes"], short["steps_over"]) == ("does not fit", 440_928 - 430 * 1024, 1)
    assert (enough["verdict"], enough["short_bytes"], enough["steps_over"]) == ("fits", 0, 0)


def test_each_board_offers_what_its_fit_compares_with() -> None:
    boards = control(SIMULATOR, "on")
    assert isinstance(boards, Choice)
    assert "stm32f746" in boards.choices
    for board in [name for name in boards.choices if name != "own"]:
        report = weighbridge.weigh("lenet5", precision="int8", on=find(board))
        (region,) = (one for one in report.on[0].fit.regions if "activations" in one.holds)
        assert read(network="lenet5", on=board)["available_bytes"] == region.available_bytes
        assert "budget_kib" in answer(network="lenet5", on=board).unused


def test_a_policy_that_does_not_apply_says_why_beside_the_control() -> None:
    found, said = answered(SIMULATOR, [("bits", "32"), ("policy", "nhcwb16_vela")])
    assert said is None
    assert "not floating point" in found.faults["policy"]


def test_assumptions_are_those_of_the_policy() -> None:
    plain, in_place = (" ".join(answer(policy=policy).notes) for policy in ("live", "pair_in_place"))
    assert "live:" in plain
    assert "pair:" not in plain
    assert "in_place" not in plain
    assert "pair:" in in_place
    assert "*_in_place:" in in_place
    for notes in (plain, in_place):
        assert all(topic in notes for topic in ("layer by layer", "weights: streamed from flash", "scratch:"))
