"""The page of patches: what its drawings, its tables, its sentences and its data say is one and the same."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.patches.networks import branched
from weighbridge import in_patches
from weighbridge.graph import Graph
from weighbridge.operators.halo import Span
from weighbridge.patches.plan import Grid, Patch, PatchPlan
from weighbridge.report.alive_lines import alive_lines
from weighbridge.report.patch_map import patch_maps
from weighbridge.report.patched import Patched
from weighbridge.report.patched_html import render
from weighbridge.report.patched_page import alive, details, lines, maps, markdown, sentences, text
from weighbridge.report.spans import text_of
from weighbridge.report.terminal import Look


@pytest.fixture(scope="module")
def found() -> Patched:
    """The published plan, on a board of which one piece does not fit."""
    asked = {"last": "block4.project", "grid": "4x4", "policy": "pair_in_place", "with_input": False}
    return in_patches("mobilenet_v2", precision="int8", on=["stm32f746", "jetson-nano"], **asked)


def two_inputs() -> Graph:
    """Beside each other on one map, which the first layer makes of both."""
    from weighbridge.builder import Builder
    from weighbridge.dtypes import DTYPES

    builder, kind = Builder("two"), DTYPES["int8"]
    inputs = [builder.input(name, (1, 2, 12, 12), kind) for name in ("left", "right")]
    w = builder.stored("w", (8, 4, 3, 3), kind)
    both = builder.add("concat", [("xs", one) for one in inputs], {"axis": 1}, name="both")[0]
    wide = builder.add("conv", [("x", both), ("w", w)], {"padding": 1}, name="wide")[0]
    end = builder.add("max_pool", [("x", wide)], {"kernel": 4, "stride": 4}, name="end")[0]
    return builder.graph([builder.add("relu", [("x", end)], name="after")[0]])


def test_the_peaks_that_are_drawn_are_those_that_are_told(found: Patched) -> None:
    drawn = alive(found)
    assert [one.peak_bytes for one in drawn.curves] == [found.before_bytes, found.after_bytes]
    assert drawn.curves[0].marked == set(range(len(found.plan.nodes)))
    assert [(one.name, one.bytes) for one in drawn.levels] == [
        ("SRAM of stm32f746", 327_680),
        ("left in DRAM of jetson-nano", found.on[1].available_bytes),
    ]
    shown = " ".join(text(found, Look(100)).split())
    assert "in one piece: peak 1,404,928 B at layer 4 of 65, block2.expand.conv" in shown
    assert "in patches: peak 175,616 B at layer 14 of 65, block5.expand.conv" in shown
    assert "┄: 327,680 B, SRAM of stm32f746; beyond the drawing:" in shown


def test_the_box_that_is_drawn_is_the_largest_patch_of_the_table(found: Patched) -> None:
    (drawn,) = maps(found)
    shown = " ".join(text(found, Look(100)).split())
    assert "the box: the 75 x 75 that the largest patch reads, 2,2" in shown
    assert found.plan.patches[drawn.largest].peak_bytes["pair_in_place"] == found.plan.patch_bytes["pair_in_place"]
    read = sum(down.size * across.size for down, across in drawn.boxes)
    assert f"read {read / 224**2:.2f} times as many places" in shown


def test_the_page_of_html_has_all_figures_without_a_script(found: Patched) -> None:
    lies, over_time = details(found)
    assert [row.cells for row in lies.rows][5] == ("2,2", "43 to 117", "43 to 117", "8,094,848", "137,200")
    assert len(lies.rows) == 16
    assert [row.cells[-1] for row in over_time.rows] == [f"{one.after_bytes:,}" for one in found.steps]
    page = render(found)
    for part in ("43 to 117", "Memory over time", "The patches on the input", 'id="chart-alive"', 'id="chart-patches"'):
        assert part in page


def test_the_drawings_can_be_made_from_the_json_alone(found: Patched) -> None:
    data = json.loads(found.to_json())
    plan = data["plan"]

    def span(one: dict[str, int]) -> Span:
        return Span(one["start"], one["stop"])

    patches = tuple(
        Patch(
            span(one["rows"]),
            span(one["columns"]),
            {name: tuple(map(span, box)) for name, box in one["inputs"].items()},
            one["macs"],
            one["peak_bytes"],
        )
        for one in plan["patches"]
    )
    shapes = {name: tuple(shape) for name, shape in plan["input_shapes"].items()}
    blank = found.plan._replace(patches=patches, input_shapes=shapes, grid=Grid(**plan["grid"]))
    assert isinstance(blank, PatchPlan)
    assert tuple(patch_maps(blank, data["policy"])) == maps(found)
    assert [(one["before_bytes"], one["after_bytes"], one["in_stage"]) for one in data["steps"]] == [
        (one.before_bytes, one.after_bytes, one.in_stage) for one in found.steps
    ]
    assert {one["device"]: one["available_bytes"] for one in data["on"]} == {
        one.device: one.available_bytes for one in found.on
    }


@pytest.mark.parametrize(
    ("asked", "outcome", "limit"),
    [
        (
            {"last": "block4.project", "grid": "4x4", "with_input": False, "policy": "pair_in_place"},
            "peak 175,616 B (171.5 KiB) in place of 1,404,928 B (1.340 MiB), 8.000 times less: 4 x 4 patches",
            (
                "the limit is what runs behind the stage, 175,616 B; the stage takes 162,288 B: 137,200 B in the largest patch, "
                "25,088 B for the result that all patches fill"
            ),
        ),
        (
            {"last": "block1.project", "grid": "28x28"},
            "the peak stays at 1,404,928 B (1.340 MiB): 28 x 28 patches of the first 3 layers, up to block1.project, do not help",
            (
                "the limit is what runs behind the stage, 1,404,928 B; the stage takes 352,400 B: 1,168 B in the largest patch, "
                "200,704 B for the result that all patches fill, 150,528 B for the input"
            ),
        ),
        (
            {"source": "alexnet", "last": "pool1", "grid": "1x1"},
            (
                "the peak rises by 69,984 B from 440,928 B (430.6 KiB) to 510,912 B (498.9 KiB): 1 x 1 patches of the first 2 layers, "
                "up to pool1, do not help"
            ),
            (
                "the limit is the stage, 510,912 B: 290,400 B in the largest patch, 69,984 B for the result that all patches fill, "
                "150,528 B for the input; what runs behind it takes 256,608 B"
            ),
        ),
    ],
)
def test_what_patches_come_to_and_what_limits_it(asked: dict[str, Any], outcome: str, limit: str) -> None:
    found = in_patches(**{"source": "mobilenet_v2", "precision": "int8", **asked})
    first, second, *_ = sentences(found)
    assert first.startswith(outcome)
    assert second == limit


def test_a_map_of_each_input() -> None:
    found = in_patches(two_inputs(), last="end", grid="3x3")
    assert [one.name for one in maps(found)] == ["left", "right"]
    shown = text(found, Look(80))
    assert "left 1x2x12x12 under 3 x 3 patches" in shown
    assert "right 1x2x12x12 under 3 x 3 patches" in shown
    assert len(list(details(found))) == 3


def test_one_patch_and_no_plan_have_no_map() -> None:
    assert maps(in_patches(branched(), last="met", grid="1x1")) == ()
    nothing = in_patches("edge_detector")
    assert nothing.plan is None
    assert maps(nothing) == ()
    assert "┤" not in text(nothing, Look(100))
    assert "Memory over time" not in render(nothing)


@pytest.mark.parametrize("width", [*range(40, 201, 20), 61])
def test_it_keeps_to_the_terminal_and_to_ascii(found: Patched, width: int) -> None:
    shown = text(found, Look(width, unicode=False))
    assert shown.isascii()
    assert max(map(len, shown.splitlines())) <= max(60, width)
    assert max(map(len, text_of(alive_lines(alive(found), width, unicode=True)).splitlines())) <= width


def test_the_drawings_are_code_in_markdown_whatever_layers_are_called(found: Patched) -> None:
    assert markdown(found).count("\n```") == 4
    odd = replace(found, plan=found.plan._replace(input_shapes={}))
    steps = tuple(one._replace(name="```") for one in odd.plan.steps)
    shown = markdown(replace(odd, plan=odd.plan._replace(steps=steps)))
    fence = "````text\n"
    assert fence in shown
    assert shown.count("````") == 2


def test_row_by_row(found: Patched) -> None:
    """Of the maps of block 4's stage one row or three, as the windows are high, are there at once, two where a stride skips some."""
    streamed = found.streamed
    shown = " ".join(text(found, Look(100)).split())
    assert "row by row: peak 175,616 B in place of 1,404,928 B, 8.000 times less, and no MAC done twice" in shown
    assert "with rings of 1 to 3 rows" in shown
    assert f"{sum(one.bytes for one in streamed.rings):,} B in all rings" in shown
    assert [one.by_rows for one in found.on] == ["fits", "fits"]
    assert "in patches it fits, row by row it fits" in shown
    held = replace(found, with_input=True)
    assert f"row by row: peak {119_616 + 25_088 + 150_528:,} B" in text(held, Look(100))


