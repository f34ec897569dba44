"""TensorFlow Lite files as graphs: structure and sizes alone, no weight is read.

Every size comes from our rules; the types that a file states are used where an operator has no rule or a shape depends on
values, and compared with ours everywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from weighbridge.builder import Builder
from weighbridge.errors import BadModel, BadSpec, GraphError, WeighbridgeError
from weighbridge.frontends.declared import Declared
from weighbridge.frontends.input_sizes import Sizes, settle
from weighbridge.frontends.onnx_roles import assign_roles
from weighbridge.frontends.tflite_capture import Capture, Frame
from weighbridge.frontends.tflite_model import Subgraph, TfliteModel
from weighbridge.frontends.tflite_read import read_model
from weighbridge.graph import Graph

__all__ = ["load_tflite"]

_REPLACED: Final = "the file was made for other sizes: give those, or convert the model with open dimensions"
_DAMAGED: Final = "the file contradicts itself: convert or download it again"
_SHOWN: Final = 3


def load_tflite(
    path: Path | str,
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    signature: str = "",
) -> Graph:
    """The graph of the TensorFlow Lite model at ``path``, every dimension a number.

    ``signature`` names the subgraph to weigh, by the key of one of the file's signatures; by default the first.  A size that
    the file leaves open (-1 in a shape) is given by ``batch`` (dimension 0) or ``inputs`` (whole shapes by name); one that it
    fixes is replaced by these.

    Raises ``BadModel`` for a file that is damaged or contradicts itself, ``UnsupportedFormat`` for another format, ``NeedsShape``
    for a dimension that nobody gave, ``BadSpec`` for names and sizes that do not fit the model, and ``OSError`` for a file that
    cannot be read.
    """
    model = read_model(path)
    try:
        return _graph(model, _chosen(model, signature), batch, dims or {}, inputs or {})
    except (BadModel, GraphError) as error:
        where = f"{model.path.name}: {error.where}" if error.where else model.path.name
        raise BadModel(error.what, where=where, hint=error.hint or _DAMAGED) from None
    except WeighbridgeError as error:
        raise error.at(model.path.name) from None


def _chosen(model: TfliteModel, signature: str) -> int:
    """The subgraph to weigh."""
    if not signature:
        return 0
    for one in model.signatures:
        if one.key == signature:
            return one.subgraph
    known = ", ".join(one.key for one in model.signatures)
    raise BadSpec(f"there is no signature {signature!r}", hint=f"there are {known}" if known else "there is none in it")


def _graph(
    model: TfliteModel, chosen: int, batch: int | None, dims: Mapping[str, int], inputs: Mapping[str, tuple[int, ...]]
) -> Graph:
    subgraph = model.subgraphs[chosen]
    declared = _declared(subgraph)
    sizes = settle({key: one for key, (_, one) in declared.items()}, batch, dims, inputs)
    builder = Builder(model.path.stem)
    capture = Capture(model, trusts_shapes=not sizes.is_overridden)
    frame = Frame(builder, chosen, subgraph)
    for key, (number, one) in declared.items():
        capture.bind(frame, number, builder.input(capture.names.fresh(key), sizes.shapes[key], one.dtype), "its inputs")
    try:
        capture.operators(frame)
        outputs = [capture.find(frame, number, "its outputs") for number in subgraph.outputs]
        return _finished(capture, frame, builder, outputs, sizes)
    except GraphError as error:
        raise BadModel(error.what, where=error.where, hint=_REPLACED if sizes.is_overridden else error.hint) from None


def _declared(subgraph: Subgraph) -> dict[str, tuple[int, Declared]]:
    """The inputs by name, with their numbers; only a shape of -1 is open, whatever the signature of the shape says."""
    found: dict[str, tuple[int, Declared]] = {}
    for number in dict.fromkeys(subgraph.inputs):
        tensor = subgraph.tensors[number]
        name, count = tensor.name or f"input_{number}", 1
        while name in found:
            count += 1
            name = f"{tensor.name}#{count}"
        sizes = tuple(None if size == -1 else size for size in tensor.shape or ())
        if any(size is not None and size < 0 for size in sizes):
            raise BadModel(f"has the shape {tensor.shape}", where=name, hint=_DAMAGED)
        found[name] = number, Declared(tensor.dtype, sizes)
    return found


def _finished(capture: Capture, frame: Frame, builder: Builder, outputs: list[str], sizes: Sizes) -> Graph:
    assign_roles(
        builder.tensors,
        builder.nodes,
        outputs,
        static=capture.static,
        origins=dict.fromkeys(capture.stored, ""),
        operators=builder.operators,
        quantised=capture.quantised,
    )
    builder.notes += _notes(capture, frame, sizes)
    return replace(builder.graph(outputs), arena=None)


def _notes(capture: Capture, frame: Frame, sizes: Sizes) -> list[str]:
    notes = list(dict.fromkeys(capture.notes))
    graph = frame.graph
    opened = [
        graph.tensors[number].name
        for number in graph.inputs
        if -1 in (graph.tensors[number].signature or ()) and -1 not in (graph.tensors[number].shape or ())
    ]
    if opened and not sizes.is_overridden:
        notes.append(f"the file lets dimensions of {_some(opened)} change: weighed at the shape that it stores")
    keys = [one.key for one in capture.model.signatures]
    if len(capture.model.subgraphs) > 1 and len(keys) > 1:
        chosen = next((one.key for one in capture.model.signatures if one.subgraph == frame.subgraph), "none")
        notes.append(f"weighed is the signature {chosen} of {_some(keys)}; path:NAME chooses another")
    left = [index for index in range(len(capture.model.subgraphs)) if index not in capture.reached]
    if left:
        notes.append(f"subgraphs that nothing calls are not counted: {_some([str(index) for index in left])}")
    if capture.contradictions:
        notes.append(f"shapes that the file states and its operators contradict: {_some(capture.contradictions)}")
    return notes


def _some(items: list[str]) -> str:
    shown = ", ".join(items[:_SHOWN])
    return shown if len(items) <= _SHOWN else f"{shown} and {len(items) - _SHOWN} more"
