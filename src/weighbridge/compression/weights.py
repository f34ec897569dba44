"""The weights of a graph, each with the biases of its layer; and what is in no layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weighbridge.compression.layer import Amount, Weight
from weighbridge.compression.record import Others
from weighbridge.graph import Graph, Tensor
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.static import runs, static_sources, static_tensors
from weighbridge.passes.targets import Targets, targets_of

__all__ = ["Held", "held_by"]


class Held(NamedTuple):
    """What a model holds: its weights in the order of their layers, other parameters, and what can be named in it."""

    targets: Targets
    weights: tuple[Weight, ...]
    others: Others


def held_by(graph: Graph, operators: Mapping[str, Op] = OPERATORS) -> Held:
    """The weights of ``graph``, a storage each however many layers use it: the first of them has the row.

    A row has the name of its layer, and that of the parameter behind it where a layer has several weights.  Biases are those
    that the node of the layer reads.
    """
    targets = targets_of(graph, operators)
    tensors = {tensor.id: tensor for tensor in graph.stored_everywhere()}
    biases = dict(_biases(graph, targets.uses, operators))
    free = dict.fromkeys(name for name, use in targets.uses.items() if use != "weight")
    rows: dict[str, Weight] = {}
    for layer in targets.layers:
        own = [name for name in layer.weights if name not in rows]
        for name in own:
            added = [bias for bias in biases.pop(layer.name, ()) if bias in free]
            for bias in added:
                del free[bias]
            title = layer.name if len(layer.weights) == 1 else f"{layer.name}: {name}"
            rows[name] = _weight(title, tensors[name], [tensors[bias] for bias in added])
    for name, use in targets.uses.items():
        if use == "weight" and name not in rows:
            rows[name] = _weight(name, tensors[name], [])
    rest = [tensors[name] for name in free]
    small = [tensors[name] for name, use in targets.uses.items() if use != "weight"]
    unsized = tuple(tensor.id for tensor in small if tensor.elements is None or tensor.dtype.bits is None)
    others = Others(sum(tensor.elements or 0 for tensor in rest), _bits(rest), unsized)
    return Held(targets, tuple(rows.values()), others)


def _weight(name: str, tensor: Tensor, biases: list[Tensor]) -> Weight:
    bits = tensor.dtype.bits or 0
    return Weight(
        name=name,
        elements=tensor.elements or 0,
        bits_each=bits.numerator if bits and bits.denominator == 1 else bits,
        biases=sum(bias.elements or 0 for bias in biases),
        bias_bits=_bits(biases),
        parameter=tensor.id,
        shape=tensor.shape or (),
        dtype=tensor.dtype.name,
    )


def _bits(tensors: list[Tensor]) -> Amount:
    total = sum((tensor.elements or 0) * (tensor.dtype.bits or 0) for tensor in tensors)
    return int(total) if total == int(total) else total


def _biases(graph: Graph, uses: Mapping[str, str], operators: Mapping[str, Op]) -> Iterator[tuple[str, list[str]]]:
    """The biases that each node reads, directly or computed in advance, by the node's name."""
    static = static_tensors(graph, operators)
    sources = static_sources(graph, static, operators)
    for node in graph.nodes:
        for body in node.bodies:
            yield from _biases(body.graph, uses, operators)
        if runs(node, static):
            read = dict.fromkeys(
                source
                for tensor in node.inputs
                for source in sorted(sources.get(tensor, ()))
                if uses.get(source) == "bias"
            )
            if read:
                yield node.name, list(read)
