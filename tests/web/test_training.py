"""Training: what is kept is what the plan says, grows with the batch, and vanishes where biases alone are trained."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weighbridge
from weighbridge.memory.training.optimisers import OPTIMISERS
from weighbridge.web.controls import Choice
from weighbridge.web.simulator import Answer, answered
from weighbridge.web.simulators.training import training

SIMULATOR = training()
RESNET, MOBILENET = {"network": "resnet50"}, {"network": "mobilenet_v2", "width": 1.4}


def choices(name: str) -> list[str]:
    (control,) = (one for one in SIMULATOR.controls if one.name == name)
    assert isinstance(control, Choice)
    return list(control.choices)


def answer(**state: object) -> Answer:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def read(**state: object) -> dict[str, Any]:
    return {one.name: one.value for one in answer(**state).readouts}


def kinds(**state: object) -> dict[str, tuple[str, ...]]:
    table = answer(**state).tables[0]
    return {row.cells[0]: row.cells[1:] for row in table.rows}


@pytest.mark.parametrize(("state", "name"), [(RESNET, "resnet50"), (MOBILENET, "mobilenetv2_1_4")])
def test_batch_8_has_the_lectures_figures(lecture: Mapping[str, Any], state: Mapping[str, Any], name: str) -> None:
    said = lecture["training_memory"]
    whole, biases = read(**state), read(**state, update="biases")
    assert float(Decimal(whole["parameter_bytes"]) / 10**6) == said[f"{name}_parameters_MB"]
    assert float(Decimal(whole["saved_bytes"]) / 10**6) == said[f"{name}_saved_MB"]
    assert float(Decimal(biases["saved_bytes"]) / 10**6) == said[f"{name}_saved_bias_only_MB"]


def test_the_peak_of_mobilenet_is_the_lectures(lecture: Mapping[str, Any]) -> None:
    found = read(**MOBILENET)
    assert found["peak_activation_bytes"] / 10**6 == lecture["training_memory"]["mobilenetv2_1_4_peak_MB"]
    assert found["peak_node"] == "last.relu6"


def test_biases_alone_keep_nothing_but_the_bits_of_relu() -> None:
    for state in (RESNET, MOBILENET):
        kept = {operator for operator, cells in kinds(**state, update="biases").items() if cells[1] != "0"}
        assert kept <= {"relu", "clip"}
        whole = {operator for operator, cells in kinds(**state).items() if cells[1] != "0"}
        assert {"conv", "batch_norm", "linear"} < whole


@pytest.mark.parametrize("network", choices("network"))
@pytest.mark.parametrize("update", choices("update"))
def test_the_figures_are_those_of_the_report(network: str, update: str) -> None:
    updates = {"all": (), "biases": ("biases",), "last": ("last-2",)}[update]
    report = weighbridge.weigh(network, batch=4, train={"optimiser": "adam", "update": updates})
    plan = report.memory.training
    assert plan is not None
    found = read(network=network, batch=4, optimiser="adam", update=update, last=2)
    for name, value in found.items():
        if name not in ("saved_ratio", "overtakes_at"):
            assert value == getattr(plan, name), name
    assert found["saved_ratio"] == plan.saved_bytes / plan.parameter_bytes


@pytest.mark.parametrize("network", choices("network"))
def test_the_rows_of_the_table_add_up(network: str) -> None:
    found, rows = read(network=network), kinds(network=network).values()
    for place, name in ((1, "saved_bytes"), (2, "gradient_bytes")):
        assert sum(int(cells[place].replace(",", "")) for cells in rows) == found[name]


@given(st.sampled_from(choices("network")), st.sampled_from(choices("update")), st.integers(1, 16))
@settings(max_examples=20, deadline=None)
def test_the_batch_moves_what_is_kept_and_no_parameter(network: str, update: str, batch: int) -> None:
    one, more = (read(network=network, update=update, batch=size) for size in (batch, 2 * batch))
    for name in ("trained_parameters", "parameter_bytes", "gradient_bytes", "optimiser_bytes"):
        assert one[name] == more[name]
    assert one["saved_bytes"] < more["saved_bytes"] <= 2 * one["saved_bytes"]


def test_last_layers_beyond_the_network_are_said_beside_the_control() -> None:
    found, said = answered(SIMULATOR, [("network", "mlp"), ("update", "last"), ("last", "4")])
    assert said is None
    assert found.faults == {"last": "there are 3 layers with weights"}


def test_all_layers_are_as_good_as_the_last_of_that_many() -> None:
    assert read(network="mlp", update="last", last=3) == read(network="mlp")


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_the_optimiser_moves_its_states_alone(optimiser: str) -> None:
    plain, found = read(network="alexnet"), read(network="alexnet", optimiser=optimiser)
    moved = {name for name in plain if plain[name] != found[name]}
    assert moved == (set() if optimiser == "sgd" else {"optimiser_bytes", "total_bytes"})


def test_mixed_precision_halves_what_is_kept_and_adds_a_copy() -> None:
    plain, mixed = read(network="lenet5"), read(network="lenet5", mixed=1)
    assert mixed["master_bytes"] == plain["parameter_bytes"] == 2 * mixed["parameter_bytes"]
    assert mixed["saved_bytes"] < plain["saved_bytes"]


def test_controls_that_mean_nothing_say_so() -> None:
    assert answer().unused == ("width", "last")
    assert answer(network="mobilenet_v1").unused == ("last",)
    assert answer(update="last").unused == ("width",)


@pytest.mark.parametrize(("network", "update"), [("resnet50", "all"), ("alexnet", "all"), ("resnet50", "biases")])
def test_activations_overtake_at_the_batch_where_they_do(network: str, update: str) -> None:
    """The one before it keeps no more than the parameters have, and that one does."""
    at = read(network=network, update=update)["overtakes_at"]
    here, before = (read(network=network, update=update, batch=batch) for batch in (at, at - 1))
    assert here["saved_bytes"] > here["parameter_bytes"]
    assert before["saved_bytes"] <= before["parameter_bytes"]


@pytest.mark.parametrize(
    ("network", "on"), [("resnet50", "jetson-nano"), ("lenet5", "stm32f746"), ("mobilenet_v2", "t4")]
)
def test_the_largest_batch_is_the_reports(network: str, on: str) -> None:
    train = {"optimiser": "sgd", "rule": "paper"}
    (device,) = weighbridge.weigh(network, batch=8, train=train, on=on).on
    found = read(network=network, batch=8, on=on)
    assert device.training is not None
    for name in ("largest_batch", "available_bytes", "needed_bytes", "verdict"):
        assert found[name] == getattr(device.training, name)


@pytest.mark.parametrize("batch", [1, 8, 100, 65_536])
def test_the_curve_goes_through_plans_and_its_parts_add_up(batch: int) -> None:
    plots = {one.name: one for one in answer(network="lenet5", optimiser="adam", batch=batch).plots}
    stacks: dict[object, int] = {}
    for row in plots["curve"].rows:
        assert isinstance(row["bytes"], int)
        stacks[row["batch"]] = stacks.get(row["batch"], 0) + row["bytes"]
    assert {1, batch} <= set(stacks)
    for at, together in stacks.items():
        train = {"optimiser": "adam", "rule": "paper"}
        plan = weighbridge.weigh("lenet5", batch=at, train=train).memory.training
        assert plan is not None
        assert together == plan.total_bytes


def test_a_memory_that_is_too_small_for_one_says_so() -> None:
    said = answer(network="alexnet", on="stm32f746")
    assert "not even one input fits" in " ".join(said.sentences)
    assert {one.name: one.value for one in said.readouts}["largest_batch"] == 0


def test_each_layer_keeps_its_input_for_dw_and_nothing_for_db() -> None:
    whole, biases = (
        {row.cells[0]: row.cells for row in answer(network="alexnet", update=update).tables[1].rows}
        for update in ("all", "biases")
    )
    assert whole["conv2"][-1] == "its input: for dW, not for db"
    assert sum(int(cells[2].replace(",", "")) for cells in whole.values()) == read(network="alexnet")["saved_bytes"]
    assert biases["conv2"][2] == "0"
    assert biases["conv2"][-1] == "nothing: no dW is asked for"
