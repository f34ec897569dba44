"""Functions, branches and loops of ONNX.

A function's nodes take the place of its call.  A branch whose condition is known before inference is taken: its nodes join
the graph.  Other subgraphs become bodies.  What a body takes from outside keeps its id; running tensors are inputs of the
body, behind its own, and operands called ``captures`` of the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES, DType
from weighbridge.errors import BadModel, WeighbridgeError
from weighbridge.frontends.foreign import Foreign
from weighbridge.frontends.onnx_attributes import attributes_of
from weighbridge.frontends.onnx_expansion import key_of
from weighbridge.frontends.onnx_names import plain_domain
from weighbridge.frontends.onnx_scope import Frame, Record, Scope
from weighbridge.frontends.onnx_types import declared_type
from weighbridge.graph import BRANCH, LOOP, SCAN, Body, Shape, Tensor, TensorType
from weighbridge.named_tuple import NamedTuple

if TYPE_CHECKING:
    from weighbridge.frontends.onnx_capture import Capture

__all__ = ["Shaped", "branch", "build_body", "finish", "formals_of", "graph_of", "inline", "loop", "scan", "shaped"]

MAX_DEPTH = 100
"""Functions and bodies inside each other; Python's own stack ends a little later."""
MAX_REBUILT_DEPTH = 3
"""Deeper loops are not built a second time where shapes change: every level would double the time."""
_UNKNOWN_TRIPS = "how often it runs depends on values: one pass is counted"


class Shaped(NamedTuple):
    """A type whose shape may be unknown."""

    shape: Shape | None
    dtype: DType


class _Built(NamedTuple):
    """A body's graph in the making, and the tensors that it returns."""

    frame: Frame
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def tensor(self, index: int) -> Tensor:
        return self.frame.builder.tensors[self.outputs[index]]

    def body(self, trips: int | None) -> Body:
        builder = self.frame.builder
        return Body(builder.name, builder.graph(self.outputs), trips)


def inline(capture: Capture, scope: Scope, call: Foreign, record: Record, function: Any) -> None:
    """Put the nodes of a function in the place of its call."""
    key = key_of(record.proto)
    if key in scope.calls:
        raise BadModel(
            f"the function {record.op!r} calls itself", where=call.name, hint="the file is damaged or hostile"
        )
    _check_depth(scope, call)
    capture.expect(call.name, capture.expansion.nodes(key))
    given = {**attributes_of(function.attribute_proto), **call.attributes}
    opsets = {plain_domain(one.domain): one.version for one in function.opset_import}
    inner = Scope(
        scope.frame,
        {**scope.opsets, **opsets},
        given=given,
        path=f"{call.name}/",
        calls=scope.calls | {key},
        module=capture.module(scope, record),
        depth=scope.depth + 1,
    )
    for index, formal in enumerate(function.input):
        inner.bind(formal, call.inputs[index] if call.has(index) else "", call.name)
    inner.declared.update((one.name, one.type) for one in function.value_info)
    capture.nodes(inner, function.node, function.output)
    _rename(scope, inner, call, record, list(function.output))


def _rename(scope: Scope, inner: Scope, call: Foreign, record: Record, results: Sequence[str]) -> None:
    """The results of a call are the tensors that its nodes made."""
    if len(record.outputs) > len(results):
        raise BadModel(f"has {len(record.outputs)} results where its body has {len(results)}", where=call.name)
    for name, result in zip(record.outputs, results, strict=False):
        if name:
            scope.bind(name, inner.find(result, call.name), call.name)


