"""What TensorFlow Lite Micro keeps as long as a model is loaded: its structures, counted, and what its kernels keep, estimated.

The order and the alignment of the allocations are those of micro_allocator.cc and micro_interpreter.cc (tensorflow/tflite-micro):
from the end of the arena downwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weighbridge.arena import ALIGNMENT_BYTES, REFERENCE, PersistentBytes
from weighbridge.frontends.tflite_model import Subgraph, TfliteModel, TfliteTensor
from weighbridge.frontends.tflm_call import bytes_of, calls_of
from weighbridge.frontends.tflm_offline import Places
from weighbridge.frontends.tflm_opdata import Rows, cmsis_nn_extra, kernel_buffers, options_of
from weighbridge.frontends.tflm_rules import is_quantised
from weighbridge.frontends.tflm_scratch import scratch_of
from weighbridge.named_tuple import NamedTuple

__all__ = ["persistent_of"]


class _Layout(NamedTuple):
    """Bytes of the runtime's structures for one size of pointer; their fields are those of the headers in tensorflow/lite/micro."""

    pointer: int
    arena_allocator: int
    planner: int
    allocator: int
    options_allocator: int
    subgraph: int
    eval_tensor: int
    node: int
    tensor: int
    quantisation: int
    scratch_handle: int
    resources: int
    resource: int


_WIDE: Final = _Layout(
    pointer=8,
    arena_allocator=104,
    planner=72,
    allocator=272,
    options_allocator=16,
    subgraph=24,
    eval_tensor=24,
    node=64,
    tensor=64,
    quantisation=24,
    scratch_handle=8,
    resources=16,
    resource=40,
)
"""As the package ``tflite_micro`` for x86-64 is built: its allocators record what they are asked for."""
_RECORDING: Final = 32 + 200
"""How much larger the recording allocators are than the plain ones."""
_NARROW: Final = _Layout(
    pointer=4,
    arena_allocator=36,
    planner=44,
    allocator=36,
    options_allocator=8,
    subgraph=8,
    eval_tensor=12,
    node=32,
    tensor=40,
    quantisation=12,
    scratch_handle=4,
    resources=12,
    resource=20,
)
"""As boards are built: allocators that record nothing, no compression."""


class _Tail:
    """The end of the arena, from which memory is taken downwards; what alignment costs is counted to who asked.

    Variables are rounded up to their places; a gap before the first of them is counted to the structures.
    """

    def __init__(self) -> None:
        self._position = 0
        self.structures = self.kernels = self.variables = 0

    def structure(self, size: int, alignment: int) -> None:
        self.structures += self._take(size, alignment)

    def kernel(self, kept: int | Rows) -> None:
        size = kept if isinstance(kept, int) else kept[0] * _rounded(kept[1])
        self.kernels += self._take(size, ALIGNMENT_BYTES)

    def variable(self, size: int) -> None:
        self.variables += _rounded(size)
        self.structures += self._take(size, ALIGNMENT_BYTES) - _rounded(size)

    def _take(self, size: int, alignment: int) -> int:
        before = self._position
        self._position = (before - size) // alignment * alignment
        return before - self._position


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


_MEASURED: Final = (
    "the structures of the reference kernels in tensorflow/tflite-micro, as the Python package tflite_micro for x86-64 is built, "
    "{recording} B of them for recording: equal to what it measures on each of 116 public models"
)
_BOARD: Final = (
    "the structures of the reference kernels in tensorflow/tflite-micro with pointers of 4 bytes, without compression"
)
_ESP_NN: Final = (
    "the reference kernels' structures: ESP-NN's (espressif/esp-tflite-micro) are larger by less than their alignment; equal to "
    "the totals published for an ESP32 on person_detect and three models of MLPerf Tiny"
)
_CMSIS_NN: Final = (
    "the reference kernels' structures and what CMSIS-NN's have beyond them in tensorflow/tflite-micro, its scratch buffers left "
    "out: 16 % below to 6 % above what the totals published for an nRF52840 leave for it, on person_detect and three models of MLPerf Tiny"
)


