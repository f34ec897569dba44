"""The plan of training memory: by the rule ``paper`` of any graph, by the rule ``autograd`` of a record of PyTorch's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from math import prod
from typing import Final

from weighbridge.errors import BadSpec
from weighbridge.graph import Graph, Node, Role, Tensor
from weighbridge.memory.held import modules_around
from weighbridge.memory.training.kept import Kept, Rule
from weighbridge.memory.training.optimisers import FLOAT_BYTES, OPTIMISERS
from weighbridge.memory.training.records import TrainingLayer, TrainingPlan
from weighbridge.memory.training.request import AUTOGRAD, PAPER, Training
from weighbridge.memory.training.run import AutogradRun
from weighbridge.memory.training.trained import Part, Wanted, wanted
from weighbridge.memory.training.widths import bytes_in_training, has_master, type_in_training
from weighbridge.named_tuple import NamedTuple
from weighbridge.operators.record import Op, known_total
from weighbridge.operators.table import OPERATORS

__all__ = ["plan_of_run", "plan_training"]

_NO_BLOCKS: Final = (
    "the source does not say which modules are blocks, so the inputs that shortcuts hold are not in the peak"
)
_ADDS: Final = frozenset({"add", "sum"})
_NAMED: Final = 3


class Held(NamedTuple):
    """What is held of parameters from step to step, and their gradients."""

    parameter_bytes: int | None
    buffer_bytes: int | None
    gradient_bytes: int | None
    optimiser_bytes: int
    master_bytes: int
    trained_parameters: int
    frozen_bytes: int | None


def plan_training(graph: Graph, request: Training, operators: Mapping[str, Op] = OPERATORS) -> TrainingPlan:
    """What training ``graph``, as it is written, takes by the rule ``paper`` (worded in ``memory.training.kept``).

    The peak is the most that the nodes before one have saved, and that one has in use; in a block with a shortcut (a module with an
    ``add`` of its own) also the block's input.  In a checkpointed module nothing is saved but what it is given, and while it runs
    again what its nodes save is there beside that of all modules before it.  Gradients have the type of their parameter, or are
    in 32 bits where that is no type to learn in.  Raises ``BadSpec`` for targets that are not in the graph.
    """
    if request.rule == AUTOGRAD:
        what = "the rule autograd needs a PyTorch module, whose operations it follows"
        raise BadSpec(what, where="the rule of training memory", hint="leave the rule out, or take paper")
    graph, trained, _ = wanted(graph, request, operators)
    rule = Rule(trained, operators, mixed=request.mixed_precision)
    kept = rule.walk(graph)
    peak = _Walk(graph, kept, rule, request.checkpoints).peak()
    held = held_bytes(graph, trained, request)
    total = known_total(
        (
            held.parameter_bytes,
            held.buffer_bytes,
            held.gradient_bytes,
            held.optimiser_bytes,
            held.master_bytes,
            peak.bytes,
        )
    )
    return TrainingPlan(
        rule=PAPER,
        optimiser=request.optimiser,
        mixed_precision=request.mixed_precision,
        peak_activation_bytes=peak.bytes,
        peak_node=peak.node,
        peak_phase="",
        saved_bytes=peak.saved_bytes,
        total_bytes=total,
        exact=not rule.missing,
        asked=request.words,
        layers=tuple(_layers(graph, kept, trained, request, peak.saved_by_node)),
        notes=tuple(_notes(graph, rule)),
        **held._asdict(),
    )


def plan_of_run(asked: Wanted, run: AutogradRun, request: Training) -> TrainingPlan:
    """What training takes by the record of a run: its peak, and the states of the optimiser beside it.

    ``asked`` is of the graph of the same module.  Gradients that the backward pass has not made yet at the peak are not in it.
    """
    graph, trained, _ = asked
    held = held_bytes(graph, trained, request)
    at = run.at_peak
    saved: dict[str, int] = {}
    for one in run.saved:
        if one.is_counted:
            saved[one.scope] = saved.get(one.scope, 0) + one.bytes
    return TrainingPlan(
        rule=AUTOGRAD,
        optimiser=request.optimiser,
        mixed_precision=request.mixed_precision,
        peak_activation_bytes=at.input_bytes + at.activation_bytes + at.temporary_bytes,
        peak_node=run.peak_scope,
        peak_phase=run.peak_phase,
        saved_bytes=run.saved_bytes,
        total_bytes=run.peak_bytes + held.optimiser_bytes + held.master_bytes,
        exact=True,
        asked=request.words,
        attention=run.attention,
        layers=tuple(_modules(graph, saved, trained, request)),
        notes=run.notes,
        **held._asdict(),
    )


def held_bytes(graph: Graph, trained: Mapping[str, Part], request: Training) -> Held:
    """What a network's parameters take while it is trained; buffers and constants stay as they are under mixed precision."""
    stored = list(graph.stored_everywhere())
    parameters = [one for one in stored if one.role is Role.PARAMETER]
    tensors = {one.id: one for one in parameters}
    state_bytes = OPTIMISERS[request.optimiser].state_bytes
    return Held(
        parameter_bytes=known_total(_weighed(one, request) for one in parameters),
        buffer_bytes=known_total(one.bytes for one in stored if one.role is not Role.PARAMETER),
        gradient_bytes=known_total(_gradient(tensors[name], part, request) for name, part in trained.items()),
        optimiser_bytes=sum(state_bytes(part.shape) for part in trained.values()),
        master_bytes=sum(
            FLOAT_BYTES * prod(part.shape)
            for name, part in trained.items()
            if has_master(tensors[name].dtype, mixed=request.mixed_precision)
        ),
        trained_parameters=sum(prod(part.shape) for part in trained.values()),
        frozen_bytes=known_total(
            _weighed(one, request) if one.role is Role.PARAMETER else one.bytes
            for one in stored
            if one.id not in trained and one.role is not Role.BUFFER
        ),
    )


