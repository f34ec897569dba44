"""Attention that is written out is one operator, whatever scales, masks and moves its parts."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.passes.running import USUAL, Untold
from tests.passes.written_out import Written, exposed, in_a_loop, recognised
from tests.steps import steps
from weighbridge.graph import Graph
from weighbridge.passes.recognition import recognise_functions

BATCH, HEADS, QUERIES, KEYS, DEPTH, VALUE_DEPTH = 2, 3, 4, 5, 6, 7
FOLDED = (BATCH * HEADS,)
SPLIT = (BATCH, HEADS)
CAP = USUAL.cap
MASKS = [(KEYS,), (QUERIES, KEYS), (BATCH, 1, 1, KEYS), (1, HEADS, QUERIES, KEYS), (*SPLIT, QUERIES, KEYS)]


class Attention(Written):
    """Spellings of attention; what is optional and the order of what commutes is drawn."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__()
        self.draw = draw

    def choose(self) -> bool:
        return self.draw(st.booleans())

    def both(self, operator: str, a: str, b: str) -> str:
        return self.add(operator, a, b, swapped=self.choose())

    def scaled(self, x: str, factor: float) -> str:
        if self.choose():
            return self.add("div", x, self.number(1 / factor))
        return self.both("mul", x, self.number(factor))

    def product(self, lead: tuple[int, ...]) -> str:
        """Queries times keys, scaled before, behind or in halves."""
        q, k = self.input("q", (*lead, QUERIES, DEPTH)), self.keys(lead)
        factor = 1 / math.sqrt(DEPTH)
        where = self.draw(st.sampled_from(["q", "k", "both", "scores"]))
        q = self.scaled(q, math.sqrt(factor) if where == "both" else factor) if where in ("q", "both") else q
        k = self.scaled(k, math.sqrt(factor) if where == "both" else factor) if where in ("k", "both") else k
        scores = self.add("matmul", q, k)
        return self.scaled(scores, factor) if where == "scores" else scores

    def keys(self, lead: tuple[int, ...]) -> str:
        """Keys as they come to the product: their last axes swapped, alone, with others, or under other axes in front."""
        how = self.draw(st.sampled_from(["swapped", "moved", "viewed"]))
        rank = len(lead) + 2
        swap = (*range(rank - 2), rank - 1, rank - 2)
        if how == "swapped":
            return self.add("transpose", self.input("k", (*lead, KEYS, DEPTH)), permutation=swap)
        if how == "moved":  # the keys in front of the heads, as a projection makes them
            k = self.input("k", (*lead[:-1], KEYS, lead[-1], DEPTH))
            return self.add("transpose", k, permutation=(*range(rank - 3), rank - 2, rank - 1, rank - 3))
        k = self.add("reshape", self.input("k", (*lead, KEYS, DEPTH)), shape=(math.prod(lead), KEYS, DEPTH))
        k = self.add("transpose", k, permutation=(0, 2, 1))
        return self.add("reshape", k, shape=(*lead, DEPTH, KEYS))

    def masked(self, scores: str, kind: str) -> str:
        if kind == "added":
            return self.both("add", scores, self.input("mask", self.draw(st.sampled_from(MASKS))))
        condition = self.input("condition", self.draw(st.sampled_from(MASKS)), "bool")
        self.values[condition][..., :1] = kind != "hidden"  # no row is without any key
        if kind == "hidden":
            return self.add("where", condition, self.number(-np.inf), scores)
        if kind == "kept":
            return self.add("where", condition, scores, self.number(-np.inf))
        selected = self.add("where", condition, self.number(0), self.number(-np.inf))
        return self.both("add", scores, selected)

    def written(self, *kinds: str) -> Graph:
        """Attention with masks of these kinds, in heads that are split, or folded into the batch but where they are masked."""
        lead = self.draw(st.sampled_from([SPLIT, FOLDED]))
        scores = self.product(lead)
        if self.choose():
            scores = self.scaled(self.add("tanh", self.scaled(scores, 1 / CAP)), CAP)
        behind = lead
        if kinds and lead == FOLDED:
            scores = self.add("reshape", scores, shape=(*SPLIT, QUERIES, KEYS))
            behind = SPLIT
        for kind in kinds:
            scores = self.masked(scores, kind)
        if behind != lead and self.choose():
            scores, behind = self.add("reshape", scores, shape=(*FOLDED, QUERIES, KEYS)), FOLDED
        weights = self.add("softmax", scores, axis=self.draw(st.sampled_from([-1, len(behind) + 1])))
        if self.choose():
            weights = self.add("where", self.add("is_nan", weights), self.number(0), weights)
        return self.graph(self.add("matmul", weights, self.input("v", (*behind, KEYS, VALUE_DEPTH))))


