"""Standard convolutions as depthwise separable ones: a depthwise convolution of the same kernel, then a pointwise one.

Of the MACs of a standard convolution with N output channels and a kernel of D_K x D_K they have 1/N + 1/D_K^2 (Howard et al.:
MobileNets, 2017, section 3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from weighbridge.graph import Graph, Node
from weighbridge.operators.convolution import weight_axes
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.what_if.layers import Draft, Left, chosen, left_note, nothing_changed, rebuilt_without_run

__all__ = ["separate_convolutions"]

_CHANGE: Final = "depthwise"


def separate_convolutions(graph: Graph, target: str | None = None, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` with the convolutions that ``target`` stands for, or all, made depthwise and pointwise.

    A standard convolution is one of more than one tap, more than one input channel and without groups.  Stride, padding and
    dilation go with the depthwise part, which has no bias; bias and fused functions with the pointwise one.  One that would not
    have fewer weights and MACs, 1/N + 1/D_K^2 >= 1, is left as it is.  What is left, a note says, with the reason; layers in
    bodies of control flow are.  Weights are new, so they have no known zeros.
    Raises ``BadSpec`` for a target that is not in the graph and where no convolution can be replaced.
    """
    names = chosen(graph, target, operators)
    draft = Draft(graph, operators)
    made: dict[str, tuple[Node, Node]] = {}
    left: list[Left] = []
    for node in draft.running("conv"):
        if names is None or node.name in names:
            reason = _why_not(draft, node)
            if reason:
                left.append(Left(node.name, reason))
            else:
                made[node.name] = _separated(draft, node)
    if not made:
        raise nothing_changed(_CHANGE, "no standard convolution", left)
    nodes = [part for node in graph.nodes for part in made.get(node.name, (node,))]
    return rebuilt_without_run(graph, nodes, draft.tensors, [left_note(_CHANGE, left)] if left else [])


def _why_not(draft: Draft, node: Node) -> str:
    operands = dict(node.operands)
    reason = draft.why_not(node, operands["w"])
    if reason:
        return reason
    shape = draft.tensors[operands["w"]].shape or ()
    output, given = weight_axes(str(node.attributes["weight_layout"]), len(shape))
    if node.attributes["groups"] != 1:
        return "its channels are in groups"
    if prod(shape) == shape[output] * shape[given]:
        return "a kernel of one tap"
    if shape[given] == 1:
        return "one input channel"
    parts = prod(shape) // shape[output] + shape[output] * shape[given]
    if parts < prod(shape):
        return ""
    return f"in two parts it takes {parts:,} weights in place of {prod(shape):,}"


def _separated(draft: Draft, node: Node) -> tuple[Node, Node]:
    operands = dict(node.operands)
    weight, shape = operands["w"], draft.tensors[operands["w"]].shape or ()
    output, given = weight_axes(str(node.attributes["weight_layout"]), len(shape))
    channels = shape[given]
    filters = (channels if axis == output else 1 if axis == given else size for axis, size in enumerate(shape))
    mixing = (size if axis in (output, given) else 1 for axis, size in enumerate(shape))
    by_channel = draft.parameter(weight, f"{weight}.depthwise", tuple(filters))
    across = draft.parameter(weight, f"{weight}.pointwise", tuple(mixing))
    first = draft.part(node, "depthwise", (("x", operands["x"]), ("w", by_channel)), groups=channels)
    rest = tuple(pair for pair in node.operands if pair[0] not in ("x", "w"))
    second = draft.last_part(
        node,
        "pointwise",
        (("x", first.outputs[0]), ("w", across), *rest),
        stride=1,
        padding=0,
        dilation=1,
    )
    return first, second