def _weighed(tensor: Tensor, request: Training) -> int | None:
    return bytes_in_training(tensor, mixed=request.mixed_precision)


def _gradient(tensor: Tensor, part: Part, request: Training) -> int | None:
    if not tensor.dtype.is_learnable:
        return FLOAT_BYTES * prod(part.shape)
    return type_in_training(tensor.dtype, mixed=request.mixed_precision).bytes_of(prod(part.shape))


class _Peak(NamedTuple):
    bytes: int
    node: str | None
    saved_bytes: int
    saved_by_node: Mapping[str, int]


class _Walk:
    """Goes over the nodes in order, with what is saved so far, in checkpointed modules and outside of them."""

    def __init__(self, graph: Graph, kept: Sequence[Kept], rule: Rule, checkpoints: Iterable[str]) -> None:
        self._graph, self._kept, self._rule = graph, kept, rule
        self._module_of = _checkpointed(graph, checkpoints)
        self._block_bytes = dict(_block_inputs(graph, rule))

    def peak(self) -> _Peak:
        """The first node at which most is saved and in use."""
        peak, where, saved, inside, module = 0, None, 0, 0, ""
        by_node: dict[str, int] = {}
        for place, (node, kept) in enumerate(zip(self._graph.nodes, self._kept, strict=True)):
            entered = self._module_of.get(node.name, "")
            if entered != module:
                module, inside = entered, 0
                given = self._given(place) if entered else 0
                saved += given
                if given:
                    by_node[node.name] = given
            in_use = kept.in_use_bytes and kept.in_use_bytes + self._block_bytes.get(_block(node, self._graph), 0)
            if saved + inside + in_use > peak:
                peak, where = saved + inside + in_use, node.name
            if module:
                inside += kept.saved_bytes
            else:
                saved += kept.saved_bytes
                by_node[node.name] = kept.saved_bytes
            if saved + inside > peak:  # what has nothing in use, as a product, can keep more than was there before it
                peak, where = saved + inside, node.name
        return _Peak(peak, where, saved, by_node)

    def _given(self, start: int) -> int:
        """Bytes of the running tensors that the checkpointed module whose nodes begin at ``start`` is given."""
        nodes, module = self._graph.nodes, self._module_of[self._graph.nodes[start].name]
        made: set[str] = set()
        given: dict[str, int] = {}
        for node in nodes[start:]:
            if self._module_of.get(node.name) != module:
                break
            for tensor in (self._graph.tensors[one] for one in node.inputs if one not in made):
                if not tensor.role.is_stored:
                    given[tensor.id] = self._rule.size_of(tensor, node)
            made.update(node.outputs)
        return sum(given.values())


