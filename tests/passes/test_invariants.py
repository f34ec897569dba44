"""What every pass must leave as it is, on random networks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from tests.random_graphs import PLAIN, QUANTISED, STRANGE, graphs
from weighbridge import counts, passes
from weighbridge.graph import Graph, Role
from weighbridge.passes.recognition import recognise_functions
from weighbridge.passes.rewrite import pruned

PASSES = [
    passes.drop_identities,
    recognise_functions,
    passes.fold_quantisation,
    passes.fold_stored,
    passes.fuse_bias,
    passes.fold_batch_norm,
    passes.fuse_activations,
    passes.deploy,
]


def facts(graph: Graph) -> counts.NetworkFacts:
    return counts.count(graph, graph)


def learned(graph: Graph) -> set[str]:
    """Ids of the parameters of a graph and its bodies."""
    found = {tensor.id for tensor in graph.stored() if tensor.role is Role.PARAMETER}
    return found.union(*(learned(body.graph) for body in bodies(graph)))


def bodies(graph: Graph) -> Iterator:
    return (body for node in graph.nodes for body in node.bodies)


@pytest.mark.parametrize("rewrite", PASSES, ids=lambda rewrite: rewrite.__name__)
@settings(max_examples=30, deadline=None)
@given(graph=graphs())
def test_a_pass_changes_no_macs_and_no_interface(rewrite, graph: Graph) -> None:
    held = repr(graph)
    result = rewrite(graph)
    assert repr(graph) == held, "a pass must not change the graph that it is given"
    before, after = facts(graph), facts(result)
    assert (after.macs, after.exact) == (before.macs, before.exact)
    assert sorted(u.node for u in after.uncounted) == sorted(u.node for u in before.uncounted)
    assert result.inputs == graph.inputs
    assert [result.tensors[t].shape for t in result.outputs] == [graph.tensors[t].shape for t in graph.outputs]
    assert [result.tensors[t].dtype for t in result.outputs] == [graph.tensors[t].dtype for t in graph.outputs]
    assert {node.name for node in result.nodes} <= {node.name for node in graph.nodes}


@pytest.mark.parametrize("rewrite", PASSES, ids=lambda rewrite: rewrite.__name__)
@settings(max_examples=30, deadline=None)
@given(graph=graphs())
def test_a_pass_done_twice_does_nothing_more(rewrite, graph: Graph) -> None:
    once = rewrite(graph)
    assert rewrite(once) == once


@settings(max_examples=80, deadline=None)
@given(graph=graphs())
def test_deploying_loses_no_weight_and_makes_nothing_larger(graph: Graph) -> None:
    result = passes.deploy(graph)
    before, after = facts(graph), facts(result)
    assert (before.activations.total is None) == (after.activations.total is None)
    if before.activations.total is not None:
        assert after.activations.total <= before.activations.total
    # Copies of shared weights and biases that a folded normalisation brings are the only parameters that can be new.
    new = learned(result) - learned(pruned(graph))
    kept = {node.name for node in graph.nodes}
    assert all("@" in name or ":bias" in name or name in kept for name in new)


@settings(max_examples=80, deadline=None)
@given(graph=graphs(kinds=tuple(k for k in (*PLAIN, *QUANTISED, *STRANGE) if k != "norm")))
def test_without_normalisation_deploying_never_adds_parameters(graph: Graph) -> None:
    def total(one: Graph) -> int:
        return facts(one).deployed_parameters

    if any(node.operator == "batch_norm" for body in bodies(graph) for node in body.graph.nodes):
        return
    assert total(passes.deploy(graph)) <= total(graph)


@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_each_node_still_reads_tensors_that_had_its_operands_shapes(graph: Graph) -> None:
    """Rules can be applied again: what is inferred from the operands of a deployed node is what the node makes."""
    from weighbridge.operators.record import Call
    from weighbridge.operators.table import OPERATORS

    result = passes.deploy(graph)
    for node in result.nodes:
        if node.operator not in OPERATORS:
            continue
        operands: dict[str, tuple] = {}
        for name, tensor in node.operands:
            operands[name] = (*operands.get(name, ()), result.tensors[tensor].type)
        inferred = OPERATORS[node.operator].infer(Call(operands, node.attributes))
        assert [one.shape for one in inferred] == [result.tensors[tensor].shape for tensor in node.outputs]


def variables(graph: Graph) -> set[str]:
    found = {tensor.id for tensor in graph.tensors.values() if tensor.role is Role.STATE}
    return found.union(*(variables(body.graph) for body in bodies(graph)))


def assignments(graph: Graph) -> int:
    here = sum(node.operator == "assign_variable" for node in graph.nodes)
    return here + sum(assignments(body.graph) for body in bodies(graph))


@pytest.mark.parametrize("rewrite", [*PASSES, pruned], ids=lambda rewrite: rewrite.__name__)
@settings(max_examples=30, deadline=None)
@given(graph=graphs(kinds=("variable", "variable", "conv", "unary", "quantised_conv", "control")))
def test_a_pass_loses_no_variable_and_no_assignment(rewrite, graph: Graph) -> None:
    result = rewrite(graph)
    assert variables(result) == variables(graph)
    assert assignments(result) == assignments(graph)
