"""The values that a TensorFlow Lite file stores."""

from __future__ import annotations

import struct
from typing import Any

from weighbridge.frontends.from_tflite import Stored as StoredGraph
from weighbridge.frontends.tflite_model import Quantisation, TfliteModel, TfliteTensor
from weighbridge.frontends.weights import Stored, Values
from weighbridge.frontends.weights_values import decoded, is_decodable
from weighbridge.graph import Tensor

__all__ = ["values_of"]


def values_of(found: StoredGraph) -> Values:
    """The values of the parameters of a graph that was read from a TensorFlow Lite file."""
    parameters = {tensor.id: tensor for tensor in found.graph.stored_everywhere()}
    return {
        name: _stored(found.model, tensor, parameters[name])
        for name, tensor in found.tensors.items()
        if name in parameters
    }


def _stored(model: TfliteModel, tensor: TfliteTensor, held: Tensor) -> Stored:
    if tensor.data is None:
        return Stored(None, reason="its values stand in another file")
    if tensor.sparse_values is not None:
        return Stored(None, reason="it is stored sparse, in a form of TensorFlow Lite's own")
    if not is_decodable(tensor.dtype) or held.dtype.bits != tensor.dtype.bits:
        return Stored(None, reason=f"values of {held.dtype.name} are not read")
    start, size = tensor.data
    elements = held.elements or 0
    needed = tensor.dtype.bytes_of(elements) or 0

    def read() -> Any:
        return decoded(model.data[start : start + min(size, needed)], tensor.dtype, elements)

    return Stored(read, _zero(tensor.quantisation))


def _zero(quantisation: Quantisation | None) -> int | None:
    """The value that stands for 0: that of all channels, if it is the same; None where they differ or it is not told."""
    if quantisation is None:
        return 0
    if quantisation.kind != "affine":
        return 0 if quantisation.zero_points < 0 else None
    if not quantisation.zero_points:
        return 0
    points = struct.unpack_from(f"<{quantisation.zero_points}q", quantisation.values, 4 * quantisation.scales)
    return int(points[0]) if len(set(points)) == 1 else None
