"""The triangle has every figure of the report under the question that it answers, side by side for several."""

from __future__ import annotations

import pytest

import weighbridge
from tests.report.samples import alexnet, report
from weighbridge.report import Report
from weighbridge.report.triangle import Corner, triangle


@pytest.fixture(scope="module")
def reports() -> tuple[Report, Report]:
    batched = weighbridge.weigh("mobilenet_v2", precision="int8", on=["jetson-agx-orin"], energy="45nm")
    return batched, weighbridge.weigh("alexnet", on=["stm32f746", "jetson-agx-orin"], energy="45nm")


def said(corner: Corner) -> dict[str, tuple[str | None, ...]]:
    return {row.label: tuple(figure and figure.value.full for figure in row.figures) for row in corner.rows}


def test_figures_of_two_reports_stand_side_by_side(reports: tuple[Report, Report]) -> None:
    smaller, faster, greener = triangle(reports, "live")
    assert said(smaller) == {
        "parameters": ("3,504,872", "60,965,224"),
        "deployed params": ("3,487,816", "60,965,224"),
        "model size": ("3,610,208 B", "243,860,896 B"),
        "deployed size": ("3,541,984 B", "243,860,896 B"),
        "activations": ("7,047,304", "932,264"),
        "peak memory (live)": ("1,505,280 B", "1,763,712 B"),
    }
    assert said(faster)["MACs"] == ("300,774,272", "724,406,816")
    assert said(faster)["latency floor, jetson-agx-orin"] == ("~18.03 µs", "~1.193 ms")
    # The first was weighed on no such device; of the second there is no peak rate at that precision.
    assert said(faster)["latency floor, stm32f746"] == (None, "unknown")
    assert said(faster)["throughput at most, stm32f746"] == (None, "unknown")
    assert said(greener)["energy, DRAM"] == ("unknown", "42.940 mJ")


def test_one_report_has_what_is_deployed_only_where_it_differs(reports: tuple[Report, Report]) -> None:
    assert "deployed params" in said(triangle(reports[:1], "live")[0])
    assert "deployed params" not in said(triangle(reports[1:], "live")[0])


def test_where_nothing_was_asked_for_it_says_what_to_ask() -> None:
    _, faster, greener = triangle([report(alexnet())], "live")
    assert "--on" in faster.note
    assert "--energy" in greener.note
    assert not greener.rows


def test_the_peak_is_that_of_the_policy_or_unknown(reports: tuple[Report, Report]) -> None:
    assert said(triangle(reports[1:], "pair_in_place")[0])["peak memory (pair_in_place)"] == ("1,763,712 B",)
    assert said(triangle(reports[1:], "eager")[0])["peak memory (eager)"] == ("unknown",)


def test_a_figure_that_rests_on_one_not_verified_says_so(reports: tuple[Report, Report]) -> None:
    faster = triangle(reports, "live")[1]
    assert "not verified" in faster.note