def test_row_by_row_where_no_patches_help(found: Patched) -> None:
    alone = replace(found, plan=None, reasons={})
    first, second, *_ = sentences(alone)
    assert first.startswith("no patches make the peak of 1,404,928 B")
    assert second.startswith("row by row: peak 175,616 B")
    shown = text(alone, Look(100))
    assert "row by row, input held" in shown
    assert "in patches, input held" not in shown
    assert "the rows of each map" in render(alone)


def test_many_rings_are_all_shown_on_demand(found: Patched) -> None:
    ring = found.streamed.rings[0]
    many = tuple(ring._replace(name=f"map{place}") for place in range(40))
    odd = replace(found, streamed=found.streamed._replace(rings=many, ring_bytes=None))
    short = text_of(lines(odd, Look(100)))
    assert "map29" in short
    assert "map30" not in short
    assert "10 more; --all shows them" in short
    assert "? B in all rings" in short
    assert "map39" in text_of(lines(odd, Look(100), all_rows=True))
    assert "map39" in markdown(odd)


def test_a_stage_of_unknown_size_is_not_told_of_row_by_row(found: Patched) -> None:
    unknown = dict.fromkeys(found.streamed.peak_bytes)
    odd = replace(found, streamed=found.streamed._replace(peak_bytes=unknown))
    assert "row by row: peak" not in text(odd, Look(100))