@pytest.mark.parametrize(
    "kinds", [(), ("added",), ("hidden",), ("kept",), ("selected",), ("added", "hidden"), ("kept", "added")]
)
@given(data=st.data())
def test_every_spelling_is_the_operator(kinds: tuple[str, ...], data: st.DataObject) -> None:
    written = Attention(data.draw)
    graph = written.written(*kinds)
    whole = recognised(graph, written.values, Untold(hides="hidden" in kinds))
    (node,) = (node for node in whole.nodes if node.operator not in ("reshape", "transpose"))
    masks = {"added": "mask"} if len(kinds) == 1 else {"added": "score_bias"}
    assert node.operator == "attention"
    assert {name for name, _ in node.operands} == {"q", "k", "v", *(masks.get(kind, "mask") for kind in kinds)}
    assert (node.name, node.scope, whole.outputs) == (graph.nodes[-1].name, "block", graph.outputs)


@pytest.mark.parametrize("kinds", [(), ("added",), ("kept",)])
@given(data=st.data())
def test_with_another_reader_inside_it_stays(kinds: tuple[str, ...], data: st.DataObject) -> None:
    """From the scores to their weighted values: whoever reads them makes somebody compute and keep them."""
    graph = Attention(data.draw).written(*kinds)
    product = next(place for place, node in enumerate(graph.nodes) if node.operator == "matmul")
    inner = data.draw(st.sampled_from(graph.nodes[product:-1])).outputs[0]
    read = exposed(graph, inner, to_a_node=data.draw(st.booleans()))
    assert recognise_functions(read) is read


def attended(one: Written, q: str, k: str, v: str) -> str:
    scores = one.add("mul", one.add("matmul", q, k), one.number(1 / math.sqrt(DEPTH)))
    return one.add("matmul", one.add("softmax", scores), v)


def test_keys_that_are_moved_keep_the_move_without_the_swap() -> None:
    one = Written()
    k = one.add("transpose", one.input("k", (BATCH, KEYS, HEADS, DEPTH)), permutation=(0, 2, 3, 1))
    y = attended(one, one.input("q", (*SPLIT, QUERIES, DEPTH)), k, one.input("v", (*SPLIT, KEYS, DEPTH)))
    whole = recognised(one.graph(y), one.values)
    moved, node = whole.nodes
    assert (moved.operator, moved.attributes["permutation"], moved.outputs) == ("transpose", (0, 2, 1, 3), (k,))
    assert whole.tensors[k].shape == (*SPLIT, KEYS, DEPTH)
    assert dict(node.operands)["k"] == k


@pytest.mark.parametrize("is_result", [False, True], ids=["unread", "a result for the next step"])
def test_keys_that_are_there_plain_are_read_from_there(is_result: bool) -> None:
    one = Written()
    k = one.input("k", (BATCH, KEYS, HEADS, DEPTH))
    plain = one.add("transpose", k, permutation=(0, 2, 1, 3))
    swapped = one.add("transpose", k, permutation=(0, 2, 3, 1))
    y = attended(one, one.input("q", (*SPLIT, QUERIES, DEPTH)), swapped, one.input("v", (*SPLIT, KEYS, DEPTH)))
    whole = recognised(one.graph(y, *([plain] if is_result else [])), one.values)
    assert [node.operator for node in whole.nodes] == ["transpose", "attention"]
    assert dict(whole.nodes[1].operands)["k"] == plain