def persistent_of(model: TfliteModel, written: TfliteModel, places: Places) -> tuple[PersistentBytes, ...]:
    """The bytes kept for a model beside its variables, by library of kernels.

    ``model`` has the shapes that its kernels leave, ``written`` those of the file; ``places`` are those of its memory plan.
    """
    wide, narrow = _load(model, written, places, _WIDE), _load(model, written, places, _NARROW)
    more = sum(cmsis_nn_extra(call) for subgraph in model.subgraphs for call in calls_of(model, subgraph))
    return (
        PersistentBytes(REFERENCE, 8, wide.structures, wide.kernels, _MEASURED.format(recording=_RECORDING)),
        PersistentBytes(REFERENCE, 4, narrow.structures, narrow.kernels, _BOARD),
        PersistentBytes("CMSIS-NN", 4, narrow.structures, narrow.kernels + more, _CMSIS_NN),
        PersistentBytes("ESP-NN", 4, narrow.structures, narrow.kernels, _ESP_NN),
    )


def _load(model: TfliteModel, written: TfliteModel, places: Places, layout: _Layout) -> _Tail:
    """Goes through the allocations in their order."""
    tail, resources = _Tail(), _resources(model)
    _begin(tail, model, layout, len(resources))
    calls = [call for subgraph in model.subgraphs for call in calls_of(model, subgraph)]
    for call in calls:
        options = options_of(call, layout.pointer)
        if options is not None:
            tail.structure(*options)
    as_written = [call for subgraph in written.subgraphs for call in calls_of(written, subgraph)]
    for call, before in zip(calls, as_written, strict=True):
        output = before.output(0)
        for kept in kernel_buffers(call, layout.pointer, () if output is None else output.shape or ()):
            tail.kernel(kept)
    for size in resources.values():
        tail.variable(size)
    handles = sum(len(scratch_of(call)) for call in calls)
    if handles:
        tail.structure(layout.scratch_handle * handles, layout.pointer)
    for size in _variables(model, places):
        tail.variable(size)
    _interface(tail, model.subgraphs[0], layout)
    return tail


def _begin(tail: _Tail, model: TfliteModel, layout: _Layout, resources: int) -> None:
    """The allocators, and an entry for every tensor and operator."""
    for size in (layout.arena_allocator, layout.planner, layout.allocator):
        tail.structure(size, layout.pointer)
    if resources:
        tail.structure(layout.resources, ALIGNMENT_BYTES)
        tail.structure(layout.resource * resources, ALIGNMENT_BYTES)
    tail.structure(layout.options_allocator, layout.pointer)
    tail.structure(layout.subgraph * len(model.subgraphs), layout.pointer)
    for subgraph in model.subgraphs:
        tail.structure(layout.eval_tensor * len(subgraph.tensors), layout.pointer)
    for subgraph in model.subgraphs:
        tail.structure(layout.node * len(subgraph.operators), layout.pointer)


def _resources(model: TfliteModel) -> dict[tuple[str, str], int]:
    """Bytes of the variables that operators share by name: those of what is first assigned to them."""
    sizes: dict[tuple[str, str], int] = {}
    for subgraph in model.subgraphs:
        handles: dict[int, tuple[str, str]] = {}
        for operator in subgraph.operators:
            if operator.op == "VAR_HANDLE":
                key = operator.options.get("container", ""), operator.options.get("shared_name", "")
                sizes.setdefault(key, 0)
                handles.update(dict.fromkeys(operator.outputs, key))
            elif operator.op == "ASSIGN_VARIABLE" and operator.inputs[0] in handles:
                key = handles[operator.inputs[0]]
                sizes[key] = sizes[key] or bytes_of(subgraph.tensors[operator.inputs[1]]) or 0
    return sizes


def _variables(model: TfliteModel, places: Places) -> Iterator[int]:
    """The variable tensors, but for those that have a place in the file's plan."""
    for number, subgraph in enumerate(model.subgraphs):
        for index, tensor in enumerate(subgraph.tensors):
            if tensor.is_variable and (number, index) not in places:
                yield bytes_of(tensor) or 0


def _interface(tail: _Tail, subgraph: Subgraph, layout: _Layout) -> None:
    """The inputs and outputs of the model, as a program sees them."""
    for places in (subgraph.inputs, subgraph.outputs):
        tail.structure(layout.pointer * len(places), ALIGNMENT_BYTES)
        for place in places:
            _tensor(tail, subgraph.tensors[place], layout)


def _tensor(tail: _Tail, tensor: TfliteTensor, layout: _Layout) -> None:
    tail.structure(layout.tensor, layout.pointer)
    if tensor.quantisation is not None and is_quantised(tensor):
        tail.structure(layout.quantisation, layout.pointer)
        tail.structure(4 + 4 * tensor.quantisation.scales, 4)