def test_a_board_that_patches_are_too_large_for_and_rows_are_not() -> None:
    asked: dict[str, Any] = {"last": "block4.project", "grid": "4x4", "reserve": {"sram": 327_680 - 300_000}}
    found = in_patches("mobilenet_v2", precision="int8", on="stm32f746", **asked)
    (room,) = found.on
    assert (found.after_bytes, found.by_rows_bytes, room.available_bytes) == (312_816, 295_232, 300_000)
    assert (room.before, room.after, room.by_rows, room.short_bytes) == ("does not fit", "does not fit", "fits", 12_816)
    assert "in patches it does not fit by 12,816 B, row by row it fits" in " ".join(text(found, Look(100)).split())


def test_a_stage_of_one_layer_that_saves_nothing() -> None:
    found = in_patches("alexnet", precision="int8", last="conv1")
    assert "the rows of each map" not in text(found, Look(100))  # there is none between
    assert list(sentences(found)) == [
        (
            "no patches make the peak of 440,928 B (430.6 KiB) smaller: the best of 7 tried, 2 x 2 up to conv1, has 440,928 B "
            "(430.6 KiB)"
        ),
        (
            "row by row: peak 440,928 B, not less than the 440,928 B in one piece, and no MAC done twice: the first layer, up to conv1, "
            "with no map between"
        ),
    ]