def test_keys_that_are_there_plain_only_later_are_moved_again() -> None:
    one = Written()
    k = one.input("k", (BATCH, KEYS, HEADS, DEPTH))
    swapped = one.add("transpose", k, permutation=(0, 2, 3, 1))
    plain = one.add("transpose", k, permutation=(0, 2, 1, 3))
    y = attended(one, one.input("q", (*SPLIT, QUERIES, DEPTH)), swapped, one.input("v", (*SPLIT, KEYS, DEPTH)))
    whole = recognised(one.graph(y, plain), one.values)
    assert [node.operator for node in whole.nodes] == ["transpose", "transpose", "attention"]
    assert dict(whole.nodes[2].operands)["k"] == swapped


def test_keys_whose_swap_is_read_elsewhere_keep_it_for_that() -> None:
    one = Written()
    swapped = one.add("transpose", one.input("k", (KEYS, DEPTH)), permutation=(1, 0))
    y = attended(one, one.input("q", (QUERIES, DEPTH)), swapped, one.input("v", (KEYS, DEPTH)))
    whole = recognised(one.graph(y, swapped), one.values)
    assert [node.operator for node in whole.nodes] == ["transpose", "attention"]
    assert dict(whole.nodes[1].operands)["k"] == "k"


def test_a_product_that_swaps_the_keys_itself_and_adds_a_bias_is_taken_as_it_is() -> None:
    one = Written()
    q, k, v = (
        one.input("q", (*SPLIT, QUERIES, DEPTH)),
        one.input("k", (*SPLIT, KEYS, DEPTH)),
        one.input("v", (*SPLIT, KEYS, 1)),
    )
    bias = one.input("b", (HEADS, 1, KEYS))
    (scores,) = one.builder.add(
        "matmul", [("x", q), ("w", k), ("b", bias)], {"transpose_w": True, "alpha": 1 / math.sqrt(DEPTH)}, name="scores"
    )
    (node,) = recognised(one.graph(one.add("matmul", one.add("softmax", scores), v)), one.values).nodes
    assert node.operands == (("q", "q"), ("k", "k"), ("v", "v"), ("mask", "b"))


def test_heads_of_queries_share_the_heads_of_keys_that_the_product_stretches() -> None:
    one = Written()
    k = one.add("transpose", one.input("k", (BATCH, 1, KEYS, DEPTH)), permutation=(0, 1, 3, 2))
    y = attended(one, one.input("q", (*SPLIT, QUERIES, DEPTH)), k, one.input("v", (BATCH, 1, KEYS, DEPTH)))
    assert [node.operator for node in recognised(one.graph(y), one.values).nodes] == ["attention"]


def test_a_mask_for_several_attentions_goes_when_all_take_its_condition() -> None:
    one = Written()
    condition = one.input("condition", (QUERIES, QUERIES), "bool")
    one.values["condition"] = np.tri(QUERIES, dtype=bool)
    mask = one.add("where", condition, one.number(0), one.number(-np.inf))
    x = one.input("x", (QUERIES, DEPTH))
    for _ in range(2):
        k = one.add("transpose", x, permutation=(1, 0))
        scores = one.add("mul", one.add("matmul", x, k), one.number(1 / math.sqrt(DEPTH)))
        x = one.add("matmul", one.add("softmax", one.add("add", scores, mask)), x)
    kept = one.graph(x, mask)
    assert [node.operator for node in recognised(one.graph(x), one.values).nodes] == ["attention", "attention"]
    assert [node.operator for node in recognised(kept, one.values).nodes] == ["where", "attention", "attention"]


