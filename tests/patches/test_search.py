"""The search: the best of what there is, and a plain answer where patches do not help."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.patches.networks import branched, deployed
from tests.patches.random_stages import random_stages
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.memory import plan
from weighbridge.operators.table import OPERATORS
from weighbridge.patches.plan import Grid, peaks_in, planned
from weighbridge.patches.rows import RowRules
from weighbridge.patches.search import Searched, best_in_rows, searched
from weighbridge.patches.stage import running_in, stage_to, stages
from weighbridge.patches.streamed import in_rows
from weighbridge.patches.walks import Walks

GRIDS = (Grid(2, 2), Grid(3, 3), Grid(5, 2))


@pytest.mark.parametrize("with_input", [False, True])
@pytest.mark.parametrize("policy", ["live", "pair_in_place"])
@pytest.mark.parametrize("name", ["branched", "lenet5", "mobilenet_v2:resolution=64"])
def test_nothing_is_better_than_what_is_found(name: str, policy: str, *, with_input: bool) -> None:
    """Every stage and every grid tried one by one: the peak, and of those as small the MACs."""
    holds(branched() if name == "branched" else deployed(name), policy, with_input=with_input)


@settings(max_examples=30, deadline=None)
@given(
    random_stages(),
    st.sampled_from(["pair", "live", "pair_in_place", "live_in_place"]),
    st.booleans(),
)
def test_nothing_is_better_in_random_networks(made: tuple[Graph, str], policy: str, with_input: bool) -> None:
    holds(made[0], policy, with_input=with_input)


def holds(graph: Graph, policy: str, *, with_input: bool) -> None:
    before = plan(graph).peak_bytes[policy]
    all_plans = []
    for end, grid in product(stages(graph, OPERATORS), GRIDS):
        try:
            one = planned(graph, end, grid)
        except BadSpec:
            continue
        peak = (one.with_input_bytes if with_input else one.peak_bytes)[policy]
        all_plans.append((peak, one.clipped_macs, one.last, one.grid))
    found = searched(graph, policy, with_input=with_input, grids=GRIDS)
    assert isinstance(found, Searched)
    assert found.before_bytes == before
    least = min((peak for peak, *_ in all_plans), default=None)
    if least is None or least >= before:
        assert found.plan is None
        assert least == (None if found.best is None else found.best.peak_bytes)
        if found.best is not None:
            assert found.best in [(peak, last, grid) for peak, _, last, grid in all_plans]
    else:
        assert found.plan is not None
        assert found.best is None
        peak = (found.plan.with_input_bytes if with_input else found.plan.peak_bytes)[policy]
        assert (peak, found.plan.clipped_macs) == min(all_plans)[:2]
        assert (peak, found.plan.clipped_macs, found.plan.last, found.plan.grid) in all_plans


def test_the_search_finds_the_plan_of_the_paper() -> None:
    """The same blocks, under the paper's way to count: in place, pairs, without the input."""
    found = searched(deployed("mobilenet_v2"), "pair_in_place")
    assert isinstance(found, Searched)
    assert found.plan is not None
    assert (found.plan.last, found.plan.grid) == ("block4.project", Grid(4, 4))
    assert found.plan.peak_bytes["pair_in_place"] == 175_616


def widening() -> Graph:
    """A network whose peak is at its end: patches of its beginning change nothing."""
    builder, kind = Builder("widening"), DTYPES["int8"]
    x = builder.input("x", (1, 1, 16, 16), kind)
    for place, channels in enumerate((2, 4, 64, 128)):
        w = builder.stored(f"w{place}", (channels, builder.tensors[x].shape[1], 3, 3), kind)
        x = builder.add("conv", [("x", x), ("w", w)], {"padding": 1}, name=f"conv{place}")[0]
    return builder.graph([x])


def test_a_network_that_patches_do_not_help_is_told_so() -> None:
    found = searched(widening(), "live")
    assert isinstance(found, Searched)
    assert found.plan is None
    assert found.before_bytes == (64 + 128) * 256


