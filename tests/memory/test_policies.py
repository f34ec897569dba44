"""Overwriting and held blocks against a simulation that tries every operand at every node, and against published figures."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.random_graphs import PLAIN, QUANTISED, graphs
from weighbridge import memory, weigh
from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.graph import BRANCH, Body, Graph, TensorType
from weighbridge.graph_json import graph_from_json, graph_to_json
from weighbridge.memory import MemoryPlan
from weighbridge.operators.record import Kind
from weighbridge.operators.table import OPERATORS
from weighbridge.passes import deploy, static_tensors

FLOAT = DTYPES["float32"]
ELEMENTWISE = {"relu", "sigmoid", "clip", "add", "mul"}


class Simulation:
    """A heap of storages, node by node.  At each the result goes wherever the total is smallest, if overwriting is allowed."""

    def __init__(self, graph: Graph, *, in_place: bool, blocks: frozenset[str] = frozenset()) -> None:
        self.graph, self.in_place, self.blocks = graph, in_place, blocks
        self.static = static_tensors(graph)
        self.nodes = [node for node in graph.nodes if not self.static.issuperset(node.outputs)]

    def storage(self, tensor: str) -> str:
        for node in self.nodes:
            if tensor in node.outputs and node.operator in ("reshape", "flatten"):
                return self.storage(node.inputs[0])
        return tensor

    def storages(self, tensors) -> set[str]:
        return {self.storage(tensor) for tensor in tensors if tensor not in self.static}

    def around(self, place: int) -> set[str]:
        """The storages that the blocks around a node were given: read in their run of nodes, and not made in it."""
        given: set[str] = set()
        for block in self.blocks:
            first, last = self.run(block, place)
            run = self.nodes[first:last]
            read = self.storages(tensor for node in run for tensor in node.inputs)
            made = {tensor for node in run for tensor in node.outputs}
            given |= read - made
        return given

    def run(self, block: str, place: int) -> tuple[int, int]:
        def inside(index: int) -> bool:
            return 0 <= index < len(self.nodes) and f"{self.nodes[index].scope}.".startswith(f"{block}.")

        if not inside(place):
            return place, place
        first, last = place, place
        while inside(first - 1):
            first -= 1
        while inside(last):
            last += 1
        return first, last

    def totals(self, policy: str) -> list[int]:
        found = []
        for place, node in enumerate(self.nodes):
            later = self.storages(tensor for one in self.nodes[place + 1 :] for tensor in one.inputs)
            later |= self.storages(self.graph.outputs)
            held = self.around(place) if policy == "held" else set()
            operands = self.storages(node.inputs)
            heap = set(operands)
            if policy != "pair":
                existing = set(self.graph.inputs) | {one for before in self.nodes[:place] for one in before.outputs}
                heap |= self.storages(existing) & (later | held)
                if place == 0:
                    heap |= set(self.graph.inputs)
            found.append(self.smallest(node, heap, operands - later - held - set(self.graph.inputs)))
        return found

    def smallest(self, node, heap: set[str], dying: set[str]) -> int:
        tensors = self.graph.tensors
        total = sum(tensors[name].bytes for name in heap)
        (result,) = node.outputs
        if self.storage(result) in heap:
            return total
        after = [total + tensors[result].bytes]
        for name in dying if self.in_place else ():
            old, new = tensors[name], tensors[result]
            if node.operator in ELEMENTWISE and (old.bytes, len(old.shape)) == (new.bytes, len(new.shape)):
                after.append(total)
            if node.operator == "conv" and old.shape[1] == new.shape[1] == node.attributes["groups"]:
                channel = tensors[result].bytes // new.shape[1]
                after.append(total - old.bytes + max(old.bytes, new.bytes) + channel)
        return min(after)


@settings(max_examples=200, deadline=None)
@given(graph=graphs(kinds=(*PLAIN, *QUANTISED)), as_written=st.booleans())
def test_overwriting_is_that_of_a_simulation(graph: Graph, as_written: bool) -> None:
    graph = graph if as_written else deploy(graph)
    plan = memory.plan(graph)
    simulation = Simulation(graph, in_place=True)
    for policy in ("pair", "live"):
        assert list(plan.profile[f"{policy}_in_place"]) == simulation.totals(policy)


SCOPES = st.sampled_from(["", "a", "a.b", "a.b.c", "ab", "d.e"])


@settings(max_examples=200, deadline=None)
@given(graph=graphs(kinds=PLAIN), data=st.data())
def test_blocks_hold_what_they_were_given(graph: Graph, data: st.DataObject) -> None:
    scoped = tuple(replace(node, scope=data.draw(SCOPES)) for node in graph.nodes)
    blocks = data.draw(st.frozensets(st.sampled_from(["a", "a.b", "ab", "d", "nobody"])))
    graph = replace(graph, nodes=scoped, blocks=blocks)
    assert graph_from_json(graph_to_json(graph)) == graph
    plan = memory.plan(graph)
    simulations = [Simulation(graph, in_place=in_place, blocks=blocks) for in_place in (False, True)]
    if any(repeats(simulations[0], block) for block in blocks):
        assert plan.peak_bytes["held"] is plan.peak_bytes["held_in_place"] is None
        return
    for simulation, policy in zip(simulations, ("held", "held_in_place"), strict=True):
        assert list(plan.profile[policy]) == (totals := simulation.totals("held"))
        assert plan.peak_bytes[policy] == max(totals, default=0)


def repeats(simulation: Simulation, block: str) -> bool:
    """Whether some run of a block's nodes is a shorter list of nodes several times, by trying every length."""
    for place in range(len(simulation.nodes)):
        first, last = simulation.run(block, place)
        run = [
            (node.scope, node.operator, [one for one in node.inputs if one in simulation.static])
            for node in simulation.nodes[first:last]
        ]
        if any(run == run[:length] * (len(run) // length) for length in range(1, len(run))):
            return True
    return False


def plan_of(*steps: tuple[str, str, tuple[str, ...]], outputs: tuple[str, ...] = ()) -> MemoryPlan:
    """A chain of operators over x (16 B): (operator, result, operands)."""
    builder = Builder("chain")
    builder.input("x", (4,), FLOAT)
    for operator, name, operands in steps:
        slots = ("x",) if len(operands) == 1 else ("a", "b")
        builder.add(operator, list(zip(slots, operands, strict=True)), name=name)
    return memory.plan(builder.graph(outputs or (steps[-1][1],)))


def test_inputs_and_outputs_of_the_network_are_not_overwritten() -> None:
    plan = plan_of(("relu", "a", ("x",)), ("relu", "b", ("a",)), ("relu", "c", ("b",)), outputs=("a", "c"))
    assert plan.profile["live_in_place"] == (32, 32, 32)
    assert plan.profile["live"] == (32, 32, 48)


def test_what_is_read_later_is_not_overwritten() -> None:
    plan = plan_of(("relu", "a", ("x",)), ("relu", "b", ("a",)), ("add", "c", ("a", "b")))
    assert plan.profile["pair_in_place"] == (32, 32, 32)


def test_one_operand_of_two_is_overwritten_and_a_smaller_one_is_not() -> None:
    builder = Builder("broadcast")
    x, small = builder.input("x", (2, 3), FLOAT), builder.input("small", (3,), FLOAT)
    (a,) = builder.add("relu", [("x", x)])
    (s,) = builder.add("relu", [("x", small)])
    (y,) = builder.add("mul", [("a", s), ("b", a)])
    (z,) = builder.add("cast", [("x", y)], {"dtype": "int8"})
    plan = memory.plan(builder.graph([z]))
    assert plan.profile["pair_in_place"] == (48, 24, 12 + 24, 24 + 6)


def test_a_view_of_an_input_is_the_input_and_a_view_of_a_result_may_be_overwritten() -> None:
    builder = Builder("views")
    x = builder.input("x", (2, 3), FLOAT)
    (v,) = builder.add("reshape", [("x", x)], {"shape": (6,)})
    (a,) = builder.add("relu", [("x", v)])
    (w,) = builder.add("reshape", [("x", a)], {"shape": (3, 2)})
    (y,) = builder.add("relu", [("x", w)])
    (z,) = builder.add("transpose", [("x", y)])
    assert memory.plan(builder.graph([z])).profile["live_in_place"] == (24, 48, 24, 24, 48)


@pytest.mark.parametrize(
    ("groups", "channels", "stride", "expected"),
    [
        (4, 4, 1, 4 * (4 * 64 + 64)),
        (4, 4, 2, 4 * (4 * 64 + 16)),  # the larger of the two, and one channel of the result
        (2, 4, 1, 4 * 2 * 4 * 64),  # grouped, not depthwise
        (4, 8, 1, 4 * 12 * 64),  # a multiplier: a channel has two results
    ],
)
def test_a_depthwise_layer_needs_one_spare_channel(groups: int, channels: int, stride: int, expected: int) -> None:
    builder = Builder("depthwise")
    x = builder.input("x", (1, 4, 8, 8), FLOAT)
    (a,) = builder.add("relu", [("x", x)])
    w = builder.stored("w", (channels, 4 // groups, 3, 3), FLOAT)
    (y,) = builder.add("conv", [("x", a), ("w", w)], {"groups": groups, "stride": stride, "padding": 1})
    (z,) = builder.add("transpose", [("x", y)])
    assert memory.plan(builder.graph([z])).profile["pair_in_place"][1] == expected


def test_branches_overwrite_inside_and_never_what_they_were_given() -> None:
    inner = Builder("body")
    inner.input("x", (4,), FLOAT)
    (a,) = inner.add("relu", [("x", "x")])
    (b,) = inner.add("relu", [("x", a)])
    (c,) = inner.add("concat", [("xs", b), ("xs", b)], {"axis": 0})
    builder = Builder("outer")
    x = builder.input("x", (4,), FLOAT)
    body = Body("body", inner.graph([c]))
    builder.opaque(BRANCH, [("captures", x)], [TensorType((8,), FLOAT)], name="control", bodies=[body])
    plan = memory.plan(builder.graph(["control"]))
    assert (plan.profile["live"], plan.profile["live_in_place"]) == ((16 + 16 + 32,), (16 + 16 + 32,))
    assert (plan.profile["pair"], plan.profile["pair_in_place"]) == ((48,), (48,))


def test_every_unary_function_may_overwrite_its_operand() -> None:
    assert all(op.may_overwrite for op in OPERATORS.values() if op.kind == Kind.UNARY)


def test_without_known_blocks_nothing_is_held() -> None:
    plan = plan_of(("relu", "a", ("x",)))
    for policy in ("held", "held_contractions", "held_in_place", "held_contractions_in_place"):
        assert plan.peak_bytes[policy] is plan.peak_node[policy] is plan.peak_elements[policy] is None
        assert policy not in plan.profile
    assert plan.exact


@pytest.mark.parametrize(("scopes", "expected"), [(("b", "b"), None), (("b", "c"), (32, 32)), (("", "b"), (32, 32))])
def test_of_a_block_called_twice_in_a_row_nobody_knows_where_the_first_call_ends(
    scopes: tuple[str, str], expected: tuple[int, int] | None
) -> None:
    builder = Builder("twice")
    x, w = builder.input("x", (4,), FLOAT), builder.stored("w", (4, 4), FLOAT)
    for scope in scopes:
        (x,) = builder.add("linear", [("x", x), ("w", w)], scope=scope)
    plan = memory.plan(replace(builder.graph([x]), blocks=frozenset({"b", "c"})))
    assert plan.profile.get("held") == expected
    assert (plan.peak_bytes["held"] is None) == (expected is None)


def test_without_convolutions_and_linear_layers_there_is_no_peak_at_them() -> None:
    builder = Builder("none")
    x = builder.input("x", (4,), FLOAT)
    (y,) = builder.add("relu", [("x", x)])
    plan = memory.plan(replace(builder.graph([y]), blocks=frozenset()))
    assert (plan.peak_bytes["held"], plan.peak_bytes["held_contractions"]) == (32, None)


@pytest.mark.parametrize(
    ("network", "precision", "peaks"),
    [
        (
            "mobilenet_v2",
            "int8",
            {
                "pair": (1_505_280, "block2.depthwise.conv"),
                "pair_in_place": (1_404_928, "block2.expand.conv"),
                "held": (1_705_984, "block2.depthwise.conv"),
                "held_contractions": (1_705_984, "block2.depthwise.conv"),
            },
        ),
        (
            "resnet50",
            "fp32",
            {
                "pair": (9_633_792, "layer1.0.add"),
                "live": (9_633_792, "layer1.0.add"),
                "live_in_place": (7_225_344, "layer1.0.downsample.0"),
                "held": (10_436_608, "layer1.0.add"),
                "held_contractions": (7_225_344, "layer1.0.downsample.0"),
            },
        ),
        ("resnet50", "int8", {"pair_in_place": (1_605_632, "layer1.0.add")}),
        ("resnet18", "int8", {"pair": (1_003_520, "maxpool"), "held_contractions": (953_344, "conv1")}),
    ],
)
def test_published(network: str, precision: str, peaks: dict[str, tuple[int, str]]) -> None:
    found = weigh(network, precision=precision).memory
    assert {policy: (found.peak_bytes[policy], found.peak_node[policy]) for policy in peaks} == peaks


def test_the_published_figures_of_resnet50(shared) -> None:
    facts = tomllib.loads((shared / "facts" / "published.toml").read_text(encoding="utf-8"))
    peaks, eight_bits = weigh("resnet50").memory.peak_bytes, weigh("resnet50", precision="int8").memory.peak_bytes
    table = facts["resnet50_peak"]
    for policy in ("live_in_place", "pair", "held"):
        assert peaks[policy] == table[f"{policy}_B"]
    assert peaks["held_contractions"] == table["live_in_place_B"]
    assert eight_bits["pair_in_place"] == table["values"]["resnet50_pair_in_place"]
    mobile = weigh("mobilenet_v2", precision="int8").memory.peak_bytes
    for policy in ("pair", "pair_in_place", "held"):
        assert mobile[policy] == facts["mobilenet_v2_peaks"][f"{policy}_B"]
