"""Networks with several inputs, of which the stage reads one: the others are there from the beginning too."""

from __future__ import annotations

import pytest

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import Graph
from weighbridge.patches.cheapest import cheapest
from weighbridge.patches.plan import Grid, planned
from weighbridge.patches.search import best_in_rows
from weighbridge.patching import in_patches

IMAGE_BYTES, LATER_BYTES = 4_096, 50_000


def two_inputs() -> Graph:
    """An image, two convolutions, and a second input, the mean of which is added behind them."""
    builder, kind = Builder("two inputs"), DTYPES["int8"]
    x = builder.input("x", (1, 4, 32, 32), kind)
    later = builder.input("later", (1, LATER_BYTES), kind)
    w1, w2 = (builder.stored(name, shape, kind) for name, shape in (("w1", (16, 4, 3, 3)), ("w2", (4, 16, 3, 3))))
    (one,) = builder.add("conv", [("x", x), ("w", w1)], {"padding": 1}, name="c1")
    (two,) = builder.add("conv", [("x", one), ("w", w2)], {"padding": 1, "stride": 4}, name="c2")
    (mean,) = builder.add("reduce_mean", [("x", later)], {"axes": (1,)}, name="mean")
    (end,) = builder.add("add", [("a", two), ("b", mean)], name="end")
    return builder.graph([end])


def test_an_input_that_is_read_behind_the_stage_is_held_while_it_runs() -> None:
    """A patch of c1 has 16 channels of 15 x 15, and all patches fill the 256 B of c2."""
    plan = planned(two_inputs(), "c2", Grid(2, 2))
    assert plan.input_bytes == IMAGE_BYTES + LATER_BYTES
    assert list(plan.input_shapes) == ["x"]
    assert plan.before_bytes["live"] == IMAGE_BYTES + LATER_BYTES + 16 * 32 * 32
    assert plan.with_input_bytes["live"] == IMAGE_BYTES + LATER_BYTES + 16 * 15 * 15 + 256
    assert plan.rest_bytes["live"] == plan.peak_bytes["live"] == LATER_BYTES + 256 + 1


def test_so_it_is_in_every_search() -> None:
    graph = two_inputs()
    found = in_patches(graph, policy="live")
    assert found.plan is not None
    assert found.after_bytes == max(one.after_bytes or 0 for one in found.steps)
    assert found.after_bytes > IMAGE_BYTES + LATER_BYTES
    rows = best_in_rows(graph, "live", with_input=True)
    assert rows is not None
    assert rows.input_bytes == IMAGE_BYTES + LATER_BYTES
    assert rows.with_input_bytes["live"] > IMAGE_BYTES + LATER_BYTES


@pytest.mark.parametrize(("room_bytes", "fits"), [(IMAGE_BYTES + LATER_BYTES + 3_856, True), (50_300, False)])
def test_patches_fit_with_all_inputs_alone(room_bytes: int, fits: bool) -> None:
    assert (cheapest(two_inputs(), "live", room_bytes, with_input=True) is not None) == fits
