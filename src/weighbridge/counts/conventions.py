"""What other counters would print: the figures of a network by conventions that are not ours.

A convention is one record in ``CONVENTIONS``: for each operator a rule for what it calls multiply-accumulates, a rule for
what it calls activations, and the sentence that defines it.  It reads the graph as the model holds it, before anything is
folded or fused, and counts every node, those that depend on no input included: such counters follow a run of the module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from weighbridge.counts.cost import reason_of
from weighbridge.counts.facts import ConventionFacts, Uncounted
from weighbridge.errors import BadSpec, GraphError
from weighbridge.graph import Graph, Node, Role
from weighbridge.operators.record import Call, Kind, Op, known_total
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import call_of

__all__ = ["CONVENTIONS", "Convention", "by_convention", "convention_named"]

Rule = Callable[[Op, Call], int]


class Convention(NamedTuple):
    """How another counter counts: rules by operator.

    An operator without a rule counts nothing, by the convention; a contraction without one is not counted and makes the
    figures lower bounds.  ``sentence`` stands beside the figures.
    """

    sentence: str
    macs: Mapping[str, Rule]
    activations: Mapping[str, Rule]


def convention_named(name: object) -> str:
    """``name`` if it is that of a convention.  Raises ``BadSpec`` if not."""
    if isinstance(name, str) and name in CONVENTIONS:
        return name
    hint = f"the conventions are {', '.join(CONVENTIONS)}"
    raise BadSpec(f"there is no convention {name!r}", where="convention", hint=hint)


def by_convention(graph: Graph, convention: Convention, operators: Mapping[str, Op] = OPERATORS) -> ConventionFacts:
    """The figures of ``graph``, as the model holds it, by ``convention``.

    Parameters are all learned elements, each storage once.  A node with bodies is not counted: the counters follow one
    run, in which there is no control flow.
    """
    macs = activations = 0
    uncounted: list[Uncounted] = []
    for node in graph.nodes:
        found = _counted(node, graph, convention, operators)
        if isinstance(found, str):
            uncounted.append(Uncounted(node.name, node.origin or node.operator, found))
        else:
            macs, activations = macs + found[0], activations + found[1]
    learned = [tensor for tensor in graph.stored() if tensor.role is Role.PARAMETER]
    return ConventionFacts(
        macs=macs,
        activations=activations,
        parameters=sum(tensor.elements or 0 for tensor in learned),
        weight_bytes=known_total(tensor.bytes for tensor in learned),
        exact=not uncounted and all(tensor.elements is not None for tensor in learned),
        uncounted=tuple(uncounted),
    )


def _counted(node: Node, graph: Graph, convention: Convention, operators: Mapping[str, Op]) -> tuple[int, int] | str:
    """(MACs, activations) of a node, or why it has none."""
    if node.bodies:
        return "the convention is for a run of the network, which has no control flow"
    op = operators.get(node.operator)
    reason = reason_of(node, op)
    if op is None or reason:
        return reason
    rules = convention.macs.get(op.name), convention.activations.get(op.name)
    if rules == (None, None):
        return f"the convention has no rule for {op.name}" if op.kind == Kind.CONTRACTION else (0, 0)
    try:
        call = call_of(node, graph)
        macs, activations = (0 if rule is None else rule(op, call) for rule in rules)
    except GraphError as error:
        return error.what
    return macs, activations


def _products(op: Op, call: Call) -> int:
    """The multiply-accumulates that the operator's own record states."""
    return op.macs(call)


def _matrix_products(op: Op, call: Call) -> int:
    """Elements of the first operand times columns of the second: fvcore does not see that the first is stretched."""
    return call.x.elements * (call.outputs[0].shape[-1] if len(call.w.shape) > 1 else 1)


def _result(op: Op, call: Call) -> int:
    return call.outputs[0].elements


def _results_of_products(op: Op, call: Call) -> int:
    """The results of all products inside an operator: of attention, the scores and the weighted values."""
    return 0 if op.loops is None else sum(loops.groups * loops.m * loops.n for loops in op.loops(call))


def _normalised(op: Op, call: Call) -> int:
    """5 a value with a learned scale, else 4."""
    return call.x.elements * (5 if call.has("scale") else 4)


def _batch_normalised(op: Op, call: Call) -> int:
    """2 a value with a learned scale, else 1; in training as the other normalisations."""
    if call["training"]:
        return _normalised(op, call)
    return call.x.elements * (2 if call.has("scale") else 1)


def _pooled_adaptively(op: Op, call: Call) -> int:
    """1 for every value read by a pool whose result is an image of two dimensions; of other dimensions nothing."""
    is_image = len(call.x.shape) == 4 or ("output_size" in call.attributes and len(call.integers("output_size")) == 2)
    return call.x.elements if is_image else 0


_RESIZED: Final = {"nearest": 1, "linear": 4}


def _resized(op: Op, call: Call) -> int:
    """A value of an image of two dimensions: 1 from the nearest neighbour, 4 by bilinear interpolation.

    Bicubic and antialiased resizing and other dimensions count nothing.
    """
    if len(call.x.shape) != 4 or call["antialias"]:
        return 0
    return call.outputs[0].elements * _RESIZED.get(call.text("mode"), 0)


def _sampled(op: Op, call: Call) -> int:
    """4 a value, whatever the interpolation."""
    return 4 * call.outputs[0].elements


# The rules of fvcore 0.1.5 (fvcore.nn.flop_count, fvcore.nn.activation_count; Apache-2.0), which calls multiply-accumulates
# flops.  It has no rule for PyTorch's fused attention; here that counts as the two products that it is made of, which fvcore
# sees where the fusion is off, as it was for the tables that timm publishes.
_FVCORE: Final = Convention(
    "as fvcore counts a run of the module: contractions, attention as its two products, 2 a value of batch norm, 5 of "
    "layer, group and instance norm (4 without a scale), 1 a value read by adaptive average pooling, 1 or 4 a resized one, "
    "4 a sampled one",
    macs={
        **dict.fromkeys(("conv", "conv_transpose", "linear", "einsum", "attention"), _products),
        "matmul": _matrix_products,
        "batch_norm": _batch_normalised,
        **dict.fromkeys(("layer_norm", "group_norm", "instance_norm"), _normalised),
        **dict.fromkeys(("adaptive_average_pool", "global_average_pool"), _pooled_adaptively),
        "resize": _resized,
        "grid_sample": _sampled,
    },
    activations={
        **dict.fromkeys(("conv", "conv_transpose", "linear", "matmul", "einsum"), _result),
        "attention": _results_of_products,
    },
)

CONVENTIONS: Final[Mapping[str, Convention]] = MappingProxyType({"fvcore": _FVCORE})
"""Every convention that can be asked for, by name."""
