"""The table to fill in: its rows are the source material's, answers are checked, and what is hidden is not given away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from weighbridge.web.controls import Blank
from weighbridge.web.simulator import Answer, answered
from weighbridge.web.simulators.table import table

SIMULATOR = table()
PLACES = {"weights": 0, "macs": 1, "activations": 2}
"""Of a figure in a row of the source material."""


def answer(**state: object) -> Answer:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def read(**state: object) -> dict[str, Any]:
    return {one.name: one.value for one in answer(**state).readouts}


@pytest.fixture
def rows(lecture: Mapping[str, Any]) -> dict[str, list[int]]:
    return {name: row for name, row in lecture["alexnet_layers"].items() if isinstance(row, list)}


@pytest.mark.parametrize("column", PLACES)
def test_the_source_materials_figures_are_right(rows: dict[str, list[int]], column: str) -> None:
    said = {name: row[PLACES[column]] for name, row in rows.items()}
    found = read(column=column, **said)
    assert (found["right"], found["not_yet"], found["empty"]) == (len(rows), 0, 0) == (11, 0, 0)
    assert found["total"] == sum(said.values())
    shown = answer(column=column, **said)
    assert all(remark.startswith("right: ") for remark in shown.remarks.values())
    assert all(row.cells[5] == "right" for row in shown.tables[0].rows)


def test_the_sums_are_the_source_materials(lecture: Mapping[str, Any]) -> None:
    totals = lecture["alexnet_totals"]
    assert read(column="macs", shown=1)["total"] == totals["macs"]
    assert read(column="weights", shown=1)["total"] == totals["weights"]
    assert read(column="parameters", shown=1)["total"] == totals["parameters_with_bias"]
    image = 3 * 224 * 224
    assert read(column="activations", shown=1)["total"] + image == totals["activations_total"]


@pytest.mark.parametrize("column", ["weights", "parameters", "macs", "activations"])
def test_what_is_hidden_is_nowhere_in_the_answer(rows: dict[str, list[int]], column: str) -> None:
    said = answer(column=column)
    hidden = {f"{row[PLACES.get(column, 0)]:,}" for row in rows.values()} - {"0"}
    if column == "macs":  # a linear layer has as many MACs as weights
        hidden -= {f"{rows[name][0]:,}" for name in ("fc6", "fc7", "fc8")}
    if column in ("weights", "parameters"):
        hidden -= {f"{rows[name][1]:,}" for name in ("fc6", "fc7", "fc8")}
    cells = {cell for row in said.tables[0].rows for cell in row.cells}
    assert not hidden & cells
    assert [row.cells[4] for row in said.tables[0].rows] == ["…"] * 11
    assert not any(said.remarks.values())
    assert "total" not in {one.name for one in said.readouts}


def test_a_right_answer_is_worked_in_the_numbers_of_its_layer() -> None:
    said = answer(conv3="884,736", conv2=614400, pool1=0)
    assert said.remarks["conv3"] == "right: c_o x c_i x k_h x k_w = 384 x 256 x 3 x 3 = 884,736"
    assert said.remarks["conv2"] == "not yet: each filter sees the channels of its own group alone: c_i / 2"
    assert said.remarks["pool1"] == "right: 0, as nothing in it is learned"
    cells = {row.cells[0]: row.cells[4:6] for row in said.tables[0].rows}
    assert (cells["conv3"], cells["conv2"], cells["conv1"]) == (("884,736", "right"), ("…", "not yet"), ("…", "empty"))
    assert said.sentences == ("2 of 11 answers are right",)


def test_an_answer_is_that_of_the_column_and_the_batch() -> None:
    assert read(column="macs", conv3=149_520_384)["right"] == 1
    assert read(column="macs", conv3=149_520_384, batch=8)["right"] == 0
    assert read(column="macs", conv3=8 * 149_520_384, batch=8)["right"] == 1
    assert read(column="weights", conv3=884_736, batch=8)["right"] == 1


@pytest.mark.parametrize("network", ["alexnet", "lenet5", "mlp", "depthwise_separable"])
def test_the_blanks_of_other_networks_are_unused(network: str) -> None:
    blanks = {one.name for one in SIMULATOR.controls if isinstance(one, Blank)}
    said = answer(network=network, column="macs")
    assert blanks - set(said.unused) == {row.cells[0] for row in said.tables[0].rows} == set(said.remarks)


@pytest.mark.parametrize("text", ["-1", "1.5", "many"])
def test_what_is_no_count_is_said_beside_its_blank(text: str) -> None:
    found, said = answered(SIMULATOR, [("conv1", text), ("pool1", "0")])
    assert set(found.faults) == {"conv1"}
    assert said is not None
    assert said.remarks["conv1"] == ""
    assert said.remarks["pool1"].startswith("right")
