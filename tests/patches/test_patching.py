"""Patches of a source: options, devices, JSON, and what is said in words."""

from __future__ import annotations

import json

import pytest

from tests.patches.networks import branched
from weighbridge.devices.catalogue import find
from weighbridge.errors import BadSpec
from weighbridge.patches.plan import Grid
from weighbridge.patching import in_patches
from weighbridge.report.patched_page import markdown, sentences, text
from weighbridge.report.terminal import Look

PAPER = {"precision": "int8", "last": "block4.project", "grid": "4x4", "policy": "pair_in_place"}


def test_the_paper_in_words() -> None:
    found = in_patches("mobilenet_v2", **PAPER, with_input=False, on=["stm32f746"])
    assert found.after_bytes == 175_616
    outcome, *others = sentences(found)
    assert outcome == (
        "peak 175,616 B (171.5 KiB) in place of 1,404,928 B (1.340 MiB), 8.000 times less: 4 x 4 patches of the first 13 layers, "
        "up to block4.project"
    )
    assert others == [
        (
            "the limit is what runs behind the stage, 175,616 B; the stage takes 162,288 B: 137,200 B in the largest patch, "
            "25,088 B for the result that all patches fill"
        ),
        "27,919,344 MACs are done again where patches overlap: 30.6% of the stage, 9.3% of the network",
        (
            "row by row: peak 175,616 B in place of 1,404,928 B, 8.000 times less, and no MAC done twice: "
            "the first 13 layers, up to block4.project, with rings of 1 to 3 rows"
        ),
        "stm32f746, 327,680 B of SRAM: in one piece it does not fit, in patches it fits, row by row it fits",
    ]


def test_the_input_is_held_unless_it_is_said_to_lie_elsewhere() -> None:
    found = in_patches("mobilenet_v2", **PAPER)
    assert found.with_input
    assert found.after_bytes == 312_816
    assert "the input in the same memory" in text(found, Look(100))


def test_a_board_that_is_short_is_told_by_how_much() -> None:
    found = in_patches("mobilenet_v2", **PAPER, on=[find("stm32f746")], reserve={"sram": "64KiB"})
    (room,) = found.on
    assert (room.region, room.available_bytes) == ("SRAM", 327_680 - 65_536)
    assert (room.before, room.after, room.short_bytes) == ("does not fit", "does not fit", 312_816 - 262_144)
    assert "in patches it does not fit by 50,672 B" in text(found, Look(200))


def test_a_device_without_a_memory_for_activations_has_no_verdict() -> None:
    found = in_patches(branched(), on=["ethos-u55-128"])
    (room,) = found.on
    assert (room.available_bytes, room.after) == (None, None)
    assert "it has no memory for activations" in text(found, Look(100))


def test_without_a_stage_and_a_grid_both_are_searched_for() -> None:
    found = in_patches("mobilenet_v2:resolution=96", precision="int8", with_input=False)
    assert found.plan is not None
    assert found.tried > 10
    assert found.after_bytes is not None
    assert found.after_bytes < found.before_bytes
    again = in_patches("mobilenet_v2:resolution=96", precision="int8", with_input=False, last=found.plan.last)
    assert again.plan == found.plan


@pytest.mark.parametrize("grid", ["3x3", (3, 3), ["3x3"], [(3, 3)], "3 X 3", " 3x3 "])
def test_grids_as_people_write_them(grid: object) -> None:
    found = in_patches(branched(), last="met", grid=grid, with_input=False)
    assert found.plan is not None
    assert found.plan.grid == Grid(3, 3)


@pytest.mark.parametrize("grid", [["2x3", "3x2"], [(2, 3), "3x2"]])
def test_several_grids_are_searched(grid: object) -> None:
    found = in_patches("mobilenet_v2:resolution=64", last="block2.project", grid=grid, with_input=False)
    assert found.plan is not None
    assert found.plan.grid in ((2, 3), (3, 2))
    assert found.tried == 2


