"""The operators of ai.onnx.preview.training: gradients of a part of the graph, and steps of optimisers.

A Gradient node names tensors of its own graph: what is derived (``y``), by what (``xs``), and what stays as it is (``zs``).  The
nodes between them say what it costs (operators/training.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from weighbridge.errors import GraphError
from weighbridge.frontends.foreign import Foreign, Rule, Step
from weighbridge.frontends.onnx_ml import fault
from weighbridge.frontends.onnx_scope import Record, Scope
from weighbridge.graph import UNKNOWN, Attribute, Node
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Call, Kind, Loops, grouped

if TYPE_CHECKING:
    from weighbridge.builder import Builder
    from weighbridge.frontends.onnx_capture import Capture

__all__ = ["TRAINING_DOMAIN", "TRAINING_RULES", "TRAINING_SPECIAL", "Walks"]

TRAINING_DOMAIN: Final = "ai.onnx.preview.training"

MAX_WALKED = 200_000
"""Nodes that all Gradient nodes of a model look at together: each looks at all that lies between its tensors."""
_PRODUCTS: Final = frozenset({"linear", "matmul", "conv", "conv_transpose"})
"""Contractions of two operands, x and w, and a bias."""
_WITHOUT_RULE: Final = frozenset({"determinant", "triangular_solve"})
"""Functions that are no contractions and whose derivatives have some."""
_Product = tuple[int, int, int, int]


class _NoRule(Exception):
    """Why a gradient cannot be counted."""


class Walks:
    """What Gradient nodes have looked at so far: who makes a tensor, by graph, and how many nodes they went over."""

    def __init__(self) -> None:
        self.nodes = 0
        self._makers: dict[int, tuple[Builder, dict[str, int]]] = {}
        self._seen: dict[int, int] = {}

    def makers(self, builder: Builder) -> dict[str, int]:
        """The place of the node that makes a tensor.  Every node is looked at once, however often this is asked."""
        # The builder is kept, too: only while it lives does nothing else have its identity.
        _, makers = self._makers.setdefault(id(builder), (builder, {}))
        for place in range(self._seen.get(id(builder), 0), len(builder.nodes)):
            makers.update(dict.fromkeys(builder.nodes[place].outputs, place))
        self._seen[id(builder)] = len(builder.nodes)
        return makers


class _Between(NamedTuple):
    """The nodes between the independent tensors and y, in order; what depends on those that are varied, and on any of them."""

    nodes: list[Node]
    dependent: set[str]
    driven: set[str]


def _gradient(capture: Capture, scope: Scope, call: Foreign, record: Record) -> None:
    """A gradient by each tensor whose result is read; the node's operands are the values at which it is taken."""
    y, varied, fixed = _names(call)
    if len(varied) + len(fixed) != len(call.inputs) or len(record.outputs) > len(varied):
        raise fault(call, f"names {len(varied)} and {len(fixed)} tensors and is given {len(call.inputs)}")
    wanted, ids = scope.find(y, call.name), [scope.find(name, call.name) for name in (*varied, *fixed)]
    capture.name_outputs(scope, call, record)
    asked = [index for index, tensor in enumerate(call.outputs) if tensor]
    rest = [index for index in range(len(ids)) if index not in asked]
    operands = [("xs", call.operand(index)) for index in asked] + [("others", call.operand(index)) for index in rest]
    builder, outputs = scope.frame.builder, [call.outputs[index] for index in asked]
    module, origin = capture.module(scope, record), f"{record.domain}.{record.op}"
    try:
        between = _between(capture, builder, wanted, set(ids), {ids[index] for index in asked})
        products = _backward(builder, between)
        if tuple(ids) != call.inputs:
            products += _forward(builder, between)
    except _NoRule as error:
        types, reason = [builder.type_of(call.inputs[index]) for index in asked], str(error)
        builder.opaque(
            UNKNOWN, operands, types, name=call.name, outputs=outputs, scope=module, origin=origin, reason=reason
        )
        return
    attributes: dict[str, Attribute] = {"products": tuple(products)}
    builder.add("gradient", operands, attributes, name=call.name, outputs=outputs, scope=module, origin=origin)


def _names(call: Foreign) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """What is derived, by what, and what stays as it is."""
    y, varied, fixed = call.get("y"), call.get("xs", ()), call.get("zs", ())
    are_lists = isinstance(varied, tuple) and isinstance(fixed, tuple)
    if not are_lists or not varied or not all(isinstance(name, str) for name in (y, *varied, *fixed)):
        raise fault(call, "does not say what is derived by what: y is a name, xs and zs are lists of names")
    return y, varied, fixed


