"""Part 01 of the source material: energy and charge, through the table, the command and the report."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from functools import cache

import weighbridge
from tests.lecture.entries import check, rounds_to, weigh
from weighbridge.cli.main import main
from weighbridge.report import Report

ENTRIES = {
    "int32_add": "add int32",
    "float32_add": "add float32",
    "int32_multiply": "multiply int32",
    "float32_multiply": "multiply float32",
    "sram_32KB_read_32bit": "32 bits from SRAM",
    "dram_read_32bit": "32 bits from DRAM",
    "register_file_32bit": "32 bits from register file",
}


@cache
def table() -> dict[str, object]:
    """What ``weighbridge energy 45nm --json`` writes."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as written:
        assert main(["energy", "45nm", "--json", "-"]) == 0
    return json.loads(written.getvalue())


def picojoules(name: str) -> float:
    (entry,) = (one for one in table()["entries"] if one["name"] == name)
    return entry["energy_j"] * 1e12


@check("energy_45nm_0V9", *ENTRIES)
def _(value, key):
    assert math.isclose(picojoules(ENTRIES[key]), value)


@check("energy_45nm_0V9", "ratios")
def _(value):
    ratios = table()["ratios"]
    assert rounds_to(ratios["32 bits from DRAM"]["multiply int32"], value["dram_over_int_multiply"])
    assert rounds_to(ratios["32 bits from DRAM"]["32 bits from SRAM"], value["dram_over_sram"])
    assert rounds_to(ratios["add float32"]["add int32"], value["float_add_over_int_add"])
    assert rounds_to(ratios["32 bits from DRAM"]["add int32"], value["dram_over_int_add"])
    assert len(value) == 4


@check("energy_45nm_0V9", "axis")
def _(_text):
    """Bars as long as the logarithm: the least has none, the most all, and 640 to 3.7 is no more than two to one."""
    times = [entry["times_least"] for entry in table()["entries"]]
    assert max(times) / min(times) > 1000
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as shown:
        main(["energy", "45nm"])
    bars = {line.split("  ")[0].lstrip("~"): line.count("#") for line in shown.getvalue().splitlines() if "pJ" in line}
    assert bars["add int32"] == 0
    assert 2 <= bars["32 bits from DRAM"] / bars["multiply float32"] <= 3


@check("energy_45nm_0V9", "mac_pJ")
def _(value):
    """A multiplication and an addition; the table has no operation of 8 bits."""
    for precision, stated in value.items():
        assert math.isclose(picojoules(f"multiply-accumulate {precision}"), stated)
    eight = weigh("alexnet", precision="int8", energy="45nm").energy
    assert eight.arithmetic_j is eight.levels[-1].total_j is None
    assert any("no multiply or add at int8" in note for note in eight.notes)


def alexnet() -> Report:
    return weigh("alexnet", energy="45nm")


@check("energy_45nm_0V9", "alexnet_float32_mJ")
def _(value):
    bill = alexnet().energy
    levels = {level.level: level for level in bill.levels}
    assert rounds_to(bill.arithmetic_j * 1000, value["arithmetic"])
    assert rounds_to(levels["DRAM"].weights_j * 1000, value["weights_dram"])
    assert rounds_to(levels["DRAM"].activations_j * 1000, value["activations_dram"])
    assert rounds_to(levels["SRAM"].moved_j * 1000, value["everything_from_sram"])
    assert len(value) == 4


@check("energy_45nm_0V9", "bill")
def _(text):
    times = int(re.search(r"SRAM is (\d+)x cheaper an access", text)[1])
    levels = {level.level: level for level in alexnet().energy.levels}
    assert math.isclose(levels["DRAM"].moved_j / levels["SRAM"].moved_j, times)
    assert rounds_to(levels["DRAM"].moved_j * 1000, Decimal("39.608"))
    shown = str(alexnet())
    assert all(figure in shown for figure in ("3.3323 mJ", "39.608 mJ", "39.011 mJ", "596.65 µJ", "309.43 µJ"))


@check("charge", "what")
def _(_text):
    """2000 mAh at 3.7 V hold 26,640 J: over 42.94 mJ an inference."""
    report = weighbridge.weigh("alexnet", energy="45nm", battery="2000mAh@3.7V")
    level = report.energy.levels[-1]
    assert math.isclose(level.charge.charge_c, level.total_j / 3.7)
    assert math.isclose(level.charge.charge_mah, level.charge.charge_c / 3.6)
    assert level.charge.inferences == int(2 * 3600 * 3.7 / level.total_j)