@pytest.mark.parametrize(
    "grid", ["4", "0x4", "4x-1", "axb", 4, (4,), [(0, 4)], "4x4x4", [None], (True, 2), "9" * 9 + "x2"]
)
def test_what_is_no_grid(grid: object) -> None:
    with pytest.raises(BadSpec, match=r"grid: .* is no grid; write 4x4"):
        in_patches(branched(), grid=grid)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"policy": "eager"}, "policy: there is no peak under eager"),
        ({"policy": "held", "last": "met", "grid": "2x2"}, "policy: there is no peak under held"),
        ({"policy": "lively"}, "there is no memory policy 'lively'"),
        ({"last": "left"}, "left lies inside a branch"),
        ({"last": "nothing"}, "there is no node 'nothing'"),
        ({"last": "met", "grid": "9x9"}, "9 x 9 patches of a map of 6 x 6"),
        ({"last": "gated"}, "needs all of its input"),
        ({"on": "nothing-of-the-kind"}, "there is no device"),
        ({"batch": 2}, "a graph has its sizes already"),
    ],
)
def test_bad_options(options: dict[str, object], said: str) -> None:
    with pytest.raises(BadSpec, match=said):
        in_patches(branched(), **options)


def test_patches_that_raise_the_peak_are_told_plainly() -> None:
    found = in_patches(branched(64), last="stem", grid="2x2", policy="live")
    assert found.after_bytes is not None
    assert found.after_bytes >= found.before_bytes
    assert "do not help" in next(iter(sentences(found)))


def test_json_has_the_figures_and_no_nan() -> None:
    found = in_patches("mobilenet_v2", **PAPER, on=["stm32f746"])
    data = json.loads(found.to_json())
    assert data["schema"] == 1
    assert data["plan"]["clipped_macs"] == 119_202_032
    assert data["plan"]["grid"] == {"rows": 4, "columns": 4}
    assert data["after_bytes"] == 312_816
    assert data["plan"]["patches"][0]["inputs"]["image"][2] == {"start": 0, "stop": 62}
    assert data["on"][0]["after"] == "fits"


def test_markdown_has_both_tables() -> None:
    page = markdown(in_patches("mobilenet_v2", **PAPER))
    assert "| 2,2 and 3 more | 7x7 | 1x3x75x75 | 8,094,848 |" in page
    assert "| in patches, input held | 320,960 | 326,144 | 312,816 | 312,816 |" in page


def test_the_stage_row_by_row_stands_beside_the_patches() -> None:
    found = in_patches("mobilenet_v2", **PAPER)
    assert found.streamed is not None
    assert (found.streamed.last, found.streamed.macs) == ("block4.project", found.plan.stage_macs)
    data = found.to_dict()["streamed"]
    assert data["ring_bytes"] == 119_616
    assert data["rings"][0] == {"name": "stem.relu6", "rows": 3, "all_rows": 112, "bytes": 3 * 112 * 32}


def test_the_cheapest_patches_that_a_board_has_room_for() -> None:
    """MobileNetV2 on 320 KiB: not the smallest peak, but those with the least done again, the blocks and the grid of the paper."""
    found = in_patches("mobilenet_v2", precision="int8", on=["stm32f746", "stm32h743", "stm32-f746g-disco", "rp2040"])
    by_name = {room.device: room for room in found.on}
    room = by_name["stm32f746"]
    assert room.cheapest == ("block4.project", Grid(4, 4), 312_816, 27_919_344)
    assert found.plan.clipped_macs - found.plan.stage_macs > room.cheapest.macs_more
    assert all((one.cheapest is None) == (one.before == "fits" or one.after != "fits") for one in found.on)
    assert found.to_dict()["on"][0]["cheapest"]["grid"] == {"rows": 4, "columns": 4}
    said = list(sentences(found))
    assert (
        "with the least work that fits there: 4 x 4 patches up to block4.project, 27,919,344 MACs done again, 312,816 B (305.5 KiB)"
        in said
    )
    asked = in_patches("mobilenet_v2", precision="int8", last="block4.project", grid="4x4", on="stm32f746")
    assert not any("least work" in one for one in sentences(asked))
