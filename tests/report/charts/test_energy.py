"""The chart of energy shows the bill by a table and what each device with a table draws, on one logarithmic axis."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.report.charts.drawings import drawn, svg, titles_of_axes, views
from tests.report.samples import alexnet, on_device, report
from weighbridge import Report, weigh
from weighbridge.estimates import Bill, DeviceEnergy, LevelEnergy


def bill(**changes: Any) -> Bill:
    levels = (LevelEnergy("SRAM", 1e-6, 2e-6, 3e-6, 4e-6, None), LevelEnergy("DRAM", 1e-4, 2e-4, 3e-4, 4e-4, None))
    whole = Bill("45nm", "Horowitz", "45 nm", "float32", 1e-3, 2e-3, 3e-3, levels, True, True, (), 1)
    return whole._replace(**changes)


def by_bill(**changes: Any) -> Report:
    return report(alexnet(), energy=bill(**changes))


@pytest.mark.parametrize("network", ["alexnet", "mobilenet_v2", "resnet50"])
def test_a_dot_for_every_figure_of_the_json(network: str) -> None:
    weighed = weigh(network, energy="45nm", on=["a100", "toy"])
    made, data = drawn("energy", weighed), weighed.to_dict()
    saved: Any = data["energy"]
    expected = {("arithmetic", "arithmetic"): saved["arithmetic_j"]}
    for level in saved["levels"]:
        expected[level["level"], "weights"] = level["weights_j"]
        expected[level["level"], "activations"] = level["activations_j"]
    found = {(row["component"], row["part"]): row["joules"] for row in made.datasets["energy_0_0"]}
    assert found == expected
    on: Any = data["on"]
    assert on[0]["energy"] is None
    device = {row["component"]: row["joules"] for row in made.datasets["energy_0_1"]}
    assert device == on[1]["energy"]["by"]
    assert set(made.datasets) == {"energy_0_0", "energy_0_1"}


def test_titles_say_what_is_counted_and_by_which_table() -> None:
    made = drawn("energy", weigh("alexnet", energy="45nm", on="toy"))
    assert made.spec is not None
    assert [part["title"]["text"] for part in made.spec["vconcat"]] == [
        "one run of batch 1 by the table 45nm, float32: 45 nm, 0.9 V",
        "one run of batch 1 on toy, float32",
    ]
    assert made.description == (
        "one run of batch 1 by the table 45nm, float32: 45 nm, 0.9 V: most for weights from DRAM, 39.011 mJ; "
        "one run of batch 1 on toy, float32: most for weights and activations from memory, 6.1887 mJ"
    )
    assert made.notes == (
        "one run of batch 1 by the table 45nm, float32: 45 nm, 0.9 V: a figure of the table is not verified",
    )


def test_the_axis_is_logarithmic_and_has_its_unit() -> None:
    made = drawn("energy", weigh("alexnet", energy="45nm", on="toy"))
    assert set(titles_of_axes(made)) == {"energy (J)", "component"}
    assert {view["encoding"]["x"]["scale"]["type"] for view in views(made.spec or {})} == {"log"}
    assert {"1 µJ", "100 µJ", "10 mJ"} <= {part.partition("<")[0] for part in svg(made).split(">")}


def test_without_energies_there_is_a_reason() -> None:
    asked = "no energy was asked for, and no device has a table of energies; weigh it with --energy TABLE"
    assert drawn("energy", weigh("lenet5", on="a100")).reasons == (asked,)
    nothing = by_bill(arithmetic_j=None, levels=())
    assert drawn("energy", nothing).reasons == (
        "no energy is known: the table has no entry at the precision, or nothing is counted",
    )


def test_int8_has_no_arithmetic_by_a_table_without_an_entry() -> None:
    made = drawn("energy", weigh("mobilenet_v2", precision="int8", energy="45nm"))
    assert {row["part"] for row in made.datasets["energy_0_0"]} == {"weights", "activations"}
    assert any(note.endswith("arithmetic is not known") for note in made.notes)


def test_nothing_and_what_is_not_known_is_said() -> None:
    levels = (LevelEnergy("SRAM", 0.0, None, None, None, None), LevelEnergy("DRAM", 0.0, 1e-4, 1e-4, 1e-4, None))
    made = drawn("energy", by_bill(levels=levels, exact=False))
    assert [(row["component"], row["energy"]) for row in made.datasets["energy_0_0"]] == [
        ("arithmetic", ">= 3.0000 mJ"),
        ("DRAM", ">= 100.00 µJ"),
    ]
    assert [note.rpartition(": ")[2] for note in made.notes] == [
        "activations from SRAM is not known",
        "weights from SRAM, weights from DRAM are 0 J, which a logarithmic axis has no place for",
    ]


@pytest.mark.parametrize("odd", [0.0, 5e-324, 1e308, math.inf, math.nan, None])
def test_odd_energies_are_drawn_as_far_as_they_go(odd: float | None) -> None:
    made = drawn("energy", by_bill(arithmetic_j=odd))
    assert len(made.datasets["energy_0_0"]) == (5 if odd in (5e-324, 1e308) else 4)


def test_hostile_names_are_text() -> None:
    hostile = "</script><img src=x onerror=alert(1)>\"'`${1}{{7*7}}\u202e\n" + "é" * 10_000
    levels = tuple(LevelEnergy(f"{hostile}{place}", 1e-3, 1e-3, 2e-3, 3e-3, None) for place in range(2))
    energy = DeviceEnergy(1e-3, {hostile: 1e-3, "arithmetic": None}, True, False)
    on = on_device()._replace(device=hostile, energy=energy)
    weighed = replace(by_bill(table=hostile, process=hostile, precision=hostile, levels=levels), on=(on,))
    made = drawn("energy", weighed)
    assert set(made.datasets) == {"energy_0_0", "energy_0_1"}
    assert len({row["component"] for row in made.datasets["energy_0_0"]}) == 3  # two are alike as far as they are shown
    assert "<img" not in svg(made)
    for text in (made.description, *made.notes):
        assert text.isprintable()
        assert len(text) < 2000


def test_many_devices_are_drawn_in_part() -> None:
    on = on_device()._replace(energy=DeviceEnergy(1e-3, {"arithmetic": 1e-3}, True, True))
    made = drawn("energy", report(alexnet(), on=tuple(on._replace(device=f"d{place}") for place in range(40))))
    assert len(made.datasets) == 12
    assert made.notes == ("drawn are the first 12 of 40 devices with energies",)


def test_many_levels_are_drawn_in_part() -> None:
    """Those that have a place on the axis are counted, not those before them that have none."""
    level = LevelEnergy("", 1e-9, 1e-9, 2e-9, 2e-9, None)
    levels = [
        level._replace(level=f"l{place}", **({} if place >= 100 else {"weights_j": None, "activations_j": 0.0}))
        for place in range(300)
    ]
    bill = Bill("45nm", "a table", "45 nm", None, None, None, None, tuple(levels), True, True, ())
    made = drawn("energy", report(alexnet(), energy=bill))
    assert [row["component"] for row in made.datasets["energy_0_0"]][::2] == [f"l{place}" for place in range(100, 140)]
    assert any(note.endswith("drawn are the first 40 of 200 components and levels") for note in made.notes)


def test_models_share_the_axis() -> None:
    reports = {"one": weigh("alexnet", energy="45nm"), "two": weigh("lenet5"), "three": weigh("lenet5", energy="45nm")}
    made = drawn("energy", reports)
    assert made.spec is not None
    assert made.spec["resolve"]["scale"] == {"x": "shared"}
    assert [part["title"]["text"] for part in made.spec["vconcat"]] == ["one", "three"]
    assert [reason.partition(":")[0] for reason in made.reasons] == ["two"]
    assert set(made.datasets) == {"energy_0_0", "energy_2_0"}
