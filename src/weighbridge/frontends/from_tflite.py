"""TensorFlow Lite files as graphs: structure and sizes alone, no weight is read.

Every size comes from our rules; the types that a file states are used where an operator has no rule or a shape depends on
values, and compared with ours everywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from weighbridge.arena import Arena
from weighbridge.builder import Builder
from weighbridge.errors import BadModel, GraphError, WeighbridgeError
from weighbridge.frontends.fresh_names import MAX_NAME
from weighbridge.frontends.input_sizes import Sizes, settle
from weighbridge.frontends.onnx_roles import assign_roles
from weighbridge.frontends.tflite_capture import Capture
from weighbridge.frontends.tflite_frame import Frame, file_nodes
from weighbridge.frontends.tflite_inputs import Entry, by_label, entry_of, inputs_of
from weighbridge.frontends.tflite_model import TfliteModel, TfliteTensor
from weighbridge.frontends.tflite_read import read_model
from weighbridge.frontends.tflm_requests import arena_of
from weighbridge.graph import Graph
from weighbridge.named_tuple import NamedTuple

__all__ = ["Stored", "load_stored", "load_tflite"]

_REPLACED: Final = "the file was made for other sizes: give those, or convert the model with open dimensions"
_DAMAGED: Final = "the file contradicts itself: convert or download it again"
_SHOWN: Final = 3


class Stored(NamedTuple):
    """A graph, the model that it was made of, and the tensors of the file by the ids of those that hold their values."""

    graph: Graph
    model: TfliteModel
    tensors: Mapping[str, TfliteTensor]


def load_tflite(
    path: Path | str,
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    signature: str = "",
) -> Graph:
    """The graph of the TensorFlow Lite model at ``path``, every dimension a number.

    ``signature`` names the subgraph to weigh, by the key of one of the file's signatures; by default it is the first subgraph.
    A size that the file leaves open (-1 in a shape) is given by ``batch`` (dimension 0) or ``inputs`` (whole shapes by the name
    of the tensor or that in the signature); one that it fixes is replaced by these.

    Raises ``BadModel`` for a file that is damaged or contradicts itself, ``UnsupportedFormat`` for another format, ``NeedsShape``
    for a dimension that nobody gave, ``BadSpec`` for names and sizes that do not fit the model, and ``OSError`` for a file that
    cannot be read.
    """
    return load_stored(path, batch=batch, dims=dims, inputs=inputs, signature=signature).graph


def load_stored(
    path: Path | str,
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    signature: str = "",
) -> Stored:
    """The graph that ``load_tflite`` gives, with where its stored tensors come from.  Raises what that does."""
    model = read_model(path)
    try:
        return _graph(model, entry_of(model, signature), batch, dims or {}, inputs or {})
    except (BadModel, GraphError) as error:
        where = f"{model.path.name}: {error.where}" if error.where else model.path.name
        raise BadModel(error.what, where=where, hint=error.hint or _DAMAGED) from None
    except WeighbridgeError as error:
        raise error.at(model.path.name) from None


def _graph(
    model: TfliteModel, entry: Entry, batch: int | None, dims: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
) -> Stored:
    subgraph, inputs = model.subgraphs[entry.subgraph], inputs_of(model, entry)
    sizes = settle({one.label: one.declared for one in inputs}, batch, dims, by_label(inputs, shapes))
    builder = Builder(model.path.stem)
    capture = Capture(model, trusts_shapes=not sizes.is_overridden)
    frame = Frame(builder, entry.subgraph, subgraph, file_nodes=file_nodes(model, entry.subgraph))
    for one in inputs:
        made = builder.input(capture.names.fresh(one.name), sizes.shapes[one.label], one.declared.dtype)
        capture.bind(frame, one.number, made, "its inputs")
    try:
        capture.operators(frame)
        outputs = [capture.find(frame, number, "its outputs") for number in subgraph.outputs]
        outputs = [one for one in outputs if one not in capture.handles]
        graph = _finished(capture, frame, builder, outputs, _notes(capture, entry, sizes))
        return Stored(replace(graph, arena=_arena(capture, entry, sizes, builder)), model, capture.stored)
    except GraphError as error:
        raise BadModel(error.what, where=error.where, hint=_REPLACED if sizes.is_overridden else error.hint) from None


def _finished(capture: Capture, frame: Frame, builder: Builder, outputs: list[str], notes: list[str]) -> Graph:
    assign_roles(
        builder.tensors,
        builder.nodes,
        outputs,
        static=capture.static,
        origins=dict.fromkeys(capture.stored, "Constant"),
        operators=builder.operators,
        quantised=capture.quantised,
    )
    builder.notes += notes
    return builder.graph(outputs)


def _arena(capture: Capture, entry: Entry, sizes: Sizes, builder: Builder) -> Arena | None:
    """What TensorFlow Lite Micro asks for, which runs the first subgraph; None for others.

    In other sizes than the file's it asks as for a file of these sizes.  That is not known where several subgraphs run, or where
    a size is not.
    """
    if entry.subgraph:
        return None
    is_changed = sizes.is_overridden or _is_open(capture.model)
    model = _resized(capture, builder) if is_changed else capture.model
    return Arena() if model is None or _is_open(model) else arena_of(model, capture.nodes, capture.tensors)


def _is_open(model: TfliteModel) -> bool:
    """Whether the file leaves a size open, -1, that no runtime has room for."""
    return any(-1 in (one.shape or ()) for subgraph in model.subgraphs for one in subgraph.tensors)


def _resized(capture: Capture, builder: Builder) -> TfliteModel | None:
    """The model with the shapes that its tensors have here."""
    model = capture.model
    tensors = []
    for one in model.subgraphs[0].tensors:
        found = builder.tensors.get(capture.tensors.get((0, one.number), ""))
        if not one.is_stored and found is not None:
            if found.shape is None:
                return None
            tensors.append(one._replace(shape=found.shape))
        else:
            tensors.append(one)
    first = model.subgraphs[0]._replace(tensors=tuple(tensors))
    return None if len(capture.reached) > 1 else model._replace(subgraphs=(first, *model.subgraphs[1:]))


def _notes(capture: Capture, entry: Entry, sizes: Sizes) -> list[str]:
    notes, model = list(dict.fromkeys(capture.notes)), capture.model
    tensors = [model.subgraphs[entry.subgraph].tensors[number] for number in model.subgraphs[entry.subgraph].inputs]
    opened = [one.name for one in tensors if -1 in (one.signature or ()) and -1 not in (one.shape or ())]
    if opened and not sizes.is_overridden:
        notes.append(f"the file lets dimensions of {_some(opened)} change: weighed at the shape that it stores")
    keys = [one.key for one in model.signatures]
    if len(keys) > 1:
        chosen = f"the signature {entry.signature.key}" if entry.signature else "the first subgraph, of no signature"
        notes.append(f"weighed is {chosen}; path:NAME chooses another signature: {_some(keys)}")
    left = [index for index in range(len(model.subgraphs)) if index not in capture.reached]
    if left:
        notes.append(f"subgraphs that nothing calls are not counted: {_some([str(index) for index in left])}")
    unread = _unread(capture)
    if unread:
        size = sum((one.data or (0, one.external_bytes))[1] for one in unread)
        named = _some([one.name or f"tensor_{one.number}" for one in unread])
        notes.append(f"stored tensors that nothing reads are not counted, {size:,} B: {named}")
    if capture.equal_bytes:
        names, less = zip(*capture.equal_bytes, strict=True)
        notes.append(f"the file keeps {sum(less):,} B less: {_some(list(names))} have the bytes of other tensors")
    if capture.contradictions:
        notes.append(f"shapes that the file states and its operators contradict: {_some(capture.contradictions)}")
    return notes


def _unread(capture: Capture) -> list[TfliteTensor]:
    """The stored tensors of what is weighed that no operator and no result asked for."""
    return [
        tensor
        for index in sorted(capture.reached)
        for tensor in capture.model.subgraphs[index].tensors
        if tensor.is_stored and (index, tensor.number) not in capture.tensors
    ]


def _some(items: list[str]) -> str:
    shown = ", ".join(item[:MAX_NAME] for item in items[:_SHOWN])
    return shown if len(items) <= _SHOWN else f"{shown} and {len(items) - _SHOWN} more"
