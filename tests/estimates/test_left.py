"""What a memory has left for activations: one number for the verdict of a board and for the command on patches."""

from __future__ import annotations

from pathlib import Path

import pytest

from weighbridge import in_patches, weigh
from weighbridge.api import demand_of, load
from weighbridge.devices.catalogue import find
from weighbridge.estimates.left import Left, left_in, region_of_activations
from weighbridge.report.patched_page import alive, sentences

from .demands import searches


@pytest.mark.parametrize(
    ("left", "peak_bytes", "verdict"),
    [
        (Left(100, 100), 100, "fits"),
        (Left(100, 100), 101, "does not fit"),
        (Left(60, 100), 61, "unknown"),  # an estimate proves nothing
        (Left(60, 100), 101, "does not fit"),
        (Left(100, 100, exact=False), 1, "unknown"),
    ],
)
def test_a_verdict_depends_on_what_is_certain(left: Left, peak_bytes: int, verdict: str) -> None:
    assert left.verdict(peak_bytes) == verdict


@pytest.mark.parametrize(
    ("board", "region", "available_bytes"),
    [("stm32f746", "SRAM", 51_200), ("nrf52840", "RAM", 53_248), ("rp2040", "SRAM", 50_000)],
)
def test_the_command_on_patches_and_the_verdict_of_a_board_are_of_one_mind(
    shared: Path, board: str, region: str, available_bytes: int
) -> None:
    path = shared / "data/tflite/tflm/person_detect.tflite"
    size = region_of_activations(demand_of(load(path)), find(board))
    assert size is not None
    reserve = {region: size.available_bytes - available_bytes}
    weighed = weigh(path, on=board, reserve=reserve, patches=True).on[0]
    verdict = weighed.patches
    (told,) = in_patches(path, policy="live", on=board, reserve=reserve).on
    assert verdict is not None
    assert verdict.stage is not None
    assert (weighed.fit.verdict, verdict.verdict) == (told.before, told.after) == ("does not fit", "fits")
    assert (told.region, told.available_bytes) == (verdict.region, verdict.room_bytes)
    assert told.beside_bytes == available_bytes - verdict.room_bytes > 0
    assert told.cheapest is not None
    assert (told.cheapest.last, *told.cheapest.grid) == (verdict.stage.last, verdict.stage.rows, verdict.stage.columns)
    assert told.cheapest.macs_more == verdict.stage.patched_macs - verdict.stage.macs


def test_what_depends_on_an_estimate_may_fit(shared: Path) -> None:
    path = shared / "data/tflite/tflm/person_detect.tflite"
    asked = {"on": "stm32f746", "reserve": {"sram": 327_680 - 60_000}}
    weighed = weigh(path, patches=True, **asked).on[0]
    found = in_patches(path, **asked)
    (told,) = found.on
    assert weighed.fit.regions[1].verdict == told.before == "unknown"
    assert weighed.patches is not None  # it is looked for there too
    assert weighed.patches.room_bytes == told.available_bytes == 60_000 - 27_080
    said = next(one for one in sentences(found) if one.startswith("stm32f746"))
    assert said.startswith(
        "stm32f746, 32,920 B left in SRAM beside the 27,080 B of what else lies there: in one piece it may fit, in patches it fits"
    )
    assert [one.name for one in alive(found).levels] == ["left in SRAM of stm32f746"]


def test_the_preferred_memory_is_compared_where_there_is_room_in_another_one() -> None:
    (told,) = in_patches("mobilenet_v2", precision="int8", last="block4.project", grid="4x4", on="stm32-f746g-disco").on
    weighed = weigh("mobilenet_v2", precision="int8", on="stm32-f746g-disco").on[0]
    assert (told.region, told.available_bytes, told.before, told.after) == ("SRAM", 327_680, "does not fit", "fits")
    assert [one.name for one in weighed.fit.regions if "activations" in one.holds] == ["SDRAM"]


def test_of_an_arena_whose_gaps_alone_have_no_room_patches_say_nothing(shared: Path) -> None:
    """The 55,296 B that are alive have room; the 73,728 B that the runtime packs have not."""
    path = shared / "data/tflite/mlperf_tiny/vww_96_int8.tflite"
    fit = weigh(path, on="stm32f746", reserve={"sram": 327_680 - 60_000}).on[0].fit
    sram = next(one for one in fit.regions if "activations" in one.holds)
    alone = sram._replace(contents=tuple(one for one in sram.contents if one.content == "activations"))
    assert (alone.verdict, left_in(alone)) == ("does not fit", Left(60_000, 60_000))
    from weighbridge.estimates.patched_fit import patched_fit

    search = searches(load(path))
    assert patched_fit(search, fit._replace(regions=(alone,)), find("stm32f746")) is None
    short = alone._replace(available_bytes=50_000)
    assert patched_fit(search, fit._replace(regions=(short,)), find("stm32f746")) is not None
