"""Whether patches make a network fit: held to the plan of patches itself, and to what is left of a memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from weighbridge import Report, in_patches, weigh
from weighbridge.api import deployed_of, load
from weighbridge.devices.catalogue import find
from weighbridge.estimates import PatchedFit, PatchedStage
from weighbridge.estimates.patched_fit import patched_fit
from weighbridge.report import markdown, terminal
from weighbridge.report.terminal import Look
from weighbridge.report.view import page

from .demands import searches

NETWORK = "mobilenet_v2:resolution=96,width=0.35"
"""At int8 97 kB are alive at once, and in patches half of that."""


def on(reserve_bytes: int, source: str | Path = NETWORK, board: str = "stm32f746", **options: bool) -> Report:
    return weigh(source, precision="int8", on=board, reserve={"sram": reserve_bytes}, **{"patches": True, **options})


def test_the_patches_with_room_are_those_that_the_plan_has() -> None:
    found = weigh("mobilenet_v2", precision="int8", on="stm32f746", patches=True).on[0].patches
    assert found is not None
    assert found.stage is not None
    assert (found.region, found.verdict, found.room_bytes, found.exact) == ("SRAM", "fits", 327_680, True)
    grid = (found.stage.rows, found.stage.columns)
    planned = in_patches("mobilenet_v2", precision="int8", last=found.stage.last, grid=grid, policy=found.policy)
    plan = planned.plan
    assert plan is not None
    assert found.stage == PatchedStage(
        plan.last, len(plan.nodes), *plan.grid, plan.with_input_bytes["live"] or 0, plan.stage_macs, plan.clipped_macs
    )
    assert (found.before_bytes, found.network_macs) == (planned.before_bytes, plan.network_macs)
    assert found.stage.peak_bytes <= found.room_bytes < found.before_bytes


def test_of_those_with_room_the_ones_that_do_least_again_are_told() -> None:
    room = range(40_000, 90_000, 10_000)
    works = []
    for size in room:
        found = on(327_680 - size).on[0].patches
        assert found is not None
        assert found.room_bytes == size
        if found.verdict == "fits":
            assert found.stage is not None
            assert found.stage.peak_bytes <= size
            works.append(found.stage.patched_macs - found.stage.macs)
    assert len(works) >= 2
    assert works == sorted(works, reverse=True)  # the more room, the less is done again


def test_without_room_the_smallest_peak_is_told() -> None:
    found = on(327_680 - 20_000).on[0].patches
    least = in_patches(NETWORK, precision="int8", policy="live")
    assert found is not None
    assert found.stage is not None
    assert (found.verdict, found.stage.peak_bytes) == ("does not fit", least.after_bytes)
    assert found.stage.peak_bytes > found.room_bytes == 20_000


def test_what_else_lies_there_is_not_left_for_activations(shared: Path) -> None:
    path = shared / "data/tflite/tflm/person_detect.tflite"
    report = weigh(path, on="stm32f746", reserve={"sram": 327_680 - 50_000}, patches=True)
    region = next(one for one in report.on[0].fit.regions if one.name == "SRAM")
    found = report.on[0].patches
    assert found is not None
    assert (region.needed_bytes, region.short_bytes, region.estimated_bytes) == (55_296, 5_296, 27_080)
    assert (found.room_bytes, found.exact, found.verdict) == (50_000 - 27_080, True, "fits")


@pytest.mark.parametrize(
    ("source", "board", "reserve"),
    [
        (NETWORK, "stm32f746", {}),  # it fits in one piece
        ("mobilenet_v2:resolution=2048", "jetson-agx-orin", {}),  # no microcontroller
        ("mlp:hidden1=400000", "stm32f746", {}),  # no images
        (NETWORK, "stm32f746", {"sram": 327_680}),  # nothing is left at all
    ],
)
def test_where_there_is_nothing_to_look_for_nothing_is_told(source: str, board: str, reserve: dict[str, int]) -> None:
    assert weigh(source, precision="int8", on=board, reserve=reserve, patches=True).on[0].patches is None


def test_nobody_looks_who_is_not_asked() -> None:
    assert on(300_000, patches=False).on[0].patches is None


def test_what_is_of_unknown_size_beside_activations_is_said() -> None:
    report = on(327_680 - 60_000)
    fit, board = report.on[0].fit, find("stm32f746")
    (sram,) = (one for one in fit.regions if one.name == "SRAM")
    unknown = sram.contents[0]._replace(content="persistent", bytes=None, estimated=True)
    beside = sram._replace(contents=(*sram.contents, unknown))
    search = searches(deployed_of(load(NETWORK), precision="int8"))
    found = patched_fit(search, fit._replace(regions=(beside,)), board)
    assert found is not None
    assert (found.room_bytes, found.exact) == (60_000, False)
    assert "less what is of unknown size there" in _said(report, found)


def test_what_outlives_a_run_is_not_left_either() -> None:
    report = on(327_680 - 60_000)
    (sram,) = (one for one in report.on[0].fit.regions if one.name == "SRAM")
    lasting = sram._replace(contents=tuple(one._replace(variable_bytes=1_000) for one in sram.contents))
    search = searches(deployed_of(load(NETWORK), precision="int8"))
    found = patched_fit(search, report.on[0].fit._replace(regions=(lasting,)), find("stm32f746"))
    assert found is not None
    assert found.room_bytes == 59_000


def test_several_devices_are_looked_at_with_one_search() -> None:
    search = searches(deployed_of(load(NETWORK), precision="int8"))
    assert search.least() is search.least()
    assert search.within(50_000) is search.within(50_000)
    assert search.within(50_000) != search.within(90_000)


@pytest.mark.parametrize(
    ("reserve", "words"),
    [
        (327_680 - 60_000, "patches make it fit the 60,000 B that SRAM has left for activations: "),
        (327_680 - 20_000, "no patches make it fit the 20,000 B that SRAM has left for activations: at best "),
    ],
)
def test_the_verdict_says_it_in_every_format(reserve: int, words: str) -> None:
    report = on(reserve)
    found = report.on[0].patches
    assert found is not None
    assert found.stage is not None
    shown = page(report)
    for text in (terminal.text(shown, Look(120)), markdown.render(shown), report.to_html()):
        line = " ".join(text.split())
        assert words in line
        assert f"{found.stage.peak_bytes:,} B alive by live, the input held" in line
        more = found.stage.patched_macs - found.stage.macs
        assert (f"{more:,} MACs done again" in line) == (found.verdict == "fits")


def test_it_is_kept_in_a_saved_report() -> None:
    report = on(327_680 - 60_000)
    assert Report.from_json(report.to_json()).on[0].patches == report.on[0].patches
    assert on(0).to_dict()["on"][0]["patches"] is None  # type: ignore[index]


def _said(report: Report, found: PatchedFit) -> str:
    shown = page(replace(report, on=(report.on[0]._replace(patches=found),)))
    return " ".join(terminal.text(shown, Look(120)).split())