def _between(capture: Capture, builder: Builder, y: str, ends: set[str], varied: set[str]) -> _Between:
    """What y is made of, back to the independent tensors.  Raises ``_NoRule`` where that is too much or not in this graph."""
    makers = capture.walks.makers(builder)
    places: set[int] = set()
    pending = [y] if y not in ends else []
    while pending:
        place = makers.get(pending.pop())
        if place is None or place in places:
            continue
        places.add(place)
        pending += [tensor for tensor in builder.nodes[place].inputs if tensor not in ends]
    capture.walks.nodes += len(places)
    if capture.walks.nodes > MAX_WALKED:
        raise _NoRule(f"more than {MAX_WALKED:,} nodes lie between the tensors of all gradients")
    if y not in ends and y not in makers:
        raise _NoRule("what is derived is not computed in this graph")
    nodes = [builder.nodes[place] for place in sorted(places)]
    return _Between(nodes, _reached(nodes, varied), _reached(nodes, ends))


def _reached(nodes: list[Node], tensors: set[str]) -> set[str]:
    """The tensors, and all that is computed from them."""
    found = set(tensors)
    for node in nodes:
        if not found.isdisjoint(node.inputs):
            found.update(node.outputs)
    return found


def _loops(builder: Builder, node: Node) -> tuple[Loops, ...]:
    """The contractions of a node.  Raises ``_NoRule`` where nobody knows them."""
    op = builder.operators.get(node.operator)
    if op is None or node.bodies:
        raise _NoRule(f"what {_called(node)} computes is differentiated, which has no rule")
    if op.loops is None:
        return ()
    types = [(operand, builder.type_of(tensor)) for operand, tensor in node.operands]
    results = [builder.type_of(tensor) for tensor in node.outputs]
    known = [(operand, kind) for operand, kind in types if kind is not None]
    made = tuple(kind for kind in results if kind is not None)
    if len(known) < len(types) or len(made) < len(results):
        raise _NoRule(f"a shape that {_called(node)} reads or makes is unknown")
    try:
        return op.loops(Call(grouped(known), node.attributes, made))
    except GraphError as error:
        raise _NoRule(error.what) from None


def _backward(builder: Builder, between: _Between) -> list[_Product]:
    """A product for each operand of a contraction that depends on what is varied, as the matrices lie then."""
    products: list[_Product] = []
    for node in between.nodes:
        read = [operand for operand, tensor in node.operands if tensor in between.dependent]
        if not read:
            continue
        loops, op = _loops(builder, node), builder.operators[node.operator]
        if node.operator in _WITHOUT_RULE or (op.kind == Kind.CONTRACTION and node.operator not in _PRODUCTS):
            raise _NoRule(f"the derivative of {_called(node)} has no rule")
        for one in loops:
            for operand in read:
                if operand not in ("x", "w", "b"):
                    raise _NoRule(f"the derivative of {_called(node)} by its {operand} has no rule")
                if operand != "b":
                    m, n, k = (one.k, one.n, one.m) if operand == "x" else (one.m, one.k, one.n)
                    products.append((m, n, k, one.groups))
    return products


def _forward(builder: Builder, between: _Between) -> list[_Product]:
    """The contractions between the tensors, which run again where the gradient is taken at other values."""
    running = [node for node in between.nodes if not between.driven.isdisjoint(node.inputs)]
    return [(one.m, one.n, one.k, one.groups) for node in running for one in _loops(builder, node)]


def _called(node: Node) -> str:
    return node.origin or node.operator


def _optimiser(rule: str, *groups: str) -> Rule:
    """The tensors, their gradients and what is kept of them, each group as long as the others."""

    def step(call: Foreign) -> Sequence[Step]:
        name = call.get("mode") if rule == "momentum" else rule
        if rule == "momentum" and name not in ("standard", "nesterov"):
            raise fault(call, f"its mode is {name!r}, neither standard nor nesterov")
        count, rest = divmod(len(call.inputs) - 2, len(groups))
        if rest or count < 1 or not all(call.inputs):
            raise fault(call, f"has {len(call.inputs)} operands, which are no rate, count and {', '.join(groups)}")
        slots = ["rate", "count", *(group for group in groups for _ in range(count))]
        attributes = {"rule": "momentum" if name == "standard" else name}
        return (Step("optimiser_step", list(zip(slots, call.inputs, strict=True)), attributes, call.outputs),)

    return step


TRAINING_RULES: Final[dict[str, Rule]] = {
    "Adam": _optimiser("adam", "xs", "gradients", "momenta", "squares"),
    "Adagrad": _optimiser("adagrad", "xs", "gradients", "squares"),
    "Momentum": _optimiser("momentum", "xs", "gradients", "momenta"),
}
TRAINING_SPECIAL: Final = {"Gradient": _gradient}
"""What needs the graph around it, by the name of the operator."""
