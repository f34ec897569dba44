"""Unstructured sparsity: a share of each weight is zero, anywhere in it (Han et al.: Learning both Weights and Connections, 2015)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from operator import itemgetter
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.graph import Body, Graph, Node, Tensor
from weighbridge.operators.record import Kind, Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import rebuilt
from weighbridge.passes.static import runs, static_tensors
from weighbridge.passes.targets import REST, in_force, targets_of

__all__ = ["sparsify"]

_DENSE: Final = (
    "zeros stand in nonzero_parameters and nonzero_macs alone: bytes, MACs and times are those of dense weights, as no runtime "
    "leaves zeros out by itself"
)
_CARRIES: Final = frozenset({Kind.MOVE, Kind.VIEW, Kind.IDENTITY, Kind.QUANTISATION})
_SCALES: Final = frozenset({"cast", "mul", "div"})


def sparsify(graph: Graph, rules: Sequence[tuple[str, Fraction]], operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` with a share of the values of its weights zero: pairs of a target and a ratio from 0 to below 1.

    Of n values n x ratio, rounded down, are zero.  A later rule overrides an earlier one, ``rest`` holds for the weights that no
    other names, wherever it stands.  Of what a target names only weights are meant, biases and normalisation never.  What is
    only moved or scaled before it is used has as many zeros.  Raises ``BadSpec`` for a ratio outside [0, 1), and a target that is
    not in the graph or is no weight.
    """
    shares = _shares(graph, rules, operators)
    weights = {key: tensor for key, tensor in _all_tensors(graph).items() if key in shares}
    counts = {key: _nonzeros(tensor, shares[key]) for key, tensor in weights.items()}
    found: list[str] = []
    made = _with_nonzeros(graph, counts, operators, found, frozenset())
    few = [key for key, share in shares.items() if share and counts[key] == weights[key].elements]
    none = (
        (f"{', '.join(few[:3])}{' …' if len(few) > 3 else ''}: too few weights for one zero in this share",)
        if few
        else ()
    )
    return replace(made, notes=tuple(dict.fromkeys((*graph.notes, *_lost(found), *none, _DENSE))))


def _shares(graph: Graph, rules: Sequence[tuple[str, Fraction]], operators: Mapping[str, Op]) -> dict[str, Fraction]:
    targets = targets_of(graph, operators)
    weights = [name for name, use in targets.uses.items() if use == "weight"]
    shares: dict[str, Fraction] = {}
    for target, ratio in in_force(rules, itemgetter(0)):
        if not 0 <= ratio < 1:
            raise BadSpec(
                f"a share of zeros of {float(ratio):g}", where=target, hint="it is from 0 to below 1, or 100%"
            )
        named = weights if target == REST else [name for name in targets.named(target) if name in weights]
        if not named:
            raise BadSpec("there are no weights", where=target, hint="name a layer that has some")
        shares.update(dict.fromkeys(named, ratio))
    return shares


def _nonzeros(tensor: Tensor, share: Fraction) -> int | None:
    return None if tensor.elements is None else tensor.elements - floor(tensor.elements * share)


def _all_tensors(graph: Graph) -> dict[str, Tensor]:
    """The tensors of a graph and of all bodies in it."""
    found = dict(graph.tensors)
    for node in graph.nodes:
        for body in node.bodies:
            found.update(_all_tensors(body.graph))
    return found


def _with_nonzeros(
    graph: Graph,
    counts: Mapping[str, int | None],
    operators: Mapping[str, Op],
    lost: list[str],
    outside: frozenset[str],
) -> Graph:
    """``graph`` with these numbers of values that are not zero, and the same of what is computed from them in advance.

    ``lost`` collects the nodes behind which nobody knows how many there are.
    """
    static = static_tensors(graph, operators, outside=outside)
    tensors = {
        key: replace(tensor, nonzeros=counts[key]) if key in counts else tensor for key, tensor in graph.tensors.items()
    }
    for node in graph.nodes:
        if not runs(node, static) and any(tensors[tensor].nonzeros is not None for tensor in node.inputs):
            kept = _carried(node, tensors, operators)
            if kept is None:
                lost.append(node.name)
            for made in node.outputs:
                tensors[made] = replace(tensors[made], nonzeros=kept)
    nodes = [
        replace(
            node,
            bodies=tuple(
                Body(one.name, _with_nonzeros(one.graph, counts, operators, lost, static), one.trips)
                for one in node.bodies
            ),
        )
        if node.bodies
        else node
        for node in graph.nodes
    ]
    return rebuilt(graph, nodes, tensors=tensors)


def _carried(node: Node, tensors: Mapping[str, Tensor], operators: Mapping[str, Op]) -> int | None:
    """How many values of a result are not zero, if all of one operand with zeros are in it, moved or scaled; else None."""
    op = operators.get(node.operator)
    sparse = [tensor for tensor in dict.fromkeys(node.inputs) if tensors[tensor].nonzeros is not None]
    is_carrier = op is not None and (op.kind in _CARRIES or op.name in _SCALES)
    if (
        not is_carrier
        or len(sparse) != 1
        or len(node.outputs) != 1
        or (node.operator == "div" and sparse[0] != node.inputs[0])
    ):
        return None
    held = tensors[sparse[0]]
    return held.nonzeros if tensors[node.outputs[0]].elements == held.elements else None


def _lost(names: Sequence[str]) -> list[str]:
    """The note on weights whose zeros could not be followed."""
    if not names:
        return []
    more = f" and {len(names) - 4:,} more" if len(names) > 4 else ""
    return [
        f"zeros are not followed through {', '.join(names[:4])}{more}: MACs behind it are counted as of dense weights"
    ]
