"""Where a stage can end, and what is said of a node that it cannot end with."""

from __future__ import annotations

import pytest

from tests.patches.networks import branched, deployed
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.plan import Grid, planned, splits
from weighbridge.patches.stage import stage_to, stages


def test_a_stage_ends_where_all_branches_have_met() -> None:
    assert stages(branched(), OPERATORS) == ("stem", "met", "after", "gated")
    stage = stage_to(branched(), "met", OPERATORS)
    assert [node.name for node in stage.nodes] == ["stem", "left", "right", "met"]
    assert stage.axes == (2, 3)


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("left", "left lies inside a branch: right reads stem too; end the stage where all branches have met"),
        ("right", "right lies inside a branch: left reads stem too"),
        ("steam", "there is no node 'steam'; did you mean stem\\?"),
        ("zzz", "there is no node 'zzz'; the layers of the report have their names"),
    ],
)
def test_what_no_stage_ends_with_is_refused(last: str, said: str) -> None:
    with pytest.raises(BadSpec, match=f"last: {said}"):
        stage_to(branched(), last, OPERATORS)


def test_a_node_that_sees_everything_is_named() -> None:
    with pytest.raises(BadSpec, match=r"squeeze: squeeze \(global_average_pool\) needs all of its input") as error:
        planned(branched(), "gated", Grid(2, 2))
    assert error.value.hint == "end the stage before it"


def test_a_result_without_rows_and_columns() -> None:
    with pytest.raises(BadSpec, match="what flatten makes has no rows and columns that windows go over"):
        stage_to(deployed("mobilenet_v2"), "flatten", OPERATORS)


def test_the_ends_of_mobilenet_v2_are_those_of_its_blocks() -> None:
    found = stages(deployed("mobilenet_v2"), OPERATORS)
    assert "block4.project" in found
    assert "block3.add" in found
    assert "block3.expand.conv" not in found


def halves(axis: int) -> Graph:
    builder, kind = Builder("halves"), DTYPES["int8"]
    x = builder.input("x", (1, 4, 8, 8), kind)
    upper, lower = builder.add("split", [("x", x)], {"axis": axis, "parts": 2}, name="split")
    end = builder.add("add", [("a", upper), ("b", lower)], name="end")[0]
    w = builder.stored("w", (2, builder.tensors[end].shape[1], 1, 1), kind)
    end = builder.add("conv", [("x", end), ("w", w)], name="conv")[0]
    return builder.graph([builder.add("relu", [("x", end)], name="behind")[0]])


def test_a_split_along_an_axis_that_is_cut_is_named() -> None:
    assert planned(halves(1), "conv", Grid(2, 2)).clipped_macs == 2 * 2 * 64
    with pytest.raises(BadSpec, match=r"split: split \(split\) needs all of its input"):
        planned(halves(2), "conv", Grid(2, 2))


def test_a_stage_does_not_end_with_several_results() -> None:
    with pytest.raises(BadSpec, match="last: split has 2 results; a stage ends with one"):
        stage_to(halves(1), "split", OPERATORS)
    assert "split" not in stages(halves(1), OPERATORS)


def test_patches_differ_by_one_row_and_column_at_most() -> None:
    down, across = splits(10, 11, Grid(4, 4))
    assert [span.size for span in down] == [2, 3, 2, 3]
    assert [span.size for span in across] == [2, 3, 3, 3]
    assert (down[0].start, down[-1].stop, across[0].start, across[-1].stop) == (0, 10, 0, 11)