def branch(capture: Capture, scope: Scope, call: Foreign, record: Record) -> None:
    """``If``: the branch that is taken where that is known, else both as bodies."""
    names = ("then_branch", "else_branch")
    graphs = [graph_of(call, name) for name in names]
    condition = call.values(0)
    if condition is not None and len(condition) == 1:
        graph = graphs[0] if condition[0] else graphs[1]
        inner = _inner(scope, scope.frame, call, f"{call.name}/")
        capture.open(inner, graph)
        capture.nodes(inner, graph.node, [one.name for one in graph.output])
        _rename(scope, inner, call, record, [one.name for one in graph.output])
        return
    capture.reserve_outputs(scope, call, record)
    built = [build_body(capture, scope, call, name, ()) for name in names]
    if any(len(one.outputs) != len(record.outputs) for one in built):
        raise BadModel(f"has {len(record.outputs)} results, its branches other numbers of them", where=call.name)
    types = []
    for index in range(len(record.outputs)):
        one, other = (each.tensor(index) for each in built)
        types.append(Shaped(one.shape if one.shape == other.shape else None, one.dtype))
    operands = [("condition", call.operand(0))]
    finish(capture, scope, call, record, BRANCH, operands, built, types, 1)


def loop(capture: Capture, scope: Scope, call: Foreign, record: Record) -> None:
    """``Loop``: the body runs as often as a known trip count says, if its condition cannot end it before."""
    graph = graph_of(call, "body")
    formals = formals_of(graph)
    if len(formals) != len(call.inputs) or len(formals) < 2:
        raise BadModel(f"its body takes {len(formals)} tensors and is given {len(call.inputs)}", where=call.name)
    control = [_control_type(formals[0], "int64"), _control_type(formals[1], "bool")]
    carried = [shaped(scope, tensor) for tensor in call.inputs[2:]]
    capture.reserve_outputs(scope, call, record)
    built = build_body(capture, scope, call, "body", [*control, *carried])
    while (changed := _changed(built, carried)) and scope.frame.depth < MAX_REBUILT_DEPTH:
        carried = [Shaped(None, one.dtype) if index in changed else one for index, one in enumerate(carried)]
        built = build_body(capture, scope, call, "body", [*control, *carried])
    trips = _trips(capture, call, built)
    finals = [Shaped(None, one.dtype) if index in changed else one for index, one in enumerate(carried)]
    collected = [_stacked(built.tensor(index), trips, 0) for index in range(1 + len(carried), len(built.outputs))]
    operands = [
        (name, tensor)
        for name, tensor in zip(("trips", "condition", *["carried"] * len(carried)), call.inputs, strict=True)
        if tensor
    ]
    finish(capture, scope, call, record, LOOP, operands, [built], [*finals, *collected], trips)


def _changed(built: _Built, carried: Sequence[Shaped]) -> set[int]:
    """The carried tensors that come out of the body with another shape than they went in."""
    if len(built.outputs) < 1 + len(carried):
        raise BadModel(
            f"returns {len(built.outputs)} tensors and carries {len(carried)}", where=built.frame.builder.name
        )
    return {
        index
        for index, one in enumerate(carried)
        if one.shape is not None and built.tensor(1 + index).shape != one.shape
    }


def _trips(capture: Capture, call: Foreign, built: _Built) -> int | None:
    """How often a loop runs, where that is known before inference."""
    limit, first = call.sizes(0), call.values(1)
    if first is not None and not all(first):
        return 0
    if limit is None or len(limit) != 1 or (call.has(1) and first is None):
        return None
    return max(limit[0], 0) if limit[0] <= 0 or _goes_on(capture, built) else None


def _goes_on(capture: Capture, built: _Built) -> bool:
    """Whether the condition that the body returns is its own, or always true."""
    makers = {tensor: node for node in built.frame.builder.nodes for tensor in node.outputs}
    tensor = built.outputs[0]
    while tensor in makers and makers[tensor].operator == "identity":
        tensor = makers[tensor].inputs[0]
    value = capture.values.of(tensor)
    return tensor == built.inputs[1] or (value is not None and all(value.values))


