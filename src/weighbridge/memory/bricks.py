"""The policy ``nhcwb16_vela``: what Arm's Vela keeps in the SRAM of an Ethos-U55 or U65, without cascades and staged weights.

Feature maps lie in bricks of 16 channels (NHCWB16), so that the channels of a map are rounded up to 16, unless something
reads or writes them in another way: inputs and results of the network, what is reshaped across rows or channels, and what an
operator needs that knows no bricks.  Every tensor is rounded up to 16 bytes.  Operators that a runtime would run on their own
take no room of their own: a concatenation's operands are written where they end up, parts are read where they lie, padding
is the convolution's.  A result is written over an operand of an element by element operator that nobody else reads.

The rules are those of ethos-u-vela 5.2.0 (regor/compiler/scheduler.cpp: UpdateSchedulerTensor, TensorAllocationBytes; live_range.cpp:
ReusableIFM) and were compared with what it allocates with --disable-cascading and --disable-buffering.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from weighbridge.graph import Attribute, Graph, Node, Shape
from weighbridge.memory.channels import channel_axes
from weighbridge.memory.lifetimes import Lifetimes, Storage
from weighbridge.memory.profiles import Profiles, totals
from weighbridge.operators.record import Kind, Op
from weighbridge.passes.padding import is_convolutions_own

__all__ = ["BRICK_CHANNELS", "brick_profiles", "is_rearranged"]

BRICK_CHANNELS: Final = 16
_ALIGNMENT_BYTES: Final = 16
_LARGEST_STRIDE: Final = 3
_FEW_CHANNELS: Final = 8
_IN_BRICKS: Final = frozenset(
    {
        "conv",
        "conv_transpose",
        "linear",
        "max_pool",
        "average_pool",
        "global_max_pool",
        "global_average_pool",
        "adaptive_max_pool",
        "adaptive_average_pool",
        "reduce_mean",
        "concat",
        "pad",
        "slice",
        "split",
        "quantize",
        "dequantize",
        "requantize",
    }
)
"""Operators that read and write bricks, beside those that work element by element."""
_ELEMENT_BY_ELEMENT: Final = frozenset({Kind.UNARY, Kind.ELEMENTWISE})


def is_rearranged(channels: int, elements: int) -> bool:
    """Whether Vela gives a result that is made element by element another shape, because its channels fill too little of a brick.

    Found by trying: fewer than 8 channels, and more values than a brick has channels.
    """
    return channels < _FEW_CHANNELS and elements > BRICK_CHANNELS


def brick_profiles(graph: Graph, spans: Lifetimes, operators: Mapping[str, Op]) -> Profiles | str:
    """What is alive at each node that runs, or why the policy does not apply.  Elements are values, without what fills bricks."""
    reason = _refusal(graph, spans, operators)
    if reason:
        return reason
    places = channel_axes(graph, spans.nodes, spans.storage_of, operators)
    if places.unknown is not None:
        return f"which axis of {places.unknown} holds channels is not known"
    plan = _Plan(graph, spans, operators, places.axes)
    plan.join()
    return totals(list(plan.maps()), len(spans.nodes))


def _refusal(graph: Graph, spans: Lifetimes, operators: Mapping[str, Op]) -> str:
    """Why the policy does not apply; "" if it does, or if the axes of channels will tell."""
    layers = {node.name: node for node in spans.nodes if _kind(node, operators) in (Kind.CONTRACTION, Kind.POOLING)}
    if not layers:
        return "there is no layer that Vela would take"
    for node in layers.values():
        kinds = {graph.tensors[tensor].dtype.kind for tensor in (*node.inputs[:1], *node.outputs[:1])}
        if "float" in kinds:
            return "Vela takes integers, not floating point"
    for node in spans.nodes:
        if node.bodies:
            return "Vela leaves control flow to the processor"
        if node.operator not in operators or (node.name in layers and not _is_modelled(node, spans, operators)):
            return f"what Vela makes of {node.origin or node.operator} is not modelled"
    return ""


def _is_modelled(node: Node, spans: Lifetimes, operators: Mapping[str, Op]) -> bool:
    """Whether Vela runs a layer without tensors of its own; it does not a recurrent layer, or a product of two computed tensors."""
    if node.operator == "matmul":
        return any(tensor in spans.static for tensor in node.inputs)
    return node.operator in _IN_BRICKS or _kind(node, operators) == Kind.POOLING


def _kind(node: Node, operators: Mapping[str, Op]) -> str:
    op = operators.get(node.operator)
    return "" if op is None else op.kind


class _Plan:
    """Which storages share a place, and how each of them is laid out."""

    def __init__(self, graph: Graph, spans: Lifetimes, operators: Mapping[str, Op], axes: Mapping[str, int]) -> None:
        self.graph, self.spans, self.operators, self.axes = graph, spans, operators, axes
        self.kept = {spans.storage_of[tensor] for tensor in graph.outputs if tensor in spans.storage_of}
        self.readers: dict[str, list[Node]] = {}
        for node in spans.nodes:
            for tensor in node.inputs:
                if tensor in spans.storage_of and not self._is_view(node):
                    self.readers.setdefault(spans.storage_of[tensor], []).append(node)
        self.inputs = {spans.storage_of[tensor] for tensor in graph.inputs if tensor in spans.storage_of}
        self.place: dict[str, str] = {}
        self.linear = {*self.inputs, *self.kept, *self._reshaped(), *self._touched()}

    def _is_view(self, node: Node) -> bool:
        return _kind(node, self.operators) == Kind.VIEW

    def root(self, storage: str) -> str:
        """The storage in whose place ``storage`` lies; chains of places get shorter as they are walked."""
        place = self.place
        while storage in place:
            place[storage] = place.get(place[storage], place[storage])
            storage = place[storage]
        return storage

    def _reshaped(self) -> Iterator[str]:
        """Storages that are read and written with different row lengths or channels: bricks would not fit both."""
        seen: dict[str, tuple[int, int]] = {}
        for tensor, storage in self.spans.storage_of.items():
            shape = self.graph.tensors[tensor].shape
            if shape is not None and seen.setdefault(storage, _row(shape, self.axes.get(tensor))) != _row(
                shape, self.axes.get(tensor)
            ):
                yield storage

    def _touched(self) -> Iterator[str]:
        """Storages that an operator reads or writes that knows no bricks, or cuts or joins inside a brick."""
        for node in self.spans.nodes:
            op = self.operators.get(node.operator)
            if op is not None and op.kind == Kind.VIEW:
                continue
            read, written = self._in_rows(node, op)
            if self._is_rearranged(node, op):
                read, written = read or (op is not None and op.kind in _ELEMENT_BY_ELEMENT), True
            yield from self._storages((*(node.inputs if read else ()), *(node.outputs if written else ())))

    def _is_rearranged(self, node: Node, op: Op | None) -> bool:
        """Whether a node works element by element, or a function merged into it does, on a result with few channels."""
        if not node.fused and (op is None or op.kind not in _ELEMENT_BY_ELEMENT):
            return False
        channels, elements = self._channels(node.outputs[0]), self.graph.tensors[node.outputs[0]].elements
        return channels is not None and elements is not None and is_rearranged(channels, elements)

    def _in_rows(self, node: Node, op: Op | None) -> tuple[bool, bool]:
        """Whether a node reads, and writes, in rows of all channels."""
        if op is None or not (op.name in _IN_BRICKS or op.kind in _ELEMENT_BY_ELEMENT):
            is_copied = node.operator == "resize" and node.attributes["mode"] == "nearest"
            return not is_copied, not is_copied and node.operator != "softmax"
        if node.operator in ("slice", "split", "reduce_mean"):
            cuts = self._cuts_channels(node)
            return cuts, cuts and node.operator == "reduce_mean"
        if node.operator == "concat":
            return False, self._joins_within_bricks(node)
        return self._convolves_in_parts(node) if node.operator == "conv" else (False, False)

    def _convolves_in_parts(self, node: Node) -> tuple[bool, bool]:
        """Vela takes a convolution in groups, or one with a stride of more than 3, apart; so it does with several results a channel."""
        groups, stride = node.attributes["groups"], node.attributes["stride"]
        channels, results = self._channels(node.inputs[0]), self._channels(node.outputs[0])
        is_strided = any(isinstance(one, int) and one > _LARGEST_STRIDE for one in _each(stride))
        is_grouped = groups not in (1, channels)
        return is_strided or is_grouped, is_grouped or (groups != 1 and results != channels)

    def _storages(self, tensors: tuple[str, ...]) -> Iterator[str]:
        return (self.spans.storage_of[tensor] for tensor in tensors if tensor in self.spans.storage_of)

    def _channels(self, tensor: str) -> int | None:
        shape = self.graph.tensors[tensor].shape
        return shape[self.axes[tensor]] if shape and tensor in self.axes else None

    def _cuts_channels(self, node: Node) -> bool:
        whole = self._channels(node.inputs[0])
        return any(self._channels(part) != whole for part in node.outputs)

    def _joins_within_bricks(self, node: Node) -> bool:
        """Whether an operand of a concatenation along the channels begins elsewhere than at a brick."""
        parts = [self._channels(tensor) or 0 for tensor in node.inputs]
        whole = self._channels(node.outputs[0])
        return any(part != whole for part in parts) and any(part % BRICK_CHANNELS for part in parts[:-1])

    def join(self) -> None:
        """Put together what shares a place: operands in what they are joined to, parts in the whole, results over operands."""
        for node in self.spans.nodes:
            if node.operator in ("slice", "split") or (node.operator == "pad" and self._is_padding_of_layers(node)):
                self._lie_in(self._storages(node.outputs), next(self._storages(node.inputs), None))
            elif node.operator in ("concat", "pad"):
                own = [storage for storage in self._storages(node.inputs) if self._is_own(storage)]
                self._lie_in(iter(own), next(self._storages(node.outputs), None))
        for node in self.spans.nodes:
            if _kind(node, self.operators) in _ELEMENT_BY_ELEMENT or node.operator in ("quantize", "requantize"):
                self._overwrite(node)

    def _lie_in(self, storages: Iterator[str], place: str | None) -> None:
        for storage in storages:
            if place is not None and storage not in self.kept and self.root(place) != storage:
                self.place[storage] = place

    def _is_own(self, storage: str) -> bool:
        """Whether a node makes it and one other node alone reads it."""
        is_read_once = len(self.readers.get(storage, ())) == 1
        return is_read_once and storage not in self.kept and storage not in self.inputs

    def _is_padding_of_layers(self, node: Node) -> bool:
        (padded,) = self._storages(node.outputs)
        return padded not in self.kept and is_convolutions_own(node, self.readers.get(padded, ()), self.graph)

    def _overwrite(self, node: Node) -> None:
        """Write the result over the first operand of its type and layout that no other node reads and that is no result."""
        result = next(self._storages(node.outputs[:1]), None)
        if result is None or result in self.place:
            return
        for storage in self._storages(node.inputs):
            is_alone = len(self.readers[storage]) == 1 and storage not in self.kept and storage not in self.place
            if is_alone and storage != result and self._form(storage) == self._form(result):
                self.place[result] = storage
                return

    def _form(self, storage: str) -> tuple[object, ...]:
        tensor = self.graph.tensors[storage]
        return tensor.shape, tensor.dtype.name, storage in self.linear

    def maps(self) -> Iterator[Storage]:
        """Every place once, with the bytes that it takes, alive as long as anything in it is."""
        groups: dict[str, list[str]] = {}
        for storage in self.spans.storages:
            groups.setdefault(self.root(storage), []).append(storage)
        for root, members in groups.items():
            inside = [self.spans.storages[member] for member in members]
            first, last = min(one.first for one in inside), max(one.last for one in inside)
            yield Storage(root, self._stored_bytes(root), self.spans.storages[root].elements, first, last)

    def _stored_bytes(self, storage: str) -> int | None:
        tensor = self.graph.tensors[storage]
        if storage in self.linear or tensor.shape is None or storage not in self.axes:
            size = self.spans.storages[storage].bytes
        else:
            channels = tensor.shape[self.axes[storage]]
            filled = _rounded_up(channels, BRICK_CHANNELS)
            size = tensor.dtype.bytes_of((tensor.elements or 0) // max(channels, 1) * filled)
        return None if size is None else _rounded_up(size, _ALIGNMENT_BYTES)


def _each(value: Attribute) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _rounded_up(size: int, to: int) -> int:
    return -(-size // to) * to


def _row(shape: Shape, axis: int | None) -> tuple[int, int]:
    """(places in a row, channels) of a tensor whose channels are on ``axis``."""
    if axis is None:
        return 1, 1
    rest = [size for place, size in enumerate(shape) if place != axis]
    return rest[-1] if rest else 1, shape[axis]
