"""Pruning random networks of every construct: the result fits together, or there is nothing to prune."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.passes.pruning import facts_of, shapes_that_differ
from tests.random_graphs import PLAIN, graphs, with_odd_types
from weighbridge.errors import BadSpec
from weighbridge.graph import Graph
from weighbridge.graph_json import graph_from_json, graph_to_json
from weighbridge.passes.what_if.prune import prune_channels

RATIOS = st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)])


def pruned(graph: Graph, ratio: Fraction) -> Graph | None:
    try:
        return prune_channels(graph, [("", ratio)])
    except BadSpec:
        return None


@settings(max_examples=100)
@given(graphs(), RATIOS)
def test_fits_together(graph: Graph, ratio: Fraction) -> None:
    made = pruned(graph, ratio)
    if made is None:
        return
    assert not shapes_that_differ(made, beside=graph)
    assert made.tensors.keys() == graph.tensors.keys()
    for ends in (graph.inputs, graph.outputs):
        assert all(made.tensors[one] == graph.tensors[one] for one in ends)
    for key, tensor in graph.tensors.items():
        shape = made.tensors[key].shape
        assert (shape is None) == (tensor.shape is None)
        assert all(new <= old for new, old in zip(shape or (), tensor.shape or (), strict=True))
    assert graph_from_json(graph_to_json(made)) == made


@settings(max_examples=60)
@given(graphs(PLAIN), RATIOS)
def test_takes_less(graph: Graph, ratio: Fraction) -> None:
    made = pruned(graph, ratio)
    if made is None:
        return
    before, after = facts_of(graph), facts_of(made)
    assert after.macs <= before.macs
    assert after.parameters <= before.parameters


@settings(max_examples=60)
@given(graphs(), RATIOS, st.data())
def test_odd_types_and_unknown_shapes(graph: Graph, ratio: Fraction, data: st.DataObject) -> None:
    odd = with_odd_types(graph, data.draw)
    made = pruned(odd, ratio)
    if made is not None:
        assert {key: tensor.dtype for key, tensor in made.tensors.items()} == {
            key: tensor.dtype for key, tensor in odd.tensors.items()
        }
        assert not shapes_that_differ(made, beside=odd)