def scan(capture: Capture, scope: Scope, call: Foreign, record: Record) -> None:
    """``Scan``: the body runs once for every element of the scanned axis (in opset 8 once for every sequence of the batch, too)."""
    graph, count = graph_of(call, "body"), int(call.get("num_scan_inputs", 0))
    given = call.inputs[1:] if call.version < 9 else call.inputs
    states, scanned = given[: len(given) - count], given[len(given) - count :]
    if not 1 <= count <= len(given) or len(formals_of(graph)) != len(given):
        raise BadModel(
            f"scans {count} of {len(given)} tensors, its body takes {len(formals_of(graph))}", where=call.name
        )
    layout = _Batched(scope, call) if call.version < 9 else _Plain(scope, call)
    state_types = [layout.state(tensor) for tensor in states]
    slices = [layout.slice(tensor, index) for index, tensor in enumerate(scanned)]
    capture.reserve_outputs(scope, call, record)
    built = build_body(capture, scope, call, "body", [*state_types, *slices])
    if len(built.outputs) < len(states):
        raise BadModel(f"returns {len(built.outputs)} tensors and carries {len(states)}", where=call.name)
    types = [shaped(scope, tensor) for tensor in states]
    types += [layout.collected(built.tensor(at), at - len(states)) for at in range(len(states), len(built.outputs))]
    operands = [("carried", tensor) for tensor in states] + [("scanned", tensor) for tensor in scanned]
    finish(capture, scope, call, record, SCAN, operands, [built], types, layout.trips)


class _Plain:
    """The shapes of a scan since opset 9: one axis of each scanned tensor is walked along."""

    def __init__(self, scope: Scope, call: Foreign) -> None:
        self.scope = scope
        self.call = call
        self.trips: int | None = None

    def state(self, tensor: str) -> Shaped:
        return shaped(self.scope, tensor)

    def slice(self, tensor: str, index: int) -> Shaped:
        shape, dtype = shaped(self.scope, tensor)
        if shape is None:
            return Shaped(None, dtype)
        axis = self._axis("scan_input_axes", index, len(shape))
        self._count(shape[axis])
        return Shaped(shape[:axis] + shape[axis + 1 :], dtype)

    def collected(self, tensor: Tensor, index: int) -> Shaped:
        rank = 1 if tensor.shape is None else len(tensor.shape) + 1
        return _stacked(tensor, self.trips, self._axis("scan_output_axes", index, rank))

    def _axis(self, name: str, index: int, rank: int) -> int:
        axes = self.call.get(name) or ()
        axis = axes[index] if index < len(axes) else 0
        if not -rank <= axis < rank:
            raise BadModel(f"scans along axis {axis} of {rank} dimensions", where=self.call.name)
        return int(axis % rank)

    def _count(self, size: int) -> None:
        if self.trips not in (None, size):
            raise BadModel(f"scans along axes of {self.trips} and {size} elements", where=self.call.name)
        self.trips = size


class _Batched(_Plain):
    """The shapes of a scan in opset 8: batch and sequence are the first two axes, and a state has the batch in front."""

    def __init__(self, scope: Scope, call: Foreign) -> None:
        super().__init__(scope, call)
        self.leading: Shape | None = None

    def state(self, tensor: str) -> Shaped:
        shape, dtype = shaped(self.scope, tensor)
        return Shaped(shape[1:] if shape else None, dtype)

    def slice(self, tensor: str, index: int) -> Shaped:
        shape, dtype = shaped(self.scope, tensor)
        if shape is None:
            return Shaped(None, dtype)
        if len(shape) < 2:
            raise BadModel(f"scans a tensor of {len(shape)} dimensions", where=self.call.name)
        self._count(shape[0] * shape[1])
        self.leading = shape[:2]
        return Shaped(shape[2:], dtype)

    def collected(self, tensor: Tensor, index: int) -> Shaped:
        known = self.leading is not None and tensor.shape is not None
        return Shaped((*(self.leading or ()), *(tensor.shape or ())) if known else None, tensor.dtype)


def _stacked(tensor: Tensor, trips: int | None, axis: int) -> Shaped:
    """What a body returns, one beside the other along a new axis."""
    if tensor.shape is None or trips is None:
        return Shaped(None, tensor.dtype)
    return Shaped((*tensor.shape[:axis], trips, *tensor.shape[axis:]), tensor.dtype)


def graph_of(call: Foreign, name: str) -> Any:
    """The subgraph in an attribute.  Raises ``BadModel`` where there is none."""
    graph = call.get(name)
    if graph is None or not hasattr(graph, "node"):
        raise BadModel(f"lacks its subgraph {name!r}", where=call.name, hint="the file is damaged")
    return graph


