"""The expected time: by hand on round numbers, and on the boards and networks that MLPerf Tiny measured, each left out of the fit."""

from __future__ import annotations

import statistics
import tomllib
from dataclasses import replace
from math import inf, prod
from pathlib import Path

import pytest

from scripts import fit_microcontrollers as fitting
from weighbridge import weigh
from weighbridge.devices.catalogue import find
from weighbridge.devices.device import Device
from weighbridge.devices.measured import Amount, Efficiency, Measured, Power
from weighbridge.estimates import Demand, Expected, NodeDemand, expected
from weighbridge.estimates.expected import NOT_MEASURED, operators_of
from weighbridge.report import Report

from .demands import SMALL, device, memory

NETWORKS, ROWS = fitting.read()
TERMS = fitting.with_output(ROWS, NETWORKS)
PUBLISHED = {
    "stm32l4r5": ("stm32l4r5zi_120MHz", "X-CUBE-AI 9.0"),
    "stm32h7a3": ("stm32h7a3zi_280MHz", "X-CUBE-AI 9.0"),
    "stm32u575": ("stm32u575_160MHz", "X-CUBE-AI 9.0"),
    "stm32f746": ("stm32f746_216MHz", "HALE 1.0.175"),
}
"""The rows of ``published.toml``, by our names."""
CONV = NodeDemand("conv", 4000, "int8", 600, 150, True, "conv", 10, 4)
DENSE = NodeDemand("dense", 600, "int8", 300, 50, True, "linear", 3, 1)
POOL = NodeDemand("pool", 0, None, 0, 3000, True, "max_pool", 5)
DEMAND = SMALL._replace(nodes=(CONV, POOL, DENSE), ops=4600)


def amount(value: float, verified: bool = True) -> Amount:
    return Amount(value, "made up for a test", verified)


def measured(*efficiencies: Efficiency, power: Power | None = None) -> Measured:
    return Measured("ours", "int8", "a bench", amount(1000), amount(0.5), amount(2), efficiencies, power)


CONVOLUTIONS = Efficiency("convolution", amount(0.5), amount(20))
CONNECTED = Efficiency("fully connected", amount(0.25))
POWER = Power(amount(3), amount(2), amount(4))


def only(demand: Demand, one: Measured, on: Device | None = None, batch: int | None = 1) -> Expected:
    chip = replace(on or device(int8=10**6), measured=(one,))
    (found,) = expected(demand, chip, chip, None, batch)
    return found


def test_the_time_is_that_of_each_class_of_operators_over_the_clock() -> None:
    found = only(DEMAND, measured(CONVOLUTIONS, CONNECTED))
    # 2,000 MACs at half a MAC a cycle and 10 values at 20 cycles; 300 MACs at a quarter.
    assert found.by == {"convolution": 4.2, "fully connected": 1.2}
    assert (found.time_s, found.least_s, found.most_s) == (5.4, 2.7, 10.8)
    assert (found.energy_j, found.least_energy_j, found.most_energy_j) == (None, None, None)
    assert (found.kernels, found.conditions, found.verified, found.reason) == ("ours", "a bench", True, "")


def test_energy_is_power_times_time_and_its_range_that_of_both() -> None:
    found = only(DEMAND, measured(CONVOLUTIONS, CONNECTED, power=POWER))
    assert (found.least_energy_j, found.energy_j, found.most_energy_j) == pytest.approx((5.4, 16.2, 43.2))


def test_a_doubt_about_a_number_of_the_measurement_is_told() -> None:
    doubtful = Efficiency("convolution", amount(0.5, verified=False))
    assert not only(DEMAND, measured(doubtful, CONNECTED)).verified


@pytest.mark.parametrize(
    ("demand", "batch", "reason"),
    [
        (DEMAND, 2, "they were measured at batch 1, not 2"),
        (DEMAND, None, "they were measured at batch 1, not one that is unknown"),
        (DEMAND._replace(ops_exact=False), 1, "not all MACs of the network are counted"),
        (DEMAND._replace(nodes=(POOL,)), 1, "the network has no MACs"),
        (DEMAND._replace(nodes=(CONV._replace(precision="float32"),)), 1, "conv computes at float32, and they were"),
        (DEMAND._replace(nodes=(CONV._replace(operator="matmul"),)), 1, "matmul like conv was not measured"),
        (DEMAND._replace(nodes=(DENSE._replace(uses_per_weight=64),)), 1, "linear like dense was not measured"),
        (DEMAND._replace(nodes=(CONV._replace(outputs=None),)), 1, "how many values conv puts out is not known"),
        (DEMAND._replace(nodes=(CONV._replace(ops=10**400),)), 1, "the time is beyond what a number can hold"),
    ],
)
def test_what_was_not_measured_has_no_time_and_the_reason_is_told(
    demand: Demand, batch: int | None, reason: str
) -> None:
    found = only(demand, measured(CONVOLUTIONS, CONNECTED), batch=batch)
    assert (found.time_s, found.least_s, found.most_s, found.energy_j, found.by) == (None, None, None, None, {})
    assert found.reason.startswith(reason)


