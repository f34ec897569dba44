"""Linear layers of low rank: W of m x n as B A, with A of r x n and B of m x r, so that y = B (A x).

Weights and MACs of a row go from m n to r (m + n) (as in Denton et al.: Exploiting Linear Structure Within Convolutional
Networks, 2014, and Sainath et al., ICASSP 2013).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph, Node
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.what_if.layers import (
    Draft,
    Left,
    chosen,
    input_axis,
    left_note,
    nothing_changed,
    rebuilt_without_run,
)

__all__ = ["factorise_linear"]

_CHANGE: Final = "low-rank"


def factorise_linear(
    graph: Graph, rank: int | Fraction, target: str | None = None, operators: Mapping[str, Op] = OPERATORS
) -> Graph:
    """``graph`` with the linear layers that ``target`` stands for, or all, as two layers of ``rank`` in between.

    ``rank`` is a number of values, or a share in (0, 1) of the smaller side of each weight, rounded down, at least 1.  Linear
    layers are linear and matmul nodes with a weight matrix of their own; the bias and fused functions go with the second part.
    A layer that would not have fewer weights, r (m + n) >= m n, is left as it is, and a note says so with all others that are.
    Weights are new, so they have no known zeros.  Raises ``BadSpec`` for a rank that is none, a target that is not in the
    graph, and where no layer has less than before.
    """
    if rank <= 0 or (isinstance(rank, Fraction) and rank >= 1):
        raise BadSpec(f"{rank} is no rank", where=_CHANGE, hint="give a whole number from 1, or a share such as 25%")
    names = chosen(graph, target, operators)
    draft = Draft(graph, operators)
    made: dict[str, tuple[Node, Node]] = {}
    left: list[Left] = []
    for node in draft.running("linear", "matmul"):
        if node.name in names if names is not None else dict(node.operands)["w"] in draft.static:
            reason = _why_not(draft, node) or _no_gain(draft, node, rank)
            if reason:
                left.append(Left(node.name, reason))
            else:
                made[node.name] = _factorised(draft, node, rank)
    if not made:
        raise nothing_changed(_CHANGE, "no linear layer that would have fewer weights", left)
    nodes = [part for node in graph.nodes for part in made.get(node.name, (node,))]
    return rebuilt_without_run(graph, nodes, draft.tensors, [left_note(_CHANGE, left)] if left else [])


def _why_not(draft: Draft, node: Node) -> str:
    weight = dict(node.operands)["w"]
    reason = draft.why_not(node, weight)
    if reason:
        return reason
    return "the weight is no matrix" if len(draft.tensors[weight].shape or ()) != 2 else ""


def _no_gain(draft: Draft, node: Node, rank: int | Fraction) -> str:
    m, n = draft.tensors[dict(node.operands)["w"]].shape or (0, 0)  # which of them is which does not matter here
    r = _rank(rank, m, n)
    if r * (m + n) < m * n:
        return ""
    return f"rank {r:,} takes {r * (m + n):,} weights in place of {m * n:,}"


def _rank(rank: int | Fraction, m: int, n: int) -> int:
    return rank if isinstance(rank, int) else max(1, floor(rank * min(m, n)))


def _factorised(draft: Draft, node: Node, rank: int | Fraction) -> tuple[Node, Node]:
    operands = dict(node.operands)
    weight = operands["w"]
    shape = draft.tensors[weight].shape or (0, 0)
    r = _rank(rank, *shape)
    into_r, from_r = list(shape), list(shape)
    into_r[1 - input_axis(node)] = from_r[input_axis(node)] = r
    a, b = draft.parameter(weight, f"{weight}.a", tuple(into_r)), draft.parameter(weight, f"{weight}.b", tuple(from_r))
    inner = (("x", operands["x"]), ("w", a))
    first = draft.part(node, "a", inner, alpha=1.0, beta=1.0)
    rest = tuple(pair for pair in node.operands if pair[0] not in ("x", "w"))
    outer = (("x", first.outputs[0]), ("w", b), *rest)
    return first, draft.last_part(node, "b", outer, transpose_x=False)
