"""What the passes that put other layers in the place of layers have in common: which ones, which are left and why, the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from weighbridge.arena import Arena
from weighbridge.errors import BadSpec, printable
from weighbridge.graph import Attribute, Graph, Node, Role, Shape, Tensor, TensorType
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Call, Op, grouped
from weighbridge.passes.rewrite import body_tensors, pruned, read_counts, rebuilt
from weighbridge.passes.static import runs, static_tensors
from weighbridge.passes.targets import targets_of

__all__ = ["Draft", "Left", "chosen", "input_axis", "left_note", "nothing_changed", "rebuilt_without_run"]

_NO_RECORD = "eager memory is not known of a changed network, which never ran"
_NO_REQUESTS = "of a changed network, arena_tflm packs the storages of the graph, without the kernels' scratch"
_NAMED = 4
_REASONS = 6
_LONGEST = 60


class Left(NamedTuple):
    """A layer that stays as it is, and why."""

    name: str
    reason: str


def chosen(graph: Graph, target: str | None, operators: Mapping[str, Op]) -> frozenset[str] | None:
    """The names of the layers that ``target`` stands for, those of its parameters included; None without one: all layers.

    Raises ``BadSpec`` for a target that is not in the graph, or that no layer has as its weights.
    """
    if target is None:
        return None
    targets = targets_of(graph, operators)
    held = frozenset(targets.named(target))
    names = [layer.name for layer in targets.layers_named(target)]
    names = names or [layer.name for layer in targets.layers if not held.isdisjoint(layer.weights)]
    if not names:
        raise BadSpec(
            "there are no layers of which these are the weights", where=target, hint="name a layer or a scope"
        )
    return frozenset(names)


def left_note(change: str, left: Iterable[Left]) -> str:
    """``depthwise: left as they are: conv2, conv4 (…); conv1 (…)``, a few names for each reason, and a few reasons: the most common."""
    by_reason: dict[str, list[str]] = {}
    for one in left:
        by_reason.setdefault(one.reason, []).append(one.name)
    common = sorted(by_reason, key=lambda reason: -len(by_reason[reason]))
    told = [_named(by_reason[reason], reason) for reason in common[:_REASONS]]
    others = common[_REASONS:]
    if others:
        told.append(f"{sum(len(by_reason[reason]) for reason in others):,} more for {len(others):,} other reasons")
    return f"{change}: left as they are: {'; '.join(told)}"


def _named(names: list[str], reason: str) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{', '.join(printable(name, _LONGEST) for name in names[:_NAMED])}{more} ({reason})"


def nothing_changed(change: str, what: str, left: Iterable[Left]) -> BadSpec:
    """The error for a change that finds nothing to do."""
    found = tuple(left)
    hint = left_note(change, found).removeprefix(f"{change}: ") if found else ""
    return BadSpec(f"there is {what}", where=change, hint=hint)


def rebuilt_without_run(
    graph: Graph, nodes: Iterable[Node], tensors: Mapping[str, Tensor], notes: Iterable[str]
) -> Graph:
    """``graph`` with other nodes and tensors and with more notes, less what nobody reads any more and what is known of its own run
    alone: what a framework held, and what a runtime asks for to run the file.
    """
    missing = [note for note, record in ((_NO_RECORD, graph.allocations), (_NO_REQUESTS, graph.arena)) if record]
    arena = Arena(reason=graph.arena.reason) if graph.arena else None
    made = rebuilt(graph, nodes, tensors=tensors)
    # what nobody read before, as the parameters of a part that runs in training alone, is no part of the change
    kept = pruned(made).tensors.keys() | (graph.tensors.keys() - pruned(graph).tensors.keys())
    held = {key: tensor for key, tensor in made.tensors.items() if key in kept}
    return replace(made, tensors=held, allocations=(), arena=arena, notes=(*graph.notes, *notes, *missing))


class Draft:
    """A graph that is being changed: its nodes by place, its tensors, and new ones of both, in names that are new."""

    def __init__(self, graph: Graph, operators: Mapping[str, Op]) -> None:
        self.graph = graph
        self.operators = operators
        self.tensors = dict(graph.tensors)
        self.static = static_tensors(graph, operators)
        self.reads = read_counts(graph)
        self._names = {node.name for node in graph.nodes} | body_tensors(graph)

    def running(self, *names: str) -> list[Node]:
        """The nodes of these operators that run at every inference, in order; not those in bodies."""
        return [node for node in self.graph.nodes if node.operator in names and runs(node, self.static)]

    def why_not(self, node: Node, weight: str) -> str:
        """Why a layer cannot be taken apart, whatever it is to become; "" where it can."""
        if not self.why_own(node, weight) and _has_scales(node):
            return "it has scales, and there is none for what would lie between two layers"
        return self.why_own(node, weight)

    def why_own(self, node: Node, weight: str) -> str:
        """Why a layer has no weight that can be made anew; "" where it has."""
        held = self.graph.tensors[weight]
        if held.role is not Role.PARAMETER:
            return "the weight is computed from what is stored" if weight in self.static else "it has no weight"
        if self.reads[weight] != 1:
            return "other nodes read the weight too"
        if held.shape is None or self.graph.tensors[node.inputs[0]].shape is None:
            return "a shape is unknown"
        return ""

    def parameter(self, like: str, name: str, shape: Shape) -> str:
        """A new parameter of the type of ``like``, dense; returns its id."""
        key = self._unused(name)
        self.tensors[key] = replace(self.tensors[like], id=key, shape=shape, nonzeros=None)
        return key

    def part(self, old: Node, name: str, operands: tuple[tuple[str, str], ...], **changes: Attribute) -> Node:
        """A node called ``old.name.name`` of the same operator, with other operands and attributes and a result of its own."""
        made = replace(self.last_part(old, name, operands, **changes), fused=())
        made = replace(made, outputs=(made.name,))
        self.infer(made, old)
        return made

    def last_part(self, old: Node, name: str, operands: tuple[tuple[str, str], ...], **changes: Attribute) -> Node:
        """The part that makes what ``old`` made, fused functions included.

        Parts stand in the scope of ``old``, one level deeper where that is not of the layer alone, so that the name of the layer
        is a target for its parts.
        """
        attributes = {**old.attributes, **changes}
        key = self._unused(f"{old.name}.{name}")
        return replace(old, name=key, operands=operands, attributes=attributes, scope=_scope(old))

    def before(self, old: Node, name: str, operator: str, x: str, **attributes: Attribute) -> Node:
        """A node of another operator that runs before ``old``, called ``old.name.name``; of its attributes the rest are defaults."""
        complete = {**self.operators[operator].attributes, **attributes}
        key = self._unused(f"{old.name}.{name}")
        made = Node(key, operator, (("x", x),), (key,), complete, old.scope, file_node=old.file_node)
        self.infer(made, old)
        return made

    def instead(self, old: Node, operator: str, x: str, **attributes: Attribute) -> Node:
        """``old`` as a node of another operator with one operand; of its attributes the rest are defaults."""
        complete = {**self.operators[operator].attributes, **attributes}
        made = replace(old, operator=operator, operands=(("x", x),), attributes=complete)
        self.infer(made, old)
        return made

    def infer(self, node: Node, like: Node) -> None:
        """File the results of ``node`` under the types that the operator's rule gives them."""
        types = [(name, self.tensors[tensor].type) for name, tensor in node.operands]
        known = grouped((name, kind) for name, kind in types if kind is not None)
        made = self.operators[node.operator].infer(Call(known, node.attributes))
        for tensor, kind in zip(node.outputs, made, strict=True):
            old = self.tensors.get(tensor) or self.tensors[like.outputs[0]]
            shape, dtype = (kind.shape, kind.dtype) if isinstance(kind, TensorType) else (None, kind)
            self.tensors[tensor] = replace(old, id=tensor, shape=shape, dtype=dtype, role=Role.ACTIVATION)

    def _unused(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._names or name in self.tensors:
            number += 1
            name = f"{wanted}#{number}"
        self._names.add(name)
        return name


def input_axis(layer: Node) -> int:
    """The axis of the weight matrix of a linear or matmul node along which its inputs are."""
    is_output_first = layer.attributes["weight_layout" if layer.operator == "linear" else "transpose_w"] in ("oi", True)
    return 1 if is_output_first else 0


def _has_scales(node: Node) -> bool:
    return any(name.endswith(("_scale", "_zero_point")) for name, _ in node.operands)


def _scope(node: Node) -> str:
    if not node.scope or node.name == node.scope or node.name.startswith(f"{node.scope}."):
        return node.name
    return f"{node.scope}.{node.name}"
