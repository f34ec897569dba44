"""The order with the smallest peak: the best of all orders on small graphs, never below the bound on others."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings

from tests.random_graphs import graphs
from weighbridge.api import load
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import Graph, Node, Role, Tensor
from weighbridge.memory import plan
from weighbridge.memory.order import Ordering, least_peak, stretch
from weighbridge.operators.table import OPERATORS
from weighbridge.passes import deploy
from weighbridge.passes.static import runs, static_tensors

INT8 = DTYPES["int8"]


def random_graph(seed: int, count: int) -> Graph:
    """Nodes of several results and operands, views, results that nobody reads, inputs that nobody reads, stored tensors."""
    r = random.Random(seed)
    tensors: dict[str, Tensor] = {}
    nodes: list[Node] = []

    def tensor(name: str, size: int, role: Role = Role.ACTIVATION) -> str:
        tensors[name] = Tensor(name, (size,), INT8, role)
        return name

    inputs = [tensor(f"i{place}", r.randint(1, 20), Role.INPUT) for place in range(r.randint(1, 3))]
    stored = tensor("w", 7, Role.PARAMETER)
    there = list(inputs)
    for place in range(count):
        operands = r.sample(there, min(len(there), r.choice([1, 1, 1, 2, 2, 3])))
        if r.random() < 0.2:
            size = tensors[operands[0]].elements
            made = [tensor(f"t{place}", size)]
            pairs, operator, attributes = [("x", operands[0])], "reshape", {"shape": (size,), "allow_zero": False}
        else:
            made = [tensor(f"t{place}_{one}", r.randint(1, 40)) for one in range(r.choice([1, 1, 1, 2]))]
            pairs, operator, attributes = [("x", one) for one in operands], "custom", {}
            pairs += [("x", stored)] if r.random() < 0.3 else []
        nodes.append(Node(f"n{place}", operator, tuple(pairs), tuple(made), attributes))
        there += made
    read = {one for node in nodes for one in node.inputs}
    ends = [one for node in nodes for one in node.outputs if one not in read]
    outputs = [one for one in ends if r.random() < 0.7] or ends[:1]
    return Graph("random", tensors, tuple(nodes), tuple(inputs), tuple(outputs))


def best_of_all_orders(graph: Graph) -> int:
    """The smallest peak that any order has, by the definition of ``live`` and nothing else."""
    nodes = graph.nodes
    owner = {one: one for one in graph.inputs}
    for node in nodes:
        for one in node.outputs:
            owner[one] = owner[node.inputs[0]] if node.operator == "reshape" else one
    size = {one: graph.tensors[one].elements for one in set(owner.values())}
    users = {
        one: {place for place, node in enumerate(nodes) if one in {owner.get(x) for x in (*node.inputs, *node.outputs)}}
        for one in size
    }
    kept = {owner[one] for one in graph.outputs}
    makers = {one: place for place, node in enumerate(nodes) for one in node.outputs}
    first = {one: makers.get(one) for one in size}
    needs = [{makers[one] for one in node.inputs if one in makers} for node in nodes]

    def alive(done: frozenset[int], place: int) -> int:
        """While ``place`` runs and ``done`` have run."""
        there = [one for one in size if first[one] is None or first[one] in done or first[one] == place]
        wanted = [one for one in there if one in kept or users[one] - done or (not users[one] and not done)]
        return sum(size[one] for one in wanted)

    @cache
    def least(done: frozenset[int]) -> int:
        left = [place for place in range(len(nodes)) if place not in done and needs[place] <= done]
        return min((max(alive(done, place), least(done | {place})) for place in left), default=0)

    return least(frozenset())


def peak_of(graph: Graph, found: Ordering) -> int:
    return plan(replace(graph, nodes=tuple(graph.nodes[place] for place in found.places))).peak_bytes["live"]


@pytest.mark.parametrize("tens", range(100))
def test_the_best_of_all_orders_is_reached_on_every_small_graph(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        graph = random_graph(seed, 1 + seed % 9)
        found = least_peak(graph)
        assert found.before_bytes == plan(graph).peak_bytes["live"]
        assert found.peak_bytes == found.bound_bytes == best_of_all_orders(graph) == peak_of(graph, found), seed
        assert found.is_least


def test_most_of_these_graphs_had_a_worse_order() -> None:
    better = [
        one
        for one in map(least_peak, (random_graph(seed, 9) for seed in range(100)))
        if one.peak_bytes < one.before_bytes
    ]
    assert len(better) > 40


@pytest.mark.parametrize("seed", range(40))
def test_a_search_that_is_stopped_has_a_bound_below_and_an_order_above(seed: int) -> None:
    graph = random_graph(seed, 9)
    least = best_of_all_orders(graph)
    found = least_peak(graph, most_states=0)
    assert found.bound_bytes <= least <= found.peak_bytes == peak_of(graph, found) <= found.before_bytes


@pytest.mark.parametrize("most_states", range(4))
def test_a_search_that_may_look_at_next_to_nothing_finds_an_order(most_states: int) -> None:
    """Of the very small graphs all nodes may run at once before any set of them is looked at."""
    for seed in range(400):
        graph = random_graph(seed, 2 + seed % 4)
        found = least_peak(graph, most_states=most_states)
        least = best_of_all_orders(graph)
        assert found.bound_bytes <= least <= found.peak_bytes == peak_of(graph, found) <= found.before_bytes


@pytest.mark.parametrize("seed", range(60))
def test_a_stretch_that_is_too_long_to_look_at_all_that_is_alive_has_a_bound_below(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretch, "_MOST_FOR_FLOOR", 0)
    graph = random_graph(seed, 9)
    least = best_of_all_orders(graph)
    assert least_peak(graph).bound_bytes == least
    assert 0 < least_peak(graph, most_states=0).bound_bytes <= least


@pytest.mark.parametrize("count", [60, 200])
def test_a_large_graph_gets_an_order_that_is_no_worse(count: int) -> None:
    graph = random_graph(1, count)
    found = least_peak(graph, most_states=500)
    assert sorted(found.places) == list(range(count))
    assert found.bound_bytes <= found.peak_bytes == peak_of(graph, found) <= found.before_bytes


@settings(max_examples=80, deadline=None)
@given(graphs())
def test_any_network_keeps_its_peak_or_gets_a_smaller_one(graph: Graph) -> None:
    """Bodies, variables, unknown sizes, views of what is stored."""
    deployed = deploy(graph)
    found = least_peak(deployed)
    before = plan(deployed).peak_bytes["live"]
    if isinstance(found, str):
        assert before is None
        return
    static = static_tensors(deployed, OPERATORS)
    running = [node for node in deployed.nodes if runs(node, static)]
    rest = [node for node in deployed.nodes if not runs(node, static)]
    ordered = replace(deployed, nodes=(*rest, *(running[place] for place in found.places)))
    assert plan(ordered).peak_bytes["live"] == found.peak_bytes <= before == found.before_bytes
    assert found.bound_bytes <= found.peak_bytes


@pytest.mark.parametrize("name", ["alexnet", "resnet18", "mobilenet_v2", "squeezenet", "mcunet_in4"])
def test_networks_with_one_way_through_them_have_the_best_order_already(name: str) -> None:
    found = least_peak(deploy(load(name)))
    assert found.is_least
    assert found.peak_bytes == found.before_bytes


def wide(branches: int, depth: int) -> Graph:
    """Branches that begin wide and end narrow, written a layer of all branches at a time: the order to be mended."""
    builder = Builder("wide")
    x = builder.input("x", (1, 8, 16, 16), INT8)
    ends = [x] * branches
    for step in range(depth):
        channels = 32 if step + 1 < depth else 2
        for branch in range(branches):
            given = builder.tensors[ends[branch]].shape[1]
            w = builder.stored(f"w{step}_{branch}", (channels, given, 1, 1), INT8)
            name = f"conv{step}_{branch}"
            ends[branch] = builder.add("conv", [("x", ends[branch]), ("w", w)], name=name)[0]
    joined = builder.add("concat", [("xs", one) for one in ends], {"axis": 1}, name="join")
    return builder.graph(joined)


def test_one_branch_after_the_other_is_better_than_all_at_once() -> None:
    graph = wide(4, 3)
    found = least_peak(graph)
    assert found.is_least
    area = 16 * 16
    assert found.before_bytes == 5 * 32 * area  # four maps, the fifth being written
    # two branches done and one at work, a map read and a map written, while the input waits for the last one
    assert found.peak_bytes == (2 * 2 + 2 * 32 + 8) * area
    assert peak_of(graph, found) == found.peak_bytes


def test_what_touches_a_variable_stays_in_its_order() -> None:
    tensors = {
        "x": Tensor("x", (4,), INT8, Role.INPUT),
        "state": Tensor("state", (4,), INT8, Role.STATE),
        **{name: Tensor(name, (size,), INT8, Role.ACTIVATION) for name, size in (("a", 90), ("b", 1), ("c", 1))},
    }
    nodes = (
        Node("first", "custom", (("x", "x"), ("s", "state")), ("a",)),
        Node("second", "custom", (("x", "x"), ("s", "state")), ("b",)),
        Node("end", "custom", (("x", "a"), ("y", "b")), ("c",)),
    )
    assert least_peak(Graph("state", tensors, nodes, ("x",), ("c",))).places == (0, 1, 2)


@pytest.mark.parametrize("read", ["state", "seen", "other"])
def test_what_touches_a_view_of_a_variable_stays_in_its_order(read: str) -> None:
    """The second layer frees the input, and would come first."""
    sizes = {"seen": 4, "other": 4, "a": 90, "b": 1, "c": 1}
    tensors = {
        "x": Tensor("x", (40,), INT8, Role.INPUT),
        "state": Tensor("state", (4,), INT8, Role.STATE),
        **{name: Tensor(name, (size,), INT8, Role.ACTIVATION) for name, size in sizes.items()},
    }
    nodes = (
        Node("view", "reshape", (("x", "state"),), ("seen",), {"shape": (4,), "allow_zero": False}),
        Node("again", "reshape", (("x", "seen"),), ("other",), {"shape": (4,), "allow_zero": False}),
        Node("first", "custom", (("s", read),), ("a",)),
        Node("second", "custom", (("x", "x"), ("s", "state")), ("b",)),
        Node("end", "custom", (("x", "a"), ("y", "b")), ("c",)),
    )
    found = least_peak(Graph("state", tensors, nodes, ("x",), ("c",)))
    assert (found.places, found.peak_bytes) == ((0, 1, 2, 3, 4), 40 + 90 + 1)


def test_an_order_that_is_no_better_is_not_told() -> None:
    """The first two branches take less one after the other, those behind them as much as both do now, in any order."""
    sizes = {"a": 25, "b": 25, "a1": 1, "b1": 1, "y": 1, "p": 40, "p1": 9, "q": 40, "q1": 9, "z": 1}
    tensors = {"x": Tensor("x", (5,), INT8, Role.INPUT)}
    tensors |= {name: Tensor(name, (size,), INT8, Role.ACTIVATION) for name, size in sizes.items()}
    first = (("x", "a"), ("x", "b"), ("a", "a1"), ("b", "b1"), ("a1 b1", "y"))
    behind = (("y", "p"), ("p", "p1"), ("y", "q"), ("q", "q1"), ("p1 q1", "z"))
    nodes = [Node(to, "custom", tuple(("x", one) for one in of.split()), (to,)) for of, to in (*first, *behind)]
    found = least_peak(Graph("two", tensors, tuple(nodes), ("x",), ("z",)))
    assert found == Ordering(tuple(range(10)), 9 + 40 + 9, 58, 58, found.states)
    alone = {name: tensor for name, tensor in tensors.items() if name in "xaba1b1y"}
    better = least_peak(Graph("one", alone, tuple(nodes[:5]), ("x",), ("y",)))
    assert (better.before_bytes, better.peak_bytes) == (5 + 25 + 25, 5 + 25 + 1)


def test_what_takes_random_numbers_stays_in_its_order() -> None:
    """One generator gives them one after the other, to a layer or to what runs in it."""
    builder = Builder("noise")
    x = builder.input("x", (1,), INT8)
    shape = {"shape": (1000,), "dtype": "int8"}
    wide = [builder.add("random_uniform", [], shape, name=f"r{one}")[0] for one in range(2)]
    ends = [builder.add("reduce_max", [("x", one)], {"axes": (0,), "keep_dims": True})[0] for one in reversed(wide)]
    graph = builder.graph(builder.add("concat", [("xs", one) for one in (x, *ends)], {"axis": 0}))
    found = least_peak(graph)
    assert found.is_least
    assert found.places == (0, 3, 1, 2, 4)


def test_a_search_of_many_branches_ends_at_the_states_that_it_may_look_at() -> None:
    """Two hundred nodes that each read of the forty before: no search ends, and the bound is one."""
    r = random.Random(2)
    tensors = {"x": Tensor("x", (50,), INT8, Role.INPUT)}
    nodes: list[Node] = []
    for place in range(200):
        operands = r.sample(list(tensors)[-40:], min(len(tensors), r.choice([1, 2, 2, 3])))
        tensors[f"t{place}"] = Tensor(f"t{place}", (r.randint(1, 100),), INT8, Role.ACTIVATION)
        nodes.append(Node(f"n{place}", "custom", tuple(("x", one) for one in operands), (f"t{place}",)))
    read = {one for node in nodes for one in node.inputs}
    ends = tuple(one for node in nodes for one in node.outputs if one not in read)
    graph = Graph("dense", tensors, tuple(nodes), ("x",), ends)
    for most in (100, 6_000):
        found = least_peak(graph, OPERATORS, most)
        assert not found.is_least
        assert most < found.states <= most + 200
        assert found.bound_bytes < found.peak_bytes < found.before_bytes
        assert peak_of(graph, found) == found.peak_bytes


def test_of_thirty_two_branches_that_are_alike_the_bound_is_near_and_no_more_is_said() -> None:
    """Any of them may come first, so that there are more states than the search looks at."""
    graph = wide(32, 3)
    found = least_peak(graph, OPERATORS, 5_000)
    assert (found.bound_bytes, found.peak_bytes, found.before_bytes) == (32_768, 33_792, 270_336)
    assert 5_000 < found.states <= 5_032
    assert peak_of(graph, found) == found.peak_bytes


def test_a_graph_with_a_cycle_is_none() -> None:
    tensors = {
        "x": Tensor("x", (3,), INT8, Role.INPUT),
        **{name: Tensor(name, (3,), INT8, Role.ACTIVATION) for name in ("a", "b")},
    }
    nodes = (
        Node("m", "add", (("x", "x"), ("y", "b")), ("a",)),
        Node("n", "relu", (("x", "a"),), ("b",)),
    )
    with pytest.raises(GraphError, match="reads 'b', which is made later"):
        Graph("cycle", tensors, nodes, ("x",), ("b",))


def test_sizes_that_nobody_knows_are_said() -> None:
    tensors = {"x": Tensor("x", None, INT8, Role.INPUT), "y": Tensor("y", (3,), INT8, Role.ACTIVATION)}
    graph = Graph("open", tensors, (Node("n", "custom", (("x", "x"),), ("y",)),), ("x",), ("y",))
    assert least_peak(graph) == "the sizes of some tensors are unknown"