def test_a_network_whose_peak_patches_raise_is_told_so() -> None:
    """One stage, chosen by hand: its output is kept while its patches run, and the image too."""
    plan_ = planned(widening(), "conv2", Grid(2, 2))
    assert plan_.with_input_bytes["live"] >= plan_.before_bytes["live"]
    found = searched(widening(), "live", with_input=True, last="conv2")
    assert isinstance(found, Searched)
    assert found.plan is None
    assert found.tried > 0


def test_a_stage_that_is_asked_for_is_the_one_that_is_tried() -> None:
    found = searched(deployed("mobilenet_v2"), "live", last="block2.project", grids=[Grid(2, 3)])
    assert isinstance(found, Searched)
    assert found.plan is not None
    assert (found.plan.last, found.plan.grid, found.tried) == ("block2.project", Grid(2, 3), 1)
    with pytest.raises(BadSpec, match="lies inside a branch"):
        searched(branched(), "live", last="left")


def test_of_squares_that_leave_as_much_the_coarsest_computes_least() -> None:
    found = searched(deployed("mobilenet_v2"), "pair_in_place", last="block4.project")
    assert isinstance(found, Searched)
    assert found.tried == 7
    assert found.plan is not None
    assert found.plan.grid == Grid(4, 4)  # behind the stage more is alive than in these


def test_a_policy_without_a_peak() -> None:
    assert searched(branched(), "eager") == "there is no peak under eager"


@pytest.mark.parametrize("with_input", [False, True])
@pytest.mark.parametrize("policy", ["live", "pair_in_place"])
@pytest.mark.parametrize(
    "name", ["branched", "lenet5", "mobilenet_v2:resolution=64", "squeezenet:resolution=67", "alexnet"]
)
def test_no_stage_row_by_row_is_better_than_the_one_that_is_found(name: str, policy: str, *, with_input: bool) -> None:
    """Every stage one by one."""
    graph = branched() if name == "branched" else deployed(name)
    found, peaks = best_in_rows(graph, policy, with_input=with_input), {}
    rules = RowRules(graph, OPERATORS)
    for end in stages(graph, OPERATORS):
        try:
            one = in_rows(graph, end, rules)
        except BadSpec:
            continue
        peaks[end] = (one.with_input_bytes if with_input else one.peak_bytes)[policy]
    before = plan(graph).peak_bytes[policy]
    if min(peaks.values(), default=before) >= before:
        assert found is None
    else:
        assert found is not None
        # of several the shortest, which comes first
        assert found.last == min(peaks, key=lambda end: peaks[end])


def test_row_by_row_the_stage_that_is_asked_for() -> None:
    found = best_in_rows(branched(), "live", last="met")
    assert found is not None
    assert found.last == "met"
    assert best_in_rows(branched(), "live", last="gated") is None
    assert best_in_rows(branched(), "eager") is None
    assert best_in_rows(widening(), "live") is None


@pytest.mark.parametrize("policy", ["pair", "live", "pair_in_place", "live_in_place"])
@pytest.mark.parametrize("name", ["branched", "mobilenet_v2:resolution=64", "squeezenet:resolution=67"])
def test_one_patch_never_has_more_than_all_have(name: str, policy: str) -> None:
    """What lets a grid be passed over is a lower bound of its peak."""
    graph = branched() if name == "branched" else deployed(name)
    walks = Walks(graph, running_in(graph, OPERATORS), policy, OPERATORS)
    for end, grid in product(stages(graph, OPERATORS)[:12], GRIDS):
        try:
            stage = stage_to(graph, end, OPERATORS)
            peaks = peaks_in(graph, stage, grid, known=walks.known)
        except BadSpec:
            continue
        least = walks.least_bytes(stage, grid)
        assert 0 < least <= peaks.stage_bytes(policy)
        assert peaks == peaks_in(graph, stage, grid)
