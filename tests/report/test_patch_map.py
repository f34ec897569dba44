"""Patches as they lie on an image: every cell is what counting place by place says, within the terminal, of any plan and any shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.patches.random_stages import random_stages
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.operators.halo import Span
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.plan import Grid, planned
from weighbridge.patches.stage import stage_to
from weighbridge.patching import in_patches
from weighbridge.report.patch_lines import patch_lines
from weighbridge.report.patch_map import PatchMap, counted, patch_maps
from weighbridge.report.spans import text_of

DRAWN = """\
image 1x3x8x16 under 2 x 2 patches: how many read each part
of 8 x 16 places 60.9% are read by one patch, 34.4% by 2, 4.7% by 4; all patches
  together read 1.48 times as many places as there are
0 ┤┏━━━━━━━━━━━━━━━━━┓2············
  │┃·············2222┃2············
  │┃·············2222┃2············
  │┃22222222222224444┃4222222222222
4 ┤┗━━━━━━━━━━━━━━━━━┛4222222222222
  │··············222222············
  │··············222222············
  │··············222222············
  └┬───────────────┬───────────────
   0               8
  ·: read by one patch; 2 to 4: by so many; the box: the 5 x 10 that the largest
    patch reads, 1,1
"""


def brute(drawn: PatchMap) -> Iterator[list[int]]:
    """By row and column how many patches read a place."""
    for row in range(drawn.rows):
        yield [
            sum(down.start <= row < down.stop and across.start <= column < across.stop for down, across in drawn.boxes)
            for column in range(drawn.columns)
        ]


def cells(drawn: PatchMap, width: int, *, unicode: bool = True) -> list[str]:
    """What is right of the axis, line by line."""
    lines = ["".join(span.text for span in line) for line in patch_lines(drawn, width, unicode)]
    floor = next(place for place, line in enumerate(lines) if line.lstrip().startswith("└" if unicode else "+"))
    left = lines[floor].index("└" if unicode else "+") + 1
    first = next(place for place, line in enumerate(lines) if line[:left].endswith(("┤", "│", "|", "+")))
    return [line[left:] for line in lines[first:floor]]


SIGNS = {" ": 0, "·": 1, **{str(count): count for count in range(2, 10)}, "+": 10}


def holds(drawn: PatchMap, width: int) -> None:
    """Every cell that the box leaves free is the most that read one of the places it stands for."""
    counts, shown = list(brute(drawn)), cells(drawn, width)
    for place, line in enumerate(shown):
        rows = range(place * drawn.rows // len(shown), max(1, (place + 1) * drawn.rows // len(shown)))
        rows = rows or range(rows.start, rows.start + 1)
        for at, sign in enumerate(line):
            start = at * drawn.columns // len(line)
            columns = range(start, max(start + 1, (at + 1) * drawn.columns // len(line)))
            if sign in SIGNS:
                assert SIGNS[sign] == min(10, max(counts[row][column] for row in rows for column in columns))


def spans(size: int) -> st.SearchStrategy[Span]:
    return st.tuples(st.integers(0, size), st.integers(0, size)).map(lambda ends: Span(min(ends), max(ends)))


@st.composite
def made(draw: st.DrawFn) -> PatchMap:
    """Any boxes, also such as no plan has."""
    rows, columns = draw(st.integers(1, 60)), draw(st.integers(1, 60))
    grid = Grid(draw(st.integers(1, min(rows, 8))), draw(st.integers(1, min(columns, 8))))
    boxes = draw(st.lists(st.tuples(spans(rows), spans(columns)), min_size=grid.patches, max_size=grid.patches))
    lines = [
        tuple(one * size // parts for one in range(parts)) for parts, size in zip(grid, (rows, columns), strict=True)
    ]
    largest = draw(st.none() | st.integers(0, grid.patches - 1))
    return PatchMap("x", (1, 3, rows, columns), rows, columns, grid, tuple(boxes), (lines[0], lines[1]), largest)


@given(made(), st.integers(40, 200))
def test_every_cell_of_any_map_is_the_count_place_by_place(drawn: PatchMap, width: int) -> None:
    holds(drawn, width)


@given(made())
def test_the_places_that_are_read_so_often_are_all_places(drawn: PatchMap) -> None:
    assert counted(drawn).places == dict(Counter(count for line in brute(drawn) for count in line))


@settings(max_examples=50, deadline=None)
@given(random_stages(), st.integers(1, 8), st.integers(1, 8), st.integers(40, 200))
def test_of_random_plans(stage: tuple[Graph, str], rows: int, columns: int, width: int) -> None:
    graph, last = stage
    found = stage_to(graph, last, OPERATORS)
    sizes = [graph.tensors[found.output].shape[axis] for axis in found.axes]
    try:
        plan = planned(graph, last, Grid(min(rows, sizes[0]), min(columns, sizes[1])))
    except BadSpec as error:
        assume(not error.what.endswith("which this grid cuts"))  # of blocks that are made whole
        raise
    for drawn in patch_maps(plan, "live"):
        assert (drawn.rows, drawn.columns) == graph.tensors["x"].shape[2:]
        assert drawn.boxes == tuple(
            tuple(one.inputs["x"][2:])
            if "x" in one.inputs and all(s.size for s in one.inputs["x"])
            else (Span(0, 0),) * 2
            for one in plan.patches
        )
        holds(drawn, width)


@given(made(), st.integers(40, 200), st.booleans())
def test_it_keeps_to_the_terminal_and_to_ascii(drawn: PatchMap, width: int, unicode: bool) -> None:
    shown = ["".join(span.text for span in line) for line in patch_lines(drawn, width, unicode)]
    assert max(map(cell_len, shown)) <= width
    assert unicode or all(line.isascii() for line in shown)
    assert len(cells(drawn, width, unicode=unicode)) <= 16


@pytest.mark.parametrize("grid", ["1x8", "8x1", "8x8", "3x5"])
@pytest.mark.parametrize("shape", [(64, 64), (20, 200), (200, 20), (8, 8), (224, 224), (9, 1000)])
def test_every_patch_has_a_cell_at_least(grid: str, shape: tuple[int, int]) -> None:
    """On images as wide as high, and on long ones, where a terminal has room."""
    builder = Builder("one")
    x = builder.input("image", (1, *shape, 3), DTYPES["int8"])
    w = builder.stored("w", (4, 3, 3, 3), DTYPES["int8"])
    attributes = {"padding": "same_upper", "layout": "channels_last", "weight_layout": "o_spatial_i"}
    y = builder.add("conv", [("x", x), ("w", w)], attributes, name="first")[0]
    end = builder.add("relu", [("x", y)], name="end")[0]
    found = in_patches(builder.graph([end]), last="first", grid=grid)
    (drawn,) = patch_maps(found.plan, found.policy)
    assert (drawn.rows, drawn.columns) == shape
    shown = cells(drawn, 100)
    assert len(shown) >= min(shape[0], 2 * found.plan.grid.rows)
    assert len(shown[0]) >= min(shape[1], 4 * found.plan.grid.columns)
    holds(drawn, 100)


def test_as_it_looks() -> None:
    boxes = tuple((down, across) for down in (Span(0, 5), Span(3, 8)) for across in (Span(0, 10), Span(7, 16)))
    drawn = PatchMap("image", (1, 3, 8, 16), 8, 16, Grid(2, 2), boxes, ((0, 4), (0, 8)), 0)
    assert text_of(patch_lines(drawn, 80, unicode=True)) == DRAWN