def formals_of(graph: Any) -> list[Any]:
    """The inputs of a subgraph, without initialisers that are listed among them."""
    stored = {one.name for one in graph.initializer}
    return [one for one in graph.input if one.name not in stored]


def shaped(scope: Scope, tensor: str) -> Shaped:
    """The type of a tensor as far as it is known; of an absent one nothing is."""
    if not tensor:
        return Shaped(None, DTYPES["opaque"])
    found = scope.frame.builder.tensors[tensor]
    return Shaped(found.shape, found.dtype)


def _control_type(formal: Any, dtype: str) -> Shaped:
    """Iteration number and condition are scalars; some files declare them as one element, and index them so."""
    stated = declared_type(formal.type, formal.name).shape({})
    return Shaped(stated if stated == (1,) else (), DTYPES[dtype])


def _check_depth(scope: Scope, call: Foreign) -> None:
    if scope.depth >= MAX_DEPTH:
        hint = "no real network is built like this: check where the file comes from"
        raise BadModel(f"functions and bodies are nested more than {MAX_DEPTH} deep", where=call.name, hint=hint)


def _inner(scope: Scope, frame: Frame, call: Foreign, path: str = "") -> Scope:
    """The scope of a subgraph: it sees what is around it.  Names in a body stand below its node and need no path."""
    _check_depth(scope, call)
    return Scope(
        frame,
        scope.opsets,
        scope,
        given=scope.given,
        path=path,
        calls=scope.calls,
        module=scope.module,
        depth=scope.depth + 1,
    )


def build_body(capture: Capture, scope: Scope, call: Foreign, name: str, types: Sequence[Shaped]) -> _Built:
    """The subgraph in an attribute as a graph of its own, its inputs of these types."""
    graph = graph_of(call, name)
    frame = Frame(Builder(name), scope.frame)
    inner, inputs = _inner(scope, frame, call), []
    formals = formals_of(graph)
    if len(formals) != len(types):
        raise BadModel(f"its {name} takes {len(formals)} tensors and is given {len(types)}", where=call.name)
    try:
        for formal, (shape, dtype) in zip(formals, types, strict=True):
            inputs.append(frame.builder.input(capture.names.fresh(formal.name), shape, dtype))
            inner.bind(formal.name, inputs[-1], call.name)
        capture.open(inner, graph)
        capture.nodes(inner, graph.node, [one.name for one in graph.output])
        outputs = tuple(inner.find(one.name, name) for one in graph.output)
    except WeighbridgeError as error:
        raise error.at(call.name) from None
    return _Built(frame, tuple(inputs), outputs)


def finish(
    capture: Capture,
    scope: Scope,
    call: Foreign,
    record: Record,
    operator: str,
    operands: list[tuple[str, str]],
    built: Sequence[_Built],
    types: Sequence[Shaped],
    trips: int | None,
) -> None:
    """Add the node that holds the bodies."""
    if len(types) < len(record.outputs):
        raise BadModel(f"has {len(record.outputs)} results where its body gives {len(types)}", where=call.name)
    capture.bind_outputs(scope, call, record)
    declared = capture.declared(scope, record)
    captures = dict.fromkeys(tensor for one in built for tensor in one.frame.captured)
    results = []
    for index, (shape, dtype) in enumerate(types):
        stated = declared[index] if index < len(declared) else None
        results.append(TensorType(shape, dtype) if shape is not None else stated or dtype)
    outputs = [*call.outputs, *[""] * (len(types) - len(call.outputs))]
    made = scope.frame.builder.opaque(
        operator,
        [*operands, *(("captures", tensor) for tensor in captures)],
        results,
        name=call.name,
        outputs=[one or capture.names.fresh(f"{call.name}:{index}") for index, one in enumerate(outputs)],
        bodies=[one.body(trips) for one in built],
        scope=capture.module(scope, record),
        origin=call.qualified,
        reason=_UNKNOWN_TRIPS if trips is None else "",
    )
    capture.check(scope, record, made)
