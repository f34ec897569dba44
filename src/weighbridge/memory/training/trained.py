"""What of a network is trained: its parameters, or the part of each along its input channels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph, Node, Role, Shape
from weighbridge.memory.training.adapters import with_adapters
from weighbridge.memory.training.request import Training
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.convolution import weight_axes
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.static import static_sources, static_tensors
from weighbridge.passes.targets import Targets, is_meant, targets_of

__all__ = ["Part", "Wanted", "wanted"]

_EVERYTHING: Final = "all"
_BIASES: Final = "biases"
_CHANNELS: Final = frozenset({"conv", "linear", "matmul"})
"""Layers whose weights can be trained for a part of their input channels."""


class Part(NamedTuple):
    """What is trained of a parameter: values of this ``shape``, and the ``share`` of the layer's input that their gradient needs."""

    shape: Shape
    share: Fraction = Fraction(1)


class Wanted(NamedTuple):
    """What is trained of which graph: the parts of its parameters by their ids; ``adapters`` are those of low rank among them."""

    graph: Graph
    parts: Mapping[str, Part]
    adapters: frozenset[str]


def wanted(graph: Graph, request: Training, operators: Mapping[str, Op] = OPERATORS) -> Wanted:
    """``graph`` with the adapters that are asked for, and what of it is trained.  Raises ``BadSpec`` as both of these do."""
    adapted, adapters = with_adapters(graph, request.adapters, operators)
    return Wanted(adapted, _parts_trained(adapted, request, operators, adapters), adapters)


def _parts_trained(
    graph: Graph, request: Training, operators: Mapping[str, Op], adapters: frozenset[str]
) -> dict[str, Part]:
    """The trained part of every parameter of ``graph`` of which anything is trained; ``adapters`` are those of low rank.

    A target stands for all parameters of the layers that it names, their biases and normalisations included where a scope or a
    pattern names them too.  Of a share of the channels, c channels are ceil(share x c).  Raises ``BadSpec`` for a target that is
    not in the graph, a share of a layer that has no input channels, and where nothing is trained.
    """
    parameters = _parameters(graph)
    if not parameters:
        raise BadSpec("the network has no parameters, so there is nothing to train", where=graph.name)
    targets = targets_of(graph, operators)
    shares = dict.fromkeys(adapters, Fraction(1))
    if not request.updates and not adapters:
        shares = dict.fromkeys(parameters, Fraction(1))
    for target, share in request.updates:
        shares.update(dict.fromkeys(_named(target, "what is updated", graph, targets, operators), share))
    for target in request.frozen:
        for name in _named(target, "a frozen part", graph, targets, operators):
            shares.pop(name, None)
    if not shares:
        raise BadSpec("everything is frozen, so there is nothing to train", where=graph.name)
    narrow = {name: share for name, share in shares.items() if share != 1}
    cut = _cut(graph, parameters, narrow, operators) if narrow else {}
    return {name: cut.get(name) or Part(parameters[name]) for name in shares}


def _parameters(graph: Graph) -> dict[str, Shape]:
    """The shapes of all parameters, those in bodies included."""
    stored = graph.stored_everywhere()
    return {one.id: one.shape for one in stored if one.role is Role.PARAMETER and one.shape is not None}


def _named(target: str, where: str, graph: Graph, targets: Targets, operators: Mapping[str, Op]) -> tuple[str, ...]:
    """The parameters that a target stands for.  Raises ``BadSpec`` where there are none."""
    found = _meant(target, graph, targets, operators)
    if not found:
        hint = "name a layer, a module, a pattern, or last-3"
        raise BadSpec(f"{target!r} stands for no parameter of this network", where=where, hint=hint)
    return found


def _meant(target: str, graph: Graph, targets: Targets, operators: Mapping[str, Op]) -> tuple[str, ...]:
    """The parameters that a target stands for, and none of them only for their use."""
    if target == _EVERYTHING:
        return tuple(_parameters(graph))
    if target == _BIASES:
        return tuple(dict.fromkeys((*_added(graph, operators), *targets.named(target))))
    names = {layer.name for layer in targets.layers_counted(target)}
    found = [one for node, held in _holders(graph, operators) if node.name in names for one in held]
    if not names and target not in targets.uses:
        found = [one for node, held in _holders(graph, operators) if is_meant(target, node) for one in held]
        found += [name for name in targets.uses if name.startswith(f"{target}.")]
    return tuple(dict.fromkeys((*found, *(() if found else targets.named(target, has_rest=False)))))


def _added(graph: Graph, operators: Mapping[str, Op]) -> Iterator[str]:
    """The parameters that nodes only add: biases, and the shifts of normalisations."""
    sources = static_sources(graph, static_tensors(graph, operators), operators)
    for node in graph.nodes:
        for body in node.bodies:
            yield from _added(body.graph, operators)
        op = operators.get(node.operator)
        added = {slot.name for slot in op.slots if slot.is_added} if op else set()
        for operand, tensor in node.operands:
            if operand in added:
                yield from sorted(sources.get(tensor, ()))


def _holders(graph: Graph, operators: Mapping[str, Op]) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Every node with the parameters that it reads, directly or through what is computed of them."""
    sources = static_sources(graph, static_tensors(graph, operators), operators)
    for node in graph.nodes:
        for body in node.bodies:
            yield from _holders(body.graph, operators)
        held = dict.fromkeys(source for tensor in node.inputs for source in sorted(sources.get(tensor, ())))
        if held:
            yield node, tuple(held)


def _cut(
    graph: Graph, shapes: Mapping[str, Shape], shares: Mapping[str, Fraction], operators: Mapping[str, Op]
) -> dict[str, Part]:
    """The parts of weights of which a share of the input channels is trained; a bias has none and is trained whole."""
    cut: dict[str, Part] = {}
    for node, held in _holders(graph, operators):
        weight = next((tensor for operand, tensor in node.operands if operand == "w"), None)
        for name in held:
            if name not in shares or name in cut:
                continue
            shape = shapes[name]
            if name == weight and node.operator in _CHANNELS and len(shape) > 1:
                axis = _channel_axis(node, shape)
                channels = ceil(shape[axis] * shares[name])
                cut[name] = Part((*shape[:axis], channels, *shape[axis + 1 :]), Fraction(channels, shape[axis]))
            elif len(shape) > 1:
                what = f"a share of the input channels of {name} cannot be trained alone: {node.operator} has none"
                raise BadSpec(what, where=node.name, hint="update it whole, or name convolutions and linear layers")
    return cut


def _channel_axis(node: Node, shape: Shape) -> int:
    """The axis of a weight along which the channels of the layer's input lie; of a depthwise convolution that of its output."""
    attributes, rank = node.attributes, len(shape)
    if node.operator == "conv":
        output, given = weight_axes(str(attributes["weight_layout"]), rank)
        return output if shape[given] == 1 and attributes["groups"] != 1 else given
    if node.operator == "linear":
        return 1 if attributes["weight_layout"] == "oi" else 0
    return rank - 1 if attributes["transpose_w"] else rank - 2