def written(**changes: object) -> Graph:
    """softmax(q k^T c) v with one thing changed."""
    one = Written()
    q, v = one.input("q", (*SPLIT, QUERIES, KEYS)), one.input("v", (*SPLIT, KEYS, KEYS))
    k = one.input("k", (*SPLIT, KEYS, KEYS))
    running, vector = one.input("c", ()), one.stored("vector", (KEYS,))
    scores = one.add("matmul", q, k if "plain" in changes else one.add("transpose", k, permutation=(0, 1, 3, 2)))
    factor = {"running": running, "vector": vector}.get(changes.get("scale"), one.number(1 / math.sqrt(DEPTH)))
    scores = one.add("mul", scores, factor)
    for _ in range(changes.get("masks", 0)):
        scores = one.add("add", scores, one.input(f"mask{one.count}", (KEYS,)))
    for _ in range(changes.get("selections", 0)):
        condition = one.input(f"condition{one.count}", (KEYS,), "bool")
        scores = one.add("where", condition, scores, one.number(-np.inf))
    scores = one.add("tanh", scores) if "tanh" in changes else scores
    weights = one.add("softmax", scores, axis=changes.get("axis", -1))
    weights = one.add("mul", weights, one.number(2)) if "dropout" in changes else weights
    if "transposed" in changes:
        weights = one.add("transpose", weights, permutation=(1, 0, 2, 3))
        v = one.input("w", (HEADS, BATCH, KEYS, KEYS))
    return one.graph(one.add("matmul", weights, v))


@pytest.mark.parametrize(
    "graph",
    [
        written(plain=True),
        written(scale="running"),
        written(scale="vector"),
        written(masks=3),
        written(selections=2),
        written(tanh=True),
        written(axis=2),
        written(dropout=True),
        written(transposed=True),
    ],
    ids=[
        "keys that are not swapped",
        "a scale that is computed",
        "a scale for every key",
        "three masks",
        "two conditions",
        "a tanh that is no cap",
        "a softmax along the queries",
        "weights that are scaled",
        "weights whose heads are moved",
    ],
)
def test_what_is_no_attention_stays(graph: Graph) -> None:
    assert recognise_functions(graph) is graph


def test_keys_of_unknown_shape_stay() -> None:
    graph = written()
    (swap,) = (node for node in graph.nodes if node.operator == "transpose")
    source = graph.tensors[swap.inputs[0]]
    unknown = replace(graph, tensors={**graph.tensors, source.id: replace(source, shape=None)})
    assert recognise_functions(graph) is not graph
    assert recognise_functions(unknown) is unknown


def test_a_softmax_of_a_static_product_with_a_running_mask_stays() -> None:
    """Its product is computed once: as a part of the attention it would run every time."""
    one = Written()
    q, k = one.stored("q", (1, QUERIES, DEPTH)), one.stored("k", (1, KEYS, DEPTH))
    scores = one.add("mul", one.add("matmul", q, one.add("transpose", k, permutation=(0, 2, 1))), one.number(0.5))
    weights = one.add("softmax", one.add("add", scores, one.input("mask", (KEYS,))))
    graph = one.graph(one.add("matmul", weights, one.input("v", (1, KEYS, DEPTH))))
    assert recognise_functions(graph) is graph


def test_it_is_found_in_a_body() -> None:
    one = Written()
    k = one.add("transpose", one.input("k", (KEYS, DEPTH)), permutation=(1, 0))
    graph = one.graph(attended(one, one.input("q", (QUERIES, DEPTH)), k, one.input("v", (KEYS, DEPTH))))
    (loop,) = recognise_functions(in_a_loop(graph)).nodes
    assert [node.operator for node in loop.bodies[0].graph.nodes] == ["attention"]


def test_the_time_to_look_grows_with_the_number_of_nodes_and_not_faster() -> None:
    """Also where all attentions take their keys from one tensor."""

    def of(blocks: int) -> int:
        one = Written()
        x, source, v = (
            one.input(name, shape) for name, shape in {"x": (2, 4, 4), "k": (4, 2, 4), "v": (2, 4, 4)}.items()
        )
        for _ in range(blocks):
            x = attended(one, x, one.add("transpose", source, permutation=(1, 2, 0)), v)
        graph = one.graph(x)
        return steps(lambda: recognise_functions(graph))

    assert of(400) < 4.4 * of(100)