def _checkpointed(graph: Graph, patterns: Iterable[str]) -> dict[str, str]:
    """By node the outermost checkpointed module around it.  Raises ``BadSpec`` for a pattern that names no module."""
    modules = list(dict.fromkeys(scope for node in graph.nodes for scope in modules_around(node.scope)))
    wanted: set[str] = set()
    for pattern in patterns:
        found = {scope for scope in modules if fnmatchcase(scope, pattern)}
        if not found:
            hint = f"there are {', '.join(modules[:8])}" if modules else "the nodes of this source have no modules"
            raise BadSpec(f"no module is called {pattern!r}", where="a checkpoint", hint=hint)
        wanted |= found
    inside = (
        (node.name, next((scope for scope in modules_around(node.scope) if scope in wanted), ""))
        for node in graph.nodes
    )
    return {name: scope for name, scope in inside if scope}


def _block(node: Node, graph: Graph) -> str:
    """The innermost block around a node, "" without one."""
    blocks = graph.blocks or frozenset()
    return next((scope for scope in reversed(list(modules_around(node.scope))) if scope in blocks), "")


def _block_inputs(graph: Graph, rule: Rule) -> Iterator[tuple[str, int]]:
    """Every block with a shortcut, and the bytes of what it is given: the first running operand of its first node."""
    with_shortcut = {node.scope for node in graph.nodes if node.operator in _ADDS} & (graph.blocks or frozenset())
    seen: set[str] = set()
    for node in graph.nodes:
        for scope in modules_around(node.scope):
            if scope in with_shortcut and scope not in seen:
                seen.add(scope)
                running = (graph.tensors[one] for one in node.inputs if not graph.tensors[one].role.is_stored)
                yield scope, next((rule.size_of(tensor, node) for tensor in running), 0)


def _layers(
    graph: Graph, kept: Sequence[Kept], trained: Mapping[str, Part], request: Training, saved_by_node: Mapping[str, int]
) -> Iterator[TrainingLayer]:
    seen: set[str] = set()
    for node, found in zip(graph.nodes, kept, strict=True):
        given = _read(node, graph)
        read = [tensor for name, tensor in given.items() if name not in seen]
        layer = _layer(node.name, node.scope, node.operator, saved_by_node.get(node.name, 0), read, trained, request)
        seen.update(given)
        if layer.training_bytes or not found.exact:
            yield layer._replace(exact=found.exact)


def _modules(
    graph: Graph, saved: Mapping[str, int], trained: Mapping[str, Part], request: Training
) -> Iterator[TrainingLayer]:
    """The modules in the order in which they run, each with what autograd saved in it and the parameters that its nodes read."""
    read: dict[str, dict[str, Tensor]] = {}
    seen: set[str] = set()
    for node in graph.nodes:
        ours = read.setdefault(node.scope, {})
        given = _read(node, graph)
        ours.update({name: tensor for name, tensor in given.items() if name not in seen})
        seen.update(given)
    for scope in dict.fromkeys((*read, *saved)):
        layer = _layer(
            scope, scope, "module", saved.get(scope, 0), list(read.get(scope, {}).values()), trained, request
        )
        if layer.training_bytes:
            yield layer


def _read(node: Node, graph: Graph) -> dict[str, Tensor]:
    """What a node reads, by id, and what its bodies hold."""
    held = (tensor for body in node.bodies for tensor in body.graph.stored_everywhere())
    return {**{name: graph.tensors[name] for name in node.inputs}, **{tensor.id: tensor for tensor in held}}


def _layer(
    name: str,
    scope: str,
    operator: str,
    saved: int,
    read: Sequence[Tensor],
    trained: Mapping[str, Part],
    request: Training,
) -> TrainingLayer:
    parameters = [one for one in read if one.role is Role.PARAMETER]
    weights = sum(_weighed(one, request) or 0 for one in parameters)
    learned = [(one, trained[one.id]) for one in parameters if one.id in trained]
    gradients = sum(_gradient(one, part, request) or 0 for one, part in learned)
    states = sum(OPTIMISERS[request.optimiser].state_bytes(part.shape) for _, part in learned)
    return TrainingLayer(name, scope, operator, saved, weights, gradients, states, saved + weights + gradients)


def _notes(graph: Graph, rule: Rule) -> Iterator[str]:
    if rule.missing:
        named = "; ".join(f"{name}: {reason}" for name, reason in list(rule.missing.items())[:_NAMED])
        more = f"; and {len(rule.missing) - _NAMED:,} more nodes" if len(rule.missing) > _NAMED else ""
        yield f"what is kept for the backward pass is a lower bound: {named}{more}"
    if graph.blocks is None and any(node.operator in _ADDS for node in graph.nodes):
        yield _NO_BLOCKS