def test_a_network_outside_of_those_that_were_measured_is_told_so() -> None:
    """It has 2,300 MACs."""
    one = measured(CONVOLUTIONS, CONNECTED)
    for least, most, beyond in (
        (None, None, ""),
        (2300, 2300, ""),
        (1, 23, "beyond what was measured: 100 times the MACs of the largest network there"),
        (5000, 6000, "beyond what was measured: 0.46 times those of the smallest network there"),
    ):
        spans = (None if macs is None else amount(macs) for macs in (least, most))
        found = only(DEMAND, replace(one, **dict(zip(("least_macs", "most_macs"), spans, strict=True))))
        assert (found.time_s, found.beyond) == (5.4, beyond)


def test_one_class_never_stands_in_for_another() -> None:
    assert only(DEMAND, measured(CONVOLUTIONS)).reason == "fully connected was not measured"
    assert operators_of(CONV) == "convolution"
    assert operators_of(DENSE) == "fully connected"
    assert operators_of(DENSE._replace(operator="conv_transpose")) is None


def test_a_network_that_lies_elsewhere_than_the_measured_ones_has_no_time() -> None:
    chip = replace(
        device(memory("flash", "weights", 10), memory("SDRAM", "weights", 10**6), int8=10**6),
        measured=(measured(CONVOLUTIONS, CONNECTED),),
    )
    lying = replace(chip, memories=chip.memories[1:])
    (found,) = expected(DEMAND, chip, lying, None, 1)
    assert (found.time_s, found.reason) == (None, "they were measured with the weights in flash, not in SDRAM")


def test_a_microcontroller_that_nobody_measured_says_so_and_other_devices_say_nothing() -> None:
    board, card = weigh("lenet5", precision="int8", on=["stm32f412", "a100"]).on
    assert (board.expected, card.expected) == ((), ())
    assert NOT_MEASURED in board.notes
    assert NOT_MEASURED not in card.notes


@pytest.fixture(scope="module")
def reports(shared: Path) -> dict[str, Report]:
    folder = shared / "data" / "tflite" / "mlperf_tiny"
    return {name: weigh(folder / one.file, on=list(PUBLISHED)) for name, one in NETWORKS.items()}


def test_the_rows_are_the_published_ones_and_the_counts_those_of_the_files(
    shared: Path, reports: dict[str, Report]
) -> None:
    with (shared / "facts" / "published.toml").open("rb") as file:
        facts = tomllib.load(file)["mlperf_tiny_v1_2"]
    for name, network in NETWORKS.items():
        assert network.macs == reports[name].facts.macs == facts["macs"][name]
        working = [node for node in reports[name].nodes if node.macs]
        connected = [node for node in working if node.operator == "linear"]
        assert network.fully_connected_macs == sum(node.macs or 0 for node in connected)
        assert network.outputs == sum(prod(node.output or ()) for node in working)
        for board, (called, kernels) in PUBLISHED.items():
            row = next(row for row in ROWS if board in row.devices and row.kernels == kernels)
            per_s, *energy = facts[called][name]
            assert row.per_s[name] == per_s
            assert [round(row.microjoules[name], 1)] * len(energy) == energy if row.microjoules else not energy


def test_the_devices_have_the_numbers_of_the_fit() -> None:
    texts = fitting.texts()
    for name in fitting.CATALOGUE.glob("*.toml"):
        text = name.read_text()
        assert ("[[measured]]" in text) == (name.stem in texts)
        assert text.endswith(texts.get(name.stem, ""))


def test_the_floor_is_below_every_measured_time_and_below_what_is_expected(reports: dict[str, Report]) -> None:
    for name, report in reports.items():
        for on in report.on:
            assert on.latency.floor_s is not None
            rows = [row for row in ROWS if on.device in row.devices]
            assert len(rows) == len(on.expected) == (1 if on.device == "stm32f746" else 2)
            for row, found in zip(rows, on.expected, strict=True):
                assert found.least_s is not None
                assert on.latency.floor_s < found.least_s
                assert on.latency.floor_s < 1 / row.per_s[name]


def without(name: str, row: fitting.Row) -> Measured:
    """The measurement as a device's file would have it without this network, at full precision."""
    found = fitting.left_out(row, NETWORKS, row.kernels in TERMS)[name]
    output = amount(found.output) if found.output else None
    each = (("convolution", found.mac), ("fully connected", found.connected))
    drawn = row.watts([other for other in NETWORKS if other != name]) if row.microjoules else 0.0
    power = Power(*[amount(drawn)] * 3) if drawn else None
    efficiencies = tuple(Efficiency(operators, amount(1 / cycles), output) for operators, cycles in each)
    clock = amount(row.mhz * 10**6)
    return Measured(row.kernels, "int8", "", clock, amount(1), amount(1), efficiencies, power)


