"""Rules of pruning: which layers a target names, which ratio holds, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from tests.passes.pruning import FLOAT, Net, facts_of, note_of, of, pruned_by
from tests.steps import steps
from weighbridge.api import load
from weighbridge.builder import Builder
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.passes.what_if.prune import prune_channels

HALF = Fraction(1, 2)


def test_later_rules_win_and_rest_is_what_no_other_names() -> None:
    net = Net()
    a, b = net.conv("a", net.x, 8), net.conv("b", net.x, 8)
    graph = net.graph(net.add("add", "y", ("a", a), ("b", b)), net.conv("c", net.x, 8))
    rules = [("a", HALF), ("b", Fraction(1, 4)), ("rest", Fraction(3, 4))]
    assert [of(prune_channels(graph, rules), name)[1] for name in "abc"] == [6, 6, 2]
    assert [of(prune_channels(graph, [rules[1], rules[0]]), name)[1] for name in "abc"] == [4, 4, 8]
    kept = prune_channels(graph, [("all", HALF), ("c.w", Fraction(0))])
    assert [of(kept, name)[1] for name in "abc"] == [4, 4, 8]


def test_too_few_channels() -> None:
    net = Net()
    graph = net.graph(net.conv("a", net.x, 3))
    pruned = pruned_by(graph, 10)
    assert pruned.tensors == graph.tensors
    assert "a (too few channels for the ratio to remove one)" in note_of(pruned)


def test_nothing_asked_for() -> None:
    graph = load("alexnet")
    assert prune_channels(graph, []) is graph
    assert prune_channels(graph, [("conv*", Fraction(0)), ("", Fraction(0))]) is graph


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([("", Fraction(1))], "a ratio of 1 leaves conv1 no channels"),
        ([("fc7", Fraction(1))], "a ratio of 1 leaves fc7 no channels"),
        ([("conv2", Fraction(3, 2))], "the ratio 3/2 is not from 0"),
        ([("conv2", Fraction(-1, 2))], "the ratio -1/2 is not from 0"),
        ([("nowhere", HALF)], "no layer, scope or parameter is called 'nowhere'"),
        ([("biases", HALF)], "no layer has these as its weights"),
        ([("last", HALF)], "no layer whose channels can be pruned"),
        ([("first-99", HALF)], "there are 8 layers with weights"),
    ],
)
def test_refused(rules: list[tuple[str, Fraction]], message: str) -> None:
    with pytest.raises(BadSpec) as error:
        prune_channels(load("alexnet"), rules)
    assert message in str(error.value)


def test_a_network_without_weights_is_refused() -> None:
    builder = Builder("none")
    builder.input("x", (1, 3), FLOAT)
    with pytest.raises(BadSpec, match="no layer has weights"):
        pruned_by(builder.graph(list(builder.add("relu", [("x", "x")]))), 30)


def test_a_note_has_a_few_reasons() -> None:
    """Nine layers, each tied to the input by an addition of its own, and the last: six reasons are told, the others counted."""
    net = Net()
    y = net.conv("y", net.x, 4)
    for number in range(9):
        tied = net.add("add", f"add{number}", ("a", net.x), ("b", net.conv(f"c{number}", net.x, 3)))
        y = net.add("concat", f"joined{number}", ("xs", y), ("xs", tied), axis=1)
    note = note_of(pruned_by(net.graph(y), 50))
    assert note.count("ties channels to a size that stays") == 6
    assert note.endswith("; 4 more for 4 other reasons")


def residual(blocks: int) -> Graph:
    """A chain of blocks, all of whose results are added up."""
    net = Net(1, 4, 8, 8)
    x = net.conv("stem", net.x, 8)
    for block in range(blocks):
        x = net.add("add", f"sum{block}", ("a", x), ("b", net.conv(f"c{block}", x, 8)))
    return net.graph(x)


def added_concatenations(parts: int) -> Graph:
    """Two concatenations of so many layers, added up, part by part."""
    net = Net(1, 4, 8, 8)
    joined = [
        net.add("concat", side, *(("xs", net.conv(f"{side}{part}", net.x, 4)) for part in range(parts)), axis=1)
        for side in "ab"
    ]
    return net.graph(net.add("add", "sum", ("a", joined[0]), ("b", joined[1])))


def shuffled_concatenation(parts: int) -> Graph:
    """A concatenation of so many layers, in half as many groups, that deal out their channels."""
    net = Net(1, 4, 8, 8)
    y = net.add("concat", "joined", *(("xs", net.conv(f"c{part}", net.x, 4)) for part in range(parts)), axis=1)
    y = net.add("reshape", "apart", ("x", y), shape=(1, parts // 2, 8, 8, 8))
    y = net.add("transpose", "turned", ("x", y), permutation=(0, 2, 1, 3, 4))
    return net.graph(net.add("reshape", "together", ("x", y), shape=(1, 4 * parts, 8, 8)))


@pytest.mark.parametrize("built", [residual, added_concatenations, shuffled_concatenation])
def test_work_grows_with_the_network_and_not_faster(built: Callable[[int], Graph]) -> None:
    def of(count: int) -> int:
        graph = built(count)
        assert facts_of(pruned_by(graph, 50)).weights < facts_of(graph).weights
        return steps(lambda: pruned_by(graph, 50))

    assert of(256) < 4.8 * of(64)  # quadratic would be 16 times
