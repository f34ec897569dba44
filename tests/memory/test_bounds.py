"""What must hold between policies, and between a peak and the tensors alive at it, whatever the network."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.random_graphs import graphs
from weighbridge import memory, weigh
from weighbridge.graph import Graph
from weighbridge.memory import MemoryPlan
from weighbridge.memory.lifetimes import lifetimes
from weighbridge.operators.table import OPERATORS
from weighbridge.passes import deploy

BLOCKS = frozenset({"block0", "block1"})
FAMILIES = ("pair", "live", "held")


def at_each_node(plan: MemoryPlan, less: str, more: str) -> Iterator[tuple[int | None, int | None]]:
    """The figures of two policies, if both apply."""
    if less in plan.profile and more in plan.profile:
        yield from zip(plan.profile[less], plan.profile[more], strict=True)
        yield plan.peak_bytes[less], plan.peak_bytes[more]


@settings(max_examples=150, deadline=None)
@given(graph=graphs())
@pytest.mark.parametrize("ending", ["", "_in_place"])
def test_pair_is_at_most_live_and_live_at_most_held(ending: str, graph: Graph) -> None:
    plan = memory.plan(replace(deploy(graph), blocks=BLOCKS))
    for less, more in (("pair", "live"), ("live", "held")):
        for smaller, larger in at_each_node(plan, f"{less}{ending}", f"{more}{ending}"):
            assert smaller is None or larger is None or smaller <= larger
            assert larger is None or smaller is not None
    at_layers, everywhere = plan.peak_bytes[f"held_contractions{ending}"], plan.peak_bytes[f"held{ending}"]
    assert at_layers is None or everywhere is None or at_layers <= everywhere


@settings(max_examples=100, deadline=None)
@given(graph=graphs())
@pytest.mark.parametrize("policy", [*FAMILIES, "held_contractions"])
def test_overwriting_never_costs(policy: str, graph: Graph) -> None:
    plan = memory.plan(replace(deploy(graph), blocks=BLOCKS))
    less, more = plan.peak_bytes[f"{policy}_in_place"], plan.peak_bytes[policy]
    assert less is more is None or less <= more
    for smaller, larger in at_each_node(plan, f"{policy}_in_place", policy):
        assert smaller is larger is None or smaller <= larger


@settings(max_examples=150, deadline=None)
@given(graph=graphs())
@pytest.mark.parametrize("policy", [f"{family}{ending}" for family in FAMILIES for ending in ("", "_in_place")])
def test_no_figure_is_below_the_largest_tensor_at_its_node(policy: str, graph: Graph) -> None:
    """What a node reads and writes for ``pair``; all that is alive at it for the others.  Also in place: two that lie over
    each other take the larger of the two.
    """
    graph = replace(deploy(graph), blocks=BLOCKS)
    plan, spans = memory.plan(graph), lifetimes(graph, OPERATORS)
    for place, figure in enumerate(plan.profile.get(policy, ())):
        names = {spans.storage_of.get(tensor) for tensor in (*spans.nodes[place].inputs, *spans.nodes[place].outputs)}
        alive = [
            span.bytes
            for span in plan.tensors
            if (span.name in names if policy.startswith("pair") else span.first <= place <= span.last)
        ]
        assert figure is None or figure >= max(alive, default=0)
        assert figure is not None or plan.peak_bytes[policy] is None


@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_every_policy_has_a_profile_that_its_peak_is_taken_from_or_a_reason(graph: Graph) -> None:
    for blocks in (None, BLOCKS):
        plan = memory.plan(replace(deploy(graph), blocks=blocks))
        assert {*plan.peak_bytes, *plan.inapplicable} == set(memory.POLICIES)
        applying = [policy for policy in plan.peak_bytes if policy not in plan.inapplicable]
        assert set(plan.profile) == {policy for policy in applying if "contractions" not in policy}
        for policy, profile in plan.profile.items():
            assert len(profile) == len(lifetimes(deploy(graph), OPERATORS).nodes)
            assert plan.peak_bytes[policy] == (None if None in profile else max(profile, default=0))
        for policy in set(applying) - set(plan.profile):
            figures = plan.profile[policy.replace("_contractions", "")]
            assert plan.peak_bytes[policy] in (None, *figures)
        assert all(plan.peak_bytes.get(policy) is None for policy in plan.inapplicable)


def test_no_peak_of_mobilenet_v2_is_below_its_largest_map(shared: Path) -> None:
    """A published claim says otherwise; one feature map alone is larger than it."""
    text = tomllib.loads((shared / "facts" / "published.toml").read_text(encoding="utf-8"))["impossible"]["what"]
    height, width, channels, size = (
        int(number.replace(",", ""))
        for number in re.match(r"a (\d+)x(\d+)x(\d+) int8 feature map alone is ([\d,]+) B", text).groups()
    )
    report = weigh("mobilenet_v2", precision="int8")
    (stem,) = (node for node in report.nodes if node.name == "stem.conv")
    assert stem.output == (1, channels, height, width)
    assert stem.output_bytes == size
    peaks = {policy: peak for policy, peak in report.memory.peak_bytes.items() if peak is not None}
    assert len(peaks) == 10
    claimed = 1000 * int(re.search(r"(\d+) KB", text)[1])
    assert all(peak >= size > claimed for peak in peaks.values())
