"""The cheapest patches that fit: as many MACs again as their plan says, and none cheaper."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.patches.networks import branched, deployed
from tests.patches.random_stages import random_stages
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.cheapest import cheapest
from weighbridge.patches.options import Option, Options
from weighbridge.patches.plan import Grid, planned
from weighbridge.patches.stage import stages

GRIDS = (Grid(2, 2), Grid(3, 3), Grid(4, 4))


@settings(max_examples=60, deadline=None)
@given(random_stages(), st.integers(1, 3), st.integers(1, 3))
def test_the_macs_are_those_of_the_plan(made: tuple[Graph, str], rows: int, columns: int) -> None:
    graph, last = made
    try:
        plan = planned(graph, last, Grid(rows, columns))
    except BadSpec:
        assume(False)
    grid = Grid(rows, columns)
    options = Options(graph, "live", OPERATORS, with_input=False, last=last, grids=[grid])
    assert options.macs_again(Option(0, (0, 0, 0), last, grid)) == plan.clipped_macs - plan.stage_macs


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("name", ["branched", "mobilenet_v2:resolution=64"])
def test_no_patches_that_fit_are_cheaper(name: str, share: float) -> None:
    """Every stage and grid one by one."""
    holds(branched() if name == "branched" else deployed(name), share)


@settings(max_examples=30, deadline=None)
@given(random_stages(), st.sampled_from([0.6, 0.8, 0.95]))
def test_none_are_cheaper_in_random_networks(made: tuple[Graph, str], share: float) -> None:
    holds(made[0], share)


def holds(graph: Graph, share: float) -> None:
    plans = []
    for end, grid in product(stages(graph, OPERATORS), GRIDS):
        try:
            plans.append(planned(graph, end, grid))
        except BadSpec:
            continue
    if not plans:
        return
    room = int(plans[0].before_bytes["live_in_place"] * share)
    fitting = [one for one in plans if one.peak_bytes["live_in_place"] <= room]
    found = cheapest(graph, "live_in_place", room, grids=GRIDS)
    if not fitting:
        assert found is None
        return
    assert found is not None
    best = min((one.clipped_macs - one.stage_macs, one.peak_bytes["live_in_place"]) for one in fitting)
    assert (found.macs_more, found.peak_bytes) == best


def test_more_room_costs_less_and_none_is_told() -> None:
    graph = deployed("mobilenet_v2")
    rooms = (320_000, 500_000, 1_000_000)
    found = [cheapest(graph, "live_in_place", room, with_input=True) for room in rooms]
    assert [one.grid for one in found] == sorted((one.grid for one in found), reverse=True)
    assert all(one.peak_bytes <= room for one, room in zip(found, rooms, strict=True))
    again = [one.macs_more for one in found]
    assert again == sorted(again, reverse=True)
    assert cheapest(graph, "live_in_place", 10_000) is None
