"""Bit widths: what a network weighs when its weights or activations take another number of bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from typing import Final

from weighbridge.arena import Arena
from weighbridge.dtypes import DTYPES, DType, integer_of
from weighbridge.errors import BadSpec
from weighbridge.graph import Body, Graph, Node, Role, Tensor
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Kind, Op
from weighbridge.operators.table import OPERATORS
from weighbridge.passes.rewrite import rebuilt
from weighbridge.passes.static import parameter_uses, runs, static_tensors
from weighbridge.passes.targets import REST, Targets, in_force, targets_of

__all__ = ["BitRules", "bit_rules", "set_bits", "width_of"]

_FLOATS: Final = {16: "float16", 32: "float32", 64: "float64"}
_KEEPS_TYPE: Final = frozenset({Kind.MOVE, Kind.VIEW, Kind.IDENTITY})
_NO_RECORD: Final = "eager memory is not known at other widths than those the model ran in"
_NO_REQUESTS: Final = (
    "at other widths than the file's, arena_tflm packs the storages of the graph, without the kernels' scratch"
)


class BitRules(NamedTuple):
    """Bits by target, in order, and bits of the activations (None: as they are).

    A target is ``first`` or ``last`` (weighted layer in execution order), ``rest`` (every weight that no other rule
    names), ``biases``, ``other`` (normalisation, positions), or the name of a node, of a scope or of a parameter, or a
    pattern for one of these with ``*``, ``?`` and ``[…]``.
    """

    weights: tuple[tuple[str, int], ...] = ()
    activations: int | None = None


def bit_rules(weights: Iterable[str | int] = (), activations: int | None = None) -> BitRules:
    """Rules as they are written on a command line: ``8``, ``first=8``, ``features.*=4``; a width alone is for the rest.

    Raises ``BadSpec`` for a width that is no whole number from 1 to 64, or a rule without a target.
    """
    rules = []
    for rule in weights:
        target, separator, bits = str(rule).rpartition("=")
        if separator and not target:
            raise BadSpec(f"the rule {rule!r} names no layer", hint="write first=8, rest=4 or a layer's name=8")
        rules.append((target or REST, width_of(bits, str(rule))))
    return BitRules(tuple(rules), None if activations is None else width_of(str(activations), str(activations)))


def width_of(text: str, rule: str) -> int:
    """The bit width that ``text`` says.  Raises ``BadSpec``, which names the ``rule``, for no whole number from 1 to 64."""
    bits = int(text) if text.strip().isascii() and text.strip().isdecimal() and len(text) < 10 else 0
    if not 1 <= bits <= 64:
        raise BadSpec(f"the bit width {rule!r} is no whole number from 1 to 64", hint="write 8, first=8 or rest=4")
    return bits


def set_bits(graph: Graph, rules: BitRules, operators: Mapping[str, Op] = OPERATORS) -> Graph:
    """``graph`` with its weights, and its floating-point inputs and activations, at the widths that ``rules`` say.

    A later rule overrides an earlier one, ``rest`` holds for what no other names, wherever it stands.  Biases and what is
    neither weight nor bias keep their width unless a rule names them (``biases``, ``other``, or the parameter itself).  A
    rule that names a node or a scope is for the weights there.  16, 32 and 64 bits are floating point where the tensor
    was, other widths integers.  Tensors computed from weights by moving them follow.  Raises ``BadSpec`` for a target that
    is not in the graph or a width outside 1 to 64.  What a framework held while it ran the model, and what a runtime asks for
    to run it, do not hold for other widths, and are dropped: the requests of the runtime are not known then.
    """
    for target, bits in rules.weights:
        width_of(str(bits), f"{target}={bits}")
    if rules.activations is not None:
        width_of(str(rules.activations), str(rules.activations))
    widths = _widths(graph, rules.weights, operators) if rules.weights else {}
    if not widths and rules.activations is None:
        return graph
    retyped = _retyped(graph, widths, rules.activations, operators, frozenset())
    if not (graph.allocations or graph.arena) or retyped == graph:
        return retyped
    notes = [note for note, record in ((_NO_RECORD, graph.allocations), (_NO_REQUESTS, graph.arena)) if record]
    arena = Arena(reason=graph.arena.reason) if graph.arena else None
    return replace(retyped, allocations=(), arena=arena, notes=(*graph.notes, *notes))


def _widths(graph: Graph, rules: tuple[tuple[str, int], ...], operators: Mapping[str, Op]) -> dict[str, int]:
    widths: dict[str, int] = {}
    targets: Targets | None = None
    for target, bits in in_force(rules, itemgetter(0)):
        if target == REST:
            named: Iterable[str] = [one for one, use in parameter_uses(graph, operators).items() if use == "weight"]
        else:  # most networks get one width for all, and their layers need not be told apart
            targets = targets or targets_of(graph, operators)
            named = targets.named(target)
        widths.update(dict.fromkeys(named, bits))
    return widths


def _retyped(
    graph: Graph,
    widths: Mapping[str, int],
    activations: int | None,
    operators: Mapping[str, Op],
    outside: frozenset[str],
) -> Graph:
    static = static_tensors(graph, operators, outside=outside)
    tensors = {key: _stored(tensor, widths) for key, tensor in graph.tensors.items()}
    for node in graph.nodes:
        op = operators.get(node.operator)
        if op is not None and op.kind in _KEEPS_TYPE and node.operands and not runs(node, static):
            source = node.operands[0][1]
            if tensors[source].dtype != graph.tensors[source].dtype:
                for made in node.outputs:
                    tensors[made] = _of_type(tensors[made], tensors[source].dtype)
    if activations is not None:
        for key, tensor in tensors.items():
            if key not in static and tensor.dtype.kind == "float":
                tensors[key] = _of_type(tensor, _type_at(tensor.dtype, activations))
    nodes = [_with_bodies(node, widths, activations, operators, static) for node in graph.nodes]
    return rebuilt(graph, nodes, tensors=tensors)


def _with_bodies(
    node: Node, widths: Mapping[str, int], activations: int | None, operators: Mapping[str, Op], static: frozenset[str]
) -> Node:
    if not node.bodies:
        return node
    bodies = tuple(
        Body(body.name, _retyped(body.graph, widths, activations, operators, static), body.trips)
        for body in node.bodies
    )
    return replace(node, bodies=bodies)


def _stored(tensor: Tensor, widths: Mapping[str, int]) -> Tensor:
    bits = widths.get(tensor.id) if tensor.role is Role.PARAMETER else None
    return tensor if bits is None else _of_type(tensor, _type_at(tensor.dtype, bits))


def _of_type(tensor: Tensor, dtype: DType) -> Tensor:
    """``tensor`` with another type (three times as fast as ``dataclasses.replace``, of every tensor of a graph)."""
    return Tensor(tensor.id, tensor.shape, dtype, tensor.role, tensor.nonzeros)


@lru_cache(maxsize=256)
def _type_at(dtype: DType, bits: int) -> DType:
    """The type of a tensor of type ``dtype`` at another width: as it is where it has that width already."""
    if dtype.bits == bits:
        return dtype
    if dtype.kind == "float" and bits in _FLOATS:
        return DTYPES[_FLOATS[bits]]
    return integer_of(bits)
