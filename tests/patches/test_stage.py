"""Where a stage can end, and what is said of a node that it cannot end with."""

from __future__ import annotations

import pytest

from tests.patches.networks import branched, deployed
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.plan import Grid, planned
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


@pytest.mark.parametrize("half", [0, 1])
def test_a_node_of_several_results_is_named_whichever_of_them_is_read(half: int) -> None:
    builder, kind = Builder("halves"), DTYPES["int8"]
    x = builder.input("x", (1, 4, 8, 8), kind)
    halves = builder.add("split", [("x", x)], {"axis": 1, "parts": 2}, name="split")
    w = builder.stored("w", (2, 2, 3, 3), kind)
    y = builder.add("conv", [("x", halves[half]), ("w", w)], {"padding": 1}, name="conv")[0]
    end = builder.add("relu", [("x", y)], name="end")[0]
    with pytest.raises(BadSpec, match=r"split: split \(split\) needs all of its input"):
        planned(builder.graph([end]), "conv", Grid(2, 2))
