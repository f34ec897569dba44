"""One count on many devices: every floor is that of the report, and the count is the same for all."""

from __future__ import annotations

import pytest

import weighbridge
from weighbridge.report.expectations import EXPECTED_NOTE, expected_time
from weighbridge.textbook import names
from weighbridge.web.simulator import Answer, answered
from weighbridge.web.simulators.devices import DEVICES, devices

SIMULATOR = devices()


def answer(**state: object) -> Answer:
    found, said = answered(SIMULATOR, [(name, str(value)) for name, value in state.items()])
    assert not found.faults
    assert said is not None
    return said


def test_there_are_a_dozen_of_them_of_every_kind() -> None:
    assert len(set(DEVICES)) == 12


@pytest.mark.parametrize("network", names())
def test_each_floor_is_that_of_the_report(network: str) -> None:
    for batch, precision in ((1, "float32"), (16, "int8"), (1, "bfloat16")):
        said = answer(network=network, batch=batch, precision=precision)
        found = {one.name: one.value for one in said.readouts}
        on = weighbridge.weigh(network, batch=batch, precision=precision, on=DEVICES).on
        assert [found[f"{name}.floor_s"] for name in DEVICES] == [one.latency.floor_s for one in on]
        drawn = {row["device"] for plot in said.plots for row in plot.rows}
        assert drawn == {one.device for one in on if one.latency.floor_s is not None}
        (table,) = said.tables
        assert [(row.cells[0], row.cells[-1]) for row in table.rows] == [(one.device, one.fit.verdict) for one in on]


def test_what_is_expected_stands_beside_the_floor_where_kernels_were_measured() -> None:
    said = answer(network="mcunet_in3", precision="int8")
    (table,) = said.tables
    place = [column.title for column in table.columns].index("expected")
    cells = {row.cells[0]: row.cells[place] for row in table.rows}
    (one,) = weighbridge.weigh("mcunet_in3", precision="int8", on="stm32f746").on[0].expected
    assert cells["stm32f746"] == expected_time(one)
    assert {cell for name, cell in cells.items() if name != "stm32f746"} == {"?"}
    assert EXPECTED_NOTE in said.notes
    for other in (answer(network="mcunet_in3", precision="float16"), answer(network="mcunet_in3", batch=2)):
        assert "expected" not in [column.title for column in other.tables[0].columns]
        assert EXPECTED_NOTE not in other.notes


def test_the_count_is_the_lectures_on_every_device(lecture) -> None:
    found = {one.name: one.value for one in answer().readouts}
    assert found["ops"] == 2 * lecture["alexnet_totals"]["macs"]


def test_a_rate_says_whether_it_is_verified() -> None:
    rates = {row.cells[0]: row.cells[1] for row in answer().tables[0].rows}
    assert "is ~" in answer().sentences[0]
    assert (rates["jetson-agx-orin"], rates["a100"], rates["jetson-nano"]) == ("~137.5 T", "624.0 T", "?")


def test_those_without_a_rate_are_named_and_no_point_stands_for_them() -> None:
    said = answer(precision="bfloat16")
    shown = {one.name: one.shown for one in said.readouts}
    assert shown["stm32f746.floor_s"] == "?"
    assert any("stm32f746" in sentence and "no time is known" in sentence for sentence in said.sentences)