def errors(shared: Path, rows: list[fitting.Row], quantity: str) -> list[float]:
    """How far expected is from measured, as a part of it, of every network on every row; no network has a part in its own fit."""
    found = []
    for name, network in NETWORKS.items():
        chips = [replace(find(row.devices[0]), measured=(without(name, row),)) for row in rows]
        report = weigh(shared / "data" / "tflite" / "mlperf_tiny" / network.file, on=chips)
        for row, on in zip(rows, report.on, strict=True):
            value, true = on.expected[0].time_s, 1 / row.per_s[name]
            if quantity == "energy" and row.microjoules:
                value, true = on.expected[0].energy_j, row.microjoules[name] / 10**6
            found.append(abs((inf if value is None else value) / true - 1))
    return found


def test_a_network_left_out_of_the_fit_is_expected_within_a_fifth_in_the_median(shared: Path) -> None:
    published = [row for row in ROWS for board in row.devices if PUBLISHED.get(board, ("", ""))[1] == row.kernels]
    times = errors(shared, published, "time")
    assert len(times) == 16
    assert statistics.median(times) == pytest.approx(0.163, abs=0.0005)
    assert max(times) == pytest.approx(0.341, abs=0.0005)
    assert statistics.median(errors(shared, list(ROWS), "time")) == pytest.approx(0.098, abs=0.0005)


def test_its_energy_too(shared: Path) -> None:
    found = errors(shared, [row for row in ROWS if row.microjoules], "energy")
    assert len(found) == 12
    assert statistics.median(found) == pytest.approx(0.192, abs=0.0005)
    assert max(found) == pytest.approx(0.346, abs=0.0005)


def test_what_the_fit_decided_with_all_networks_seen_is_worth_so_much() -> None:
    """The term for values put out is chosen with all four networks: where it is left to each fit, the errors are larger."""
    published = [row for row in ROWS for board in row.devices if PUBLISHED.get(board, ("", ""))[1] == row.kernels]
    found = [
        abs(time * row.per_s[name] - 1)
        for row in published
        for name, time in fitting.expected_s(row, NETWORKS, has_output=True).items()
    ]
    assert statistics.median(found) == pytest.approx(0.229, abs=0.0005)
    assert frozenset({"HALE 1.0.175"}) == TERMS


def test_a_fit_for_which_nothing_was_chosen_is_within_a_fifth_too() -> None:
    """Without any term for values put out nothing of the fit was decided with the left out network seen."""
    published = [row for row in ROWS for board in row.devices if PUBLISHED.get(board, ("", ""))[1] == row.kernels]
    found = [
        abs(time * row.per_s[name] - 1)
        for row in published
        for name, time in fitting.expected_s(row, NETWORKS, has_output=False).items()
    ]
    assert len(found) == 16
    assert statistics.median(found) == pytest.approx(0.193, abs=0.0005)
    energies = [
        abs(energy * 10**6 / row.microjoules[name] - 1)
        for row in ROWS
        if row.microjoules
        for name, energy in fitting.expected_j(row, NETWORKS, has_output=False).items()
    ]
    assert len(energies) == 12
    assert statistics.median(energies) == pytest.approx(0.192, abs=0.0005)


def test_a_term_that_is_chosen_without_the_network_left_out_is_worth_so_much() -> None:
    published = [row for row in ROWS for board in row.devices if PUBLISHED.get(board, ("", ""))[1] == row.kernels]
    found = []
    for name, network in NETWORKS.items():
        rest = {other: one for other, one in NETWORKS.items() if other != name}
        terms = fitting.with_output(ROWS, rest)
        fits = ((row, fitting.fit(row, rest, row.kernels in terms)) for row in published)
        found += [abs(one.cycles(network) / row.cycles(name) - 1) for row, one in fits]
    assert statistics.median(found) == pytest.approx(0.229, abs=0.0005)


def test_least_squares_find_what_was_put_in_and_never_less_than_nothing() -> None:
    points = [([one, two], 3 * one + 5 * two, 1 / (one + two)) for one, two in ((1, 2), (4, 1), (2, 7), (3, 3))]
    assert fitting.non_negative(points) == pytest.approx([3, 5])
    falling = [([one, two], 3 * one - two, 1.0) for one, two in ((1, 2), (4, 1), (2, 1))]
    assert fitting.non_negative(falling)[1] == 0
    assert fitting.least_squares([([1, 1], 2, 1), ([2, 2], 4, 1)]) is None
