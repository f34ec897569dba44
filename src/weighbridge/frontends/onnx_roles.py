"""What a stored tensor is for, told by structure alone: by the slots it reaches, never by its name.

A tensor reaches the slot that it is read through; where the reader depends on no input either (it dequantises, transposes,
reshapes, scales the tensor once, before inference), it reaches what that node's result reaches.

- Whatever reaches a weight, bias or affine slot is a *parameter*, whole numbers too: quantised weights.  Only a scalar
  that arithmetic on the way takes in is part of a formula: the 0.5 in ``x @ (0.5 w)``.
- Whatever else reaches a statistic slot (running statistics, scales, zero points) is a *buffer*.
- In a data slot (an addition, a concatenation, an operator without a rule) a floating-point tensor is a *parameter* if it
  is an initialiser of at least one dimension, or a Constant node's with more than one element: positions, tokens, layer
  scales.  Scalars there are parts of a formula.  What is dequantised on its way there counts as floating point.
- Everything else is a *constant*: shapes, axes, indices, what a ConstantOfShape node fills, and initialisers that nothing
  reads, which the file only holds.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence, Set
from functools import cache
from typing import Final, cast

from weighbridge.graph import Node, Role, Tensor
from weighbridge.operators.record import Kind, Op, parse_operands

__all__ = ["assign_roles"]

_LEARNED: Final = frozenset({"weight", "bias", "affine"})
_NOTHING: Final[frozenset[str]] = frozenset()
_DATA: Final = frozenset({"data"})
_Uses = dict[str, frozenset[str]]
_DEQUANTISED: Final = "dequantised"
"""Beside "data": a quantised tensor that is read there as a floating-point one."""
_COMPUTED: Final = "computed"
"""Beside what a result reaches: the operand took part in arithmetic on the way, where a scalar is part of a formula."""


def assign_roles(
    tensors: MutableMapping[str, Tensor],
    nodes: Sequence[Node],
    outputs: Sequence[str],
    *,
    static: frozenset[str] | set[str],
    origins: Mapping[str, str],
    operators: Mapping[str, Op],
    quantised: Set[str] = frozenset(),
) -> None:
    """Set the role of every stored tensor of a graph and its bodies.

    ``static`` are the tensors that depend on no input, ``origins`` the operator that held a stored tensor ("" for an
    initialiser), ``quantised`` those of whole numbers that stand for fractions.
    """
    uses: _Uses = dict.fromkeys(outputs, _DATA)
    for tensor in quantised:
        uses[tensor] = uses.get(tensor, _NOTHING) | {_DEQUANTISED}
    _collect(nodes, uses, static, operators)
    _assign(tensors, nodes, uses, origins)


def _collect(
    nodes: Sequence[Node], uses: _Uses, static: frozenset[str] | set[str], operators: Mapping[str, Op]
) -> None:
    """Walk backwards, so that what a result reaches is known before its operands are looked at."""
    for node in reversed(nodes):
        for body in node.bodies:
            for tensor in body.graph.outputs:
                uses[tensor] = uses.get(tensor, _DATA) | _DATA
            _collect(body.graph.nodes, uses, static, operators)
        op = operators.get(node.operator)
        slots = {} if op is None else _uses(op.operands)
        reached = _DATA
        if op is not None and static.issuperset(node.outputs):
            reached = frozenset[str]().union(*(uses.get(tensor, ()) for tensor in node.outputs))
            if node.operator == "dequantize" and "data" in reached:
                reached |= {_DEQUANTISED}
            if op.kind == Kind.ELEMENTWISE:
                reached |= {_COMPUTED}
        for operand, tensor in node.operands:
            if tensor in static:
                use = slots.get(operand, _DATA)
                more = reached if use is _DATA else use
                found = uses.get(tensor)
                uses[tensor] = more if found is None else found | more


@cache
def _uses(operands: str) -> dict[str, frozenset[str]]:
    """By operand; what takes data is left out, as it passes on what its results reach."""
    return {slot.name: frozenset((slot.use,)) for slot in parse_operands(operands) if slot.use != "data"}


def _assign(
    tensors: MutableMapping[str, Tensor],
    nodes: Sequence[Node],
    uses: _Uses,
    origins: Mapping[str, str],
) -> None:
    for tensor in [one for one in tensors.values() if one.role.is_stored]:
        role = _role(tensor, uses.get(tensor.id, _NOTHING), origins.get(tensor.id, ""))
        if role is not tensor.role:
            tensors[tensor.id] = Tensor(tensor.id, tensor.shape, tensor.dtype, role)
    for node in nodes:
        for body in node.bodies:
            # A body's graph was frozen before its surroundings were complete; its tensors are still this builder's.
            _assign(cast("MutableMapping[str, Tensor]", body.graph.tensors), body.graph.nodes, uses, origins)


def _role(tensor: Tensor, uses: frozenset[str], origin: str) -> Role:
    is_scalar = not tensor.shape or (origin == "Constant" and tensor.elements == 1)
    if not uses.isdisjoint(_LEARNED):
        return Role.CONSTANT if is_scalar and _COMPUTED in uses else Role.PARAMETER
    if "statistic" in uses:
        return Role.BUFFER
    if "data" not in uses or not (tensor.dtype.is_learnable or _DEQUANTISED in uses):
        return Role.CONSTANT
    return Role.PARAMETER if origin in ("", "Constant") and not is_scalar else Role.CONSTANT
