"""ONNX files as graphs: structure and sizes alone, no weight is read.

Every size comes from our rules; the types that a file states are used where an operator has no rule or a shape depends on
values, and compared with ours everywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weighbridge.builder import Builder
from weighbridge.errors import BadModel, GraphError, UnsupportedFormat, WeighbridgeError
from weighbridge.frontends.declared import Declared
from weighbridge.frontends.fresh_names import MAX_NAME
from weighbridge.frontends.input_sizes import Sizes, settle
from weighbridge.frontends.onnx_capture import NEWEST_OPSET, Capture
from weighbridge.frontends.onnx_model import OnnxModel, read
from weighbridge.frontends.onnx_packed import read_as_integers
from weighbridge.frontends.onnx_roles import assign_roles
from weighbridge.frontends.onnx_scope import Frame, Scope
from weighbridge.frontends.onnx_types import declared_type
from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple

__all__ = ["Stored", "load_onnx", "load_stored"]

OLDEST_OPSET = 6
_REPLACED = "the file was made for other sizes: give those, or export it with open dimensions"
_DAMAGED = "the file contradicts itself: export or download it again"
_UNFIT = "the file contradicts itself, or these sizes do not fit it: give others, or export it again"
_SHOWN = 3


class Stored(NamedTuple):
    """A graph, the model that it was made of, and the messages of the file by the ids of the tensors that they store."""

    graph: Graph
    model: OnnxModel
    messages: Mapping[str, Any]


def load_onnx(
    path: Path | str,
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    sequence: int | None = None,
) -> Graph:
    """The graph of the ONNX model at ``path``, every dimension a number.

    ``batch`` is the size of dimension 0 of the inputs where it is open (where none is, it replaces a fixed one), ``dims``
    are sizes of named dimensions, ``inputs`` whole shapes by input name, ``sequence`` the size of the dimensions
    named like a sequence.

    Raises ``BadModel`` for a file that is damaged or contradicts itself, ``UnsupportedFormat`` for another format or an
    operator set before 6, ``NeedsShape`` for a dimension that nobody gave, ``BadSpec`` for names and sizes that do not fit
    the model, ``MissingExtra`` where the onnx package is not installed, and ``OSError`` for a file that cannot be read.
    """
    return load_stored(path, batch=batch, dims=dims, inputs=inputs, sequence=sequence).graph


def load_stored(
    path: Path | str,
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    sequence: int | None = None,
) -> Stored:
    """The graph that ``load_onnx`` gives, with where its stored tensors come from.  Raises what that does."""
    model = read(path)
    try:
        return _graph(model, batch, dims or {}, inputs or {}, sequence)
    except (BadModel, GraphError) as error:
        where = f"{model.path.name}: {error.where}" if error.where else model.path.name
        advice = _UNFIT if batch or sequence or dims or inputs else _DAMAGED
        raise BadModel(error.what, where=where, hint=error.hint or advice) from None
    except WeighbridgeError as error:
        raise error.at(model.path.name) from None


def _graph(
    model: OnnxModel,
    batch: int | None,
    dims: Mapping[str, int],
    inputs: Mapping[str, tuple[int, ...]],
    sequence: int | None,
) -> Stored:
    version = model.opsets.get("", NEWEST_OPSET)
    if version < OLDEST_OPSET:
        hint = "convert it with onnx.version_converter"
        raise UnsupportedFormat(f"operator set {version} is older than {OLDEST_OPSET}", hint=hint)
    declared = _declared_inputs(model.proto.graph)
    sizes = settle(declared, batch, dims, inputs, sequence)
    builder = Builder(model.proto.graph.name[:MAX_NAME] or model.path.stem)
    capture = Capture(model, sizes.symbols, trusts_shapes=not sizes.is_overridden)
    scope = Scope(Frame(builder), model.opsets)
    _open_inputs(capture, scope, declared, sizes)
    try:
        capture.open(scope, model.proto.graph)
        capture.nodes(scope, model.proto.graph.node, [one.name for one in model.proto.graph.output])
    except GraphError as error:
        raise BadModel(error.what, where=error.where, hint=_REPLACED if sizes.is_overridden else error.hint) from None
    outputs = [scope.find(one.name, "the model's outputs") for one in model.proto.graph.output]
    read_as_integers(builder, outputs)
    assign_roles(
        builder.tensors,
        builder.nodes,
        outputs,
        static=capture.static,
        origins=capture.origins,
        operators=builder.operators,
    )
    builder.notes += _notes(capture, _unread(capture, builder, outputs), version)
    return Stored(builder.graph(outputs), model, capture.messages())


def _declared_inputs(graph: Any) -> dict[str, Declared]:
    """The inputs that a run must feed: before IR version 4 every initialiser is listed among the inputs, too."""
    stored = {one.name for one in graph.initializer} | {one.values.name for one in graph.sparse_initializer}
    declared: dict[str, Declared] = {}
    for one in graph.input:
        if one.name in declared:
            raise BadModel(f"there are two inputs called {one.name!r}", hint="the file is damaged: export it again")
        if one.name not in stored:
            declared[one.name] = declared_type(one.type, one.name)
    return declared


def _open_inputs(capture: Capture, scope: Scope, declared: Mapping[str, Declared], sizes: Sizes) -> None:
    for name, one in declared.items():
        scope.bind(
            name,
            scope.frame.builder.input(capture.names.fresh(name), sizes.shapes[name], one.dtype),
            "the model's inputs",
        )


def _unread(capture: Capture, builder: Builder, outputs: list[str]) -> list[str]:
    """Initialisers that look like weights and that nothing reads."""
    used = capture.read.union(outputs)
    return [
        tensor.id
        for tensor in builder.tensors.values()
        if tensor.role.is_stored
        and tensor.id not in used
        and not capture.origins[tensor.id]
        and tensor.dtype.is_learnable
        and tensor.shape
    ]


def _notes(capture: Capture, unread: list[str], version: int) -> list[str]:
    notes = capture.notes[:]
    if version > NEWEST_OPSET:
        notes.append(f"operator set {version} is newer than {NEWEST_OPSET}, the newest known here")
    if unread:
        notes.append(f"nothing reads {_some(unread)}: held by the file, not counted as parameters")
    if capture.contradictions:
        notes.append(f"shapes that the file states and its operators contradict: {_some(capture.contradictions)}")
    return notes


def _some(items: list[str]) -> str:
    shown = ", ".join(item[:MAX_NAME] for item in items[:_SHOWN])
    return shown if len(items) <= _SHOWN else f"{shown} and {len(items) - _SHOWN} more"
